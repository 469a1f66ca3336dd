package storetest

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// traced is a change with n raw messages and nothing else.
func traced(id domain.ExecutionID, n int, message string) store.Change {
	c := store.Change{Execution: id, Epoch: 1}
	for range n {
		c.Debug = append(c.Debug, domain.DebugMessage{N: 77, Time: now(), Direction: domain.ToAgent, Message: message, Bytes: len(message)})
	}
	return c
}

func (w *world) feed(id domain.ExecutionID) []domain.DebugMessage {
	w.Helper()
	messages := ok(w.s.DebugPage(w.ctx, id, 0, math.MaxInt32, math.MaxInt))(w)
	return messages
}

// numbers fails the test unless the feed is first..last.
func (w *world) numbers(id domain.ExecutionID, first, last int64) {
	w.Helper()
	feed := w.feed(id)
	for i, m := range feed {
		if m.N != first+int64(i) {
			w.Fatalf("message %d has the number %d, want %d", i, m.N, first+int64(i))
		}
	}
	if int64(len(feed)) != last-first+1 {
		w.Fatalf("%d messages, want %d to %d", len(feed), first, last)
	}
}

func debugRoundTrip(w *world) {
	id, neighbour := w.create(), w.create()
	w.accepted(traced(neighbour, 3, "x"))
	want := []domain.DebugMessage{
		{Time: now(), Direction: domain.ToAgent, Message: "{ \"a\" : \"<\u2028\" }", Bytes: 19},
		{Time: now(), Direction: domain.FromAgent, Message: "cut", Bytes: 70_000_000},
		{Time: now(), Direction: domain.FromAgent, Message: "", Bytes: 0},
	}
	before := ok(w.s.Head(w.ctx, id))(w)
	if seq := w.accepted(store.Change{Execution: id, Epoch: 1, Debug: want[:2]}); seq != 1 {
		w.Errorf("a change without events says the head is %d", seq)
	}
	if after, err := w.s.Head(w.ctx, id); err != nil || after != before {
		w.Errorf("raw messages alone moved the head: %+v, %+v, %v", before, after, err)
	}
	c := said(id, 1, 2)
	c.Debug = want[2:]
	if seq := w.accepted(c); seq != 3 {
		w.Errorf("seq %d", seq)
	}
	for i := range want {
		want[i].N = int64(i) + 1
	}
	if diff := cmp.Diff(want, w.feed(id)); diff != "" {
		w.Error(diff)
	}
	w.numbers(neighbour, 1, 3)

	odd := traced(id, 1, "a\xffb\x00")
	odd.Debug[0].Direction = "\x00"
	w.accepted(odd)
	if got := w.feed(id)[3]; got.Message != "a\uFFFDb\uFFFD" || got.Direction != "\uFFFD" {
		w.Errorf("%+v", got)
	}

	born := creation(domain.ExecutionID(newID()))
	born.Debug = traced(born.Execution, 2, "first").Debug
	w.accepted(born)
	w.numbers(born.Execution, 1, 2)
	if feed, err := w.s.DebugPage(w.ctx, domain.ExecutionID(newID()), 0, 10, 10); err != nil || len(feed) != 0 {
		w.Errorf("the feed of nothing: %v, %v", feed, err)
	}
}

func debugPages(w *world) {
	id := w.create()
	for _, size := range []int{10, 20, 30, 5, 5} {
		w.accepted(traced(id, 1, strings.Repeat("x", size)))
	}
	for _, c := range []struct {
		after int64
		limit int
		bytes int
		want  []int64
	}{
		{0, 10, 1000, []int64{1, 2, 3, 4, 5}}, {0, 2, 1000, []int64{1, 2}}, {2, 2, 1000, []int64{3, 4}}, {5, 10, 1000, nil},
		{0, 10, 30, []int64{1, 2}}, {0, 10, 29, []int64{1}}, {0, 10, 1, []int64{1}}, {2, 10, 0, []int64{3}},
		{3, 10, 10, []int64{4, 5}}, {-5, 1, 1000, []int64{1}}, {math.MinInt64, 1, 1000, []int64{1}},
		{math.MaxInt64, 10, 1000, nil}, {0, 0, 1000, nil}, {0, -1, 1000, nil}, {4, math.MaxInt, math.MaxInt, []int64{5}},
	} {
		page := ok(w.s.DebugPage(w.ctx, id, c.after, c.limit, c.bytes))(w)
		var got []int64
		for _, m := range page {
			got = append(got, m.N)
		}
		if !slices.Equal(got, c.want) {
			w.Errorf("after %d, at most %d of %d bytes: %v, want %v", c.after, c.limit, c.bytes, got, c.want)
		}
	}
}

// debugIsTrimmed: the newest messages stay, up to a number and up to so many bytes, and their numbers go on.
func debugIsTrimmed(w *world) {
	id, neighbour := w.create(), w.create()
	w.accepted(traced(neighbour, 1500, "x"))
	w.accepted(traced(id, 1999, "x"))
	w.numbers(id, 1, 1999)
	for i := range int64(4) {
		w.accepted(traced(id, 1, "x"))
		w.numbers(id, max(1, i+1), 2000+i)
	}
	w.accepted(traced(id, 4500, "x")) // more than all
	w.numbers(id, 4504, 6503)
	w.numbers(neighbour, 1, 1500)

	heavy := w.create()
	w.accepted(traced(heavy, 1, strings.Repeat("x", store.DebugBytes+1000)))
	w.accepted(traced(heavy, 1, "x"))
	const third = store.DebugBytes/3 + 1
	id = w.create()
	w.accepted(traced(id, 2, strings.Repeat("é", third/2)))
	w.numbers(id, 1, 2)
	w.accepted(traced(id, 1, strings.Repeat("é", third/2)))
	w.numbers(id, 1, 3) // just
	w.accepted(traced(id, 1, "four bytes more than fit"))
	w.numbers(id, 2, 4)
	w.accepted(traced(id, 1, strings.Repeat("x", store.DebugBytes)))
	w.numbers(id, 5, 5)
	w.accepted(traced(id, 1, ""))
	w.numbers(id, 5, 6)
	w.accepted(traced(id, 1, strings.Repeat("x", store.DebugBytes+1))) // alone too much: it stays, or its number would go
	w.numbers(id, 7, 7)
	w.accepted(traced(id, 1, "x"))
	w.numbers(id, 8, 8)
	w.numbers(heavy, 2, 2)
}

// debugIsTheDrivers: neither a stale driver nor one of an execution that has ended adds to the feed.
func debugIsTheDrivers(w *world) {
	id := w.create()
	w.accepted(traced(id, 1, "x"))
	stale := traced(id, 1, "x")
	stale.Epoch = 2
	w.untouched(id, func() { w.refused(w.commit(stale).Err, domain.CodeStale) })
	last := ending(id, 1)
	last.Debug = traced(id, 1, "the last word").Debug
	w.accepted(last)
	w.untouched(id, func() { w.refused(w.commit(traced(id, 1, "x")).Err, domain.CodeStale) })
	w.numbers(id, 1, 2)
}

func debugAtOnce(w *world) {
	ids := w.createMany(3)
	const writers, rounds = 8, 12
	all := atOnce(writers, func(i int) error {
		for range rounds {
			var changes []store.Change
			for j := range ids {
				changes = append(changes, traced(ids[(i+j)%len(ids)], 1+i%3, fmt.Sprint(i)))
			}
			results, err := w.replicas[i%2].Commit(w.ctx, changes)
			if err != nil {
				return err
			}
			for _, result := range results {
				if result.Err != nil {
					return result.Err
				}
			}
		}
		return nil
	})
	for _, err := range all {
		w.must(err)
	}
	for _, id := range ids {
		w.numbers(id, 1, rounds*(1+2+3+1+2+3+1+2))
	}
}
