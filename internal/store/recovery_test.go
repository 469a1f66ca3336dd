package store_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// onBothWith runs a test on two stores of one database, of each engine, with a delay before each recovery.
func onBothWith(t *testing.T, delay func(recoveries int) time.Duration, test func(t *testing.T, s, other *store.Store)) {
	for name, config := range map[string]func(t *testing.T) store.Config{
		"SQLite":   func(t *testing.T) store.Config { return store.Config{Path: filepath.Join(t.TempDir(), "signoff.db")} },
		"Postgres": func(t *testing.T) store.Config { return store.Config{DatabaseURL: storetest.Postgres(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := config(t)
			config.RecoveryDelay = delay
			test(t, storetest.Open(t, config), storetest.Open(t, config))
		})
	}
}

// lose has replica drive an execution and die.
func lose(t *testing.T, s *store.Store, replica store.ReplicaID) {
	t.Helper()
	if err := s.Heartbeat(t.Context(), replica, -time.Second); err != nil {
		t.Fatal(err)
	}
}

// claim is what a replica with a good lease gets.
func claim(t *testing.T, s *store.Store, replica store.ReplicaID) []store.Acquired {
	t.Helper()
	if err := s.Heartbeat(t.Context(), replica, time.Hour); err != nil {
		t.Fatal(err)
	}
	claimed, err := s.Acquire(t.Context(), replica, 10)
	if err != nil {
		t.Fatal(err)
	}
	return claimed
}

// TestLostExecutionsRest: what was lost with its driver is counted and rests, for every replica. Whoever writes to it ends that, and is
// no progress; what gets on begins anew.
func TestLostExecutionsRest(t *testing.T) {
	var mu sync.Mutex
	asked := map[string][]int{}
	counted := func(name string) func(int) time.Duration {
		return func(recoveries int) time.Duration {
			mu.Lock()
			defer mu.Unlock()
			asked[name] = append(asked[name], recoveries)
			return time.Hour
		}
	}
	onBothWith(t, func(n int) time.Duration { return counted("all")(n) }, func(t *testing.T, s, other *store.Store) {
		create(t, s, "x")
		for recovery := 1; recovery <= 3; recovery++ {
			live := store.ReplicaID(fmt.Sprint("live", recovery))
			for _, replica := range []*store.Store{s, other, s} { // the delay is a row: it is counted once, and for all
				if claimed := claim(t, replica, live); len(claimed) != 0 {
					t.Fatalf("claimed before the recovery %d: %+v", recovery, claimed)
				}
			}
			if claimed, err := s.AcquireNow(t.Context(), live, []domain.ExecutionID{"x"}); err != nil || len(claimed) != 0 {
				t.Errorf("nobody has written to it: %+v, %v", claimed, err)
			}
			if _, parked, err := s.Undriven(t.Context()); err != nil || parked != 1 {
				t.Errorf("%d parked, %v", parked, err)
			}
			resting, err := other.Execution(t.Context(), domain.DefaultTenant, "x")
			if at := resting.RecoversAt; err != nil || at == nil || time.Until(*at).Round(time.Hour) != time.Hour {
				t.Errorf("the recovery %d is at %v, %v", recovery, at, err)
			}
			commit(t, other, store.Change{Execution: "x", Notify: true})
			claimed := claim(t, s, live)
			if len(claimed) != 1 || claimed[0].Execution.Recovery != recovery || claimed[0].Epoch != int64(recovery+1) {
				t.Fatalf("recovery %d: %+v", recovery, claimed)
			}
			if at := claimed[0].Execution.RecoversAt; at != nil {
				t.Errorf("somebody drives it, and it is recovered at %v", at)
			}
			if recovery < 3 {
				lose(t, s, live)
			}
		}
		commit(t, s, store.Change{Execution: "x", Epoch: 4, Progress: true})
		lose(t, s, "live3")
		claim(t, s, "next")
		if e, err := s.Execution(t.Context(), domain.DefaultTenant, "x"); err != nil || e.Recovery != 1 {
			t.Errorf("after progress it is recovery %d, %v", e.Recovery, err)
		}
	})
	t.Cleanup(func() {
		slices.Sort(asked["all"])
		if want := []int{1, 1, 1, 1, 2, 2, 3, 3}; !slices.Equal(asked["all"], want) {
			t.Errorf("the delay was asked for with %v, want %v", asked["all"], want)
		}
	})
}

// TestLostExecutionsComeBack: after its delay a lost execution is claimed like any other that nobody drives. What was let go in good
// order does not rest, and is no recovery.
func TestLostExecutionsComeBack(t *testing.T) {
	onBothWith(t, func(int) time.Duration { return 300 * time.Millisecond }, func(t *testing.T, s, _ *store.Store) {
		create(t, s, "x")
		if claimed := claim(t, s, "two"); len(claimed) != 0 {
			t.Fatalf("it does not rest: %+v", claimed)
		}
		var claimed []store.Acquired
		for end := time.Now().Add(time.Minute); len(claimed) == 0; time.Sleep(20 * time.Millisecond) {
			if claimed = claim(t, s, "two"); time.Now().After(end) {
				t.Fatal("it does not come back")
			}
		}
		if err := s.Release(t.Context(), "two"); err != nil {
			t.Fatal(err)
		}
		if claimed = claim(t, s, "three"); len(claimed) != 1 || claimed[0].Execution.Recovery != 1 {
			t.Errorf("what was let go rests, or counts: %+v", claimed)
		}
	})
}
