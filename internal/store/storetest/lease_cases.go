package storetest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
)

func acquirers(w *world) {
	const executions, claimers = 200, 8
	ids := w.createMany(executions) // of replica "one", which never had a lease
	for i := range claimers {
		w.heartbeat(replicaName(i))
	}
	all := atOnce(claimers, func(i int) (mine []domain.ExecutionID) {
		for empty := 0; empty < 3; { // an empty hand may mean that the others hold all locks
			claimed, err := w.replicas[i%2].Acquire(w.ctx, replicaName(i), 1+i)
			if err != nil {
				w.Error(err)
				return mine
			}
			if len(claimed) == 0 {
				empty++
			}
			for _, c := range claimed {
				if c.Epoch != 2 || c.Execution.Recovery != 1 {
					w.Errorf("%s: epoch %d, recovery %d", c.Execution.ID, c.Epoch, c.Execution.Recovery)
				}
				mine = append(mine, c.Execution.ID)
			}
		}
		return mine
	})
	got := slices.Concat(all...)
	if !slices.Equal(sorted(got), sorted(ids)) {
		w.Errorf("%d claims of %d executions, %d of them different", len(got), executions, len(slices.Compact(sorted(got))))
	}
	for i, mine := range all {
		for _, id := range mine {
			if head, err := w.s.Head(w.ctx, id); err != nil || head.Owner != replicaName(i) || head.Epoch != 2 {
				w.Errorf("%+v is not of %s: %v", head, replicaName(i), err)
			}
		}
	}
}

const leaseOfAcquirerCounts = 400 * time.Millisecond

func acquireCounts(w *world) {
	id := w.create()
	for round := 1; round <= 3; round++ {
		replica := store.ReplicaID(fmt.Sprint("two", round))
		w.must(w.s.Heartbeat(w.ctx, replica, leaseOfAcquirerCounts))
		claimed := ok(w.s.Acquire(w.ctx, replica, 1))(w)
		if len(claimed) != 1 || claimed[0].Epoch != int64(round+1) || claimed[0].Execution.Recovery != round ||
			claimed[0].Execution.ID != id || claimed[0].Execution.Request.Prompt != "hello" {
			w.Fatalf("round %d: %+v", round, claimed)
		}
		w.refused(w.s.ReleaseExecution(w.ctx, id, int64(round)), domain.CodeStale)
		w.accepted(said(id, int64(round+1), 1)) // no progress
		time.Sleep(leaseOfAcquirerCounts)       // it dies with the execution in its hands
	}
	w.must(w.s.ReleaseExecution(w.ctx, id, 4))
	w.refused(w.s.ReleaseExecution(w.ctx, id, 4), domain.CodeStale) // nobody owns it
	w.heartbeat("five")
	if claimed, err := w.s.Acquire(w.ctx, "five", 1); err != nil || len(claimed) != 1 || claimed[0].Execution.Recovery != 3 {
		w.Errorf("what was let go in good order counts: %+v, %v", claimed, err)
	}
	w.accepted(store.Change{Execution: id, Epoch: 5, Progress: true})
	if e, err := w.s.Execution(w.ctx, tenant, id); err != nil || e.Recovery != 0 {
		w.Errorf("after progress: %d, %v", e.Recovery, err)
	}
	w.refused(w.s.ReleaseExecution(w.ctx, domain.ExecutionID(newID()), 1), domain.CodeStale)
}

func owned(w *world) {
	w.heartbeat("one")
	w.heartbeat("two")
	ids := w.createMany(3) // of one
	w.accepted(ending(ids[2], 1))
	one := ok(w.s.Owned(w.ctx, "one"))(w)
	if !maps.Equal(one, map[domain.ExecutionID]int64{ids[0]: 1, ids[1]: 1}) {
		w.Errorf("%v", one)
	}
	w.must(w.s.Heartbeat(w.ctx, "one", 0))
	claimed := ok(w.s.Acquire(w.ctx, "two", 1))(w)
	two := ok(w.s.Owned(w.ctx, "two"))(w)
	if len(claimed) != 1 || !maps.Equal(two, map[domain.ExecutionID]int64{claimed[0].Execution.ID: 2}) {
		w.Errorf("%v of %v", two, claimed)
	}
	if one, err := w.s.Owned(w.ctx, "one"); err != nil || len(one) != 0 { // what the other one has no room for is nobody's
		w.Errorf("%v, %v", one, err)
	}
}

func heartbeats(w *world) {
	id := w.create()
	w.heartbeat("one")
	w.heartbeat("two")
	if claimed, err := w.s.Acquire(w.ctx, "two", 10); err != nil || len(claimed) != 0 {
		w.Fatalf("claimed from the living: %v, %v", claimed, err)
	}
	w.must(w.s.Heartbeat(w.ctx, "one", 0)) // over at once
	claimed := ok(w.s.Acquire(w.ctx, "two", 10))(w)
	if len(claimed) != 1 || claimed[0].Execution.ID != id {
		w.Fatalf("the lease was over: %v", claimed)
	}
	w.heartbeat("one") // too late
	w.refused(w.commit(said(id, 1, 1)).Err, domain.CodeStale)
	if claimed, err := w.s.Acquire(w.ctx, "one", 10); err != nil || len(claimed) != 0 {
		w.Errorf("claimed from the living: %v, %v", claimed, err)
	}
}

func acquireWithoutLease(w *world) {
	w.create()
	if claimed, err := w.s.Acquire(w.ctx, "nobody", 10); err != nil || len(claimed) != 0 {
		w.Errorf("%v, %v", claimed, err)
	}
	w.must(w.s.Heartbeat(w.ctx, "late", -time.Second))
	if claimed, err := w.s.Acquire(w.ctx, "late", 10); err != nil || len(claimed) != 0 {
		w.Errorf("%v, %v", claimed, err)
	}
}

func release(w *world) {
	w.heartbeat("one")
	w.heartbeat("two")
	ids := w.createMany(5)
	w.accepted(ending(ids[4], 1))
	w.must(w.s.Release(w.ctx, "one"))
	claimed := ok(w.s.Acquire(w.ctx, "two", 3))(w)
	if len(claimed) != 3 {
		w.Fatalf("%d claimed", len(claimed))
	}
	rest := ok(w.s.Acquire(w.ctx, "two", 10))(w)
	if len(rest) != 1 {
		w.Fatalf("%d claimed", len(rest))
	}
	head := ok(w.s.Head(w.ctx, ids[4]))(w)
	if head.Epoch != 1 {
		w.Errorf("the ended one: %+v", head)
	}
	w.must(w.s.Release(w.ctx, "nobody"))

	w.must(w.s.ForgetReplicas(w.ctx))
	w.heartbeat("three")
	claimed = ok(w.s.Acquire(w.ctx, "three", 10))(w)
	if want := map[bool]int{true: 0, false: 4}[w.s.Shared()]; len(claimed) != want {
		w.Errorf("after ForgetReplicas %d could be claimed, want %d", len(claimed), want)
	}
}
