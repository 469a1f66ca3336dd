package budgets

import (
	"strings"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// bound is a budget that executions share.
type bound interface {
	limit() domain.SharedBudget
	// allotment is the present allotment of this replica.
	allotment() *allotment
	// spentError is the error of a request for which nothing is left.
	spentError(a *allotment) error
	// unpricedError is the error of a request whose cost is unknown.
	unpricedError() error
	// patience is how long a request waits for the reservations of others.
	patience() time.Duration
}

// boundsOf are the budgets that an execution shares with others.
func (l *Ledger) boundsOf(by Holder) (all []bound) {
	if !by.Tree.IsZero() && l.store != nil {
		all = append(all, tree{l, by})
	}
	if daily := l.daily[by.Tenant]; !daily.IsZero() {
		all = append(all, day{l, by.Tenant})
	}
	return all
}

// day is the daily budget of a tenant.
type day struct {
	*Ledger
	tenant domain.TenantID
}

func (d day) limit() domain.SharedBudget { return d.daily[d.tenant] }

func (d day) allotment() *allotment { return d.dailyAllotment(d.tenant) }

func (d day) patience() time.Duration { return 30 * time.Second }

func (d day) spentError(a *allotment) error {
	err := domain.Errorf(domain.CodeDailyBudgetSpent, "The tenant %s has spent the budget of its day (%s). The next day begins at %s.",
		d.tenant, inWords(d.limit()), a.account.Until.Format(time.RFC3339))
	err.RetryAfter = max(a.account.Until.Sub(d.now()), time.Second)
	return err.With(domain.ErrBudgetSpent)
}

func (d day) unpricedError() error {
	return domain.Errorf(domain.CodeLimitReached, "The tenant %s has a daily budget of %g, and what the model costs is not known.",
		d.tenant, d.limit().Cost).With(domain.ErrCostUnknown)
}

// tree is the budget of a root, which all executions of its tree share.
type tree struct {
	*Ledger
	by Holder
}

func (t tree) limit() domain.SharedBudget { return t.by.Tree }

// keepTree is how long an unused account of a tree is kept. The store removes it together with the root.
const keepTree = 400 * 24 * time.Hour

func (t tree) allotment() *allotment {
	return t.allotmentOf(store.BudgetAccount{Name: store.AccountOfTree(t.by.Root), Limit: t.by.Tree.Limit(), Until: t.now().Add(keepTree)})
}

// patience is longer than that of a day: an execution that gets nothing fails, and cannot be resumed.
func (t tree) patience() time.Duration { return 5 * time.Minute }

func (t tree) spentError(*allotment) error {
	return domain.Errorf(domain.CodeLimitReached, "The execution %s and all that was delegated below it have used up the budget that they share (%s).",
		t.by.Root, inWords(t.limit())).With(domain.ErrTreeBudgetSpent)
}

func (t tree) unpricedError() error {
	return domain.Errorf(domain.CodeLimitReached, "The execution %s shares a budget of %g with all that was delegated below it, and what the model costs is not known.",
		t.by.Root, t.limit().Cost).With(domain.ErrCostUnknown)
}

func inWords(b domain.SharedBudget) string { return strings.Join(b.InWords(), ", ") }
