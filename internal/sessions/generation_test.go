package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

const script1 = `[{"type":"script","props":{"code":"ls"}}]`

// writesBlocks hands in one block per turn, named after the turn; a prompt that says "break" makes it break down, and one that
// says "talk" makes it hand in nothing.
func writesBlocks(_ context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
	switch text := t.Prompt.Text; {
	case strings.Contains(text, "break"):
		return "", domain.Errorf(domain.CodeModelFailed, "the model is ill")
	case strings.Contains(text, "talk"):
		return domain.StopEndTurn, t.Say(fmt.Sprint("m", t.Prompt.Turn), "no blocks today")
	}
	return domain.StopEndTurn, t.Submit(fmt.Sprint("g", t.Prompt.Turn), script1)
}

// generation is a request for blocks.
func generation(r *domain.Request) {
	r.Kind, r.KeepOpen, r.IdleTimeoutSeconds, r.RunbookID = domain.KindGeneration, true, 3600, ""
	r.Runbook = domain.Runbook{
		Document: &domain.Document{Revision: "r1", Blocks: []byte(`[{"id":"b1"}]`)}, InsertAfter: "b1",
		BlockTypes: []domain.BlockType{{Type: "script"}},
	}
}

func (w *world) generations(id domain.ExecutionID) []domain.Generation {
	w.t.Helper()
	all, err := w.store.Generations(context.Background(), tenant, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// states are those of the generations, in their order.
func (w *world) states(id domain.ExecutionID) (states []domain.GenerationState) {
	for _, g := range w.generations(id) {
		states = append(states, g.State)
	}
	return states
}

func (w *world) wantStates(id domain.ExecutionID, want ...domain.GenerationState) {
	w.t.Helper()
	if got := w.states(id); fmt.Sprint(got) != fmt.Sprint(want) {
		w.t.Errorf("the generations are %v, want %v", got, want)
	}
}

func (w *world) edit(id domain.ExecutionID, edit domain.Edit, text string) error {
	_, _, err := w.manager.Edit(context.Background(), tenant, id, domain.QueuedPrompt{Text: text, Edit: &edit}, alice, nil)
	return err
}

func (w *world) accept(id domain.ExecutionID, number int, revision string) (domain.Execution, error) {
	return w.manager.Accept(context.Background(), tenant, id, store.Acceptance{Generation: number, Revision: revision, By: alice})
}

func (w *world) accepts(id domain.ExecutionID, number int, revision string) domain.Execution {
	w.t.Helper()
	execution, err := w.accept(id, number, revision)
	if err != nil {
		w.t.Fatal("accept:", err)
	}
	return execution
}

func TestBlocksAreAccepted(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, writesBlocks)
		id := w.start(generation)
		w.becomes(id, domain.StatusIdle, 1)
		w.wantStates(id, domain.GenerationSubmitted)
		generated := payloads[domain.BlocksGenerated](t, w.events(id))
		if len(generated) != 1 || string(generated[0].Blocks) != script1 || generated[0].InsertAfter != "b1" || generated[0].DocumentRevision != "r1" {
			t.Fatalf("%+v", generated)
		}
		if outcome := w.outcome(id, "g1"); outcome != "" {
			t.Fatalf("the call that handed them in has the outcome %s already", outcome)
		}
		_, err := w.accept(id, 2, "r1")
		wantCode(t, "a generation that is not there", err, domain.CodeNoGeneration)
		_, err = w.accept(id, 1, "r2")
		wantCode(t, "another revision", err, domain.CodeDocumentChanged)
		_, err = w.prompt(id, "go on", domain.WhenBusyEnqueue)
		wantCode(t, "a plain prompt", err, domain.CodeConflict)

		if end := w.accepts(id, 1, "r1"); end.Status != domain.StatusCompleted || end.Output.FinishReason != domain.FinishEndTurn {
			t.Errorf("%s %+v", end.Status, end.Output)
		}
		w.wantStates(id, domain.GenerationAccepted)
		if outcome := w.outcome(id, "g1"); outcome != domain.OutcomeSucceeded {
			t.Errorf("the call's outcome is %s", outcome)
		}
		w.accepts(id, 1, "r1") // once more, for somebody who did not hear the answer
		if told := payloads[domain.BlocksAccepted](t, w.events(id)); len(told) != 1 || told[0].By != alice {
			t.Errorf("%+v", told)
		}
		wantCode(t, "an edit after the end", w.edit(id, domain.Edit{Generation: 1}, "shorter"), domain.CodeExecutionEnded)
	})
}

func TestBlocksAreEdited(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		var mu sync.Mutex
		var prompts []domain.Prompt
		var books []domain.Runbook
		w := newWorld(t, s, func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			mu.Lock()
			prompts, books = append(prompts, t.Prompt), append(books, t.Host.Runbook())
			mu.Unlock()
			return writesBlocks(ctx, t)
		})
		id := w.start(generation)
		w.becomes(id, domain.StatusIdle, 1)
		wantCode(t, "an edit of nothing", w.edit(id, domain.Edit{Generation: 7}, "shorter"), domain.CodeNoGeneration)
		changed := &domain.Document{Revision: "r2", Blocks: []byte(`[{"id":"b1"},{"id":"b2"}]`)}
		wantCode(t, "an edit", w.edit(id, domain.Edit{Document: changed}, "shorter, please"), "")
		w.becomes(id, domain.StatusIdle, 2)
		w.wantStates(id, domain.GenerationSuperseded, domain.GenerationSubmitted)

		second := prompts[1]
		if second.Edits != 1 || second.Text != "shorter, please" || second.Turn != 2 {
			t.Errorf("%+v", second)
		}
		history := second.History
		call, result, edit := history[len(history)-3], history[len(history)-2], history[len(history)-1]
		if len(call.ToolCalls) != 1 || call.ToolCalls[0].ID != "g1" || result.ToolCallID != "g1" || !strings.Contains(result.Text, "asks for changes") ||
			edit.Role != domain.RoleUser || edit.Text != "shorter, please" {
			t.Errorf("the model reads %+v", history)
		}
		if revision := books[1].Document.Revision; revision != "r2" {
			t.Errorf("it is shown the document of revision %s", revision)
		}
		_, err := w.accept(id, 1, "r2")
		wantCode(t, "a generation that was edited", err, domain.CodeNoGeneration)
		_, err = w.accept(id, 2, "r1")
		wantCode(t, "the revision of before", err, domain.CodeDocumentChanged)
		w.accepts(id, 2, "r2")
		w.wantStates(id, domain.GenerationSuperseded, domain.GenerationAccepted)
	})
}

// TestAFailedEditKeepsTheBlocks: the blocks from before the edit can be accepted as if nobody had asked for changes.
func TestAFailedEditKeepsTheBlocks(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, writesBlocks)
		id := w.start(generation)
		w.becomes(id, domain.StatusIdle, 1)
		for nth, text := range []string{"break it", "just talk"} {
			wantCode(t, text, w.edit(id, domain.Edit{Generation: 1}, text), "")
			w.becomes(id, domain.StatusIdle, nth+2)
			ended := payloads[domain.TurnEnded](t, w.events(id))
			last := ended[len(ended)-1]
			want := []domain.Code{domain.CodeModelFailed, domain.CodeGenerationFailed}[nth]
			if last.StopReason != domain.StopError || last.Error == nil || last.Error.Code != want {
				t.Errorf("%s ends with %+v", text, last)
			}
			w.wantStates(id, domain.GenerationSubmitted)
		}
		if end := w.accepts(id, 1, "r1"); end.Status != domain.StatusCompleted || !end.Output.Success {
			t.Errorf("%+v", end.Output)
		}
	})
}

// TestBlocksOutliveTheBudget: no edit is possible any more, but the blocks can be accepted.
func TestBlocksOutliveTheBudget(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		if t.Prompt.Turn == 2 {
			if err := t.Host.Emit(ctx, domain.UsageUpdated{Usage: tokens(90, 20)}); err != nil {
				return "", err
			}
		} else if err := t.Host.Emit(ctx, domain.UsageUpdated{Usage: tokens(10, 10)}); err != nil {
			return "", err
		}
		return writesBlocks(ctx, t)
	})
	id := w.start(generation, func(r *domain.Request) { r.Budget.Tokens = 100 })
	w.becomes(id, domain.StatusIdle, 1)
	for nth := range 2 {
		wantCode(t, "an edit", w.edit(id, domain.Edit{Generation: 1}, "shorter"), "")
		w.becomes(id, domain.StatusIdle, nth+2)
		ended := payloads[domain.TurnEnded](t, w.events(id))
		if last := ended[len(ended)-1]; last.Error == nil || last.Error.Code != domain.CodeLimitReached {
			t.Errorf("the turn ends with %+v", last)
		}
	}
	w.wantStates(id, domain.GenerationSubmitted)
	w.accepts(id, 1, "r1")
}

// TestARepeatedAcceptanceIsToldOnce, also to those who follow while the first one is acted on.
func TestARepeatedAcceptanceIsToldOnce(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, writesBlocks)
		for range 10 {
			id := w.start(generation)
			w.becomes(id, domain.StatusIdle, 1)
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() { w.accepts(id, 1, "r1") })
			}
			seqs := map[int64]domain.EventType{}
			w.follow(id, func(f events.Frame) bool {
				if before, told := seqs[f.Seq]; told {
					t.Errorf("event %d is told as %s and as %s", f.Seq, before, f.Type)
				}
				seqs[f.Seq] = f.Type
				return f.Type.Terminal()
			})
			all.Wait()
			if told := payloads[domain.BlocksAccepted](t, w.events(id)); len(told) != 1 {
				t.Errorf("it is told %d times", len(told))
			}
		}
	})
}

func TestNoBlocksAtAll(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), writesBlocks)
	for prompt, code := range map[string]domain.Code{"talk": domain.CodeGenerationFailed, "break": domain.CodeModelFailed} {
		id := w.start(generation, func(r *domain.Request) { r.Prompt = prompt })
		if end := w.ended(id); end.Status != domain.StatusFailed || end.Output.Error.Code != code {
			t.Errorf("%s ends as %s: %+v", prompt, end.Status, end.Output)
		}
	}
}

// TestBlocksSurviveAKill at each moment: handed in while the turn still runs, waiting for a person, and in the middle of an edit.
func TestBlocksSurviveAKill(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		hangs := func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			if t.Prompt.Text == "hang" {
				<-ctx.Done()
				return "", context.Cause(ctx)
			}
			if _, err := writesBlocks(ctx, t); err != nil || t.Prompt.Turn > 1 {
				return domain.StopEndTurn, err
			}
			<-ctx.Done()
			return "", context.Cause(ctx)
		}
		again := func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			last := t.Prompt.History[len(t.Prompt.History)-1]
			if last.Role == domain.RoleAssistant && len(last.ToolCalls) == 1 { // its call has no result yet: it comes back to it
				return domain.StopEndTurn, t.Host.SubmitBlocks(ctx, last.ToolCalls[0], []byte(script1))
			}
			return writesBlocks(ctx, t)
		}
		first := newWorld(t, s, hangs)
		id := first.start(generation)
		first.until(id, domain.BlocksGeneratedType)
		first.killed()

		second := newWorld(t, s, again)
		second.becomes(id, domain.StatusIdle, 1)
		second.wantStates(id, domain.GenerationSubmitted)
		second.killed()

		third := newWorld(t, s, hangs)
		changed := &domain.Document{Revision: "r2", Blocks: []byte(`[]`)}
		wantCode(t, "an edit after a restart", third.edit(id, domain.Edit{Generation: 1, Document: changed}, "hang"), "")
		third.becomes(id, domain.StatusWaiting, 2)
		third.killed()

		fourth := newWorld(t, s, again)
		fourth.becomes(id, domain.StatusIdle, 2)
		fourth.wantStates(id, domain.GenerationSuperseded, domain.GenerationSubmitted)
		if got := fourth.generations(id)[1].DocumentRevision; got != "r2" {
			t.Errorf("the document of the edit is forgotten: %q", got)
		}
		fourth.killed()

		fifth := newWorld(t, s, again)
		fifth.accepts(id, 2, "r2")
		for _, call := range []string{"g1", "g2"} {
			if outcome := fifth.outcome(id, call); outcome != domain.OutcomeSucceeded {
				t.Errorf("%s: %s", call, outcome)
			}
		}
	})
}

func TestBlocksThatNobodyTakes(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), writesBlocks)
	for how, end := range map[string]func(id domain.ExecutionID) domain.Execution{"close": w.close, "cancel": w.cancel} {
		id := w.start(generation)
		w.becomes(id, domain.StatusIdle, 1)
		end(id)
		w.wantStates(id, domain.GenerationCancelled)
		if outcome := w.outcome(id, "g1"); outcome != domain.OutcomeCancelled {
			t.Errorf("after %s the call's outcome is %s", how, outcome)
		}
		_, err := w.accept(id, 1, "r1")
		if code := domain.CodeOf(err); code != domain.CodeNoGeneration && code != domain.CodeExecutionEnded {
			t.Errorf("after %s they are accepted: %v", how, err)
		}
	}
}

func TestBlocksExpire(t *testing.T) {
	onFakeTime(t, writesBlocks, func(t *testing.T, w *world) {
		id := w.start(generation)
		w.becomes(id, domain.StatusIdle, 1)
		time.Sleep(2 * time.Hour)
		if end := w.ended(id); end.Output.FinishReason != domain.FinishExpired {
			t.Errorf("%+v", end.Output)
		}
		w.wantStates(id, domain.GenerationCancelled)
	})
}

// TestAnEditAgainstAnAcceptance: one of the two, and never both.
func TestAnEditAgainstAnAcceptance(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, writesBlocks)
		for range 15 {
			id := w.start(generation)
			w.becomes(id, domain.StatusIdle, 1)
			var edited, accepted error
			var both sync.WaitGroup
			both.Go(func() { edited = w.edit(id, domain.Edit{Generation: 1}, "shorter") })
			both.Go(func() { _, accepted = w.accept(id, 1, "r1") })
			both.Wait()
			switch {
			case (edited == nil) == (accepted == nil):
				t.Fatalf("edit: %v, acceptance: %v", edited, accepted)
			case accepted == nil:
				w.ended(id)
				w.wantStates(id, domain.GenerationAccepted)
			default:
				w.becomes(id, domain.StatusIdle, 2)
				w.wantStates(id, domain.GenerationSuperseded, domain.GenerationSubmitted)
			}
		}
	})
}

// TestOneGenerationPerPlaceOfADocument: without a runbook, the id of the document is the place. It is never that of a runbook.
func TestOneGenerationPerPlaceOfADocument(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, waits)
		at := func(runbook, document, after string) func(*domain.Request) {
			return func(r *domain.Request) {
				generation(r)
				r.RunbookID, r.Runbook.Document.ID, r.Runbook.InsertAfter = runbook, document, after
			}
		}
		others := []domain.ExecutionID{
			w.start(at("disks", "", "b1")), w.start(at("document", "", "disks")), w.start(at("", "other", "b1")), w.start(at("", "disks", "b2")), w.start(at("", "", "b1")),
			w.start(at("runs", "disks", "b1")),
		}
		theirs, _, err := w.manager.Start(t.Context(), "acme", alice, request(at("", "disks", "b1")), nil)
		if err != nil {
			t.Fatal(err)
		}
		old := w.start(at("", "disks", "b1"))
		w.becomes(old, domain.StatusWaiting, 1)
		newest := w.start(at("", "disks", "b1"))
		end := w.ended(old)
		if last := payloads[domain.ExecutionEnded](t, w.events(old))[0]; end.Status != domain.StatusCancelled || last.Reason != "superseded by "+string(newest) {
			t.Errorf("%s: %+v", end.Status, last)
		}
		for _, id := range append(others, newest) {
			w.becomes(id, domain.StatusWaiting, 1)
			w.cancel(id)
		}
		if there, err := s.Execution(t.Context(), "acme", theirs.ID); err != nil || there.Status.Terminal() {
			t.Errorf("of another tenant: %s, %v", there.Status, err)
		}
	})
}

// TestOneGenerationPerPlace: the newest stays, also where several are started at once.
func TestOneGenerationPerPlace(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, waits)
		at := func(runbook, after string) func(*domain.Request) {
			return func(r *domain.Request) {
				generation(r)
				r.RunbookID, r.Runbook.InsertAfter = runbook, after
			}
		}
		other, elsewhere, nowhere := w.start(at("rb1", "b2")), w.start(at("rb2", "b1")), w.start(at("", "b1"))
		ids := make([]domain.ExecutionID, 5)
		var all sync.WaitGroup
		for i := range ids {
			all.Go(func() { ids[i] = w.start(at("rb1", "b1")) })
		}
		all.Wait()
		newest := ids[0]
		for _, id := range ids {
			newest = max(newest, id)
		}
		for _, id := range ids {
			if id == newest {
				continue
			}
			end := w.ended(id)
			log := w.events(id)
			last := payloads[domain.ExecutionEnded](t, log)[0]
			if end.Status != domain.StatusCancelled || !strings.HasPrefix(last.Reason, "superseded by ") {
				t.Errorf("%s: %+v", end.Status, last)
			}
		}
		for _, id := range []domain.ExecutionID{newest, other, elsewhere, nowhere} {
			w.becomes(id, domain.StatusWaiting, 1)
			w.cancel(id)
		}
	})
}

func TestBlocksOfATurnThatIsOver(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		<-ctx.Done()
		err := t.Host.SubmitBlocks(context.Background(), sessionstest.Blocks("g1", script1), []byte(script1))
		if err == nil {
			panic("blocks were taken after the end")
		}
		return "", errors.Join(context.Cause(ctx), err)
	})
	id := w.start(generation)
	w.becomes(id, domain.StatusWaiting, 1)
	w.cancel(id)
	w.wantStates(id)
}

// TestAnAcceptanceAgainstACancel: blocks that were reported as accepted are never reported as dropped.
func TestAnAcceptanceAgainstACancel(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, writesBlocks)
		for range 15 {
			id := w.start(generation)
			w.becomes(id, domain.StatusIdle, 1)
			var accepted error
			var both sync.WaitGroup
			both.Go(func() { _, accepted = w.accept(id, 1, "r1") })
			both.Go(func() { _, _ = w.manager.Cancel(context.Background(), tenant, id, "enough", alice) })
			both.Wait()
			end := w.ended(id)
			taken := w.states(id)[0] == domain.GenerationAccepted
			if taken != (accepted == nil) || taken != (w.outcome(id, "g1") == domain.OutcomeSucceeded) || taken != (end.Status == domain.StatusCompleted) {
				t.Fatalf("acceptance: %v; generation %v, call %s, execution %s", accepted, w.states(id), w.outcome(id, "g1"), end.Status)
			}
		}
	})
}

// TestAcceptedAndThenCancelled while nobody drives the execution.
func TestAcceptedAndThenCancelled(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		first := newWorld(t, s, writesBlocks)
		id := first.start(generation)
		first.becomes(id, domain.StatusIdle, 1)
		first.killed()
		for _, change := range []store.Change{
			{Execution: id, Accept: &store.Acceptance{Generation: 1, Revision: "r1", By: alice},
				Events: []domain.Event{domain.NewEvent(id, domain.BlocksAccepted{Generation: 1, By: alice})}},
			{Execution: id, Cancel: &store.CancelRequest{Reason: "superseded", By: alice}},
		} {
			if out, err := s.Commit(context.Background(), []store.Change{change}); err != nil || out[0].Err != nil {
				t.Fatal(err, out)
			}
		}
		second := newWorld(t, s, writesBlocks)
		if end := second.ended(id); end.Status != domain.StatusCompleted || second.outcome(id, "g1") != domain.OutcomeSucceeded {
			t.Errorf("%s, and the call %s", end.Status, second.outcome(id, "g1"))
		}
		second.accepts(id, 1, "r1")
		if _, err := second.manager.Accept(context.Background(), tenant, id, store.Acceptance{Generation: 1, Revision: "r9", By: alice}); err == nil {
			t.Error("it is accepted for another revision, too")
		}
	})
}

// TestAnEditWithoutItsModel keeps the earlier blocks, also if the model is found to be gone only after a restart.
func TestAnEditWithoutItsModel(t *testing.T) {
	s := storetest.SQLite(t)
	first := newWorld(t, s, writesBlocks)
	id := first.start(generation)
	first.becomes(id, domain.StatusIdle, 1)
	first.drain()
	second := newWorld(t, s, nil, func(c *dispatch.Config) {
		c.Agents[domain.SourceInternal] = func(context.Context, domain.Opening) (domain.Agent, error) {
			return nil, domain.Errorf(domain.CodeUnknownModel, "the model is gone")
		}
	})
	wantCode(t, "an edit", second.edit(id, domain.Edit{Generation: 1}, "shorter"), "")
	second.becomes(id, domain.StatusIdle, 2)
	ended := payloads[domain.TurnEnded](t, second.events(id))
	if last := ended[len(ended)-1]; last.Turn != 2 || last.Error == nil || last.Error.Code != domain.CodeUnknownModel {
		t.Errorf("%+v", last)
	}
	second.wantStates(id, domain.GenerationSubmitted)
	second.accepts(id, 1, "r1")
}

// TestAnInterruptedEditKeepsTheBlocks: who gives up an edit whose provider is away has given up the edit alone.
func TestAnInterruptedEditKeepsTheBlocks(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			if t.Prompt.Turn == 2 {
				return "", errKey()
			}
			return writesBlocks(ctx, t)
		})
		id := w.start(generation)
		w.becomes(id, domain.StatusIdle, 1)
		wantCode(t, "an edit", w.edit(id, domain.Edit{Generation: 1}, "shorter"), "")
		w.becomes(id, domain.StatusInterrupted, 1)
		w.resume(id, domain.ResumeFail)
		w.becomes(id, domain.StatusIdle, 2)
		ended := payloads[domain.TurnEnded](t, w.events(id))
		if last := ended[len(ended)-1]; last.Turn != 2 || last.Error == nil || last.Error.Code != domain.CodeInterrupted {
			t.Errorf("%+v", last)
		}
		w.wantStates(id, domain.GenerationSubmitted)
		w.accepts(id, 1, "r1")
	})
}

func TestNoSecretInTheDocumentOfAnEdit(t *testing.T) {
	s := storetest.SQLite(t)
	w := newWorld(t, s, writesBlocks, masking)
	id := w.start(generation)
	w.becomes(id, domain.StatusIdle, 1)
	revision := &domain.Document{Revision: canary, Blocks: []byte(`[]`)}
	wantCode(t, "a secret as a revision", w.edit(id, domain.Edit{Document: revision}, "shorter"), domain.CodeInvalid)
	blocks := &domain.Document{Revision: "r2", Blocks: []byte(`[{"id":"b1","props":{"password":"` + canary + `"}}]`)}
	wantCode(t, "a secret in a block", w.edit(id, domain.Edit{Document: blocks}, "shorter"), "")
	w.becomes(id, domain.StatusIdle, 2)
	kept, err := s.EditedDocument(context.Background(), id)
	if err != nil || kept == nil || strings.Contains(string(kept.Blocks), canary) {
		t.Errorf("%v, %v", kept, err)
	}
}

// nowhere is a database that does not say who is live at a place.
type nowhere struct {
	*store.Store
	asked chan struct{}
}

func (n *nowhere) LiveAt(context.Context, domain.TenantID, string) ([]domain.ExecutionID, error) {
	select {
	case n.asked <- struct{}{}:
	default:
	}
	return nil, domain.Errorf(domain.CodeStorage, "away")
}

func TestADrainWhileThePlaceIsNotKnown(t *testing.T) {
	n := &nowhere{Store: storetest.SQLite(t), asked: make(chan struct{}, 1)}
	w := newWorldThrough(t, n, n.Store, writesBlocks)
	w.start(generation, func(r *domain.Request) { r.RunbookID = "rb" })
	<-n.asked
	w.drain()
}
