package sessions_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// An answer that leaves nothing to write down reaches the agent all the same.
func TestAnswerWithoutAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := make(chan string, 2)
		w, _ := abroad(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			var wg sync.WaitGroup
			for _, id := range []string{"c1", "c2"} {
				_ = t.Want("m1", sessionstest.Bash(id, "ls"))
				_ = t.Host.Emit(ctx, domain.ToolCallStarted{ToolCallID: id, AllowedBy: "agent"})
				wg.Go(func() {
					_, err := t.Ask(ctx, id, options)
					if err == nil {
						told <- id
					}
				})
			}
			wg.Wait()
			return domain.StopEndTurn, nil
		})
		id := w.start(outside)
		all := w.approvals(id, 2)
		w.decide(all[0])
		select {
		case <-told:
		case <-time.After(10 * time.Second):
			t.Fatal("the agent was not answered")
		}
		w.decide(all[1])
		w.ended(id)
	})
}

// The same for a no that the capabilities say to a call that has begun.
func TestDenialWithoutAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := make(chan string, 2)
		w, _ := abroad(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			_ = t.Want("m1", sessionstest.Bash("c1", "ls"))
			_ = t.Host.Emit(ctx, domain.ToolCallStarted{ToolCallID: "c1", AllowedBy: "agent"})
			time.Sleep(300 * time.Millisecond)
			a, err := t.Ask(ctx, "c1", options)
			told <- string(a.Status)
			return domain.StopEndTurn, err
		})
		id := w.start(outside, func(r *domain.Request) { r.Capabilities.Execute = domain.Deny })
		select {
		case said := <-told:
			if said != "denied" {
				t.Error(said)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("the agent was not answered")
		}
		w.ended(id)
	})
}

// A question that comes while a drain lets a call end is not answered: an answer would be the end of the turn.
func TestQuestionDuringADrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storetest.SQLite(t)
		proceed := make(chan struct{})
		w, _ := abroad(t, s, func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			_ = t.Want("m1", sessionstest.Bash("c1", "ls"))
			_ = t.Host.Emit(ctx, domain.ToolCallStarted{ToolCallID: "c1", AllowedBy: "agent"})
			<-proceed
			if a, err := t.Ask(ctx, "c2", options); err != nil || a.Status == domain.ApprovalCancelled {
				return domain.StopCancelled, err
			}
			return domain.StopEndTurn, nil
		})
		id := w.start(outside)
		w.becomes(id, domain.StatusExecutingTool, 1)
		time.AfterFunc(300*time.Millisecond, func() { close(proceed) })
		w.drain()
		if e := w.execution(id); e.Status.Terminal() {
			t.Errorf("%s %+v", e.Status, e.Output)
		}
	})
}

// The same for a call of our own agent: its model must not get a no that nobody has said.
func TestCallDuringADrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storetest.SQLite(t)
		proceed := make(chan struct{})
		w := newWorld(t, s, func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			one, two := sessionstest.Bash("c1", "ls"), sessionstest.Bash("c2", "ls")
			one.Class, one.Action = domain.ClassRead, domain.Action{}
			_ = t.Want("m1", one)
			_ = t.Want("m1", two)
			done := make(chan domain.Grant, 1)
			go func() {
				<-proceed
				g, err := t.Host.Authorize(ctx, two)
				if err == nil {
					done <- g
				}
			}()
			g := domain.Grant{}
			_, err := t.Use(one, func(json.RawMessage) string {
				select {
				case g = <-done:
				case <-ctx.Done():
				}
				return "ran"
			})
			if err != nil || ctx.Err() != nil {
				return "", ctx.Err()
			}
			return domain.StopEndTurn, t.Say("m2", "told: "+g.Message)
		})
		id := w.start()
		w.becomes(id, domain.StatusExecutingTool, 1)
		time.AfterFunc(200*time.Millisecond, func() { close(proceed) })
		w.drain()
		if e := w.execution(id); e.Status.Terminal() {
			t.Errorf("%s %+v", e.Status, e.Output)
		}
	})
}

// The prompt that waits is the next server's: a turn that begins during a drain is only cut off.
func TestNoTurnBeginsDuringADrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proceed := make(chan struct{})
		w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			one := sessionstest.Bash("c"+t.Prompt.Text, "ls")
			one.Class, one.Action = domain.ClassRead, domain.Action{}
			_ = t.Want("m"+t.Prompt.Text, one)
			_, err := t.Use(one, func(json.RawMessage) string {
				select {
				case <-proceed:
				case <-ctx.Done():
				}
				return "ran"
			})
			return domain.StopEndTurn, err
		}, func(c *dispatch.Config) { c.DrainGrace = 20 * time.Second })
		id := w.start(keepOpen)
		w.becomes(id, domain.StatusExecutingTool, 1)
		w.say(id, "two", "")
		time.AfterFunc(3*time.Second, func() { close(proceed) }) // by when the drain has begun, be the machine as busy as it likes
		w.drain()
		if n := len(payloads[domain.TurnStarted](t, w.events(id))); n != 1 {
			t.Errorf("%d turns began; %v", n, types(w.events(id)))
		}
	})
}

// A yes takes back an earlier no to the same call.
func TestYesAfterANo(t *testing.T) {
	w, _ := abroad(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		_ = t.Want("m1", sessionstest.Bash("c1", "ls"))
		_ = t.Host.Emit(ctx, domain.ToolCallStarted{ToolCallID: "c1", AllowedBy: "agent"})
		_, _ = t.Ask(ctx, "c1", options)
		_, _ = t.Ask(ctx, "c1", options)
		return domain.StopEndTurn, nil
	})
	id := w.start(outside)
	w.decide(w.approvals(id, 1)[0], deny("no"))
	w.decide(w.approvals(id, 2)[1])
	w.ended(id)
	if f := payloads[domain.ToolCallCompleted](t, w.events(id))[0]; f.Outcome == domain.OutcomeDenied {
		t.Error("approved, may have run, and is denied in the log")
	}
}

// An agent that has said nothing may have received its prompt all the same: it does not simply get the prompt again.
func TestKilledBeforeTheFirstWord(t *testing.T) {
	for _, forgets := range []bool{false, true} {
		s := storetest.SQLite(t)
		heard := make(chan struct{})
		script := hung(func(context.Context, *sessionstest.Turn) { close(heard) })
		w, external := abroad(t, s, script)
		external.Forgets = forgets
		id := w.start(outside)
		<-heard
		w.killed()
		w, external = abroad(t, s, script)
		if forgets {
			w.becomes(id, domain.StatusInterrupted, 1)
			continue
		}
		end := w.ended(id)
		if again := <-external.Opened; again.AgentSession != "session-1" {
			t.Errorf("opened with %q", again.AgentSession)
		}
		if continued := payloads[domain.TurnContinued](t, w.events(id)); len(continued) != 1 || !strings.HasSuffix(end.Output.Text, "This was the prompt:\n\n> go") {
			t.Errorf("it was told %q, in the log is %+v", end.Output.Text, continued)
		}
	}
}

// An agent that has no sessions of earlier processes would answer the next prompt and know nothing of the others.
func TestNextPromptOfAnAgentThatForgets(t *testing.T) {
	s := storetest.SQLite(t)
	w, external := abroad(t, s, echo)
	external.Forgets = true
	id := w.start(outside, keepOpen)
	w.becomes(id, domain.StatusIdle, 1)
	w.killed()
	w, external = abroad(t, s, echo)
	external.Forgets = true
	w.say(id, "two", "")
	w.becomes(id, domain.StatusInterrupted, 1)
	if _, err := w.manager.Resume(context.Background(), tenant, id, domain.ResumeFresh, alice); err != nil {
		t.Fatal(err)
	}
	w.becomes(id, domain.StatusIdle, 2)
	if end := w.close(id); !strings.HasPrefix(end.Output.Text, "two after u:go,a:go") {
		t.Errorf("it was told %q", end.Output.Text)
	}
}

// An agent that cannot be started for the moment does not cost the conversation, nor the prompt that waits.
func TestAgentThatDoesNotStartAgain(t *testing.T) {
	s := storetest.SQLite(t)
	w, _ := abroad(t, s, echo)
	id := w.start(outside, keepOpen)
	w.becomes(id, domain.StatusIdle, 1)
	w.killed()
	w, external := abroad(t, s, echo)
	external.Refuses = domain.Errorf(domain.CodeAgentUnavailable, "It is not there.")
	w.say(id, "two", "")
	w.becomes(id, domain.StatusInterrupted, 1)
	w.killed()
	w, _ = abroad(t, s, echo)
	if _, err := w.manager.Resume(context.Background(), tenant, id, domain.ResumeLoad, alice); err != nil {
		t.Fatal(err)
	}
	w.becomes(id, domain.StatusIdle, 2)
	w.close(id)
}

func TestCloseOfAnInterruptedExecution(t *testing.T) {
	s := storetest.SQLite(t)
	heard := make(chan struct{})
	script := hung(func(context.Context, *sessionstest.Turn) { close(heard) })
	w, external := abroad(t, s, script)
	external.Forgets = true
	id := w.start(outside)
	<-heard
	w.killed()
	w, _ = abroad(t, s, script)
	w.becomes(id, domain.StatusInterrupted, 1)
	// The end may come before the answer, and is another one than was asked for.
	if _, err := w.manager.Close(context.Background(), tenant, id, alice); err != nil && domain.CodeOf(err) != domain.CodeExecutionEnded {
		t.Errorf("closed: %v", err)
	}
	if end := w.ended(id); end.Status != domain.StatusFailed || end.Output.Error.Code != domain.CodeInterrupted {
		t.Errorf("%s: %+v", end.Status, end.Output)
	}
}

// A repeated request gives the first answer again, also if the execution that it continued is gone.
func TestIdempotentResumeFrom(t *testing.T) {
	w, _ := abroad(t, storetest.SQLite(t), echo)
	first := w.start(outside)
	w.ended(first)
	key := &store.Idempotency{Key: "k", BodyHash: make([]byte, 32)}
	r := request(outside, func(r *domain.Request) { r.ResumeFrom = first })
	e, _, err := w.manager.Start(context.Background(), tenant, alice, r, key)
	if err != nil {
		t.Fatal(err)
	}
	w.ended(e.ID)
	if err := w.manager.Delete(context.Background(), tenant, first, alice); err != nil {
		t.Fatal(err)
	}
	_, replayed, err := w.manager.Start(context.Background(), tenant, alice, r, key)
	if err != nil || !replayed {
		t.Error(replayed, err)
	}
}

// The agent's process ends while idle, and the prompt is faster than the news of it.
func TestPromptBeforeTheNewsOfAnExit(t *testing.T) {
	var turns int
	w, e := abroad(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		turns++
		if turns == 2 { // as acp.Prompt does when a.lost()
			return "", domain.Errorf(domain.CodeAgentExited, "gone").With(domain.ErrNotPrompted)
		}
		return domain.StopEndTurn, nil
	})
	id := w.start(outside, keepOpen)
	<-e.Opened
	w.becomes(id, domain.StatusIdle, 1)
	w.say(id, "two", "")
	w.becomes(id, domain.StatusIdle, 2)
	if again := <-e.Opened; again.AgentSession != "session-1" || turns != 3 {
		t.Errorf("%+v after %d prompts", again, turns)
	}
	w.close(id)
}
