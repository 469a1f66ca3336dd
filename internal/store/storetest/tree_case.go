package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// randomTrees has many writers on two replicas delegate, rest, take results, end and delete at once. What they were told is what is there: no child
// without its root, no event, rest or taking lost, and nothing of what was refused.
func randomTrees(w *world) {
	const rounds, writers, steps = 2, 6, 20
	for range rounds {
		seed := rand.Uint64()
		f := &forest{world: w, events: map[domain.ExecutionID]int{}, rests: map[domain.ExecutionID]int{}, taken: map[domain.ExecutionID]int{}}
		for range 2 {
			c := creation(domain.ExecutionID(newID()))
			w.accepted(c)
			f.grown(c)
		}
		roots := slices.Clone(f.there)
		errs := atOnce(writers, func(i int) error {
			dice := rand.New(rand.NewPCG(seed, uint64(i)))
			for range steps {
				if err := f.step(w.replicas[i%2], dice); err != nil {
					return err
				}
			}
			return nil
		})
		for _, err := range errs {
			if err != nil {
				w.Fatalf("seed %d: %v", seed, err)
			}
		}
		for _, root := range roots {
			f.check(root)
			f.end(root)
		}
		f.remove()
	}
}

// forest is what the writers were told.
type forest struct {
	*world
	mu      sync.Mutex
	there   []domain.Execution
	refused []domain.ExecutionID // creations
	events  map[domain.ExecutionID]int
	rests   map[domain.ExecutionID]int
	taken   map[domain.ExecutionID]int // of each child the newest
}

// grown notes a creation that was written.
func (f *forest) grown(c store.Change) {
	f.there = append(f.there, c.Create.Execution)
	f.events[c.Execution] += len(c.Events)
}

// step writes one or two changes in a batch, or deletes a tree.
func (f *forest) step(s *store.Store, dice *rand.Rand) error {
	if dice.IntN(60) == 0 {
		return s.Delete(f.ctx, tenant, f.one(dice).Root(), record("execution.deleted"))
	}
	batch := []store.Change{f.change(dice)}
	if more := f.change(dice); !meet(batch[0], more) {
		batch = append(batch, more)
	}
	results, err := s.Commit(f.ctx, batch)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range batch {
		if err := f.told(batch[i], results[i]); err != nil {
			return err
		}
	}
	return nil
}

func (f *forest) one(dice *rand.Rand) domain.Execution {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.there[dice.IntN(len(f.there))]
}

// change is one that a driver writes, with what is linked to it.
func (f *forest) change(dice *rand.Rand) store.Change {
	e := f.one(dice)
	parent := e.Request.Parent
	switch kind := dice.IntN(10); {
	case kind < 4 && (parent == nil || parent.Depth < domain.MaxDelegationDepth):
		c := linking(e.ID, childBelow(e))
		if kind == 0 {
			c.Linked = append(c.Linked, childBelow(e))
		}
		if parent != nil {
			c.Linked = append(c.Linked, quiet(said(e.Root(), 0, 1)))
		}
		return c
	case kind < 7 && parent != nil:
		status := domain.StatusIdle
		if kind == 4 {
			status = domain.StatusCompleted
		}
		c := resting(e.ID, status, "x")
		c.Linked = []store.Change{ifLive(said(parent.Execution, 0, 1))}
		return c
	case kind == 7 && parent == nil && dice.IntN(5) == 0:
		c := ending(e.ID, 1)
		for _, other := range f.below(e.ID) {
			c.Linked = append(c.Linked, ifLive(store.Change{Execution: other.ID, Cancel: &store.CancelRequest{}}))
		}
		return c
	case kind == 8 && parent != nil:
		return prompted(e.ID, domain.WhenBusyEnqueue, "")
	default:
		c := said(e.ID, 1, 1)
		c.Taken = map[domain.ExecutionID]int{}
		for _, other := range f.below(e.ID) {
			c.Taken[other.ID] = 1 + dice.IntN(5) // also of children of its children, which is to do nothing
		}
		return c
	}
}

// below are the executions that an execution is above of, as far as the writers were told.
func (f *forest) below(id domain.ExecutionID) (all []domain.Execution) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.there {
		if parent := e.Request.Parent; parent != nil && slices.ContainsFunc(parent.Ancestors, func(a domain.Ancestor) bool { return a.Execution == id }) {
			all = append(all, e)
		}
	}
	return all
}

func quiet(c store.Change) store.Change {
	c.Quiet = true
	return c
}

// meet reports whether two changes write to one execution.
func meet(a, b store.Change) bool {
	writes := func(c store.Change) (all []domain.ExecutionID) {
		for _, linked := range append(c.Linked, c) {
			all = append(all, linked.Execution)
		}
		return all
	}
	return slices.ContainsFunc(writes(a), func(id domain.ExecutionID) bool { return slices.Contains(writes(b), id) })
}

// told notes what became of a change.
func (f *forest) told(c store.Change, result store.Result) error {
	if err := result.Err; err != nil && !slices.Contains([]domain.Code{
		domain.CodeStale, domain.CodeConflict, domain.CodeExecutionEnded, domain.CodeTooMany, domain.CodeBusy,
	}, domain.CodeOf(err)) {
		return fmt.Errorf("%+v: %w", c, err)
	}
	for i, linked := range c.Linked {
		written := result.Linked[i].Err == nil
		switch {
		case written && result.Err != nil, !written && result.Err == nil && !linked.IfLive:
			return fmt.Errorf("linked change %d of %+v: %+v", i, c, result)
		case linked.Create != nil && written:
			f.grown(linked)
		case linked.Create != nil:
			f.refused = append(f.refused, linked.Execution)
		case written:
			f.events[linked.Execution] += len(linked.Events)
		}
	}
	if result.Err != nil {
		return nil //nolint:nilerr // the writer was refused, which is no fault
	}
	f.events[c.Execution] += len(c.Events)
	if c.Rest != nil {
		f.rests[c.Execution]++
	}
	for _, child := range f.there {
		if parent := child.Request.Parent; parent != nil && parent.Execution == c.Execution {
			f.taken[child.ID] = max(f.taken[child.ID], c.Taken[child.ID])
		}
	}
	return nil
}

// check compares a tree with what the writers were told.
func (f *forest) check(root domain.Execution) {
	head := ok(f.s.Head(f.ctx, root.ID))(f.world)
	members := append(f.below(root.ID), root)
	if below := ok(f.s.Below(f.ctx, root.ID))(f.world); len(below) != len(members)-1 || len(below) > domain.MaxTree {
		f.Errorf("%d are below the root, the writers know of %d", len(below), len(members)-1)
	}
	for _, e := range members {
		if log := f.log(e.ID); len(log) != f.events[e.ID] {
			f.Errorf("%s has %d events, %d were written", e.ID, len(log), f.events[e.ID])
		}
		if own := ok(f.s.Head(f.ctx, e.ID))(f.world); own.Deleted != head.Deleted {
			f.Errorf("%+v, and its root is %+v", own, head)
		}
		for _, child := range f.children(e.ID) {
			if child.Root != root.ID || child.Rests != f.rests[child.Execution] || child.Taken != f.taken[child.Execution] || (child.Result != nil) != (child.Rests > 0) {
				f.Errorf("%+v has rested %d times, and rest %d was taken", child, f.rests[child.Execution], f.taken[child.Execution])
			}
		}
	}
	all := f.merged(tenant, store.FeedCursor{})
	others := func(event store.FeedEvent) bool {
		return !slices.ContainsFunc(members, func(e domain.Execution) bool { return e.ID == event.Execution })
	}
	if diff := cmp.Diff(slices.DeleteFunc(all, others), f.mergedOf(root.ID, store.FeedCursor{}), cmpopts.EquateEmpty()); diff != "" {
		f.Errorf("the stream of the tree is not that part of the merged stream: %s", diff)
	}
	for _, id := range f.refused {
		_, err := f.s.Head(f.ctx, id)
		f.world.refused(err, domain.CodeNotFound)
	}
}

// end deletes a tree, and ends what lives of it.
func (f *forest) end(root domain.Execution) {
	f.must(f.s.Delete(f.ctx, tenant, root.ID, record("execution.deleted")))
	for _, e := range append(f.below(root.ID), root) {
		if head := ok(f.s.Head(f.ctx, e.ID))(f.world); !head.Terminal {
			end := ending(e.ID, 1)
			end.DiscardPrompts = f.waiting(e.ID)
			f.accepted(end)
		}
	}
}

// remove removes all trees, of which nothing is left.
func (f *forest) remove() {
	for left := 1; left > 0; {
		deleted := ok(f.s.Deleted(f.ctx, 100))(f.world)
		for _, d := range deleted {
			f.removed(d.Execution)
		}
		left = len(deleted)
	}
	for _, e := range f.there {
		_, err := f.s.Head(f.ctx, e.ID)
		f.world.refused(err, domain.CodeNotFound)
	}
}
