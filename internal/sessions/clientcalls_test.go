package sessions_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// inserts gives one call to the client, also when it comes back to the call after a restart, and says the answer.
func inserts(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
	call := sessionstest.Insert("c1", "b1")
	history := t.Prompt.History
	var output string
	var err error
	switch last := history[len(history)-1]; {
	case last.Role == domain.RoleTool:
		output = last.Text
	case last.Role == domain.RoleAssistant:
		output, err = t.Host.CallClient(ctx, call)
	default:
		output, err = t.Give("m1", call)
	}
	if err != nil {
		return "", err
	}
	return domain.StopEndTurn, t.Say("m2", "told: "+output)
}

// trusting lets calls of class write run unasked.
func trusting(r *domain.Request) { r.Capabilities.Write = domain.Allow }

func (w *world) answer(id domain.ExecutionID, call string, answer domain.ClientAnswer) (domain.ClientCall, error) {
	w.t.Helper()
	answer.By = alice
	ctx, cancel := context.WithTimeout(context.Background(), w.patience)
	defer cancel()
	return w.manager.AnswerClient(ctx, tenant, id, call, answer)
}

// answers answers, and does not expect that to be refused.
func (w *world) answers(id domain.ExecutionID, call, output string) {
	w.t.Helper()
	if _, err := w.answer(id, call, domain.ClientAnswer{Output: output}); err != nil {
		w.t.Fatal("answer:", err)
	}
}

// outcome is the outcome of a call; empty while it is open.
func (w *world) outcome(id domain.ExecutionID, call string) domain.Outcome {
	w.t.Helper()
	for _, completed := range payloads[domain.ToolCallCompleted](w.t, w.events(id)) {
		if completed.ToolCallID == call {
			return completed.Outcome
		}
	}
	return ""
}

// wantCode holds an error against a code; "" is no error.
func wantCode(t *testing.T, what string, err error, code domain.Code) {
	t.Helper()
	got := domain.CodeOf(err)
	if err == nil {
		got = ""
	}
	if got != code {
		t.Errorf("%s is answered with %q, want %q (%v)", what, got, code, err)
	}
}

func TestTheClientRunsACall(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, inserts)
		id := w.start(trusting)
		w.becomes(id, domain.StatusExecutingTool, 1)
		started := payloads[domain.ToolCallStarted](t, w.events(id))
		if len(started) != 1 || started[0].Awaits != domain.AwaitsClient || started[0].ExpiresAt == nil || started[0].Sandbox != "" {
			t.Fatalf("started: %+v", started)
		}
		_, err := w.answer(id, "c2", domain.ClientAnswer{Output: "what?"})
		wantCode(t, "an unknown call", err, domain.CodeNotFound)
		_, err = w.manager.AnswerClient(context.Background(), "somebody else", id, "c1", domain.ClientAnswer{Output: "mine"})
		wantCode(t, "a call of another tenant", err, domain.CodeNotFound)

		call, err := w.answer(id, "c1", domain.ClientAnswer{Output: "inserted"})
		wantCode(t, "the answer", err, "")
		if call.State != domain.ClientCallAnswered || call.Answer == nil || call.Answer.Output != "inserted" {
			t.Errorf("the call stands as %+v", call)
		}
		end := w.ended(id)
		if end.Output.Text != "told: inserted" || w.outcome(id, "c1") != domain.OutcomeSucceeded {
			t.Errorf("%+v", end.Output)
		}
		executed := end.Output.ToolCallsExecuted
		if len(executed) != 1 || !executed[0].Approved || executed[0].Name != "insert_blocks" || executed[0].ResultSummary != "inserted" {
			t.Errorf("executed: %+v", executed)
		}
		_, err = w.answer(id, "c1", domain.ClientAnswer{Output: "inserted"})
		wantCode(t, "the same answer again", err, "")
		answered := 0
		for _, record := range w.records(id) {
			if record.Action == "toolCall.answered" && record.Subject == "c1" && *record.Actor == alice {
				answered++
			}
		}
		if answered != 1 {
			t.Errorf("who has answered is on record %d times", answered)
		}
		_, err = w.answer(id, "c1", domain.ClientAnswer{Output: "twice"})
		wantCode(t, "another answer", err, domain.CodeAlreadyAnswered)
	})
}

func TestTheClientsErrorReachesTheModel(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), inserts)
	id := w.start(trusting)
	w.becomes(id, domain.StatusExecutingTool, 1)
	_, err := w.answer(id, "c1", domain.ClientAnswer{Error: "there is no block b1"})
	wantCode(t, "an error", err, "")
	end := w.ended(id)
	if end.Output.Text != "told: there is no block b1" || w.outcome(id, "c1") != domain.OutcomeFailed {
		t.Errorf("%+v, %v", end.Output, payloads[domain.ToolCallCompleted](t, w.events(id)))
	}
}

func TestAClientsCallIsJudgedLikeAnyOther(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), inserts)
	denied := w.start(func(r *domain.Request) { r.Capabilities.Write = domain.Deny })
	w.ended(denied)
	_, err := w.answer(denied, "c1", domain.ClientAnswer{Output: "inserted"})
	wantCode(t, "a call that was denied", err, domain.CodeNotFound)

	asked := w.start()
	w.decide(w.approvals(asked, 1)[0])
	w.becomes(asked, domain.StatusExecutingTool, 1)
	w.answers(asked, "c1", "inserted")
	w.ended(asked)
	if started := payloads[domain.ToolCallStarted](t, w.events(asked)); started[0].ApprovalID == "" {
		t.Errorf("started without its approval: %+v", started[0])
	}
}

func TestACallWaitsForItsClientOverAKill(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		first := newWorld(t, s, inserts)
		answered, waiting := first.start(trusting), first.start(trusting)
		first.becomes(answered, domain.StatusExecutingTool, 1)
		first.becomes(waiting, domain.StatusExecutingTool, 1)
		first.killed()

		second := newWorld(t, s, inserts)
		second.answers(answered, "c1", "one")
		second.becomes(waiting, domain.StatusExecutingTool, 2)
		second.answers(waiting, "c1", "two")
		for id, text := range map[domain.ExecutionID]string{answered: "told: one", waiting: "told: two"} {
			if end := second.ended(id); end.Output.Text != text {
				t.Errorf("%+v, want %q", end.Output, text)
			}
			if started := payloads[domain.ToolCallStarted](t, second.events(id)); len(started) != 1 {
				t.Errorf("%d starts", len(started))
			}
		}
	})
}

func TestADrainDoesNotWaitForTheClient(t *testing.T) {
	s := storetest.SQLite(t)
	first := newWorld(t, s, inserts)
	id := first.start(trusting)
	first.becomes(id, domain.StatusExecutingTool, 1)
	begun := time.Now()
	first.drain()
	if took := time.Since(begun); took >= first.config.DrainGrace {
		t.Errorf("the drain waited %s for an answer that nobody owes it", took)
	}
	second := newWorld(t, s, inserts)
	second.answers(id, "c1", "late, and in time")
	if end := second.ended(id); end.Output.Text != "told: late, and in time" {
		t.Errorf("%+v", end.Output)
	}
}

func TestTheClientTakesTooLong(t *testing.T) {
	onFakeTime(t, inserts, func(t *testing.T, w *world) {
		id := w.start(trusting, func(r *domain.Request) { r.TimeoutSeconds, r.ApprovalTimeoutSeconds = 60, 3600 })
		begun := time.Now()
		end := w.ended(id)
		if end.Status != domain.StatusCompleted || end.Output.Text != "told: The client did not answer this call in time." {
			t.Errorf("%s: %+v", end.Status, end.Output)
		}
		if took := time.Since(begun); took < time.Hour || took > time.Hour+time.Minute {
			t.Errorf("it ended after %s: the turn's clock stands still, the call's does not", took)
		}
		_, err := w.answer(id, "c1", domain.ClientAnswer{Output: "inserted"})
		wantCode(t, "an answer after the time", err, domain.CodeCallEnded)
	})
}

func TestACancelEndsTheWaitingForTheClient(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), inserts)
	id := w.start(trusting)
	w.becomes(id, domain.StatusExecutingTool, 1)
	w.cancel(id)
	if outcome := w.outcome(id, "c1"); outcome != domain.OutcomeCancelled {
		t.Errorf("the outcome is %s", outcome)
	}
	_, err := w.answer(id, "c1", domain.ClientAnswer{Output: "inserted"})
	wantCode(t, "an answer after the end", err, domain.CodeCallEnded)
}

// TestAnAnswerAgainstACancel: an answer that was taken is the outcome of the call, also where the end came at the same moment.
func TestAnAnswerAgainstACancel(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, inserts)
		for round := range 20 {
			id := w.start(trusting)
			w.becomes(id, domain.StatusExecutingTool, 1)
			var taken error
			var both sync.WaitGroup
			both.Go(func() { _, taken = w.answer(id, "c1", domain.ClientAnswer{Output: fmt.Sprint(round)}) })
			both.Go(func() { _, _ = w.manager.Cancel(context.Background(), tenant, id, "enough", alice) })
			both.Wait()
			w.ended(id)
			outcome := w.outcome(id, "c1")
			if (taken == nil) != (outcome == domain.OutcomeSucceeded) {
				t.Fatalf("the answer was met with %v, and the outcome is %s", taken, outcome)
			}
		}
	})
}

func TestRacingAnswers(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, inserts)
		id := w.start(trusting)
		w.becomes(id, domain.StatusExecutingTool, 1)
		errs := make([]error, 32)
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() { _, errs[i] = w.answer(id, "c1", domain.ClientAnswer{Output: fmt.Sprint(i)}) })
		}
		all.Wait()
		end := w.ended(id)
		winners := 0
		for i, err := range errs {
			switch {
			case err == nil:
				winners++
				if want := fmt.Sprint("told: ", i); end.Output.Text != want {
					t.Errorf("the model was %q, the winner is %q", end.Output.Text, want)
				}
			default:
				wantCode(t, "an answer that lost", err, domain.CodeAlreadyAnswered)
			}
		}
		if winners != 1 {
			t.Errorf("%d answers won", winners)
		}
	})
}

// TestAnAnswerWhileTheTurnMakesRoom for another prompt: the answer was taken, so it is the outcome, and the next turn comes.
func TestAnAnswerWhileTheTurnMakesRoom(t *testing.T) {
	stopped, goOn := make(chan struct{}), make(chan struct{})
	w := newWorld(t, storetest.SQLite(t), func(_ context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		if t.Prompt.Turn > 1 {
			return domain.StopEndTurn, t.Say("m2", "second")
		}
		_, err := t.Give("m1", sessionstest.Insert("c1", "b1"))
		close(stopped)
		<-goOn // it takes a moment to stop
		return "", err
	})
	id := w.start(trusting, func(r *domain.Request) { r.KeepOpen = true })
	w.becomes(id, domain.StatusExecutingTool, 1)
	if _, err := w.prompt(id, "something else", domain.WhenBusyInterrupt); err != nil {
		t.Fatal(err)
	}
	<-stopped
	w.answers(id, "c1", "inserted")
	close(goOn)
	w.becomes(id, domain.StatusIdle, 1)
	if outcome := w.outcome(id, "c1"); outcome != domain.OutcomeSucceeded {
		t.Errorf("the outcome is %s", outcome)
	}
}

// behind is a database whose clock has not come to the end of a call's time.
type behind struct {
	*store.Store
	until time.Time
	tried atomic.Int64
}

func (b *behind) Commit(ctx context.Context, changes []store.Change) ([]store.Result, error) {
	for _, c := range changes {
		if len(c.CloseClient) > 0 && c.CloseClient[0].To == domain.ClientCallExpired && time.Now().Before(b.until) {
			b.tried.Add(1)
			return []store.Result{{Err: domain.Errorf(domain.CodeStale, "not yet")}}, nil
		}
	}
	return b.Store.Commit(ctx, changes)
}

// TestAClockThatIsAhead ends a call now and then, not all the time, until the database agrees.
func TestAClockThatIsAhead(t *testing.T) {
	b := &behind{Store: storetest.SQLite(t)}
	w := newWorldThrough(t, b, b.Store, inserts)
	b.until = time.Now().Add(1500 * time.Millisecond)
	w.ended(w.start(trusting, func(r *domain.Request) { r.ApprovalTimeoutSeconds = 1 }))
	if n := b.tried.Load(); n > 10 {
		t.Errorf("%d commits in half a second", n)
	}
}

func TestACallThatWasApprovedAndNotAnswered(t *testing.T) {
	onFakeTime(t, inserts, func(t *testing.T, w *world) {
		id := w.start()
		w.decide(w.approvals(id, 1)[0])
		if c := w.ended(id).Output.ToolCallsExecuted[0]; !c.Approved || c.Outcome != domain.OutcomeExpired {
			t.Errorf("%+v", c)
		}
	})
}
