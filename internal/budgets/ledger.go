package budgets

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// Store is the part of the store that a ledger uses.
type Store interface {
	BudgetLeft(ctx context.Context, account store.BudgetAccount) (bool, error)
	Allot(ctx context.Context, request store.AllotmentRequest) (store.Allotted, error)
	ReturnAllotment(ctx context.Context, account store.BudgetAccount, replica store.ReplicaID, part domain.Spending) error
	ReserveBudget(ctx context.Context, reservation store.BudgetReservation) error
	SettleBudget(ctx context.Context, reservation store.BudgetReservation, used domain.Spending) error
	ReleaseBudgets(ctx context.Context, id domain.ExecutionID, epoch int64) error
	ForgetBudgets(ctx context.Context, age time.Duration, limit int) (int, error)
}

var _ Store = (*store.Store)(nil)

// Ledger gives out the shared budgets on one replica. Its methods may be called at once.
type Ledger struct {
	store   Store
	replica store.ReplicaID
	daily   map[domain.TenantID]domain.SharedBudget
	now     func() time.Time // the time of day

	mu         sync.Mutex
	allotments map[string]*allotment // by the name of the account
	unwritten  []settlement          // that the database has not taken yet
}

// settlement ends a reservation.
type settlement struct {
	store.BudgetReservation
	used domain.Spending
}

// NewLedger returns the ledger of a replica; without a store it bounds nothing. The replica's lease decides how long its allotments are its own.
func NewLedger(s Store, replica store.ReplicaID, daily map[domain.TenantID]domain.SharedBudget) *Ledger {
	return &Ledger{store: s, replica: replica, daily: daily, now: time.Now, allotments: map[string]*allotment{}}
}

// Daily is the daily budget of a tenant; without one it is the zero value.
func (l *Ledger) Daily(tenant domain.TenantID) domain.SharedBudget { return l.daily[tenant] }

// Check returns why nothing can be started for a tenant now: the budget of its day is spent.
func (l *Ledger) Check(ctx context.Context, tenant domain.TenantID) error {
	if l.daily[tenant].IsZero() {
		return nil
	}
	d := day{l, tenant}
	a := d.allotment()
	if l.has(a) {
		return nil
	}
	if left, err := l.store.BudgetLeft(ctx, a.account); left || err != nil {
		return err
	}
	switch found, err := l.allot(ctx, a, domain.Spending{}, domain.Spending{}); {
	case err != nil:
		return err
	case found.Left || found.Held:
		return nil
	default:
		return d.spent(a)
	}
}

// today is the allotment of this replica from the present day of a tenant.
func (l *Ledger) today(tenant domain.TenantID) *allotment {
	day := l.now().UTC().Truncate(24 * time.Hour)
	return l.account(store.BudgetAccount{
		Name: day.Format(time.DateOnly) + " " + string(tenant), Limit: l.daily[tenant].Limit(), Until: day.Add(24 * time.Hour),
	})
}

// account is the allotment of this replica from an account.
func (l *Ledger) account(of store.BudgetAccount) *allotment {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.allotments[of.Name]
	if a == nil {
		a = newAllotment(of)
		l.allotments[of.Name] = a
	}
	a.found = time.Now()
	return a
}

// Release ends the reservations that earlier drivers of an execution have left.
func (l *Ledger) Release(ctx context.Context, of Holder) error {
	if len(l.boundsOf(of)) == 0 {
		return nil
	}
	return l.store.ReleaseBudgets(ctx, of.Execution, of.Epoch)
}

const (
	lookEvery = time.Second
	// keepIdle is how long a replica keeps an allotment that it has no reservation of.
	keepIdle = 2 * time.Second
	// writeTimeout ends a writing that nobody waits for.
	writeTimeout = 3 * time.Second
	// forgetEvery and keepOver are how often rows of accounts that are over are removed, and how long they are kept.
	forgetEvery = time.Hour
	keepOver    = 48 * time.Hour
	forgetBatch = 1000
)

// Run returns what this replica does not need, until ctx ends; then it returns everything.
func (l *Ledger) Run(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for forgotten := (time.Time{}); ; {
		l.rewrite(ctx)
		l.returnIdle(ctx, keepIdle)
		if time.Since(forgotten) >= forgetEvery {
			forgotten = time.Now()
			l.forget(ctx)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
			defer cancel()
			l.rewrite(last)
			l.returnIdle(last, 0)
			return
		}
	}
}

// rewrite writes the settlements that the database did not take.
func (l *Ledger) rewrite(ctx context.Context) {
	l.mu.Lock()
	waiting := l.unwritten
	l.unwritten = nil
	l.mu.Unlock()
	for i, s := range waiting {
		if err := l.store.SettleBudget(ctx, s.BudgetReservation, s.used); err != nil {
			l.mu.Lock()
			l.unwritten = append(l.unwritten, waiting[i:]...)
			l.mu.Unlock()
			return
		}
	}
}

// returnIdle returns the allotments from which nothing has been reserved for so long.
func (l *Ledger) returnIdle(ctx context.Context, after time.Duration) {
	l.mu.Lock()
	var idle []*allotment
	for name, a := range l.allotments {
		switch {
		case a.open > 0 || len(a.asking) > 0 || time.Since(a.used) < after || time.Since(a.found) < after:
		case a.left != (domain.Spending{}):
			idle = append(idle, a)
		default: // whoever needs it again makes another one
			delete(l.allotments, name)
		}
	}
	l.mu.Unlock()
	for _, a := range idle {
		if err := l.giveBack(ctx, a); err != nil && ctx.Err() == nil {
			slog.Warn("cannot return what is left of a budget", "account", a.account.Name, "error", err)
		}
	}
}

func (l *Ledger) giveBack(ctx context.Context, a *allotment) error {
	if err := a.lock(ctx); err != nil {
		return err
	}
	defer a.unlock()
	l.mu.Lock()
	part := a.left
	if a.open > 0 {
		part = domain.Spending{}
	}
	a.left = a.left.Minus(part)
	l.mu.Unlock()
	if part == (domain.Spending{}) {
		return nil
	}
	err := l.store.ReturnAllotment(ctx, a.account, l.replica, part)
	if err != nil {
		l.mu.Lock()
		a.left = a.left.Plus(part)
		l.mu.Unlock()
	}
	return err
}

func (l *Ledger) forget(ctx context.Context) {
	for {
		gone, err := l.store.ForgetBudgets(ctx, keepOver, forgetBatch)
		if err != nil && ctx.Err() == nil {
			slog.Warn("cannot remove budgets that are over", "error", err)
		}
		if err != nil || gone < forgetBatch {
			return
		}
	}
}
