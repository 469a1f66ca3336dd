package storetest

import (
	"slices"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// parked is a change that lets go of an execution under epoch 1, whose bell nobody has rung.
func parked(id domain.ExecutionID, until *time.Time) store.Change {
	return store.Change{Execution: id, Epoch: 1, Park: &store.Park{Until: until}}
}

// acquire takes all that there is, and wants just these.
func (w *world) acquire(replica store.ReplicaID, want ...domain.ExecutionID) []store.Acquired {
	w.Helper()
	claimed := ok(w.s.Acquire(w.ctx, replica, 100))(w)
	w.wantAcquired(claimed, want...)
	return claimed
}

func (w *world) wantAcquired(claimed []store.Acquired, want ...domain.ExecutionID) {
	w.Helper()
	got := []domain.ExecutionID{}
	for _, c := range claimed {
		got = append(got, c.Execution.ID)
	}
	if !slices.Equal(sorted(got), sorted(want)) {
		w.Errorf("claimed %v, want %v", got, want)
	}
}

func parking(w *world) {
	w.heartbeat("two")
	id := w.create()
	if owner := w.commit(said(id, 1, 1)).Owner; owner != "one" {
		w.Errorf("it is driven by %q", owner)
	}
	w.accepted(parked(id, nil))
	w.acquire("two")
	w.refused(w.commit(said(id, 1, 1)).Err, domain.CodeStale)
	result := w.commit(store.Change{Execution: id, Notify: true})
	if result.Err != nil || result.Owner != "" {
		w.Errorf("%+v", result)
	}
	claimed := w.acquire("two", id)
	if claimed[0].Epoch != 3 || claimed[0].Execution.Recovery != 0 {
		w.Errorf("%+v", claimed[0])
	}
	w.acquire("two")
}

func parkingRefused(w *world) {
	w.heartbeat("two")
	id := w.create()
	w.accepted(store.Change{Execution: id, Notify: true})
	w.untouched(id, func() { w.refused(w.commit(parked(id, nil)).Err, domain.CodeStale) })
	head := ok(w.s.Head(w.ctx, id))(w)
	w.accepted(store.Change{Execution: id, Epoch: 1, Park: &store.Park{ForeignWrites: head.ForeignWrites}})
	w.acquire("two")
	w.accepted(store.Change{Execution: id, Cancel: &store.CancelRequest{}})
	w.acquire("two", id)
}

// Whoever writes to an execution is no progress of it: one that takes each of its drivers down would have new ones for ever.
func writesAreNoProgress(w *world) {
	w.heartbeat("two")
	id := w.create()
	if claimed := w.acquire("two", id); claimed[0].Execution.Recovery != 1 {
		w.Errorf("%+v", claimed[0])
	}
	w.accepted(store.Change{Execution: id, Notify: true})
	if e, err := w.s.Execution(w.ctx, tenant, id); err != nil || e.Recovery != 1 {
		w.Errorf("%d recoveries, %v", e.Recovery, err)
	}
}

func parkingUntil(w *world) {
	w.heartbeat("two")
	ids := w.createMany(2)
	at := ok(w.s.Now(w.ctx))(w)
	later, soon := at.Add(time.Hour), at.Add(50*time.Millisecond)
	w.accepted(parked(ids[0], &later))
	w.accepted(parked(ids[1], &soon))
	time.Sleep(time.Until(soon) + 50*time.Millisecond)
	w.acquire("two", ids[1])
}

// What a replica cannot drive it leaves to others, whoever drove it before.
func acquireExcept(w *world) {
	w.heartbeat("two")
	ids := w.createMany(3)
	w.accepted(parked(ids[0], nil))
	w.accepted(store.Change{Execution: ids[0], Notify: true})
	claimed := ok(w.s.Acquire(w.ctx, "two", 9, ids[0], ids[1]))(w)
	w.wantAcquired(claimed, ids[2])
	w.acquire("two", ids[0], ids[1])
}

func acquireNow(w *world) {
	w.heartbeat("one")
	w.heartbeat("two")
	ids := w.createMany(3)
	w.accepted(parked(ids[1], nil))
	w.accepted(parked(ids[2], nil))
	w.accepted(store.Change{Execution: ids[1], Notify: true})
	claimed, err := w.s.AcquireNow(w.ctx, "two", ids) // of one, parked and awake, and parked
	w.must(err)
	w.wantAcquired(claimed, ids[1])
}

// waiting is a change that creates an execution for which there is no room.
func waitingForRoom(t domain.TenantID) store.Change {
	c := creation(domain.ExecutionID(newID()))
	c.Create.Owner, c.Create.Queued, c.Create.Execution.Tenant = "", true, t
	return c
}

func queue(w *world) {
	w.heartbeat("two")
	var own, others []domain.ExecutionID
	for range 3 {
		c := waitingForRoom(tenant)
		w.accepted(c)
		own = append(own, c.Execution)
	}
	for range 2 {
		c := waitingForRoom("another")
		w.accepted(c)
		others = append(others, c.Execution)
	}
	w.acquire("two")
	w.waits(3, 5)
	w.positions(own, 1, 2, 3)
	if n, err := w.s.QueuePosition(w.ctx, "another", own[0]); err != nil || n != 0 {
		w.Errorf("another tenant sees it at %d: %v", n, err)
	}

	claimed := ok(w.s.AcquireQueued(w.ctx, "two", 2, 1, nil))(w)
	w.wantAcquired(claimed, own[0], others[0])
	if claimed[0].Epoch != 2 || claimed[0].Execution.Recovery != 0 {
		w.Errorf("%+v", claimed[0])
	}
	w.positions(own, 0, 1, 2)
	claimed = ok(w.s.AcquireQueued(w.ctx, "two", 9, 9, map[domain.TenantID]int{tenant: 9}))(w)
	w.wantAcquired(claimed, others[1])
	w.waits(2, 2)
	if claimed, err := w.s.AcquireQueued(w.ctx, "nobody", 9, 9, nil); err != nil || len(claimed) != 0 {
		w.Errorf("a replica without a lease gets %v, %v", claimed, err)
	}

	late := waitingForRoom("late")
	w.accepted(late)
	claimed = ok(w.s.AcquireQueued(w.ctx, "two", 1, 9, map[domain.TenantID]int{tenant: 1}))(w)
	w.wantAcquired(claimed, late.Execution) // who has one waits for who has none

	w.accepted(store.Change{Execution: own[1], Notify: true}) // does not jump the queue
	w.acquire("two")
	w.accepted(store.Change{Execution: own[1], Cancel: &store.CancelRequest{}})
	w.acquire("two", own[1])
	w.positions(own, 0, 0, 1)
	w.waits(1, 1)
}

// queueOfTrees: a tree with a long queue delays neither another tree nor a root, also if there is room for only one at a time.
func queueOfTrees(w *world) {
	w.heartbeat("one")
	w.heartbeat("two")
	long, short := w.create(), w.create()
	var many, few []domain.ExecutionID
	for range 4 {
		many = append(many, w.delegated(long))
	}
	for range 2 {
		few = append(few, w.delegated(short))
	}
	alone := waitingForRoom(tenant)
	w.accepted(alone)
	w.positions(append(slices.Concat(many, few), alone.Execution), 1, 4, 6, 7, 2, 5, 3)
	claimed := ok(w.s.AcquireQueued(w.ctx, "two", 2, 9, nil))(w)
	w.wantAcquired(claimed, many[0], few[0])
	var order []domain.ExecutionID
	for range 5 {
		w.positions(order[max(0, len(order)-1):], 0)
		claimed := ok(w.s.AcquireQueued(w.ctx, "two", 1, 9, nil))(w)
		if len(claimed) != 1 {
			w.Fatalf("%d claimed", len(claimed))
		}
		order = append(order, claimed[0].Execution.ID)
	}
	if order[0] != alone.Execution {
		w.Errorf("who has waited longest without a turn is not the first: %v", order)
	}
	if want := []domain.ExecutionID{many[1], few[1], many[2], many[3]}; !slices.Equal(order[1:], want) {
		w.Errorf("the order is %v, want %v", order[1:], want)
	}
	w.waits(0, 0)
}

func (w *world) waits(own, all int) {
	w.Helper()
	if gotOwn, gotAll, err := w.s.Waiting(w.ctx, tenant); err != nil || gotOwn != own || gotAll != all {
		w.Errorf("%d and %d wait, want %d and %d: %v", gotOwn, gotAll, own, all, err)
	}
}

func (w *world) positions(ids []domain.ExecutionID, want ...int) {
	w.Helper()
	for i, id := range ids {
		if n, err := w.s.QueuePosition(w.ctx, tenant, id); err != nil || n != want[i] {
			w.Errorf("%d is at %d, want %d: %v", i, n, want[i], err)
		}
	}
}
