package dispatch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// leases are those of one database, by the clock of the test.
type leases struct {
	mu     sync.Mutex
	holder store.ReplicaID
	until  time.Time
	gone   map[domain.ExecutionID]bool
	failed error
}

func (l *leases) ClaimWork(_ context.Context, _ string, by store.ReplicaID, ttl time.Duration) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil || l.holder != "" && l.holder != by && time.Now().Before(l.until) {
		return false, l.failed
	}
	l.holder, l.until = by, time.Now().Add(ttl)
	return true, nil
}

func (l *leases) ReleaseWork(_ context.Context, _ string, by store.ReplicaID) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holder == by {
		l.holder = ""
	}
	return nil
}

func (l *leases) HasExecution(_ context.Context, id domain.ExecutionID) (bool, error) {
	return !l.gone[id], nil
}

func (l *leases) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = err
}

// folder counts the prunings, which take their time.
type folder struct {
	mu       sync.Mutex
	takes    time.Duration
	begun    []time.Time
	ended    []error
	at, most int
	dropped  map[domain.ExecutionID]bool
}

func (f *folder) Prune(ctx context.Context, keep func(context.Context, domain.ExecutionID) (bool, error)) error {
	f.mu.Lock()
	f.begun = append(f.begun, time.Now())
	f.at++
	f.most = max(f.most, f.at)
	for _, id := range []domain.ExecutionID{"here", "gone"} {
		if kept, err := keep(ctx, id); err == nil && !kept {
			f.dropped[id] = true
		}
	}
	f.mu.Unlock()
	var err error
	select {
	case <-time.After(f.takes):
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at--
	f.ended = append(f.ended, err)
	return err
}

func (f *folder) prunings() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.begun)
}

func (f *folder) removed() []domain.ExecutionID {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.dropped))
}

// pruning runs pruners in a bubble of time.
func pruning(t *testing.T, takes time.Duration, replicas ...store.ReplicaID) (l *leases, f *folder, all []*Pruner) {
	t.Helper()
	l, f = &leases{gone: map[domain.ExecutionID]bool{"gone": true}}, &folder{takes: takes, dropped: map[domain.ExecutionID]bool{}}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, replica := range replicas {
		p := NewPruner(l, f, replica)
		all = append(all, p)
		running.Go(func() { p.Run(ctx) })
	}
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	return l, f, all
}

// TestCheckpointsArePrunedEachHour, and soon after executions are gone: once for all that go in a short time.
func TestCheckpointsArePrunedEachHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, f, all := pruning(t, 0, "one")
		time.Sleep(pruneSoon + time.Second)
		if dropped := f.removed(); f.prunings() != 1 || !slices.Equal(dropped, []domain.ExecutionID{"gone"}) {
			t.Errorf("after the start: %d prunings, %v dropped", f.prunings(), dropped)
		}
		time.Sleep(pruneEvery)
		if f.prunings() != 2 {
			t.Errorf("an hour later: %d prunings", f.prunings())
		}
		for range 10 {
			all[0].Removed()
			synctest.Wait()
		}
		time.Sleep(pruneSoon - 2*time.Second)
		if f.prunings() != 2 {
			t.Error("it has not waited for further removals")
		}
		time.Sleep(3 * time.Second)
		if f.prunings() != 3 {
			t.Errorf("after removals: %d prunings", f.prunings())
		}
	})
}

// TestOneReplicaPrunesAtATime, however long it takes.
func TestOneReplicaPrunesAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, f, _ := pruning(t, 3*pruneLease, "one", "two", "three")
		time.Sleep(pruneEvery)
		synctest.Wait()
		if f.most != 1 || f.prunings() < 3 {
			t.Errorf("%d at once, %d in all", f.most, f.prunings())
		}
	})
}

// TestAPruningEndsWithItsLease: when the database is away for longer than the lease, another replica may prune.
func TestAPruningEndsWithItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, f, _ := pruning(t, time.Hour, "one")
		time.Sleep(pruneSoon + time.Second)
		l.fail(errors.New("the database is away"))
		time.Sleep(pruneLease)
		synctest.Wait()
		if len(f.ended) != 1 || !errors.Is(f.ended[0], errLost) {
			t.Errorf("it ended with %v", f.ended)
		}
	})
}

// TestAPrunerHearsOfEachRemoval, when the rows of an execution are gone.
func TestAPrunerHearsOfEachRemoval(t *testing.T) {
	s := storetest.SQLite(t)
	log := events.NewLog(s)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { log.Run(ctx) })
	defer running.Wait()
	defer stop()
	removed := 0
	m := NewManager(Config{Removed: func() { removed++ }}, s, log)
	execution := domain.Execution{ID: "a", Tenant: domain.DefaultTenant, Status: domain.StatusQueued, Created: time.Now()}
	for _, change := range []store.Change{
		{Execution: "a", Epoch: 1, Create: &store.Creation{Execution: execution, Owner: "one"}},
		{Execution: "a", Epoch: 1, Update: &store.Update{Status: domain.StatusCancelled}},
	} {
		if _, err := log.Commit(ctx, change); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Delete(ctx, domain.DefaultTenant, "a", domain.Actor{}); err != nil || removed != 0 {
		t.Fatalf("it hears of the deletion, and rows are left: %d, %v", removed, err)
	}
	if _, err := m.removeDeleted(ctx); err != nil || removed != 1 {
		t.Errorf("it has heard of %d removals, %v", removed, err)
	}
}
