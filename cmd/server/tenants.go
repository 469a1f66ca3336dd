package main

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// tenant is an entry of the section tenants: the daily budget of all executions of the tenant.
type tenant struct {
	DailyTokens *int64   `yaml:"dailyTokens"`
	DailyCost   *float64 `yaml:"dailyCost"`
}

// The upper bounds of a daily budget: sums of far larger budgets would overflow.
const (
	mostDailyTokens = 1e15
	mostDailyCost   = 1e6
)

// openTenants reads the daily budgets.
func (f configFile) openTenants() (map[domain.TenantID]domain.SharedBudget, error) {
	budgets := map[domain.TenantID]domain.SharedBudget{}
	for _, name := range slices.Sorted(maps.Keys(f.Tenants)) {
		budget, err := dailyBudget(name, f.Tenants[name])
		if err != nil {
			return nil, f.mistake(err)
		}
		budgets[domain.TenantID(name)] = budget
	}
	return budgets, nil
}

func dailyBudget(name string, entry tenant) (budget domain.SharedBudget, err error) {
	at := func(field string) string { return domain.Pointer("tenants", name, field) }
	switch tokens, cost := entry.DailyTokens, entry.DailyCost; {
	case !domain.TenantID(name).Valid():
		return budget, domain.Invalid(domain.Pointer("tenants", name), "%q is not the name of a tenant; a name has up to 100 printable characters", name)
	case tokens == nil && cost == nil:
		return budget, domain.Invalid(domain.Pointer("tenants", name), "the tenant %s has neither dailyTokens nor dailyCost", name)
	case tokens != nil && (*tokens < 1 || *tokens > mostDailyTokens):
		return budget, domain.Invalid(at("dailyTokens"), "dailyTokens is 1 to %d, not %d; without it there is no bound", int64(mostDailyTokens), *tokens)
	case cost != nil && !(*cost > 0 && *cost <= mostDailyCost): // NaN is in no range
		return budget, domain.Invalid(at("dailyCost"), "dailyCost is more than 0 and at most %d, not %g; without it there is no bound", int64(mostDailyCost), *cost)
	case tokens != nil:
		budget.Tokens = *tokens
	}
	if entry.DailyCost != nil {
		budget.Cost = *entry.DailyCost
	}
	return budget, nil
}

// tenants lists the daily budgets.
func (d *diagnosis) tenants(file configFile) {
	budgets, err := file.openTenants()
	if err != nil {
		d.bad("tenants", err)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(budgets)) {
		d.good("tenant "+string(name), strings.Join(budgets[name].InWords(), " and ")+" a day")
	}
}

// keyList is the part of the store that has the keys.
type keyList interface {
	Keys(ctx context.Context, tenant domain.TenantID) ([]store.Key, error)
}

// withoutKeys are the tenants of the section without a key: most often the name is wrong.
func (f configFile) withoutKeys(ctx context.Context, keys keyList) (names []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(f.Tenants)) {
		found, err := keys.Keys(ctx, domain.TenantID(name))
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			names = append(names, name)
		}
	}
	return names, nil
}

const noKeys = "no key belongs to this tenant, so its budget bounds nothing; is the name right?"

// keysOfTenants reports budgets of tenants without a key.
func (d *diagnosis) keysOfTenants(ctx context.Context, keys keyList, file configFile) {
	names, err := file.withoutKeys(ctx, keys)
	if err != nil {
		d.bad("tenants", err)
	}
	for _, name := range names {
		d.note("tenant "+name, noKeys)
	}
}

// warnOfTenants warns about them in the log of the server, which starts anyway: keys can be created later.
func (a *App) warnOfTenants(ctx context.Context, file configFile) {
	names, err := file.withoutKeys(ctx, a.store)
	if err != nil {
		slog.Warn("cannot read the keys of tenants", "error", err)
	}
	for _, name := range names {
		slog.Warn(noKeys, "tenant", name)
	}
}
