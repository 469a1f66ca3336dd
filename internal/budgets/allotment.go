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
	busy    chan struct{} // full while a caller asks the account for more, or returns a part

	left       domain.Spending // below zero if more was used or reserved than allotted
	reserved   domain.Spending
	open       int           // the number of reservations
	generation int           // how often the allotment was reclaimed: reservations of earlier generations belong to the account
	lastUse    time.Time     // of the newest reservation or settlement
	lastLookup time.Time     // of the allotment
	returned   chan struct{} // closes when a reservation has returned a part
}

func newAllotment(account store.BudgetAccount) *allotment {
	return &allotment{account: account, busy: make(chan struct{}, 1), lastUse: time.Now(), returned: make(chan struct{})}
}

func (a *allotment) lock(ctx context.Context) error {
	select {
	case a.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (a *allotment) unlock() { <-a.busy }

// hasLeft tells whether anything is left under each limit.
func (a *allotment) hasLeft() bool {
	limit := a.account.Limit
	return (limit.Tokens == 0 || a.left.Tokens > 0) && (limit.Nanos == 0 || a.left.Nanos > 0)
}

// covers tells whether the amount is left under each limit.
func (a *allotment) covers(amount domain.Spending) bool {
	limit := a.account.Limit
	return a.hasLeft() && (limit.Tokens == 0 || a.left.Tokens >= amount.Tokens) && (limit.Nanos == 0 || a.left.Nanos >= amount.Nanos)
}

// take takes an amount for a reservation.
func (a *allotment) take(amount domain.Spending) {
	a.left, a.reserved, a.lastUse = a.left.Minus(amount), a.reserved.Plus(amount), time.Now()
	a.open++
}

// putBack ends the reservation of an amount, and returns its unused part.
func (a *allotment) putBack(generation int, amount, used domain.Spending) {
	a.open--
	a.lastUse = time.Now()
	if a.generation != generation {
		return
	}
	a.left, a.reserved = a.left.Plus(amount).Minus(used), a.reserved.Minus(amount)
	close(a.returned)
	a.returned = make(chan struct{})
}

// overdraft is the usage beyond the allotment. It leaves reservations out: most of them are returned, and the allotment would then exceed the account.
func (a *allotment) overdraft() domain.Spending {
	return positive(domain.Spending{}.Minus(a.left.Plus(a.reserved)))
}

// reset empties the allotment after it was reclaimed.
func (a *allotment) reset() {
	a.left, a.reserved = domain.Spending{}, domain.Spending{}
	a.generation++
}

func positive(s domain.Spending) domain.Spending {
	return domain.Spending{Tokens: max(0, s.Tokens), Nanos: max(0, s.Nanos)}
}

func (l *Ledger) hasLeft(a *allotment) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return a.hasLeft()
}

// allot asks the account for the part of an amount that is not left here. own is the caller's reservation so far.
func (l *Ledger) allot(ctx context.Context, a *allotment, amount, own domain.Spending) (store.Allotted, error) {
	if err := a.lock(ctx); err != nil {
		return store.Allotted{}, err
	}
	defer a.unlock()
	l.mu.Lock()
	owed, left, enough := a.overdraft(), a.left, a.covers(amount)
	l.mu.Unlock()
	if enough { // an earlier caller has got more than it wanted
		return store.Allotted{Left: true}, nil
	}
	wanted := amount.Minus(left.Plus(owed))
	if amount == (domain.Spending{}) {
		wanted = amount // the caller only checks
	}
	got, err := l.store.Allot(ctx, store.AllotmentRequest{Account: a.account, Replica: l.replica, Own: own, Owed: owed, Wanted: positive(wanted)})
	if err != nil {
		return got, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if got.New {
		a.reset()
	}
	a.left = a.left.Plus(got.Given)
	return got, nil
}
