package storetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// merged reads the feed of a tenant from a cursor on until it has all that was written before the call, in pages of a
// random size. What another transaction of the server holds back is waited for.
func (w *world) merged(tenant domain.TenantID, after store.FeedCursor) []store.FeedEvent {
	w.Helper()
	return w.mergedBy(after, func(s *store.Store, after store.FeedCursor, limit int) (store.FeedPage, error) {
		return s.Feed(w.ctx, tenant, after, limit, math.MaxInt)
	})
}

// mergedOf is that of a tree.
func (w *world) mergedOf(root domain.ExecutionID, after store.FeedCursor) []store.FeedEvent {
	w.Helper()
	return w.mergedBy(after, func(s *store.Store, after store.FeedCursor, limit int) (store.FeedPage, error) {
		return s.FeedOfTree(w.ctx, tenant, root, after, limit, math.MaxInt)
	})
}

func (w *world) mergedBy(
	after store.FeedCursor, read func(s *store.Store, after store.FeedCursor, limit int) (store.FeedPage, error),
) (events []store.FeedEvent) {
	w.Helper()
	for {
		page := ok(read(w.replicas[rand.IntN(2)], after, 1+rand.IntN(7)))(w)
		events = append(events, page.Events...)
		switch n := len(page.Events); {
		case n > 0:
			after = page.Events[n-1].Cursor
		case !page.Later && !page.More:
			return events
		default:
			time.Sleep(time.Millisecond)
		}
	}
}

// places is where the events come from, in short: the execution and the seq of each.
func places(events []store.FeedEvent) (all []string) {
	for _, e := range events {
		all = append(all, fmt.Sprint(e.Execution, "/", e.Seq))
	}
	return all
}

func (w *world) wantPlaces(events []store.FeedEvent, want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, places(events)); diff != "" {
		w.Error(diff)
	}
}

func place(id domain.ExecutionID, seq int) string { return fmt.Sprint(id, "/", seq) }

func mergedInOrder(w *world) {
	a, b := w.create(), w.create()
	w.accepted(said(a, 1, 3))
	w.accepted(said(b, 0, 1))
	w.accepted(store.Change{Execution: b, Epoch: 1, Update: &store.Update{Turn: 1}}) // of which the feed has nothing to tell
	w.refused(w.commit(said(a, 7, 2)).Err, domain.CodeStale)
	w.accepted(said(a, 1, 1))
	all := w.merged(tenant, store.FeedCursor{})
	w.wantPlaces(all, place(a, 1), place(b, 1), place(a, 2), place(a, 3), place(a, 4), place(b, 2), place(a, 5))
	for i, event := range all {
		own := ok(w.s.Events(w.ctx, event.Execution, event.Seq-1, 1))(w)
		if diff := cmp.Diff(own[0], event.Event); diff != "" {
			w.Errorf("event %d is another one than in its log: %s", i, diff)
		}
		if rest := w.merged(tenant, event.Cursor); !cmp.Equal(rest, all[i+1:]) && len(rest)+len(all[i+1:]) > 0 {
			w.Errorf("behind event %d come %v", i, places(rest))
		}
	}
	if head, err := w.s.FeedHead(w.ctx, tenant); err != nil || head != all[len(all)-1].Cursor {
		w.Errorf("the head is %+v, %v", head, err)
	}
	first := w.accepted(said(b, 1, 2))
	w.wantPlaces(w.merged(tenant, all[len(all)-1].Cursor), place(b, int(first)-1), place(b, int(first)))
}

func mergedPagesAreBounded(w *world) {
	a, b := w.create(), w.create()
	w.accepted(said(a, 1, 40))
	w.accepted(said(b, 1, 2))
	all := w.merged(tenant, store.FeedCursor{})
	size := len(all[5].Data)
	for _, c := range []struct{ limit, bytes, want int }{
		{0, math.MaxInt, 0}, {-1, math.MaxInt, 0}, {1, 0, 1}, {10, -1, 1}, {10, size - 1, 1},
		{10, 2 * size, 2}, {10, math.MaxInt, 10}, {math.MaxInt, math.MaxInt, 41},
	} {
		page := ok(w.s.Feed(w.ctx, tenant, all[2].Cursor, c.limit, c.bytes))(w)
		w.wantPlaces(page.Events, places(all[3:3+c.want])...)
	}
}

func mergedCursors(w *world) {
	empty, err := w.s.FeedHead(w.ctx, tenant)
	if err != nil || empty != (store.FeedCursor{}) {
		w.Errorf("the head of nothing: %+v, %v", empty, err)
	}
	w.create()
	newest := w.merged(tenant, empty)[0].Cursor
	for _, c := range []store.FeedCursor{empty, newest, {Key: 1 << 62, Position: 7, Seq: 1}} {
		if back, err := store.ParseFeedCursor(c.String()); err != nil || back != c {
			w.Errorf("%+v became %+v, %v", c, back, err)
		}
	}
	for _, text := range []string{"", "0", "1.0.0.0", "MS4wLjAuMA=", "MS4wLjAuMA\n", "MS4wLjAuKzA", "MS4wLjAuLTE", "Mi4wLjAuMA", "MS4wLjA",
		"MS4wLjAuMC4w", "MS4wLjAuMHg", "MS45OTk5OTk5OTk5OTk5OTk5OTk5OTkuMC4w"} {
		if c, err := store.ParseFeedCursor(text); domain.CodeOf(err) != domain.CodeMalformed {
			w.Errorf("%q became %+v, %v", text, c, err)
		}
	}
	for _, c := range []store.FeedCursor{{Key: math.MaxInt64}, {Key: newest.Key, Position: newest.Position + 1000}} {
		_, err := w.s.Feed(w.ctx, tenant, c, 1, 1)
		w.refused(err, domain.CodeCursorBeyondHead)
	}
}

// A client that has the newest event comes back after its execution was deleted: it has seen everything, and what is
// written then must not take the place that it has seen.
func mergedWithoutDeleted(w *world) {
	kept, deleted := w.create(), w.create()
	w.accepted(ending(deleted, 1))
	all := w.merged(tenant, store.FeedCursor{})
	w.must(w.s.Delete(w.ctx, tenant, deleted, record("execution.deleted")))
	w.wantPlaces(w.merged(tenant, store.FeedCursor{}), place(kept, 1))
	w.wantPlaces(w.merged(tenant, all[1].Cursor))
	w.wantPlaces(w.merged(tenant, all[2].Cursor))
	w.accepted(said(kept, 1, 1))
	w.wantPlaces(w.merged(tenant, all[1].Cursor), place(kept, 2))
	w.wantPlaces(w.merged(tenant, all[2].Cursor), place(kept, 2))
}

func mergedPerTenant(w *world) {
	own := w.create()
	c := creation(domain.ExecutionID(newID()))
	c.Create.Execution.Tenant = "other"
	w.accepted(c)
	w.accepted(said(own, 1, 1))
	w.wantPlaces(w.merged(tenant, store.FeedCursor{}), place(own, 1), place(own, 2))
	w.wantPlaces(w.merged("other", store.FeedCursor{}), place(c.Execution, 1))
	w.wantPlaces(w.merged("nobody", store.FeedCursor{}))
	if head, err := w.s.FeedHead(w.ctx, "nobody"); err != nil || head != (store.FeedCursor{}) {
		w.Errorf("the head of nothing: %+v, %v", head, err)
	}
}

// mergedWhileWritten has eight writers with batches that overlap, on two replicas, and readers in the middle of them.
func mergedWhileWritten(w *world) {
	const writers, readers = 8, 3
	ids := w.createMany(12)
	var writing atomic.Int32
	writing.Store(writers)
	all := atOnce(writers+readers, func(i int) []store.FeedEvent {
		if i < readers {
			return w.readWhile(w.replicas[i%2], func() bool { return writing.Load() > 0 })
		}
		defer writing.Add(-1)
		w.writeRandomly(w.replicas[i%2], ids)
		return nil
	})
	total := 0
	page := ok(w.s.Executions(w.ctx, tenant, store.ExecutionFilter{Limit: 500}))(w)
	for _, e := range page.Items {
		total += len(w.log(e.ID))
	}
	for _, events := range all[:readers] {
		w.inOrder(events)
		if len(events) != total {
			w.Errorf("%d events were read, %d are written", len(events), total)
		}
	}
}

func (w *world) writeRandomly(s *store.Store, ids []domain.ExecutionID) {
	for round := range 25 {
		var changes []store.Change
		if round%5 == 0 {
			changes = append(changes, creation(domain.ExecutionID(newID())))
		}
		for _, at := range rand.Perm(len(ids))[:1+rand.IntN(4)] {
			changes = append(changes, said(ids[at], rand.Int64N(2), rand.IntN(4)))
		}
		results, err := s.Commit(w.ctx, changes)
		if err != nil {
			w.Error(err)
		}
		for _, result := range results {
			if result.Err != nil {
				w.Error(result.Err)
			}
		}
	}
}

// readWhile pages through the feed until nothing is written any more and it has everything.
func (w *world) readWhile(s *store.Store, more func() bool) (events []store.FeedEvent) {
	var after store.FeedCursor
	for {
		last := !more() // asked before reading: what is written by then is in a page or announced
		page, err := s.Feed(w.ctx, tenant, after, 1+rand.IntN(20), rand.IntN(2000))
		if err != nil {
			w.Error(err)
			return events
		}
		events = append(events, page.Events...)
		if n := len(page.Events); n > 0 {
			after = page.Events[n-1].Cursor
		} else if last && !page.Later {
			return events
		}
	}
}

// inOrder fails the test where the events of an execution are not 1, 2, 3 ….
func (w *world) inOrder(events []store.FeedEvent) {
	w.Helper()
	seen := map[domain.ExecutionID]int64{}
	for i, e := range events {
		if seen[e.Execution]++; e.Seq != seen[e.Execution] {
			w.Fatalf("of %s comes %d where %d is due", e.Execution, e.Seq, seen[e.Execution])
		}
		if i > 0 && events[i-1].Cursor.Compare(e.Cursor) >= 0 {
			w.Fatalf("%+v comes before %+v", events[i-1].Cursor, e.Cursor)
		}
	}
}
