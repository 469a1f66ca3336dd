package storetest

import (
	"context"
	"slices"
	"sync"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/store"
)

func firstControlRequestsStand(w *world) {
	id, neighbour := w.create(), w.create()
	if diff := cmp.Diff(store.ControlRequests{}, w.controlRequests(id)); diff != "" {
		w.Fatal("nobody wants anything: ", diff)
	}
	for _, by := range []string{"first", "second"} {
		actor := domain.Actor{KeyID: by, Name: "<" + by + ">"}
		w.accepted(store.Change{Execution: id, Cancel: &store.CancelRequest{Reason: by, By: actor}})
		w.accepted(store.Change{Execution: id, Close: &actor})
	}
	first := domain.Actor{KeyID: "first", Name: "<first>"}
	want := store.ControlRequests{Cancel: &store.CancelRequest{Reason: "first", By: first}, Close: &first}
	if diff := cmp.Diff(want, w.controlRequests(id)); diff != "" {
		w.Error(diff)
	}
	if diff := cmp.Diff(store.ControlRequests{}, w.controlRequests(neighbour)); diff != "" {
		w.Error("the neighbour: ", diff)
	}
	_, err := w.s.ControlRequests(w.ctx, domain.ExecutionID(newID()))
	w.refused(err, domain.CodeNotFound)

	closed := w.create() // and cancelled later, which takes nothing back
	w.accepted(store.Change{Execution: closed, Close: &first})
	w.accepted(store.Change{Execution: closed, Cancel: want.Cancel, Close: &domain.Actor{KeyID: "second"}})
	if diff := cmp.Diff(want, w.controlRequests(closed)); diff != "" {
		w.Error("closed first: ", diff)
	}
	w.accepted(became(closed, domain.StatusInterrupted))
	late := resumed(closed, domain.ResumeLoad, "k")
	late.Cancel = &store.CancelRequest{Reason: "late"}
	w.accepted(late)
	if got := w.controlRequests(closed); got.Close == nil || got.Cancel == nil || got.Cancel.Reason != "first" || got.Resume == nil {
		w.Errorf("one wish took another's place: %+v", got)
	}

	all := store.Change{Execution: neighbour, Cancel: &store.CancelRequest{By: first}, Close: &first,
		Resume: &store.ResumeRequest{Mode: domain.ResumeFail, By: first}}
	w.accepted(became(neighbour, domain.StatusInterrupted))
	w.accepted(all)
	want = store.ControlRequests{Cancel: all.Cancel, Close: all.Close, Resume: all.Resume}
	if diff := cmp.Diff(want, w.controlRequests(neighbour)); diff != "" {
		w.Error("all at once: ", diff)
	}
}

func resumed(id domain.ExecutionID, mode domain.ResumeMode, by string) store.Change {
	return store.Change{Execution: id, Resume: &store.ResumeRequest{Mode: mode, By: domain.Actor{KeyID: by}}}
}

func resume(w *world) {
	for _, status := range domain.Statuses {
		if status == domain.StatusInterrupted || status.Terminal() {
			continue
		}
		id := w.create()
		if status != domain.StatusQueued {
			w.accepted(became(id, status))
		}
		w.untouched(id, func() { w.refused(w.commit(resumed(id, domain.ResumeLoad, "k")).Err, domain.CodeNotInterrupted) })
	}

	id := w.create()
	w.accepted(became(id, domain.StatusInterrupted))
	want := func(mode domain.ResumeMode, by string) {
		w.Helper()
		if got := w.controlRequests(id).Resume; got == nil || got.Mode != mode || got.By.KeyID != by {
			w.Fatalf("%+v, want %s by %s", got, mode, by)
		}
	}
	w.accepted(resumed(id, domain.ResumeLoad, "first"))
	w.accepted(resumed(id, domain.ResumeLoad, "second"))
	want(domain.ResumeLoad, "first")
	w.untouched(id, func() { w.refused(w.commit(resumed(id, domain.ResumeFresh, "third")).Err, domain.CodeConflict) })
	w.accepted(said(id, 1, 1))
	want(domain.ResumeLoad, "first")

	taken := became(id, domain.StatusInitializing)
	taken.Resumed = true
	w.accepted(taken)
	if got := w.controlRequests(id).Resume; got != nil {
		w.Errorf("it is taken: %+v", got)
	}
	w.untouched(id, func() { w.refused(w.commit(resumed(id, domain.ResumeLoad, "k")).Err, domain.CodeNotInterrupted) })
	w.accepted(became(id, domain.StatusInterrupted))
	w.accepted(resumed(id, domain.ResumeFresh, "fourth"))
	want(domain.ResumeFresh, "fourth")
	w.untouched(id, func() {
		w.refused(w.commit(store.Change{Execution: id, Epoch: 2, Resumed: true}).Err, domain.CodeStale)
	})
	w.accepted(store.Change{Execution: id, Epoch: 1, Resumed: true})
	e := ok(w.s.Execution(w.ctx, tenant, id))(w)
	if got := w.controlRequests(id).Resume; got != nil || e.Status != domain.StatusInterrupted {
		w.Errorf("taken without an update: %+v, %s", got, e.Status)
	}

	w.accepted(became(id, domain.StatusFailed))
	w.untouched(id, func() { w.refused(w.commit(resumed(id, domain.ResumeFail, "k")).Err, domain.CodeStale) })
}

// oneChoiceStands: of those who choose at once, one decides, and the others either chose the same or are told.
func oneChoiceStands(w *world) {
	modes := []domain.ResumeMode{domain.ResumeLoad, domain.ResumeFresh, domain.ResumeFail}
	for range 15 {
		id := w.create()
		w.accepted(became(id, domain.StatusInterrupted))
		results := w.promptsAtOnce(6, func(i int) store.Change { return resumed(id, modes[i%3], "k") })
		stands := w.controlRequests(id).Resume
		if stands == nil {
			w.Fatal("nobody has chosen")
		}
		for i, result := range results {
			if modes[i%3] == stands.Mode {
				w.must(result.Err)
			} else {
				w.refused(result.Err, domain.CodeConflict)
			}
		}
	}
}

// causesDecide: each mode is either taken or refused without a trace. The cause goes with the status.
func causesDecide(w *world) {
	modes := []domain.ResumeMode{domain.ResumeLoad, domain.ResumeFresh, domain.ResumeRetry, domain.ResumeFail}
	sources := []domain.SourceType{domain.SourceInternal, domain.SourceACP}
	for i, cause := range []domain.InterruptCause{domain.CauseProvider, domain.CauseRecovery, domain.CauseDailyBudget, domain.CauseDailyBudget, domain.CauseProcessGone, ""} {
		shown, source := cause, sources[i%2]
		if cause == "" {
			shown = domain.CauseProcessGone // a binary of version 8 has written no cause
		}
		for _, mode := range modes {
			created := creation(domain.ExecutionID(newID()))
			created.Create.Execution.Request.Source.Type = source
			w.accepted(created)
			id := created.Execution
			interrupted := became(id, domain.StatusInterrupted)
			interrupted.Update.Cause = cause
			w.accepted(interrupted)
			w.accepted(said(id, 1, 1)) // a later change leaves the cause alone
			w.causeIs(id, shown)
			if slices.Contains(shown.ResumeModes(source), mode) {
				w.accepted(resumed(id, mode, "k"))
			} else {
				w.untouched(id, func() { w.refused(w.commit(resumed(id, mode, "k")).Err, domain.CodeInvalid) })
			}
			w.accepted(became(id, domain.StatusInitializing))
			w.causeIs(id, "")
		}
	}
}

func (w *world) causeIs(id domain.ExecutionID, cause domain.InterruptCause) {
	w.Helper()
	e := ok(w.s.Execution(w.ctx, tenant, id))(w)
	if e.Cause != cause {
		w.Errorf("%s with the cause %q, want %q", e.Status, e.Cause, cause)
	}
}

// controlRequestsAtOneMoment: what is written together is read together.
func controlRequestsAtOneMoment(w *world) {
	ids := w.createMany(40)
	ctx, stop := context.WithCancel(w.ctx)
	var reading sync.WaitGroup
	for i := range 3 {
		reading.Go(func() {
			for at := i; ctx.Err() == nil; at++ {
				wishes, err := w.replicas[i%2].ControlRequests(w.ctx, ids[at%len(ids)])
				if err != nil {
					w.Error(err)
					return
				}
				if all := wishes.Cancel != nil; all != (wishes.Close != nil) || all != (len(wishes.Prompts) == 1) {
					w.Errorf("a part of what was written: %+v", wishes)
					return
				}
			}
		})
	}
	for _, id := range ids {
		c := prompted(id, domain.WhenBusyEnqueue, "")
		c.Close, c.Cancel = &domain.Actor{}, &store.CancelRequest{}
		w.accepted(c)
	}
	stop()
	reading.Wait()
}
