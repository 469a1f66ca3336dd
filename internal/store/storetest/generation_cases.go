package storetest

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// generated is a change of the driver that hands blocks in, written for revision "r".
func generated(id domain.ExecutionID, number int) store.Change {
	g := domain.Generation{Execution: id, Number: number, State: domain.GenerationSubmitted, Turn: number, ToolCallID: "call",
		Blocks: json.RawMessage(`[ {"type":"script", "props":{"code":"<1.0>"}} ]`), DocumentRevision: "r", Created: now()}
	return store.Change{Execution: id, Epoch: 1, Generate: &g,
		Events: []domain.Event{event(id, domain.BlocksGenerated{Generation: number, Blocks: g.Blocks})}}
}

func acceptedBlocks(id domain.ExecutionID, number int, revision, by string) store.Change {
	actor := domain.Actor{KeyID: by, Name: "<" + by + ">"}
	return store.Change{Execution: id, Accept: &store.Acceptance{Generation: number, Revision: revision, By: actor},
		Events: []domain.Event{event(id, domain.BlocksAccepted{Generation: number, By: actor})}}
}

// taken is the end that an acceptance brings about.
func taken(id domain.ExecutionID) store.Change {
	c := ending(id, 1)
	c.Update.Accepted = true
	return c
}

func edited(id domain.ExecutionID, number int, document *domain.Document) store.Change {
	c := prompted(id, domain.WhenBusyReject, "")
	c.Prompt.Prompt.Edit = &domain.Edit{Generation: number, Document: document}
	return c
}

// resting creates an execution that is idle with n generations.
func (w *world) resting(n int) domain.ExecutionID {
	w.Helper()
	id := w.create()
	for number := range n {
		w.accepted(generated(id, number+1))
	}
	w.accepted(became(id, domain.StatusIdle))
	return id
}

func (w *world) generations(id domain.ExecutionID) []domain.Generation {
	w.Helper()
	all := ok(w.s.Generations(w.ctx, tenant, id))(w)
	return all
}

// generationStates fails the test unless the generations 1, 2, 3 … have these states.
func (w *world) generationStates(id domain.ExecutionID, want ...domain.GenerationState) {
	w.Helper()
	var got []domain.GenerationState
	for i, g := range w.generations(id) {
		if g.Number != i+1 || (g.Decided == nil) != (g.State == domain.GenerationSubmitted) || (g.By != nil) != (g.State == domain.GenerationAccepted) {
			w.Fatalf("%+v", g)
		}
		got = append(got, g.State)
	}
	if !slices.Equal(got, want) {
		w.Fatalf("%v, want %v", got, want)
	}
}

func generationRoundTrip(w *world) {
	id, neighbour := w.create(), w.resting(1)
	first, second := generated(id, 1), generated(id, 2)
	second.Generate.Blocks, second.Generate.ToolCallID = json.RawMessage("[{\"a\":\"\u2028\"} ]\n"), "\xff"
	second.Generate.DocumentRevision = ""
	w.accepted(first)
	w.accepted(second)
	w.accepted(became(id, domain.StatusIdle))
	before := ok(w.s.Now(w.ctx))(w)
	w.accepted(acceptedBlocks(id, 2, "", "me"))

	got := w.generations(id)
	if len(got) != 2 || got[0].Decided == nil || got[1].Decided == nil || got[1].Decided.Before(before) {
		w.Fatalf("%+v", got)
	}
	want := []domain.Generation{*first.Generate, *second.Generate}
	want[0].State, want[0].Decided = domain.GenerationSuperseded, got[0].Decided
	want[1].State, want[1].Decided, want[1].ToolCallID = domain.GenerationAccepted, got[1].Decided, "\uFFFD"
	want[1].By = &domain.Actor{KeyID: "me", Name: "<me>"}
	if diff := cmp.Diff(want, got); diff != "" {
		w.Error(diff)
	}
	if diff := cmp.Diff(store.ControlRequests{Close: want[1].By}, w.controlRequests(id)); diff != "" {
		w.Error("it is not closed: ", diff)
	}
	head := ok(w.s.Head(w.ctx, id))(w)
	if head.ForeignWrites != 1 || head.LastSeq != 5 {
		w.Errorf("%+v", head)
	}
	w.generationStates(neighbour, domain.GenerationSubmitted)
	if foreign, err := w.s.Generations(w.ctx, "another", id); err != nil || len(foreign) != 0 {
		w.Errorf("another tenant sees %v, %v", foreign, err)
	}
}

func newestGeneration(w *world) {
	id, neighbour := w.create(), w.resting(3)
	shown := func(of domain.TenantID, want *domain.Generation) {
		w.Helper()
		got := ok(w.s.NewestGeneration(w.ctx, of, id))(w)
		if diff := cmp.Diff(want, got); diff != "" {
			w.Error(diff)
		}
	}
	shown(tenant, nil)
	for number := range 11 { // as text, 9 would be the newest
		w.accepted(generated(id, number+1))
	}
	want := w.generations(id)[10]
	want.Blocks = nil
	shown(tenant, &want)
	shown("another", nil)
	w.accepted(became(id, domain.StatusIdle))
	w.accepted(acceptedBlocks(id, 11, "r", "me"))
	want = w.generations(id)[10]
	want.Blocks = nil
	if want.By == nil {
		w.Error("nobody has accepted it")
	}
	shown(tenant, &want)
	w.generationStates(neighbour, domain.GenerationSuperseded, domain.GenerationSuperseded, domain.GenerationSubmitted)
}

func generationsAreNumbered(w *world) {
	id := w.create()
	refused := func(c store.Change, code domain.Code) {
		w.Helper()
		w.untouched(id, func() { w.refused(w.commit(c).Err, code) })
	}
	for _, number := range []int{0, 2, -1} {
		refused(generated(id, number), domain.CodeConflict)
	}
	w.accepted(generated(id, 1))
	for _, number := range []int{0, 1, 3} {
		refused(generated(id, number), domain.CodeConflict)
	}
	stale := generated(id, 2)
	stale.Epoch = 2
	refused(stale, domain.CodeStale)
	w.accepted(generated(id, 2))
	w.generationStates(id, domain.GenerationSuperseded, domain.GenerationSubmitted)
	w.accepted(became(id, domain.StatusIdle))
	w.accepted(acceptedBlocks(id, 2, "r", "me"))
	w.accepted(generated(id, 3)) // what was accepted stays so
	w.generationStates(id, domain.GenerationSuperseded, domain.GenerationAccepted, domain.GenerationSubmitted)
}

func acceptanceRefusals(w *world) {
	id := w.resting(2)
	refused := func(c store.Change, code domain.Code) {
		w.Helper()
		w.untouched(c.Execution, func() { w.refused(w.commit(c).Err, code) })
	}
	for _, number := range []int{1, 3, 0, -1} {
		refused(acceptedBlocks(id, number, "r", "me"), domain.CodeNoGeneration)
	}
	refused(acceptedBlocks(id, 2, "s", "me"), domain.CodeDocumentChanged)
	w.queued(id, domain.WhenBusyEnqueue)
	refused(acceptedBlocks(id, 2, "r", "me"), domain.CodeBusy)
	refused(acceptedBlocks(id, 1, "r", "me"), domain.CodeNoGeneration)
	w.accepted(started(id, w.waiting(id)[0], 3))
	refused(acceptedBlocks(id, 2, "r", "me"), domain.CodeBusy)
	w.accepted(became(id, domain.StatusIdle))
	w.accepted(acceptedBlocks(id, 2, "r", "me"))

	for _, status := range domain.Statuses {
		busy := w.resting(1)
		if status == domain.StatusIdle || status.Terminal() {
			continue
		}
		w.accepted(became(busy, status))
		refused(acceptedBlocks(busy, 1, "r", "me"), domain.CodeBusy)
	}
	ended := w.resting(1)
	w.accepted(ending(ended, 1))
	refused(acceptedBlocks(ended, 1, "r", "me"), domain.CodeNoGeneration)
	w.refused(w.commit(acceptedBlocks(domain.ExecutionID(newID()), 1, "", "me")).Err, domain.CodeStale)
}

// acceptedAgain: who did not hear that the blocks were accepted asks again, mostly after the end that this has brought about.
func acceptedAgain(w *world) {
	id := w.resting(1)
	w.accepted(acceptedBlocks(id, 1, "r", "me"))
	check := func() {
		w.Helper()
		head := ok(w.s.Head(w.ctx, id))(w)
		w.untouched(id, func() {
			for _, revision := range []string{"r", ""} {
				again := acceptedBlocks(id, 1, revision, "me")
				again.Accept.By.Name, again.Audit = "renamed", []domain.AuditRecord{record("twice")}
				if diff := cmp.Diff(store.Result{LastSeq: head.LastSeq, Tenant: tenant, Repeated: true}, w.commit(again)); diff != "" {
					w.Error(diff)
				}
			}
			w.refused(w.commit(acceptedBlocks(id, 1, "s", "me")).Err, domain.CodeDocumentChanged)
			w.refused(w.commit(acceptedBlocks(id, 1, "r", "you")).Err, domain.CodeNoGeneration)
		})
	}
	check()
	w.accepted(taken(id))
	w.generationStates(id, domain.GenerationAccepted)
	check()
}

// noEndOverrulesAnAcceptance: who was told that the blocks are taken finds an execution that knows it, however it ends.
func noEndOverrulesAnAcceptance(w *world) {
	for _, status := range []domain.Status{domain.StatusCompleted, domain.StatusFailed, domain.StatusCancelled, domain.StatusTimedOut} {
		id, neighbour := w.resting(2), w.resting(1)
		w.accepted(acceptedBlocks(id, 2, "r", "me"))
		end := became(id, status)
		end.Events = said(id, 1, 1).Events
		w.untouched(id, func() {
			results := ok(w.s.Commit(w.ctx, []store.Change{end, became(neighbour, status)}))(w)
			w.refused(results[0].Err, domain.CodeStale)
			w.must(results[1].Err) // nobody has accepted that one's
		})
		w.accepted(became(id, domain.StatusStreaming))
		w.accepted(became(id, domain.StatusIdle))
		w.accepted(generated(id, 3))
		w.untouched(id, func() { w.refused(w.commit(end).Err, domain.CodeStale) }) // it counts, also where newer blocks came
		end.Update.Accepted = true
		w.accepted(end)
		w.generationStates(id, domain.GenerationSuperseded, domain.GenerationAccepted, domain.GenerationCancelled)
	}
	w.accepted(taken(w.resting(1))) // to know of more than there is does no harm
}

func noGenerationOutlivesItsExecution(w *world) {
	for _, status := range []domain.Status{domain.StatusCompleted, domain.StatusFailed, domain.StatusCancelled, domain.StatusTimedOut} {
		id, neighbour := w.resting(2), w.resting(1)
		w.accepted(became(id, status))
		w.generationStates(id, domain.GenerationSuperseded, domain.GenerationCancelled)
		w.generationStates(neighbour, domain.GenerationSubmitted)
	}
	id := w.create()
	end := ending(id, 1)
	end.Generate = generated(id, 1).Generate
	w.accepted(end)
	w.generationStates(id, domain.GenerationCancelled)
}

func editRoundTrip(w *world) {
	id := w.resting(2)
	document := func(revision string) *domain.Document {
		return &domain.Document{Revision: revision, Blocks: json.RawMessage(`[{"a":"<` + revision + "\u2028" + `>"}]`)}
	}
	shown := func(want *domain.Document) {
		w.Helper()
		got := ok(w.s.EditedDocument(w.ctx, id))(w)
		if diff := cmp.Diff(want, got); diff != "" {
			w.Error("the document: ", diff)
		}
	}
	take := func(c store.Change) domain.PromptID {
		w.Helper()
		w.accepted(c)
		if diff := cmp.Diff([]domain.QueuedPrompt{c.Prompt.Prompt}, w.controlRequests(id).Prompts); diff != "" {
			w.Error("among the wishes: ", diff)
		}
		return c.Prompt.Prompt.ID
	}
	turn := 1
	start := func(prompt domain.PromptID) {
		w.Helper()
		turn++
		w.accepted(started(id, prompt, turn))
		w.accepted(became(id, domain.StatusIdle))
	}
	shown(nil)
	first := edited(id, 2, document("1"))
	first.Prompt.Idempotency = &store.Idempotency{Key: "key"}
	prompt := take(first)
	shown(nil) // it has not had its turn
	byKey, _, err := w.s.PromptByKey(w.ctx, id, "key")
	w.must(err)
	if diff := cmp.Diff(first.Prompt.Prompt, byKey); diff != "" {
		w.Error("by its key: ", diff)
	}
	start(prompt)
	shown(document("1"))
	start(take(edited(id, 2, nil))) // it has not changed
	shown(document("1"))
	discarded := take(edited(id, 2, document("2")))
	w.accepted(store.Change{Execution: id, Epoch: 1, DiscardPrompts: []domain.PromptID{discarded}})
	shown(document("1"))
	start(take(edited(id, 2, document("3"))))
	shown(document("3"))
	w.generationStates(id, domain.GenerationSuperseded, domain.GenerationSubmitted)
	if got, err := w.s.EditedDocument(w.ctx, w.resting(1)); got != nil || err != nil {
		w.Errorf("of another execution: %v, %v", got, err)
	}
}

func editRefusals(w *world) {
	refused := func(c store.Change, code domain.Code) {
		w.Helper()
		w.untouched(c.Execution, func() { w.refused(w.commit(c).Err, code) })
	}
	refused(edited(w.idle(), 0, nil), domain.CodeNoGeneration)
	refused(edited(w.idle(), 1, nil), domain.CodeNoGeneration)
	id := w.resting(2)
	for _, number := range []int{0, 1, 3} {
		refused(edited(id, number, nil), domain.CodeNoGeneration)
	}
	waits := edited(id, 2, nil)
	waits.Prompt.Prompt.WhenBusy = domain.WhenBusyEnqueue
	w.accepted(waits)
	refused(edited(id, 2, nil), domain.CodeBusy)
	again := edited(id, 2, nil)
	again.Prompt.Prompt.WhenBusy = domain.WhenBusyInterrupt
	refused(again, domain.CodeBusy)
	w.accepted(started(id, w.waiting(id)[0], 3))
	refused(again, domain.CodeBusy)
	w.accepted(became(id, domain.StatusIdle))
	w.accepted(acceptedBlocks(id, 2, "r", "me"))
	refused(edited(id, 2, nil), domain.CodeClosed)
	w.accepted(taken(id))
	refused(edited(id, 2, nil), domain.CodeStale)
}

// acceptedOrEdited: the blocks are accepted, or somebody wants them changed, and who is second is told.
func acceptedOrEdited(w *world) {
	taken := 0
	for round := range 30 {
		id := w.resting(1)
		edits := func(i int) bool { return (i+round)%2 == 0 }
		results := w.promptsAtOnce(8, func(i int) store.Change {
			if edits(i) {
				return edited(id, 1, nil)
			}
			return acceptedBlocks(id, 1, "r", string(replicaName(i)))
		})
		accepted := w.generations(id)[0].State == domain.GenerationAccepted
		if accepted {
			taken++
		}
		for i, result := range results {
			var want domain.Code
			switch {
			case edits(i) && accepted:
				want = domain.CodeClosed
			case accepted:
				want = domain.CodeNoGeneration
			default:
				want = domain.CodeBusy
			}
			if result.Err != nil {
				w.refused(result.Err, want)
			} else if edits(i) == accepted {
				w.Errorf("accepted is %v, and number %d got through, too", accepted, i)
			}
		}
		if n := count(results, func(o store.Result) bool { return o.Err == nil }); n != 1 {
			w.Errorf("%d got through", n)
		}
		if waiting, closed := len(w.waiting(id)), w.controlRequests(id).Close != nil; closed != accepted || (waiting == 0) != accepted {
			w.Errorf("accepted is %v, closed is %v, and %d wait", accepted, closed, waiting)
		}
	}
	w.Logf("accepted %d times", taken)
}

// generationsAtOnce: of those who take themselves for the driver one writes each number, and one generation is submitted.
func generationsAtOnce(w *world) {
	for range 10 {
		id := w.create()
		w.accepted(generated(id, 1))
		w.oneOf(w.promptsAtOnce(8, func(int) store.Change { return generated(id, 2) }), domain.CodeConflict)
		w.generationStates(id, domain.GenerationSuperseded, domain.GenerationSubmitted)
	}
}

// acceptedAgainstTheEnd: blocks are accepted while the driver ends the execution as cancelled, or hands in newer ones.
func acceptedAgainstTheEnd(w *world) {
	const n = 4
	overtaken := 0
	for round := range 40 {
		id := w.resting(1)
		ends := round%2 == 0
		results := w.promptsAtOnce(n, func(i int) store.Change {
			switch {
			case i != round%n:
				return acceptedBlocks(id, 1, "r", "me")
			case ends:
				return became(id, domain.StatusCancelled)
			}
			return generated(id, 2)
		})
		state := w.generations(id)[0].State
		for i, result := range results {
			switch {
			case i == round%n && ends && state == domain.GenerationAccepted:
				w.refused(result.Err, domain.CodeStale)
				overtaken++
			case i == round%n || state == domain.GenerationAccepted:
				w.must(result.Err)
			default:
				w.refused(result.Err, domain.CodeNoGeneration)
			}
		}
		if got := w.log(id); count(got, func(e domain.Event) bool { return e.Type == domain.BlocksAcceptedType }) > 1 {
			w.Errorf("it was accepted twice: %v", got)
		}
	}
	w.Logf("the end was second %d times", overtaken)
}

func liveAtAPlace(w *world) {
	at := func(tenant domain.TenantID, place string, age time.Duration) domain.ExecutionID {
		w.Helper()
		c := creation(domain.ExecutionID(newID()))
		c.Create.Place, c.Create.Execution.Tenant = place, tenant
		c.Create.Execution.Created = now().Add(-age)
		w.accepted(c)
		return c.Execution
	}
	live := func(tenant domain.TenantID, place string, want ...domain.ExecutionID) {
		w.Helper()
		got := ok(w.s.LiveAt(w.ctx, tenant, place))(w)
		if !slices.Equal(got, want) {
			w.Errorf("at %q of %s: %v, want %v", place, tenant, got, want)
		}
	}
	const here = "[\"<book>\",\"\u2028\"]"
	w.create()
	live(tenant, "")
	live(tenant, here)
	old, middle, young := at(tenant, here, 0), at(tenant, here, time.Hour), at(tenant, here, time.Minute) // clocks differ
	elsewhere, theirs := at(tenant, "elsewhere", 0), at("another", here, 0)
	live(tenant, here, old, middle, young)
	w.accepted(became(old, domain.StatusIdle))
	live(tenant, here, old, middle, young)
	w.accepted(ending(middle, 1))
	live(tenant, here, old, young)
	w.accepted(generated(old, 1))
	live(tenant, here, old, young)
	w.accepted(acceptedBlocks(old, 1, "r", "me"))
	live(tenant, here, young) // whatever is going to end the other
	w.accepted(taken(old))
	w.must(w.s.Delete(w.ctx, tenant, old, record("deleted")))
	live(tenant, here, young)
	live(tenant, "elsewhere", elsewhere)
	live("another", here, theirs)
}
