package events_test

import (
	"context"
	"fmt"
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

// told is a change under epoch 0.
func told(id domain.ExecutionID, text string) store.Change {
	c := say(id, text)
	c.Epoch = 0
	return c
}

func linking(c store.Change, linked ...store.Change) store.Change {
	c.Linked = linked
	return c
}

// The changes of an execution stay in their order, whether they stand for themselves or are linked to others, and no batch has two of one execution.
func TestLinkedChangesKeepTheOrderOfEachExecution(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{takes: time.Second}
		log := run(t, s)
		var writers sync.WaitGroup
		for _, c := range []store.Change{
			say("first", "x"), // the committer is at work on it
			linking(say("a", "1"), told("b", "1")),
			say("c", "1"),
			say("b", "2"),                          // behind what is linked to it
			linking(say("d", "1"), told("b", "3")), // and behind that one
			say("d", "2"),                          // waits, because the one before it does
			say("e", "1"),
		} {
			writers.Go(func() {
				if _, err := log.Commit(context.Background(), c); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait() // it is queued, behind those before it
		}
		writers.Wait()
		var got []string
		for _, batch := range s.batches {
			line := ""
			for _, c := range batch {
				line += string(c.Execution)
				for _, linked := range c.Linked {
					line += "-" + string(linked.Execution)
				}
				line += " "
			}
			got = append(got, line)
		}
		if want := []string{"first ", "a-b c e ", "b ", "d-b ", "d "}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// Each execution's followers see what was linked to a change of another, and only the drivers that are meant to hear of it do.
func TestLinkedChangesArePublished(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		log := events.NewLog(s)
		var foreign []domain.ExecutionID // the committer appends, and the test reads behind an answer of it
		log.OnForeign(func(id domain.ExecutionID) { foreign = append(foreign, id) })
		ctx, stop := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { log.Run(ctx) })
		defer running.Wait()
		defer stop()
		w := &world{t: t, s: s, log: log}
		main, loud, quiet, ended := w.create(), w.create(), w.create(), w.create()
		w.end(ended)
		followers := map[domain.ExecutionID]*events.Follower{}
		for _, id := range []domain.ExecutionID{main, loud, quiet} {
			followers[id] = w.follow(log, id, 1)
		}
		parent, err := s.Execution(t.Context(), domain.DefaultTenant, main)
		if err != nil {
			t.Fatal(err)
		}
		child := domain.ExecutionID(fmt.Sprint(main, "-child"))
		created := parent.Delegated(child, domain.Request{Parent: parent.ParentOf("call", "name", false)}, time.Now())
		creation := store.Change{Execution: child, Epoch: 1, Create: &store.Creation{Execution: created, Queued: true},
			Events: []domain.Event{domain.NewEvent(child, domain.ExecutionCreated{Status: domain.StatusQueued})}}
		silent, late := told(quiet, "quiet"), told(ended, "late")
		silent.Quiet, late.IfLive = true, true

		begun := time.Now().Truncate(time.Microsecond)
		outcome := w.commit(log, linking(say(main, "main"), told(loud, "loud"), silent, late, creation))
		if outcome.Linked[2].Err == nil {
			t.Error("what has ended was written to")
		}
		if want := []domain.ExecutionID{loud}; !slices.Equal(foreign, want) {
			t.Errorf("foreign writes to %v, want %v", foreign, want)
		}
		followers[child] = w.follow(log, child, 0)
		for id, seq := range map[domain.ExecutionID]int64{main: 2, loud: 2, quiet: 2, child: 1} {
			event := received(t, w.reads(followers[id], 1)[0])
			if event.Seq != seq {
				t.Errorf("%s has a frame %+v, want the seq %d", id, event, seq)
			}
			if stored := storetest.Log(t, s, id)[seq-1]; stored.Time.Before(begun) {
				t.Errorf("%s has an event of %s", id, stored.Time)
			}
		}
		end, err := s.Head(t.Context(), ended)
		if err != nil || end.LastSeq != 2 {
			t.Errorf("%+v, %v", end, err)
		}
	})
}
