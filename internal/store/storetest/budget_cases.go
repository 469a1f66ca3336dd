package storetest

import (
	"errors"
	"fmt"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
)

func account(tokens int64) store.BudgetAccount {
	return store.BudgetAccount{Name: "2026-11-27 default", Limit: domain.Spending{Tokens: tokens}, Until: now().Add(time.Hour)}
}

func (w *world) allot(of store.BudgetAccount, replica store.ReplicaID, owed, wanted int64) store.Allotted {
	w.Helper()
	return ok(w.s.Allot(w.ctx, store.AllotmentRequest{
		Account: of, Replica: replica, Owed: domain.Spending{Tokens: owed}, Wanted: domain.Spending{Tokens: wanted},
	}))(w)
}

// taken expects that an account has handed out so many tokens.
func (w *world) taken(tokens int64) {
	w.Helper()
	if tokens > 0 && ok(w.s.BudgetLeft(w.ctx, account(tokens)))(w) || !ok(w.s.BudgetLeft(w.ctx, account(tokens+1)))(w) {
		w.Errorf("the account has not handed out %d tokens", tokens)
	}
}

func (w *world) reservation(id domain.ExecutionID, epoch int64, replica store.ReplicaID, tokens int64) store.BudgetReservation {
	return store.BudgetReservation{Account: account(1000), Replica: replica, Execution: id, Epoch: epoch, Amount: domain.Spending{Tokens: tokens}}
}

func budgetsAreAllotted(w *world) {
	w.must(w.s.Heartbeat(w.ctx, "one", time.Hour))
	w.must(w.s.Heartbeat(w.ctx, "two", time.Hour))
	if got := w.allot(account(1600), "one", 0, 20); got != (store.Allotted{Given: domain.Spending{Tokens: 100}, New: true, Left: true}) { // a sixteenth
		w.Errorf("first %+v", got)
	}
	if got := w.allot(account(1600), "two", 50, 1000); got != (store.Allotted{Given: domain.Spending{Tokens: 1000}, New: true, Left: true}) { // it has owed nothing to a new allotment
		w.Errorf("second %+v", got)
	}
	if got := w.allot(account(1600), "one", 7, 900); got != (store.Allotted{Given: domain.Spending{Tokens: 7 + 493}, Left: true}) {
		w.Errorf("the rest %+v", got)
	}
	if got := w.allot(account(1600), "two", 3, 1); got != (store.Allotted{Given: domain.Spending{Tokens: 3}, Held: true}) { // what was used is written down all the same
		w.Errorf("beyond %+v", got)
	}
	w.taken(1603)
	w.must(w.s.ReturnAllotment(w.ctx, account(1600), "two", domain.Spending{Tokens: 1003}))
	w.must(w.s.ReturnAllotment(w.ctx, account(1600), "three", domain.Spending{Tokens: 5})) // it has none
	w.taken(600)

	money := account(0)
	money.Limit = domain.Spending{Tokens: 1600, Nanos: 5}
	got := ok(w.s.Allot(w.ctx, store.AllotmentRequest{Account: money, Replica: "one", Wanted: domain.Spending{Tokens: 1, Nanos: 9}}))(w)
	if got != (store.Allotted{Given: domain.Spending{Tokens: 62, Nanos: 5}, Left: true}) {
		w.Errorf("of both %+v", got)
	}
	got = ok(w.s.Allot(w.ctx, store.AllotmentRequest{Account: money, Replica: "one", Wanted: domain.Spending{Tokens: 1, Nanos: 1}}))(w)
	if got != (store.Allotted{Held: true}) { // tokens alone are of no use
		w.Errorf("of one alone %+v", got)
	}
}

func budgetsAreReserved(w *world) {
	w.must(w.s.Heartbeat(w.ctx, "one", time.Hour))
	id := w.create()
	if err := w.s.ReserveBudget(w.ctx, w.reservation(id, 1, "one", 10)); !errors.Is(err, store.ErrReclaimed) {
		w.Errorf("without an allotment: %v", err)
	}
	w.allot(account(100), "one", 0, 100)
	w.refused(w.s.ReserveBudget(w.ctx, w.reservation(id, 2, "one", 10)), domain.CodeStale)
	w.refused(w.s.ReserveBudget(w.ctx, w.reservation("another", 1, "one", 10)), domain.CodeStale)
	w.must(w.s.ReserveBudget(w.ctx, w.reservation(id, 1, "one", 10)))
	w.must(w.s.SettleBudget(w.ctx, w.reservation(id, 1, "one", 10), domain.Spending{Tokens: 60}))
	if got := w.allot(account(100), "one", 0, 1); !got.Held { // 40 are not used
		w.Errorf("held: %+v", got)
	}
	w.must(w.s.ReserveBudget(w.ctx, w.reservation(id, 1, "one", 10)))
	w.must(w.s.SettleBudget(w.ctx, w.reservation(id, 1, "one", 10), domain.Spending{Tokens: 40}))
	if got := w.allot(account(100), "one", 0, 1); got.Held || got.Left {
		w.Errorf("spent: %+v", got)
	}
	w.accepted(ending(id, 1))
	w.refused(w.s.ReserveBudget(w.ctx, w.reservation(id, 1, "one", 10)), domain.CodeStale)
}

// allotmentsAreReclaimed: what a dead replica has used and reserved stays charged, to the token, whoever settles it and when.
func allotmentsAreReclaimed(w *world) {
	w.must(w.s.Heartbeat(w.ctx, "dead", time.Hour))
	w.must(w.s.Heartbeat(w.ctx, "one", time.Hour))
	w.allot(account(1000), "dead", 0, 500)
	settled, lost, late := w.create(), w.create(), w.create()
	for _, id := range []domain.ExecutionID{settled, lost, late} {
		w.must(w.s.ReserveBudget(w.ctx, w.reservation(id, 1, "dead", 100)))
	}
	w.must(w.s.SettleBudget(w.ctx, w.reservation(settled, 1, "dead", 100), domain.Spending{Tokens: 7}))
	w.allot(account(1000), "one", 0, 0)
	w.taken(500)
	w.must(w.s.Heartbeat(w.ctx, "dead", 0))
	w.allot(account(1000), "one", 0, 0)
	w.taken(7 + 100 + 100)
	if err := w.s.ReserveBudget(w.ctx, w.reservation(settled, 1, "dead", 10)); !errors.Is(err, store.ErrReclaimed) {
		w.Errorf("it reserves from what is not its own: %v", err)
	}

	w.must(w.s.ReleaseBudgets(w.ctx, lost, 1)) // its own are not those of an earlier driver
	w.taken(207)
	w.must(w.s.ReleaseBudgets(w.ctx, lost, 2))
	w.must(w.s.ReleaseBudgets(w.ctx, lost, 2))
	w.taken(7 + 100)
	w.must(w.s.SettleBudget(w.ctx, w.reservation(late, 1, "dead", 100), domain.Spending{Tokens: 150}))
	w.taken(7 + 150)
	w.must(w.s.SettleBudget(w.ctx, w.reservation(lost, 1, "dead", 100), domain.Spending{Tokens: 20})) // its driver lives after all
	w.taken(7 + 150 + 20)
	w.must(w.s.ReturnAllotment(w.ctx, account(1000), "dead", domain.Spending{Tokens: 200}))
	w.taken(177)
}

// releasedBeforeTheEnd: an earlier driver may also have lost its execution while its replica lives.
func releasedBeforeTheEnd(w *world) {
	w.must(w.s.Heartbeat(w.ctx, "one", time.Hour))
	w.allot(account(1000), "one", 0, 100)
	id := w.create()
	w.must(w.s.ReserveBudget(w.ctx, w.reservation(id, 1, "one", 60)))
	w.must(w.s.ReleaseBudgets(w.ctx, id, 2))
	w.must(w.s.SettleBudget(w.ctx, w.reservation(id, 1, "one", 60), domain.Spending{Tokens: 5}))
	w.must(w.s.Heartbeat(w.ctx, "one", 0))
	w.allot(account(1000), "two", 0, 0)
	w.taken(5)
}

func budgetsAreForgotten(w *world) {
	over, today := account(10), account(10)
	over.Name, over.Until = "2026-11-20 default", now().Add(-time.Hour)
	w.allot(over, "one", 0, 5)
	w.allot(today, "one", 0, 5)
	if n := ok(w.s.ForgetBudgets(w.ctx, 2*time.Hour, 10))(w); n != 0 {
		w.Errorf("%d rows are gone too early", n)
	}
	if n := ok(w.s.ForgetBudgets(w.ctx, time.Minute, 1))(w); n != 1 {
		w.Errorf("%d rows are gone, want 1", n)
	}
	if n := ok(w.s.ForgetBudgets(w.ctx, time.Minute, 10))(w); n != 1 {
		w.Errorf("%d more rows are gone, want 1", n)
	}
	w.taken(5)
}

// allottedAtOnce: replicas that ask at once are never given more than there is, and each has one allotment.
func allottedAtOnce(w *world) {
	replicas := []store.ReplicaID{"one", "two"}
	for _, replica := range replicas {
		w.must(w.s.Heartbeat(w.ctx, replica, time.Hour))
	}
	type answer struct {
		store.Allotted
		err error
	}
	for n := range 10 { // the first requests of a replica are those that could meet
		of := account(1000)
		of.Name = fmt.Sprint("account ", n)
		answers := atOnce(20, func(i int) (got answer) {
			got.Allotted, got.err = w.replicas[i%2].Allot(w.ctx, store.AllotmentRequest{Account: of, Replica: replicas[i%2], Wanted: domain.Spending{Tokens: 60}})
			return got
		})
		sum := int64(0)
		for _, one := range answers {
			w.must(one.err)
			sum += one.Given.Tokens
		}
		if sum != 1000 || ok(w.s.BudgetLeft(w.ctx, of))(w) {
			w.Errorf("%d tokens of 1000 were given", sum)
		}
		if made := count(answers, func(one answer) bool { return one.New }); made != len(replicas) {
			w.Errorf("%d allotments were made", made)
		}
	}
}
