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
	unwritten  []settlement          // not yet in the database
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

// Check returns an error if the daily budget of a tenant is spent, so that nothing can be started for it now.
func (l *Ledger) Check(ctx context.Context, tenant domain.TenantID) error {
	if l.daily[tenant].IsZero() {
		return nil
	}
	d := day{l, tenant}
	a := d.allotment()
	if l.hasLeft(a) {
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
		return d.spentError(a)
	}
}

// dailyAllotment is the allotment of this replica from the present day of a tenant.
func (l *Ledger) dailyAllotment(tenant domain.TenantID) *allotment {
	day := l.now().UTC().Truncate(24 * time.Hour)
	return l.allotmentOf(store.BudgetAccount{
		Name: day.Format(time.DateOnly) + " " + string(tenant), Limit: l.daily[tenant].Limit(), Until: day.Add(24 * time.Hour),
	})
}

// allotmentOf is the allotment of this replica from an account.
func (l *Ledger) allotmentOf(of store.BudgetAccount) *allotment {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.allotments[of.Name]
	if a == nil {
		a = newAllotment(of)
		l.allotments[of.Name] = a
	}
	a.lastLookup = time.Now()
	return a
}

// Release ends the reservations of earlier drivers of an execution.
func (l *Ledger) Release(ctx context.Context, of Holder) error {
	if len(l.boundsOf(of)) == 0 {
		return nil
	}
	return l.store.ReleaseBudgets(ctx, of.Execution, of.Epoch)
}

const (
	runEvery = time.Second
	// keepIdle is how long a replica keeps an allotment without a reservation.
	keepIdle = 2 * time.Second
	// writeTimeout bounds a write that no request waits for.
	writeTimeout = 3 * time.Second
	// removeEvery and keepExpired are how often rows of expired accounts are removed, and how long they are kept.
	removeEvery = time.Hour
	keepExpired = 48 * time.Hour
	removeBatch = 1000
)

// Run returns unused allotments of this replica, until ctx ends; then it returns all of them.
func (l *Ledger) Run(ctx context.Context) {
	ticker := time.NewTicker(runEvery)
	defer ticker.Stop()
	for removed := (time.Time{}); ; {
		l.retryUnwritten(ctx)
		l.returnIdle(ctx, keepIdle)
		if time.Since(removed) >= removeEvery {
			removed = time.Now()
			l.removeExpired(ctx)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
			defer cancel()
			l.retryUnwritten(last)
			l.returnIdle(last, 0)
			return
		}
	}
}

// retryUnwritten writes the settlements that could not be written before.
func (l *Ledger) retryUnwritten(ctx context.Context) {
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

// returnIdle returns the allotments that were not used for some time.
func (l *Ledger) returnIdle(ctx context.Context, after time.Duration) {
	l.mu.Lock()
	var idle []*allotment
	for name, a := range l.allotments {
		switch {
		case a.open > 0 || len(a.busy) > 0 || time.Since(a.lastUse) < after || time.Since(a.lastLookup) < after:
		case a.left != (domain.Spending{}):
			idle = append(idle, a)
		default: // the next reservation makes another one
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

func (l *Ledger) removeExpired(ctx context.Context) {
	for {
		gone, err := l.store.ForgetBudgets(ctx, keepExpired, removeBatch)
		if err != nil && ctx.Err() == nil {
			slog.Warn("cannot remove budgets that are over", "error", err)
		}
		if err != nil || gone < removeBatch {
			return
		}
	}
}
