package budgets

import (
	"context"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// allotment is the part of an account that this replica may give out. The ledger's lock guards all but its name and its limit.
type allotment struct {
	account store.BudgetAccount
	asking  chan struct{} // full while somebody asks the account for more, or gives back

	left     domain.Spending // below zero where more was used or reserved than there was
	reserved domain.Spending
	open     int           // reservations
	number   int           // how often the allotment was reclaimed: reservations of an earlier one are the account's by now
	used     time.Time     // when something was last reserved or settled
	found    time.Time     // when somebody last asked for the allotment
	returned chan struct{} // closes when a reservation has returned something
}

func newAllotment(account store.BudgetAccount) *allotment {
	return &allotment{account: account, asking: make(chan struct{}, 1), used: time.Now(), returned: make(chan struct{})}
}

func (a *allotment) lock(ctx context.Context) error {
	select {
	case a.asking <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (a *allotment) unlock() { <-a.asking }

// some tells whether anything is left wherever there is a limit.
func (a *allotment) some() bool {
	limit := a.account.Limit
	return (limit.Tokens == 0 || a.left.Tokens > 0) && (limit.Nanos == 0 || a.left.Nanos > 0)
}

// covers tells whether so much is left wherever there is a limit.
func (a *allotment) covers(amount domain.Spending) bool {
	limit := a.account.Limit
	return a.some() && (limit.Tokens == 0 || a.left.Tokens >= amount.Tokens) && (limit.Nanos == 0 || a.left.Nanos >= amount.Nanos)
}

// take takes so much for a reservation.
func (a *allotment) take(amount domain.Spending) {
	a.left, a.reserved, a.used = a.left.Minus(amount), a.reserved.Plus(amount), time.Now()
	a.open++
}

// putBack ends a reservation of that much, of which so much was used.
func (a *allotment) putBack(number int, amount, used domain.Spending) {
	a.open--
	a.used = time.Now()
	if a.number != number {
		return
	}
	a.left, a.reserved = a.left.Plus(amount).Minus(used), a.reserved.Minus(amount)
	close(a.returned)
	a.returned = make(chan struct{})
}

// owed is what was used beyond the allotment. What was only reserved is not in it: most of that comes back, and would then be more than the account ever had.
func (a *allotment) owed() domain.Spending {
	return positive(domain.Spending{}.Minus(a.left.Plus(a.reserved)))
}

// forget begins anew after the allotment was reclaimed.
func (a *allotment) forget() {
	a.left, a.reserved = domain.Spending{}, domain.Spending{}
	a.number++
}

func positive(s domain.Spending) domain.Spending {
	return domain.Spending{Tokens: max(0, s.Tokens), Nanos: max(0, s.Nanos)}
}

func (l *Ledger) has(a *allotment) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return a.some()
}

// allot asks the account for so much more than is left. Who asks has reserved so much of it already.
func (l *Ledger) allot(ctx context.Context, a *allotment, amount, own domain.Spending) (store.Allotted, error) {
	if err := a.lock(ctx); err != nil {
		return store.Allotted{}, err
	}
	defer a.unlock()
	l.mu.Lock()
	owed, left, enough := a.owed(), a.left, a.covers(amount)
	l.mu.Unlock()
	if enough { // who asked before has been given more than it wanted
		return store.Allotted{Left: true}, nil
	}
	wanted := amount.Minus(left.Plus(owed))
	if amount == (domain.Spending{}) {
		wanted = amount // whoever only looks wants nothing
	}
	got, err := l.store.Allot(ctx, store.AllotmentRequest{Account: a.account, Replica: l.replica, Own: own, Owed: owed, Wanted: positive(wanted)})
	if err != nil {
		return got, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if got.New {
		a.forget()
	}
	a.left = a.left.Plus(got.Given)
	return got, nil
}
