package sessions_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/approvals"
	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

const options = `[{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"ever","name":"Always","kind":"allow_always"},{"optionId":"no","name":"No","kind":"reject_once"}]`

// asking asks once, and its last message has the answer.
func asking(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
	answer, err := t.Ask(ctx, "c1", options)
	if err != nil {
		return "", err
	}
	if answer.Status == domain.ApprovalApproved {
		_ = t.Host.Emit(ctx, domain.ToolCallStarted{ToolCallID: "c1", AllowedBy: "agent"})
		_ = t.Host.Emit(ctx, domain.ToolCallCompleted{ToolCallID: "c1", Outcome: domain.OutcomeSucceeded, Output: "ran"})
	}
	return domain.StopEndTurn, t.Say("m1", string(answer.Status)+" "+answer.OptionID)
}

// abroad is a world with an external agent.
func abroad(t testing.TB, s *store.Store, script sessionstest.Script) (*world, *sessionstest.External) {
	t.Helper()
	external := &sessionstest.External{Script: script, Opened: make(chan domain.Opening, 20)}
	return newWorld(t, s, nil, externally(external)), external
}

// TestSubagentOfAnAgent: what it does keeps its parent in the log, and what it says is the output of the call that stands for it, and not the
// answer. Without an outcome of its own at the end of the turn, that call gets one.
func TestSubagentOfAnAgent(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w, _ := abroad(t, s, func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			for _, payload := range []domain.Payload{
				domain.ToolCallRequested{ToolCallID: "subagent", Tool: "subagent", Class: domain.ClassDelegate, Arguments: json.RawMessage(`{}`)},
				domain.ToolCallStarted{ToolCallID: "subagent", AllowedBy: "agent"},
				domain.ToolCallUpdated{ToolCallID: "subagent", Output: "I look."},
				domain.ToolCallRequested{ToolCallID: "c1", ParentToolCallID: "subagent", Tool: "execute", Class: domain.ClassExecute, Arguments: json.RawMessage(`{}`)},
				domain.ToolCallStarted{ToolCallID: "c1", AllowedBy: "agent"},
				domain.ToolCallCompleted{ToolCallID: "c1", Outcome: domain.OutcomeSucceeded},
				domain.AgentUpdated{Kind: "plan", Update: json.RawMessage(`{}`), ParentToolCallID: "subagent"},
			} {
				if err := t.Host.Emit(ctx, payload); err != nil {
					return "", err
				}
			}
			return domain.StopEndTurn, t.Say("m1", "Done.")
		})
		id := w.start(outside)
		if text := w.ended(id).Output.Text; text != "Done." {
			t.Errorf("the answer is %q", text)
		}
		log := w.events(id)
		requested := payloads[domain.ToolCallRequested](t, log)
		if len(requested) != 2 || requested[0].ParentToolCallID != "" || requested[1].ParentToolCallID != "subagent" {
			t.Errorf("requests: %+v", requested)
		}
		if printed := payloads[domain.ToolCallUpdated](t, log); len(printed) != 1 || printed[0].Output != "I look." {
			t.Errorf("printed: %+v", printed)
		}
		if passed := payloads[domain.AgentUpdated](t, log); len(passed) != 1 || passed[0].ParentToolCallID != "subagent" {
			t.Errorf("passed on: %+v", passed)
		}
		ended := payloads[domain.ToolCallCompleted](t, log)
		if len(ended) != 2 || ended[1].ToolCallID != "subagent" {
			t.Errorf("outcomes: %+v", ended)
		}
	})
}

func TestAgentPermission(t *testing.T) {
	for name, test := range map[string]struct {
		answer  func(*approvals.Answer)
		said    string
		outcome domain.Outcome
	}{
		"approved":          {func(*approvals.Answer) {}, "approved yes", domain.OutcomeSucceeded},
		"approved for ever": {func(a *approvals.Answer) { a.OptionID = "ever" }, "approved ever", domain.OutcomeSucceeded},
		"denied":            {deny("not now"), "denied no", domain.OutcomeDenied},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
				w, _ := abroad(t, s, asking)
				id := w.start(outside)
				approval := w.approvals(id, 1)[0]
				if approval.Kind != domain.ApprovalAgentPermission || string(approval.Options) != options {
					t.Errorf("%+v", approval)
				}
				w.decide(approval, test.answer)
				end := w.ended(id)
				log := w.events(id)
				if end.Output.Text != test.said {
					t.Errorf("the agent was told %q", end.Output.Text)
				}
				if outcomes := payloads[domain.ToolCallCompleted](t, log); len(outcomes) != 1 || outcomes[0].Outcome != test.outcome {
					t.Errorf("%+v", outcomes)
				}
				starts := payloads[domain.ToolCallStarted](t, log)
				if (test.outcome == domain.OutcomeSucceeded) != (len(starts) == 1 && starts[0].ApprovalID == approval.ID) {
					t.Errorf("starts: %+v", starts)
				}
			})
		})
	}
}

// Some agents announce a call without its arguments, and bring them along with the question.
func TestQuestionShowsWhatItBrings(t *testing.T) {
	w, _ := abroad(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		bare := sessionstest.Bash("c1", "ls")
		bare.Arguments, bare.Summary, bare.Class = json.RawMessage(`{}`), "something", domain.ClassOther
		_ = t.Want("m1", bare)
		return asking(ctx, t)
	})
	id := w.start(outside)
	approval := w.approvals(id, 1)[0]
	if string(approval.Call.Arguments) != `{"command":"ls"}` || approval.Call.Summary != "Run ls" || approval.Call.Class != domain.ClassExecute {
		t.Errorf("a person sees %+v", approval.Call)
	}
	w.decide(approval)
	if started := payloads[domain.ToolCallStarted](t, w.events(w.ended(id).ID)); string(started[0].Arguments) != `{"command":"ls"}` {
		t.Errorf("%+v", started)
	}
}

// Some agents say that a call has begun before they ask. A no is still a no, unless the agent has done it all the same.
func TestNoToACallThatHasBegun(t *testing.T) {
	for said, want := range map[domain.Outcome]domain.Outcome{
		domain.OutcomeFailed: domain.OutcomeDenied, "": domain.OutcomeDenied, domain.OutcomeSucceeded: domain.OutcomeSucceeded,
	} {
		t.Run(string(said), func(t *testing.T) {
			w, _ := abroad(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
				_ = t.Want("m1", sessionstest.Bash("c1", "ls"))
				_ = t.Host.Emit(ctx, domain.ToolCallStarted{ToolCallID: "c1", AllowedBy: "agent"})
				if _, err := t.Ask(ctx, "c1", options); err != nil {
					return "", err
				}
				if said != "" {
					_ = t.Host.Emit(ctx, domain.ToolCallCompleted{ToolCallID: "c1", Outcome: said})
				}
				return domain.StopEndTurn, nil
			})
			id := w.start(outside)
			w.decide(w.approvals(id, 1)[0], deny("no"))
			w.ended(id)
			if outcomes := payloads[domain.ToolCallCompleted](t, w.events(id)); len(outcomes) != 1 || outcomes[0].Outcome != want {
				t.Errorf("%+v", outcomes)
			}
		})
	}
}

// A question is put to a person also where the execution may do nothing.
func TestQuestionIsNotJudged(t *testing.T) {
	w, _ := abroad(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		call := sessionstest.Bash("c1", "ls")
		_ = t.Want("m1", call)
		_, err := t.Host.Ask(ctx, domain.Question{Kind: domain.ApprovalQuestion, Call: call, Form: json.RawMessage(`{"message":"Which?"}`)})
		return domain.StopEndTurn, err
	})
	id := w.start(outside, func(r *domain.Request) { r.Capabilities.Execute = domain.Deny })
	w.decide(w.approvals(id, 1)[0], func(a *approvals.Answer) { a.Answer = json.RawMessage(`{}`) })
	w.ended(id)
}

func TestAgentPermissionExpires(t *testing.T) {
	external := &sessionstest.External{Script: asking, Opened: make(chan domain.Opening, 20)}
	onFakeTimeWith(t, externally(external), func(t *testing.T, w *world) {
		id := w.start(outside, func(r *domain.Request) { r.ApprovalTimeoutSeconds = 60 })
		end := w.ended(id)
		if end.Output.Text != "expired no" {
			t.Errorf("the agent was told %q", end.Output.Text)
		}
		if outcomes := payloads[domain.ToolCallCompleted](t, w.events(id)); outcomes[0].Outcome != domain.OutcomeExpired {
			t.Error(outcomes)
		}
	})
}

// A call that the capabilities deny is answered with the agent's own no, and nobody is asked; an allowed one with its yes.
func TestCapabilitiesAnswerAnAgent(t *testing.T) {
	read := func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		answer, err := t.Host.Ask(ctx, domain.Question{
			Kind: domain.ApprovalAgentPermission, Options: json.RawMessage(options),
			Call: domain.ToolCall{ID: "c1", Tool: "read", Class: domain.ClassRead, Arguments: json.RawMessage(`{}`)},
		})
		return domain.StopEndTurn, joined(err, t.Say("m1", string(answer.Status)+" "+answer.OptionID))
	}
	w, _ := abroad(t, storetest.SQLite(t), read)
	for verdict, said := range map[domain.Verdict]string{domain.Deny: "denied no", domain.Allow: "approved yes"} {
		id := w.start(outside, func(r *domain.Request) { r.Capabilities.Read = verdict })
		if end := w.ended(id); end.Output.Text != said {
			t.Errorf("%s: the agent was told %q", verdict, end.Output.Text)
		}
		if asked := payloads[domain.ApprovalRequested](t, w.events(id)); len(asked) != 0 {
			t.Errorf("%s: somebody was asked", verdict)
		}
	}
}

func joined(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// The agent withdraws its question: a later decision is told that it is gone, and the turn continues.
func TestWithdrawnQuestion(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		withdraw := make(chan struct{})
		w, _ := abroad(t, s, func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			asking, cancel := context.WithCancel(ctx)
			go func() { <-withdraw; cancel() }()
			_, err := t.Ask(asking, "c1", options)
			if err == nil {
				return domain.StopEndTurn, t.Say("m1", "answered")
			}
			return domain.StopEndTurn, t.Say("m1", "withdrawn")
		})
		id := w.start(outside)
		approval := w.approvals(id, 1)[0]
		close(withdraw)
		if end := w.ended(id); end.Output.Text != "withdrawn" || end.Status != domain.StatusCompleted {
			t.Errorf("%s %+v", end.Status, end.Output)
		}
		_, err := w.service.Decide(context.Background(), tenant, approval.ID, approvals.Answer{Verb: domain.Approve, ArgumentsHash: approval.ArgumentsHash, By: alice})
		if domain.CodeOf(err) != domain.CodeApprovalCancelled {
			t.Errorf("deciding then: %v", err)
		}
	})
}

// A decision and a withdrawal at the same moment: one of them wins, and the session survives.
func TestWithdrawalAgainstDecision(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		for range 20 {
			withdraw := make(chan struct{})
			w, _ := abroad(t, s, func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
				asking, cancel := context.WithCancel(ctx)
				defer cancel()
				go func() { <-withdraw; cancel() }()
				_, _ = t.Ask(asking, "c1", options)
				return domain.StopEndTurn, t.Say("m1", "done")
			})
			id := w.start(outside)
			approval := w.approvals(id, 1)[0]
			go close(withdraw)
			_, err := w.service.Decide(context.Background(), tenant, approval.ID, approvals.Answer{Verb: domain.Approve, ArgumentsHash: approval.ArgumentsHash, By: alice})
			if err != nil && domain.CodeOf(err) != domain.CodeApprovalCancelled {
				t.Error(err)
			}
			if end := w.ended(id); end.Status != domain.StatusCompleted {
				t.Errorf("%s: %+v", end.Status, end.Output)
			}
			if n := len(payloads[domain.AgentStarted](t, w.events(id))); n != 1 {
				t.Errorf("the agent was started %d times", n)
			}
			w.drain()
		}
	})
}

// A outcome that the agent tells while a person is asked withdraws the question.
func TestOutcomeWhileAnAgentsQuestionIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := abroad(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			answered := make(chan domain.Answer, 1)
			go func() {
				answer, _ := t.Ask(ctx, "c1", options)
				answered <- answer
			}()
			for { // until the question is open, the call is not known
				select {
				case <-ctx.Done():
					return "", ctx.Err()
				case answer := <-answered:
					return domain.StopEndTurn, t.Say("m1", string(answer.Status))
				case <-time.After(10 * time.Millisecond):
					_ = t.Host.Emit(ctx, domain.ToolCallCompleted{ToolCallID: "c1", Outcome: domain.OutcomeFailed})
				}
			}
		})
		id := w.start(outside)
		if end := w.ended(id); end.Output.Text != "cancelled" {
			t.Errorf("the agent was told %q", end.Output.Text)
		}
	})
}

// Some agents call the end after a plain no "cancelled", though nobody cancelled anything.
func TestCancelledAfterANo(t *testing.T) {
	w, _ := abroad(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		_, err := t.Ask(ctx, "c1", options)
		return domain.StopCancelled, err
	})
	id := w.start(outside)
	w.decide(w.approvals(id, 1)[0], deny(""))
	if end := w.ended(id); end.Status != domain.StatusCompleted {
		t.Errorf("%s: %+v", end.Status, end.Output)
	}
}

func TestCallLeftOpenByAnAgent(t *testing.T) {
	w, _ := abroad(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		for _, id := range []string{"begun", "announced"} {
			_ = t.Want("m1", sessionstest.Bash(id, "ls"))
		}
		return domain.StopEndTurn, t.Host.Emit(ctx, domain.ToolCallStarted{ToolCallID: "begun", AllowedBy: "agent"})
	})
	id := w.start(outside)
	w.ended(id)
	outcomes := map[string]domain.Outcome{}
	for _, c := range payloads[domain.ToolCallCompleted](t, w.events(id)) {
		outcomes[c.ToolCallID] = c.Outcome
	}
	if outcomes["begun"] != domain.OutcomeUnknown || outcomes["announced"] != domain.OutcomeCancelled {
		t.Error(outcomes)
	}
}

// hung is an agent that begins something and is then lost with its server; the next one says the message that it got.
func hung(begin func(ctx context.Context, t *sessionstest.Turn)) sessionstest.Script {
	var begun atomic.Bool
	return func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		if begun.Swap(true) {
			return domain.StopEndTurn, t.Say("m-again", t.Prompt.Text)
		}
		begin(ctx, t)
		<-ctx.Done()
		return "", context.Cause(ctx)
	}
}

func TestTurnGoesOnInALoadedSession(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		script := hung(func(ctx context.Context, t *sessionstest.Turn) {
			_ = t.Host.Emit(ctx, domain.MessageDelta{MessageID: "m1", Text: "half"})
			_, _ = t.Ask(ctx, "c1", options)
		})
		w, external := abroad(t, s, script)
		id := w.start(outside)
		approval := w.approvals(id, 1)[0]
		<-external.Opened
		w.killed()
		w, external = abroad(t, s, script)
		end := w.ended(id)
		log := w.events(id)
		if opened := <-external.Opened; opened.AgentSession != "session-1" {
			t.Errorf("opened as %+v", opened)
		}
		if end.Status != domain.StatusCompleted || !strings.Contains(end.Output.Text, "go on with the task") {
			t.Errorf("%s %+v", end.Status, end.Output)
		}
		if continued := payloads[domain.TurnContinued](t, log); len(continued) != 1 || continued[0].By != nil {
			t.Errorf("%+v", continued)
		}
		if got, _ := s.Approval(context.Background(), tenant, approval.ID); got.Status != domain.ApprovalCancelled {
			t.Errorf("the question of a lost process is %s", got.Status)
		}
		if n := len(payloads[domain.TurnStarted](t, log)); n != 1 {
			t.Errorf("%d turns", n)
		}
	})
}

func TestInterrupted(t *testing.T) {
	running := func(ctx context.Context, t *sessionstest.Turn) {
		_ = t.Want("m1", sessionstest.Bash("c1", "ls"))
		_ = t.Host.Emit(ctx, domain.ToolCallStarted{ToolCallID: "c1", AllowedBy: "agent"})
	}
	speaking := func(ctx context.Context, t *sessionstest.Turn) {
		_ = t.Host.Emit(ctx, domain.MessageDelta{MessageID: "m1", Text: "half"})
	}
	for name, test := range map[string]struct {
		begin   func(ctx context.Context, t *sessionstest.Turn)
		seen    domain.EventType
		forgets bool
		mode    domain.ResumeMode
		session string
		status  domain.Status
	}{
		"a call may have run, load":  {running, domain.ToolCallStartedType, false, domain.ResumeLoad, "session-1", domain.StatusCompleted},
		"a call may have run, fresh": {running, domain.ToolCallStartedType, false, domain.ResumeFresh, "", domain.StatusCompleted},
		"a call may have run, fail":  {running, domain.ToolCallStartedType, false, domain.ResumeFail, "", domain.StatusFailed},
		"no session, fresh":          {speaking, domain.MessageDeltaType, true, domain.ResumeFresh, "", domain.StatusCompleted},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
				script := hung(test.begin)
				w, external := abroad(t, s, script)
				external.Forgets = test.forgets
				id := w.start(outside)
				w.until(id, test.seen)
				w.killed()
				w, _ = abroad(t, s, script)
				w.becomes(id, domain.StatusInterrupted, 1)
				w.killed() // it stays so across restarts
				w, external = abroad(t, s, script)
				if test.forgets {
					if _, err := w.manager.Resume(context.Background(), tenant, id, domain.ResumeLoad, alice); domain.CodeOf(err) != domain.CodeNotResumable {
						t.Errorf("load without a session: %v", err)
					}
				}
				if _, err := w.manager.Resume(context.Background(), tenant, id, test.mode, alice); err != nil {
					t.Fatal("resume:", err)
				}
				end := w.ended(id)
				if end.Status != test.status {
					t.Errorf("%s: %+v", end.Status, end.Output)
				}
				if test.mode == domain.ResumeFail {
					return
				}
				if opened := <-external.Opened; opened.AgentSession != test.session {
					t.Errorf("opened as %+v", opened)
				}
				if continued := payloads[domain.TurnContinued](t, w.events(id)); len(continued) != 1 || *continued[0].By != alice || continued[0].Mode != test.mode {
					t.Errorf("%+v", continued)
				}
				if _, err := w.manager.Resume(context.Background(), tenant, id, domain.ResumeFail, alice); domain.CodeOf(err) != domain.CodeNotInterrupted {
					t.Errorf("resumed when it has ended: %v", err)
				}
			})
		})
	}
}

func TestNobodyChooses(t *testing.T) {
	s := storetest.SQLite(t)
	script := hung(func(ctx context.Context, t *sessionstest.Turn) {
		_ = t.Want("m1", sessionstest.Bash("c1", "ls"))
		_ = t.Host.Emit(ctx, domain.ToolCallStarted{ToolCallID: "c1", AllowedBy: "agent"})
	})
	w, _ := abroad(t, s, script)
	id := w.start(outside, func(r *domain.Request) { r.ApprovalTimeoutSeconds = 2 })
	w.until(id, domain.ToolCallStartedType)
	w.killed()
	w, _ = abroad(t, s, script)
	if end := w.ended(id); end.Status != domain.StatusFailed || end.Output.Error.Code != domain.CodeInterrupted {
		t.Errorf("%s: %+v", end.Status, end.Output)
	}
}

// A session that the agent does not find any more is no reason to lose the conversation.
func TestSessionThatCannotBeLoaded(t *testing.T) {
	s := storetest.SQLite(t)
	w, _ := abroad(t, s, echo)
	id := w.start(outside, keepOpen)
	w.becomes(id, domain.StatusIdle, 1)
	w.killed()
	w, external := abroad(t, s, echo)
	external.Refuses = domain.Errorf(domain.CodeNotResumable, "There is no such session.")
	w.say(id, "two", "")
	w.becomes(id, domain.StatusInterrupted, 1)
	if _, err := w.manager.Resume(context.Background(), tenant, id, domain.ResumeFresh, alice); err != nil {
		t.Fatal(err)
	}
	w.becomes(id, domain.StatusIdle, 2)
	if end := w.close(id); end.Output.Text != "two after u:go,a:go after u:go,u:two" {
		t.Errorf("a fresh session was told %q", end.Output.Text)
	}
}

// A drain hands an external agent over like a kill does, and no turn is booked as failed.
func TestDrainOfAnExternalAgent(t *testing.T) {
	s := storetest.SQLite(t)
	script := hung(func(ctx context.Context, t *sessionstest.Turn) {
		_ = t.Host.Emit(ctx, domain.MessageDelta{MessageID: "m1", Text: "half"})
	})
	w, _ := abroad(t, s, script)
	id := w.start(outside)
	w.until(id, domain.MessageDeltaType)
	w.drain()
	w, _ = abroad(t, s, script)
	if end := w.ended(id); end.Status != domain.StatusCompleted {
		t.Errorf("%s: %+v", end.Status, end.Output)
	}
}

func TestQuestion(t *testing.T) {
	w, _ := abroad(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		answer, err := t.Host.Ask(ctx, domain.Question{
			Kind: domain.ApprovalQuestion,
			Call: domain.ToolCall{ID: "q1", Tool: "question", Class: domain.ClassOther, Arguments: json.RawMessage(`{"message":"Which?"}`)},
			Form: json.RawMessage(`{"message":"Which?","schema":{"type":"object"}}`),
		})
		if err != nil {
			return "", err
		}
		_ = t.Host.Emit(ctx, domain.ToolCallCompleted{ToolCallID: "q1", Outcome: domain.OutcomeSucceeded, Output: string(answer.Content)})
		return domain.StopEndTurn, t.Say("m1", string(answer.Content))
	})
	id := w.start(outside)
	w.decide(w.approvals(id, 1)[0], func(a *approvals.Answer) { a.Answer = json.RawMessage(`{"colour":"red"}`) })
	if end := w.ended(id); end.Output.Text != `{"colour":"red"}` {
		t.Errorf("%+v", end.Output)
	}
}

// The output is bounded, the log is not.
func TestMessageWithoutAnEnd(t *testing.T) {
	piece := strings.Repeat("ö", 300_000)
	w, _ := abroad(t, storetest.SQLite(t), func(_ context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		return domain.StopEndTurn, t.Say("m1", piece, piece, piece)
	})
	id := w.start(outside)
	end := w.ended(id)
	if n := len(end.Output.Text); n > 1<<20 || n < 1<<20-4 || !end.Output.Truncated || !utf8.ValidString(end.Output.Text) {
		t.Errorf("%d bytes, truncated %v", n, end.Output.Truncated)
	}
	if completed := payloads[domain.MessageCompleted](t, w.events(id)); completed[0].Length != 3*len(piece) {
		t.Errorf("%+v", completed)
	}
}

// noTools are the tools of a registry that has none.
type noTools struct{}

func (noTools) Describe(_ domain.Request, tool string, _ json.RawMessage) (domain.ToolCall, error) {
	return domain.ToolCall{}, domain.Errorf(domain.CodeUnknownTool, "There is no tool %s.", tool)
}

// TestYesToACallForAnExternalAgent: the terminals and files of external agents are calls of ours that no registry describes. A
// yes to one of them runs it.
func TestYesToACallForAnExternalAgent(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		var runs atomic.Int32
		w, _ := abroad(t, s, versioned("", &runs))
		w.service = approvals.NewService(s, w.log, noTools{})
		id := w.start(outside)
		w.decide(w.approvals(id, 1)[0])
		if end := w.ended(id); end.Status != domain.StatusCompleted || runs.Load() != 1 {
			t.Errorf("%s, %d runs", end.Status, runs.Load())
		}
	})
}

// broken is an agent whose first turn ends with err, after half a sentence; every later one is well.
func broken(err error) sessionstest.Script {
	var turns atomic.Int32
	return func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		if turns.Add(1) == 1 {
			return "", joined(t.Host.Emit(ctx, domain.MessageDelta{MessageID: "m0", Text: "half a sen"}), err)
		}
		return echo(ctx, t)
	}
}

var (
	errAnswered = domain.Errorf(domain.CodeAgentFailed, "The agent answered the prompt with an error: Internal error (code -32603)")
	errExited   = domain.Errorf(domain.CodeAgentExited, "The agent exited with code 3.")
)

func TestAnErrorOfTheAgentEndsTheTurnAlone(t *testing.T) {
	for name, test := range map[string]struct {
		err     error
		forgets bool
		opened  []string // the sessions of the openings after the first
		after   domain.Status
	}{
		"answered with an error":                {errAnswered, false, []string{"session-1"}, domain.StatusIdle},
		"exited":                                {errExited, false, []string{"session-1"}, domain.StatusIdle},
		"answered with an error, cannot load":   {errAnswered, true, nil, domain.StatusIdle},
		"exited, cannot load: somebody chooses": {errExited, true, nil, domain.StatusInterrupted},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
				w, external := abroad(t, s, broken(test.err))
				external.Forgets = test.forgets
				id := w.start(outside, keepOpen)
				w.becomes(id, domain.StatusIdle, 1)
				ended := payloads[domain.TurnEnded](t, w.events(id))
				if len(ended) != 1 || ended[0].StopReason != domain.StopError || ended[0].Error == nil || ended[0].Error.Code != domain.CodeOf(test.err) {
					t.Errorf("the turn ended as %+v", ended)
				}
				w.say(id, "two", "")
				if test.after == domain.StatusInterrupted {
					w.becomes(id, domain.StatusInterrupted, 1)
					return
				}
				w.becomes(id, domain.StatusIdle, 2)
				if end := w.close(id); end.Status != domain.StatusCompleted || !strings.HasPrefix(end.Output.Text, "two") {
					t.Errorf("%s: %+v", end.Status, end.Output)
				}
				var opened []string
				for len(external.Opened) > 0 {
					opened = append(opened, (<-external.Opened).AgentSession)
				}
				if !slices.Equal(opened[1:], test.opened) {
					t.Errorf("opened again with %q, want %q", opened[1:], test.opened)
				}
			})
		})
	}
}

// A prompt that was accepted has its turn also after one that failed, and the process that broke down is closed first.
func TestPromptsAfterATurnThatFailed(t *testing.T) {
	fail := make(chan struct{})
	var turns atomic.Int32
	w, external := abroad(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		if n := turns.Add(1); n < 3 {
			<-fail
			return "", errExited
		}
		return echo(ctx, t)
	})
	id := w.start(outside, keepOpen)
	w.until(id, domain.TurnStartedType)
	w.say(id, "two", "")
	w.say(id, "three", "")
	close(fail)
	w.becomes(id, domain.StatusIdle, 1)
	end := w.close(id)
	log := w.events(id)
	ended := payloads[domain.TurnEnded](t, log)
	if len(ended) != 3 || ended[0].Error == nil || ended[1].Error == nil || ended[2].Error != nil || len(external.Opened) != 3 {
		t.Errorf("%d openings, turns ended as %+v", len(external.Opened), ended)
	}
	if discarded := payloads[domain.PromptDiscarded](t, log); len(discarded) != 0 || end.Status != domain.StatusCompleted {
		t.Errorf("%s, discarded %+v", end.Status, discarded)
	}
}

// An agent that crashes on every start is not started in a loop: each prompt starts it once, and then somebody chooses.
func TestAgentThatNeverStartsAgain(t *testing.T) {
	w, external := abroad(t, storetest.SQLite(t), broken(errExited))
	external.Refuses = errExited
	id := w.start(outside, keepOpen)
	w.becomes(id, domain.StatusIdle, 1)
	w.say(id, "two", "")
	for n := 1; n < 3; n++ {
		w.becomes(id, domain.StatusInterrupted, n)
		if _, err := w.manager.Resume(context.Background(), tenant, id, domain.ResumeLoad, alice); err != nil {
			t.Fatal(err)
		}
	}
	w.becomes(id, domain.StatusInterrupted, 3)
	if n := len(external.Opened); n != 4 {
		t.Errorf("started %d times", n)
	}
}

// TestApprovalsTellWhatConfines: who decides sees whether anything confines the call, in the approval and in the event.
func TestApprovalsTellWhatConfines(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		check := func(w *world, id domain.ExecutionID, wanted *domain.Isolation) {
			t.Helper()
			approval := w.approvals(id, 1)[0]
			requested := payloads[domain.ApprovalRequested](t, w.events(id))
			if diff := cmp.Diff(wanted, approval.Isolation); diff != "" {
				t.Error("the approval: ", diff)
			}
			if diff := cmp.Diff(wanted, requested[0].Isolation); diff != "" {
				t.Error("the event: ", diff)
			}
			w.cancel(id)
		}
		for kind, wanted := range map[string]string{"bubblewrap": "bubblewrap", "namespaces": "namespaces", "off": domain.IsolationNone} {
			w := newWorld(t, s, one("ls"), func(c *dispatch.Config) { c.Sandbox = sessionstest.Sandbox{Kind: kind} })
			check(w, w.start(), &domain.Isolation{Name: wanted})
			external := &sessionstest.External{Script: asking, Opened: make(chan domain.Opening, 20)}
			w = newWorld(t, s, nil, externally(external), func(c *dispatch.Config) { c.Sandbox = sessionstest.Sandbox{Kind: kind} })
			check(w, w.start(outside), &domain.Isolation{Name: domain.IsolationNone})
		}
	})
}

// oneEnvironment is a catalog of one.
type oneEnvironment struct{ domain.Environment }

func (oneEnvironment) Directories(domain.EnvironmentChoice) []string { return []string{"/"} }

func (e oneEnvironment) Choose(domain.EnvironmentChoice) (domain.Environment, error) {
	return e.Environment, nil
}

// The calls of an agent that runs in the environment of its execution carry it, and are hashed with it. Those of an agent outside of any carry none: its
// environment holds for the commands that Signoff runs for it alone. A rule for the request holds for both.
func TestTheEnvironmentOfAnAgentsCalls(t *testing.T) {
	machine := domain.Environment{Name: "machine", View: domain.ViewMachine}
	hashes := map[string]bool{}
	for name, isolated := range map[string]bool{"isolated": true, "outside": false} {
		t.Run(name, func(t *testing.T) {
			external := &sessionstest.External{Opened: make(chan domain.Opening, 20), Script: func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
				call := sessionstest.Bash("c1", "ls")
				call.Version = ""
				_, err := t.Host.Ask(ctx, domain.Question{Kind: domain.ApprovalAgentPermission, Call: call, Options: json.RawMessage(options), Isolated: isolated})
				return domain.StopEndTurn, err
			}}
			w := newWorld(t, storetest.SQLite(t), nil, externally(external), func(c *dispatch.Config) {
				c.Environments, c.Sandbox = oneEnvironment{machine}, sessionstest.Sandbox{Kind: "bubblewrap"}
			})
			id := w.start(outside, func(r *domain.Request) {
				r.Environment = domain.EnvironmentChoice{Name: machine.Name, Digest: machine.Digest()}
			})
			approval := w.approvals(id, 1)[0]
			switch {
			case !isolated && (approval.Environment != nil || approval.Isolation == nil || approval.Isolation.Name != domain.IsolationNone):
				t.Errorf("a person is shown %+v %+v", approval.Environment, approval.Isolation)
			case isolated && (approval.Environment == nil || approval.Environment.Name != "machine" || approval.Environment.Digest != machine.Digest() ||
				approval.Isolation == nil || approval.Isolation.Name == domain.IsolationNone):
				t.Errorf("a person is shown %+v %+v", approval.Environment, approval.Isolation)
			}
			hashes[approval.ArgumentsHash] = true
			w.decide(approval)
			w.ended(id)
		})
	}
	if len(hashes) != 2 {
		t.Error("the hash does not tell them apart")
	}
}

// A request that forbids something forbids it to an agent outside of any environment, too.
func TestRulesOfTheRequestHoldOutside(t *testing.T) {
	w, _ := abroad(t, storetest.SQLite(t), asking)
	id := w.start(outside, func(r *domain.Request) {
		r.Environment = domain.EnvironmentChoice{Name: "workspace", Digest: "d"}
		r.Rules = []domain.RequestRule{{Effect: domain.Deny, Matcher: domain.Matcher{Command: "ls *"}}}
	})
	if end := w.ended(id); end.Output.Text != "denied no" {
		t.Errorf("the agent was told %q", end.Output.Text)
	}
}
