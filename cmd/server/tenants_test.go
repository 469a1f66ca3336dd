package main

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/secrets"
	"signoff/internal/store"
)

// openedTenants reads the section tenants of a file.
func openedTenants(t *testing.T, section string) (configFile, map[domain.TenantID]domain.SharedBudget, error) {
	t.Helper()
	file, err := written(t, "models:\n  a: {provider: demo}\n\ntenants:\n"+section).readConfigFile()
	if err != nil {
		return file, nil, err
	}
	budgets, err := file.openTenants()
	return file, budgets, err
}

func TestTenants(t *testing.T) {
	_, got, err := openedTenants(t, "  default: {dailyTokens: 5000000, dailyCost: 0.5}\n  acme: {dailyCost: 20}\n  \"big & old\": {dailyTokens: 1}\n")
	want := map[domain.TenantID]domain.SharedBudget{"default": {Tokens: 5_000_000, Cost: 0.5}, "acme": {Cost: 20}, "big & old": {Tokens: 1}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// Each mistake is shown with its line of the file.
func TestMistakesInTenants(t *testing.T) {
	for entry, want := range map[string][]string{
		"acme: {dailyToken: 5}":                 {"dailyToken"},
		"acme: {dailyTokens: 0}":                {"tenants.acme.dailyTokens", "is 1 to", ">  5 |"},
		"acme: {dailyTokens: -3}":               {"tenants.acme.dailyTokens", "not -3", ">  5 |"},
		"acme: {dailyTokens: many}":             {"tenants", "many"},
		"acme: {dailyTokens: 2000000000000000}": {"tenants.acme.dailyTokens", "is 1 to", ">  5 |"},
		"acme: {dailyCost: 0}":                  {"tenants.acme.dailyCost", "more than 0", ">  5 |"},
		"acme: {dailyCost: .nan}":               {"tenants.acme.dailyCost", "more than 0", ">  5 |"},
		"acme: {dailyCost: 1e7}":                {"tenants.acme.dailyCost", "at most 1000000", ">  5 |"},
		"acme: {}":                              {"tenants.acme", "neither dailyTokens nor dailyCost", ">  5 |"},
		"acme:":                                 {"tenants.acme", "neither dailyTokens nor dailyCost"},
		"\"\": {dailyTokens: 5}":                {"is not the name of a tenant"},
	} {
		_, _, err := openedTenants(t, "  "+entry+"\n")
		for _, part := range want {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, not %q", entry, err, part)
			}
		}
	}
}

// keysOf are the tenants that have a key.
type keysOf []domain.TenantID

func (k keysOf) Keys(_ context.Context, tenant domain.TenantID) (found []store.Key, _ error) {
	for _, has := range k {
		if has == tenant {
			found = append(found, store.Key{})
		}
	}
	return found, nil
}

func TestDoctorShowsTenants(t *testing.T) {
	file, _, err := openedTenants(t, "  default: {dailyTokens: 5000, dailyCost: 0.5}\n  acmee: {dailyCost: 20}\n")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	d := &diagnosis{out: &out, masker: secrets.NewMasker()}
	d.keysOfTenants(t.Context(), keysOf{"default", "acme"}, file)
	d.tenants(file)
	for _, line := range []string{"ok    tenant default         5000 tokens and a cost of 0.5 a day\n", "ok    tenant acmee           a cost of 20 a day\n", "-     tenant acmee           " + noKeys} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("no line %q in\n%s", line, &out)
		}
	}
	if strings.Contains(out.String(), "default         "+noKeys) || d.broken {
		t.Errorf("%s", &out)
	}
}
