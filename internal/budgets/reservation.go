package budgets

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// Holder is the driver of an execution.
type Holder struct {
	Tenant    domain.TenantID
	Execution domain.ExecutionID
	Epoch     int64
	Root      domain.ExecutionID  // of the tree of the execution
	Tree      domain.SharedBudget // of the root, for the whole tree
}

// retryEvery is how often a waiting request checks whether other replicas have returned a part of their allotments.
const retryEvery = 500 * time.Millisecond

// Reserve implements [domain.Host.Reserve] for a driver.
func (l *Ledger) Reserve(ctx context.Context, by Holder, request domain.Estimate) (domain.Reservation, error) {
	bounds := l.boundsOf(by)
	if len(bounds) == 0 {
		return domain.Unbounded{}, nil
	}
	all := make(reservations, len(bounds))
	for i, of := range bounds {
		all[i] = &reservation{ledger: l, by: by, bound: of}
	}
	if err := all.Extend(ctx, request); err != nil {
		return nil, err
	}
	return all, nil
}

// Share is the portion that a turn of an external agent reserves at a time, because its usage is unknown before. shared is false without a shared budget.
func (l *Ledger) Share(by Holder) (share domain.Estimate, shared bool) {
	const turns = 16 // of a budget
	share.Cost = new(0.0)
	for _, of := range l.boundsOf(by) {
		limit := of.limit()
		tokens, cost := (limit.Tokens+turns-1)/turns, limit.Cost/turns
		if tokens > 0 && (share.Tokens == 0 || tokens < share.Tokens) {
			share.Tokens = tokens
		}
		if cost > 0 && (*share.Cost == 0 || cost < *share.Cost) {
			*share.Cost = cost
		}
		shared = true
	}
	return share, shared
}

// reservations are those of one request, from all budgets that its execution shares.
type reservations []*reservation

// Extend implements [domain.Reservation]. It reserves from all of them, or from none.
func (all reservations) Extend(ctx context.Context, more domain.Estimate) error {
	for i, r := range all {
		if err := r.extend(ctx, more); err != nil {
			for _, before := range all[:i] {
				before.retract()
			}
			return err
		}
	}
	return nil
}

// Settle implements [domain.Reservation].
func (all reservations) Settle(usage domain.Usage, whole bool) {
	for _, r := range all {
		r.settle(usage, whole)
	}
}

// reservation is the reservation of one request from one budget, in parts.
type reservation struct {
	ledger *Ledger
	by     Holder
	bound  bound

	mu    sync.Mutex
	parts []part
}

// part is the part of a reservation that comes from one allotment.
type part struct {
	*allotment
	generation int
	amount     domain.Spending
}

// extend reserves another part. While the database does not answer it tries again: a request that was not sent loses nothing by waiting.
func (r *reservation) extend(ctx context.Context, more domain.Estimate) error {
	amount, err := amountOf(r.bound, more)
	if err != nil {
		return err
	}
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		p, err := r.ledger.reserve(ctx, r.by, r.bound, amount, r.reserved())
		switch {
		case err == nil:
			r.mu.Lock()
			defer r.mu.Unlock()
			r.parts = append(r.parts, p)
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, store.ErrReclaimed):
			r.ledger.reclaimed(p)
		case domain.CodeOf(err) != domain.CodeStorage:
			return err
		default:
			slog.Warn("cannot reserve from a budget, trying again", "execution", r.by.Execution, "error", err)
			if err := pause(ctx, nil, wait); err != nil {
				return err
			}
		}
	}
}

// retract returns the newest part, which is unused.
func (r *reservation) retract() {
	r.mu.Lock()
	newest := r.parts[len(r.parts)-1]
	r.parts = r.parts[:len(r.parts)-1]
	r.mu.Unlock()
	r.ledger.settle(r.by, newest, domain.Spending{})
}

func (r *reservation) reserved() (sum domain.Spending) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.parts {
		sum = sum.Plus(p.amount)
	}
	return sum
}

// reserve takes a part and writes it to the database.
func (l *Ledger) reserve(ctx context.Context, by Holder, from bound, amount, own domain.Spending) (part, error) {
	p, err := l.take(ctx, from, amount, own)
	if err != nil {
		return p, err
	}
	if err := l.store.ReserveBudget(ctx, l.entry(by, p)); err != nil {
		l.putBack(p, domain.Spending{})
		return p, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.generation != p.allotment.generation { // it was taken from an allotment that was then reclaimed, and written under the next one
		p.left, p.reserved, p.generation = p.left.Minus(amount), p.reserved.Plus(amount), p.allotment.generation
	}
	return p, nil
}

func (r *reservation) settle(usage domain.Usage, whole bool) {
	used := spendingOf(usage, r.reserved(), whole)
	r.mu.Lock()
	parts := r.parts
	r.parts = nil
	r.mu.Unlock()
	for i, p := range parts {
		most := p.amount
		if i == len(parts)-1 {
			most = used // usage beyond the reservation belongs to the newest part
		}
		here := domain.Spending{Tokens: min(used.Tokens, most.Tokens), Nanos: min(used.Nanos, most.Nanos)}
		used = used.Minus(here)
		r.ledger.settle(r.by, p, here)
	}
}

// spendingOf is the spending of a request, from its usage and its reservation.
func spendingOf(usage domain.Usage, reserved domain.Spending, whole bool) (used domain.Spending) {
	if tokens := usage.Tokens(); tokens != nil {
		used.Tokens = max(0, *tokens)
	} else if whole {
		used.Tokens = reserved.Tokens
	}
	if usage.Cost != nil {
		used.Nanos = domain.NanosOf(*usage.Cost)
	} else if whole {
		used.Nanos = reserved.Nanos
	}
	return used
}

// amountOf is an estimate as an amount. It is never zero: a request that costs nothing also needs something to be left. If only the tokens have a limit, an
// unknown cost counts as a billionth.
func amountOf(from bound, request domain.Estimate) (domain.Spending, error) {
	amount := domain.Spending{Tokens: max(1, request.Tokens), Nanos: 1}
	switch {
	case request.Cost != nil:
		amount.Nanos = max(1, domain.NanosOf(*request.Cost))
	case from.limit().Cost > 0:
		return amount, from.unpricedError()
	}
	return amount, nil
}

// take takes an amount from a budget, as long as anything is left of it.
func (l *Ledger) take(ctx context.Context, from bound, amount, own domain.Spending) (part, error) {
	until := time.Now().Add(from.patience())
	for {
		a := from.allotment()
		if p, _, taken := l.takeLeft(a, amount, true); taken {
			return p, nil
		}
		got, err := l.allot(ctx, a, amount, own)
		if err != nil {
			return part{}, err
		}
		p, returned, taken := l.takeLeft(a, amount, false)
		if taken {
			return p, nil
		}
		if got.Left {
			continue // others were faster
		}
		if !got.Held || time.Now().After(until) {
			return part{}, from.spentError(a)
		}
		if err := pause(ctx, returned, retryEvery); err != nil {
			return part{}, err
		}
	}
}

// takeLeft takes from the allotment of this replica: the whole amount, or the rest if the account has no more.
func (l *Ledger) takeLeft(a *allotment, amount domain.Spending, whole bool) (p part, returned <-chan struct{}, taken bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if whole && !a.covers(amount) || !a.hasLeft() {
		return part{}, a.returned, false
	}
	a.take(amount)
	return part{a, a.generation, amount}, nil, true
}

func pause(ctx context.Context, returned <-chan struct{}, most time.Duration) error {
	again := time.NewTimer(most)
	defer again.Stop()
	select {
	case <-returned:
		return nil
	case <-again.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *Ledger) putBack(p part, used domain.Spending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p.putBack(p.generation, p.amount, used)
}

// reclaimed resets an allotment that no longer belongs to this replica.
func (l *Ledger) reclaimed(p part) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.allotment.generation == p.generation {
		p.reset()
	}
}

func (l *Ledger) entry(by Holder, p part) store.BudgetReservation {
	return store.BudgetReservation{Account: p.account, Replica: l.replica, Execution: by.Execution, Epoch: by.Epoch, Amount: p.amount}
}

// settle ends a part of a reservation. In memory it ends at once. If the database does not answer, the settlement is written later; until then, the
// reservation counts as used for other replicas.
func (l *Ledger) settle(by Holder, p part, used domain.Spending) {
	l.putBack(p, used)
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	err := l.store.SettleBudget(ctx, l.entry(by, p), used)
	if err == nil {
		return
	}
	slog.Warn("cannot settle with a budget, trying again", "execution", by.Execution, "error", err)
	if !errors.Is(err, store.ErrCommitUnknown) {
		l.mu.Lock()
		l.unwritten = append(l.unwritten, settlement{l.entry(by, p), used})
		l.mu.Unlock()
	}
}
