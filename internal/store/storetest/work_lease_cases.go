package storetest

import (
	"sync"
	"sync/atomic"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
)

func workIsClaimed(w *world) {
	claim := func(work string, by store.ReplicaID, ttl time.Duration) bool {
		w.Helper()
		return ok(w.s.ClaimWork(w.ctx, work, by, ttl))(w)
	}
	if !claim("a", "one", time.Hour) || claim("a", "two", time.Hour) || !claim("b", "two", time.Hour) {
		w.Error("the first replica has a piece of work, and the other has it not")
	}
	if !claim("a", "one", time.Hour) {
		w.Error("a replica cannot prolong its claim")
	}
	w.must(w.s.ReleaseWork(w.ctx, "a", "two"))
	if claim("a", "two", time.Hour) {
		w.Error("a replica has released the claim of another")
	}
	w.must(w.s.ReleaseWork(w.ctx, "a", "one"))
	if !claim("a", "two", 0) || !claim("a", "one", time.Hour) {
		w.Error("a claim outlives its release or its time")
	}
}

func workIsClaimedOnce(w *world) {
	var claimed atomic.Int64
	var all sync.WaitGroup
	for _, by := range []store.ReplicaID{"one", "two", "three", "four"} {
		all.Go(func() {
			if is, err := w.s.ClaimWork(w.ctx, "a", by, time.Hour); err != nil {
				w.Error(err)
			} else if is {
				claimed.Add(1)
			}
		})
	}
	all.Wait()
	if claimed.Load() != 1 {
		w.Errorf("%d replicas have it", claimed.Load())
	}
}

func aDeletedExecutionIsThereUntilItsRowsAreGone(w *world) {
	id := w.create()
	there := func() bool {
		w.Helper()
		return ok(w.s.HasExecution(w.ctx, id))(w)
	}
	if !there() || ok(w.s.HasExecution(w.ctx, "nobody"))(w) {
		w.Error("only the execution is there")
	}
	w.accepted(store.Change{Execution: id, Epoch: 1, Update: &store.Update{Status: domain.StatusCancelled}})
	w.must(w.s.Delete(w.ctx, tenant, id, record("execution.deleted")))
	if !there() {
		w.Error("it has gone with the deletion, and its rows are left")
	}
	for removal := store.RemovalPortion; removal != store.RemovalComplete; {
		removal = ok(w.s.Remove(w.ctx, id))(w)
	}
	if there() {
		w.Error("it is still there")
	}
}
