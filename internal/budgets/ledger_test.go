package budgets_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"signoff/internal/budgets"
	"signoff/internal/domain"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

const tenant domain.TenantID = "acme"

// today is the day of all tests.
var today = time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)

// replica is one server's ledger.
type replica struct {
	*budgets.Ledger
	id    store.ReplicaID
	store *mortal
	stop  func()
}

// mortal is the store as a server sees it, until the server dies, and while the database is away.
type mortal struct {
	*store.Store
	dead, away atomic.Bool
	settled    atomic.Int64 // tokens
}

var errDead = errors.New("the server is dead")

func (m *mortal) reached(err func() error) error {
	switch {
	case m.dead.Load():
		return errDead
	case m.away.Load():
		return domain.Errorf(domain.CodeStorage, "The database is away.")
	default:
		return err()
	}
}

// Allot is that of the store, and so are the others.
func (m *mortal) Allot(ctx context.Context, r store.AllotmentRequest) (given store.Allotted, err error) {
	err = m.reached(func() error { given, err = m.Store.Allot(ctx, r); return err })
	return given, err
}

func (m *mortal) ReturnAllotment(ctx context.Context, account store.BudgetAccount, replica store.ReplicaID, part domain.Spending) error {
	return m.reached(func() error { return m.Store.ReturnAllotment(ctx, account, replica, part) })
}

func (m *mortal) ReserveBudget(ctx context.Context, r store.BudgetReservation) error {
	return m.reached(func() error { return m.Store.ReserveBudget(ctx, r) })
}

func (m *mortal) SettleBudget(ctx context.Context, r store.BudgetReservation, used domain.Spending) error {
	return m.reached(func() error {
		err := m.Store.SettleBudget(ctx, r, used)
		if err == nil {
			m.settled.Add(used.Tokens)
		}
		return err
	})
}

func newReplica(t *testing.T, s *store.Store, daily domain.SharedBudget) *replica {
	t.Helper()
	r := &replica{id: store.ReplicaID(uuid.NewString()), store: &mortal{Store: s}}
	r.lease(t, time.Hour)
	r.Ledger = budgets.NewLedger(r.store, r.id, map[domain.TenantID]domain.SharedBudget{tenant: daily})
	r.SetClock(func() time.Time { return today.Add(12 * time.Hour) })
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { r.Run(ctx) })
	r.stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(r.stop)
	return r
}

func (r *replica) lease(t *testing.T, ttl time.Duration) {
	t.Helper()
	if err := r.store.Heartbeat(context.Background(), r.id, ttl); err != nil {
		t.Fatal(err)
	}
}

// dies as a kill would: nothing is returned.
func (r *replica) dies(t *testing.T) {
	t.Helper()
	r.store.dead.Store(true)
	r.stop()
	r.lease(t, 0)
}

// acquires returns the epoch of the next driver of an execution.
func (r *replica) acquires(t *testing.T, id domain.ExecutionID) int64 {
	t.Helper()
	if err := r.store.ReleaseExecution(t.Context(), id, 1); err != nil {
		t.Fatal(err)
	}
	claimed, err := r.store.AcquireNow(t.Context(), r.id, []domain.ExecutionID{id})
	if err != nil || len(claimed) != 1 {
		t.Fatal(claimed, err)
	}
	return claimed[0].Epoch
}

// creates returns a driver of a new execution.
func (r *replica) creates(t *testing.T) budgets.Holder {
	t.Helper()
	id := domain.ExecutionID(uuid.Must(uuid.NewV7()).String())
	created := domain.NewEvent(id, domain.ExecutionCreated{Status: domain.StatusQueued})
	created.Time = time.Now()
	results, err := r.store.Commit(context.Background(), []store.Change{{
		Execution: id, Epoch: 1, Events: []domain.Event{created},
		Create: &store.Creation{Owner: r.id, Execution: domain.Execution{
			ID: id, Tenant: tenant, Status: domain.StatusQueued, Created: created.Time, Request: domain.Request{Source: domain.Source{Type: domain.SourceInternal}},
		}},
	}})
	if err != nil || results[0].Err != nil {
		t.Fatal(err, results)
	}
	return budgets.Holder{Tenant: tenant, Execution: id, Epoch: 1}
}

func usage(tokens int64) domain.Usage { return domain.Usage{TotalTokens: &tokens} }

// onBoth runs a test with the stores of two replicas.
func onBoth(t *testing.T, test func(t *testing.T, stores []*store.Store)) {
	t.Helper()
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) { t.Parallel(); test(t, storetest.SQLiteReplicas(t, 2)) })
	t.Run("Postgres", func(t *testing.T) { t.Parallel(); test(t, storetest.PostgresReplicas(t, 2)) })
}

// spender is an execution that asks its model again and again, until it is refused.
type spender struct {
	budgets.Holder
	newest int64 // tokens of the newest request
}

// spend asks until the budget is spent, or until its server dies in the middle of a request.
func (s *spender) spend(r *replica) error {
	for {
		estimate := 1 + rand.Int64N(60)
		reservation, err := r.Reserve(context.Background(), s.Holder, domain.Estimate{Tokens: estimate})
		if err == nil {
			time.Sleep(rand.N(3 * time.Millisecond)) // a model takes its time
		}
		switch {
		case r.store.dead.Load() || errors.Is(err, domain.ErrBudgetSpent) || errors.Is(err, domain.ErrTreeBudgetSpent):
			return nil
		case err != nil:
			return err
		}
		s.newest = rand.Int64N(2 * estimate)
		reservation.Settle(usage(s.newest), true)
	}
}

// TestABudgetIsSpentAndNotMuchMore: executions race on two replicas, one of which dies in the middle. All of the budget is used, and each execution goes beyond
// it by its newest request at most. What the ledger knows is what was used, to the token.
func TestABudgetIsSpentAndNotMuchMore(t *testing.T) {
	onBoth(t, func(t *testing.T, stores []*store.Store) {
		const limit = 8000
		shared := domain.SharedBudget{Tokens: limit}
		t.Run("a day", func(t *testing.T) {
			race(t, stores, limit, shared, budgets.Holder{}, today.Format(time.DateOnly)+" acme")
		})
		t.Run("a tree", func(t *testing.T) {
			root := domain.ExecutionID(uuid.NewString())
			race(t, stores, limit, domain.SharedBudget{}, budgets.Holder{Root: root, Tree: shared}, store.AccountOfTree(root))
		})
	})
}

// race has executions of a tree, if it is one, use up an account of so many tokens.
func race(t *testing.T, stores []*store.Store, limit int64, daily domain.SharedBudget, tree budgets.Holder, name string) {
	dying, surviving := newReplica(t, stores[0], daily), newReplica(t, stores[1], daily)
	of := func(r *replica) budgets.Holder {
		holder := r.creates(t)
		holder.Root, holder.Tree = tree.Root, tree.Tree
		return holder
	}
	var all, orphans []*spender
	var onDying, onSurviving sync.WaitGroup
	run := func(s *spender, r *replica, running *sync.WaitGroup) {
		running.Go(func() {
			if err := s.spend(r); err != nil && !r.store.dead.Load() {
				t.Error(err)
			}
		})
	}
	for range 5 {
		here, there := &spender{Holder: of(surviving)}, &spender{Holder: of(dying)}
		all, orphans = append(all, here, there), append(orphans, there)
		run(here, surviving, &onSurviving)
		run(there, dying, &onDying)
	}
	time.Sleep(50 * time.Millisecond) // it may die anywhere
	dying.dies(t)
	onDying.Wait()
	for _, orphan := range orphans {
		orphan.Epoch = surviving.acquires(t, orphan.Execution)
		if err := surviving.Release(t.Context(), orphan.Holder); err != nil {
			t.Fatal(err)
		}
		run(orphan, surviving, &onSurviving)
	}
	onSurviving.Wait()
	surviving.stop()

	used, most := dying.store.settled.Load()+surviving.store.settled.Load(), int64(0)
	for _, s := range all {
		most += s.newest
	}
	if used < limit || used > limit+most {
		t.Errorf("%d tokens of %d were used, and the newest requests have used %d", used, limit, most)
	}
	surviving.knows(t, name, used)
}

// knows expects that an account has handed out so many tokens.
func (r *replica) knows(t *testing.T, name string, tokens int64) {
	t.Helper()
	account := store.BudgetAccount{Name: name, Limit: domain.Spending{Tokens: tokens}}
	atMost, err := r.store.BudgetLeft(t.Context(), account)
	account.Limit.Tokens++
	atLeast, err2 := r.store.BudgetLeft(t.Context(), account)
	if err := errors.Join(err, err2); err != nil || atMost || !atLeast {
		t.Errorf("the ledger does not know that %d tokens were used: %v", tokens, err)
	}
}

// TestATreeOnADayThatIsSpent: a request needs something of both, and what it has reserved of one goes back if the other has nothing left. The share of an external agent is
// a part of the smaller one.
func TestATreeOnADayThatIsSpent(t *testing.T) {
	onFakeTime(t, func(t *testing.T, one, two *replica) {
		child, other := one.creates(t), one.creates(t)
		child.Root, child.Tree = other.Execution, domain.SharedBudget{Tokens: 100}
		if share, shared := one.Share(child); !shared || share.Tokens != 7 {
			t.Errorf("the share is %+v", share)
		}
		one.reserve(t, child, 60).Settle(usage(50), true)
		one.reserve(t, other, 1600).Settle(usage(1600), true)
		if _, err := one.Reserve(t.Context(), child, domain.Estimate{Tokens: 10}); !errors.Is(err, domain.ErrBudgetSpent) {
			t.Error(err)
		}
		one.stop()
		two.knows(t, store.AccountOfTree(child.Root), 50)

		child.Epoch = two.acquires(t, child.Execution)
		child.Tenant = "without a budget"
		two.reserve(t, child, 50).Settle(usage(50), true)
		if _, err := two.Reserve(t.Context(), child, domain.Estimate{Tokens: 10}); !errors.Is(err, domain.ErrTreeBudgetSpent) || domain.CodeOf(err) != domain.CodeLimitReached {
			t.Error(err)
		}
		child.Tree = domain.SharedBudget{Cost: 1}
		if _, err := two.Reserve(t.Context(), child, domain.Estimate{Tokens: 10}); !errors.Is(err, domain.ErrCostUnknown) {
			t.Error(err)
		}
	})
}

// onFakeTime runs a test in which no time passes while anybody works.
func onFakeTime(t *testing.T, test func(t *testing.T, one, two *replica)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := storetest.SQLite(t)
		one, two := newReplica(t, s, domain.SharedBudget{Tokens: 1600}), newReplica(t, s, domain.SharedBudget{Tokens: 1600})
		defer one.stop() // in the bubble
		defer two.stop()
		test(t, one, two)
	})
}

func (r *replica) reserve(t *testing.T, by budgets.Holder, tokens int64) domain.Reservation {
	t.Helper()
	reserved, err := r.Reserve(t.Context(), by, domain.Estimate{Tokens: tokens})
	if err != nil {
		t.Fatal(err)
	}
	return reserved
}

// TestARequestWaitsForOthers: what others have reserved is most often more than they use.
func TestARequestWaitsForOthers(t *testing.T) {
	onFakeTime(t, func(t *testing.T, one, two *replica) {
		first, here, there := one.creates(t), one.creates(t), two.creates(t)
		reserved := one.reserve(t, first, 1600)
		if err := two.Check(t.Context(), tenant); err != nil {
			t.Errorf("nothing is used, and nothing may begin: %v", err)
		}
		begun := time.Now()
		time.AfterFunc(10*time.Second, func() { reserved.Settle(usage(100), true) })
		one.reserve(t, here, 500).Settle(usage(100), true)
		if waited := time.Since(begun); waited < 10*time.Second || waited > 11*time.Second {
			t.Errorf("it waited for %s", waited)
		}
		two.reserve(t, there, 1300).Settle(usage(1300), true) // the other replica has returned what it does not need
		if waited := time.Since(begun); waited > 15*time.Second {
			t.Errorf("the other replica waited for %s", waited)
		}

		last := two.reserve(t, there, 100)
		begun = time.Now()
		_, err := one.Reserve(t.Context(), here, domain.Estimate{Tokens: 1})
		if waited := time.Since(begun); domain.CodeOf(err) != domain.CodeDailyBudgetSpent || !errors.Is(err, domain.ErrBudgetSpent) || waited < 30*time.Second {
			t.Errorf("after %s: %v", waited, err)
		}
		last.Settle(usage(250), true)
		begun = time.Now()
		_, err = one.Reserve(t.Context(), here, domain.Estimate{Tokens: 1})
		if waited := time.Since(begun); !errors.Is(err, domain.ErrBudgetSpent) || waited > 5*time.Second {
			t.Errorf("nothing can come back, and it waited for %s: %v", waited, err)
		}
	})
}

// TestMidnight: the next day has a budget of its own, and what was reserved before is settled with the day before.
func TestMidnight(t *testing.T) {
	onFakeTime(t, func(t *testing.T, one, two *replica) {
		by := one.creates(t)
		early, late := one.reserve(t, by, 800), one.reserve(t, by, 800)
		at := today.Add(24*time.Hour - 90*time.Second)
		for _, r := range []*replica{one, two} {
			r.SetClock(func() time.Time { return at })
		}
		early.Settle(usage(1600), true)
		var refused *domain.Error
		if err := two.Check(t.Context(), tenant); !errors.As(err, &refused) || refused.RetryAfter != 90*time.Second {
			t.Errorf("%+v", refused)
		}
		at = today.Add(24 * time.Hour)
		if err := two.Check(t.Context(), tenant); err != nil {
			t.Errorf("after midnight: %v", err)
		}
		late.Settle(usage(500), true)
		two.reserve(t, two.creates(t), 1600).Settle(usage(1600), true)
		if err := one.Check(t.Context(), tenant); domain.CodeOf(err) != domain.CodeDailyBudgetSpent {
			t.Errorf("the second day is spent: %v", err)
		}
	})
}

// TestALostLease: a replica that lives on after its lease does not give out what others have reclaimed.
func TestALostLease(t *testing.T) {
	onFakeTime(t, func(t *testing.T, one, two *replica) {
		early, late, there := one.creates(t), one.creates(t), two.creates(t)
		reserved := one.reserve(t, early, 50) // of an allotment of 100
		one.lease(t, 0)
		all := two.reserve(t, there, 1550) // all but what is reserved
		one.lease(t, time.Hour)
		begun := time.Now()
		time.AfterFunc(5*time.Second, func() { reserved.Settle(usage(30), true) })
		one.reserve(t, late, 20).Settle(usage(20), true)
		if waited := time.Since(begun); waited < 5*time.Second || waited > 6*time.Second {
			t.Errorf("it waited for %s", waited)
		}
		all.Settle(usage(1550), true)
		if err := one.Check(t.Context(), tenant); domain.CodeOf(err) != domain.CodeDailyBudgetSpent {
			t.Errorf("1600 tokens are used: %v", err)
		}
	})
}

// TestADatabaseThatIsAway costs a reservation time, and a settlement nothing.
func TestADatabaseThatIsAway(t *testing.T) {
	onFakeTime(t, func(t *testing.T, one, two *replica) {
		by := one.creates(t)
		one.store.away.Store(true)
		time.AfterFunc(20*time.Second, func() { one.store.away.Store(false) })
		begun := time.Now()
		reserved := one.reserve(t, by, 1600)
		if waited := time.Since(begun); waited < 20*time.Second || waited > 22*time.Second {
			t.Errorf("it waited for %s", waited)
		}
		one.store.away.Store(true)
		reserved.Settle(usage(400), true)
		one.store.away.Store(false)
		time.Sleep(5 * time.Second)
		two.reserve(t, two.creates(t), 1200).Settle(usage(1200), true)
		if err := two.Check(t.Context(), tenant); domain.CodeOf(err) != domain.CodeDailyBudgetSpent {
			t.Errorf("1600 tokens are used: %v", err)
		}
	})
}

// TestMoney is counted beside the tokens: what costs nothing is let through, and what costs something ends the day.
func TestMoney(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(t, storetest.SQLite(t), domain.SharedBudget{Tokens: 1_000_000, Cost: 0.000_000_1})
		defer r.stop()
		by := r.creates(t)
		ask := func(cost *float64) (domain.Reservation, error) {
			return r.Reserve(t.Context(), by, domain.Estimate{Tokens: 10, Cost: cost})
		}
		for range 300 { // a hundred nanos are there
			free, err := ask(new(0.0))
			if err != nil {
				t.Fatal(err)
			}
			free.Settle(domain.Usage{TotalTokens: new(int64(10)), Cost: new(0.0)}, true)
		}
		if _, err := ask(nil); !errors.Is(err, domain.ErrCostUnknown) || domain.CodeOf(err) != domain.CodeLimitReached {
			t.Errorf("unknown: %v", err)
		}
		broken, err := ask(new(0.000_000_09))
		if err != nil {
			t.Fatal(err)
		}
		broken.Settle(domain.Usage{}, false) // it was not charged
		silent, err := ask(new(0.000_000_09))
		if err != nil {
			t.Fatal(err)
		}
		silent.Settle(domain.Usage{}, true) // it was, and nobody knows how much
		last, err := ask(new(0.000_001))
		if err != nil {
			t.Fatal(err)
		}
		last.Settle(domain.Usage{TotalTokens: new(int64(1)), Cost: new(0.000_000_01)}, true)
		if err := r.Check(t.Context(), tenant); domain.CodeOf(err) != domain.CodeDailyBudgetSpent {
			t.Errorf("the money is spent: %v", err)
		}
	})
}
