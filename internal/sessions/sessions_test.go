package sessions_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/approvals"
	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

func exit(code int) { os.Exit(code) }

// one is a script that asks for one command and says its outcome.
func one(command string) sessionstest.Script {
	return func(_ context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		call := sessionstest.Bash("c1", command)
		if err := t.Want("m1", call); err != nil {
			return "", err
		}
		ran := ""
		grant, err := t.Use(call, func(arguments json.RawMessage) string { ran = string(arguments); return "done" })
		if err != nil {
			return "", err
		}
		if !grant.Allowed {
			ran = "not run: " + grant.Message
		}
		return domain.StopEndTurn, t.Say("m2", ran)
	}
}

func TestTurn(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, func(_ context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			if err := t.Think("m1", "hm"); err != nil {
				return "", err
			}
			return domain.StopEndTurn, t.Say("m1", "Hello, ", "world")
		})
		id := w.start()
		end := w.ended(id)
		if end.Status != domain.StatusCompleted || end.Output.Text != "Hello, world" || end.Output.FinishReason != domain.FinishEndTurn {
			t.Errorf("ended as %s with %+v", end.Status, end.Output)
		}
		log := w.events(id)
		text := ""
		for _, p := range payloads[domain.MessageDelta](t, log) {
			text += p.Text
		}
		if text != "Hello, world" {
			t.Errorf("the log says %q", text)
		}
		first := []domain.EventType{
			domain.ExecutionCreatedType, domain.StateChangedType, domain.AgentStartedType, domain.TurnStartedType, domain.StateChangedType,
		}
		if diff := cmp.Diff(first, types(log)[:5]); diff != "" {
			t.Error(diff)
		}
		last := []domain.EventType{domain.MessageCompletedType, domain.StateChangedType, domain.TurnEndedType, domain.ExecutionCompletedType}
		if diff := cmp.Diff(last, types(log)[len(log)-4:]); diff != "" {
			t.Error(diff)
		}
	})
}

func TestApprove(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, one("ls"))
		id := w.start()
		approval := w.approvals(id, 1)[0]
		if got := w.execution(id).Status; got != domain.StatusPendingToolApproval {
			t.Errorf("status %s while a person is asked", got)
		}
		w.decide(approval)
		end := w.ended(id)
		if end.Output.Text != `{"command":"ls"}` {
			t.Errorf("ran %q", end.Output.Text)
		}
		started := payloads[domain.ToolCallStarted](t, w.events(id))
		if len(started) != 1 || started[0].ApprovalID != approval.ID || started[0].AllowedBy != "decision" || started[0].Sandbox != "off" {
			t.Errorf("started: %+v", started)
		}
	})
}

func TestDenyReachesTheModel(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, one("rm -rf /"))
		id := w.start()
		w.decide(w.approvals(id, 1)[0], deny("not on a Friday"))
		end := w.ended(id)
		if end.Status != domain.StatusCompleted || !strings.Contains(end.Output.Text, "not on a Friday") {
			t.Errorf("ended as %s saying %q", end.Status, end.Output.Text)
		}
		log := w.events(id)
		if n := len(payloads[domain.ToolCallStarted](t, log)); n != 0 {
			t.Errorf("a denied call started %d times", n)
		}
		if outcomes := payloads[domain.ToolCallCompleted](t, log); len(outcomes) != 1 || outcomes[0].Outcome != domain.OutcomeDenied {
			t.Errorf("outcomes: %+v", outcomes)
		}
	})
}

func TestEditedArgumentsRun(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, one("rm -rf /"))
		id := w.start()
		w.decide(w.approvals(id, 1)[0], func(a *approvals.Answer) { a.Arguments = json.RawMessage(`{"command": "ls /"}`) })
		if end := w.ended(id); end.Output.Text != `{"command": "ls /"}` {
			t.Errorf("ran %q", end.Output.Text)
		}
		resolved := payloads[domain.ApprovalResolved](t, w.events(id))
		if len(resolved) != 1 || !resolved[0].Edited {
			t.Errorf("resolved: %+v", resolved)
		}
		if started := payloads[domain.ToolCallStarted](t, w.events(id)); len(started) != 1 || started[0].EditedBy == nil || *started[0].EditedBy != alice {
			t.Errorf("started: %+v", started)
		}
	})
}

func TestEditedArgumentsAreChecked(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, one("ls"))
		id := w.start()
		approval := w.approvals(id, 1)[0]
		_, err := w.service.Decide(context.Background(), tenant, approval.ID, approvals.Answer{
			Verb: domain.Approve, ArgumentsHash: approval.ArgumentsHash, Arguments: json.RawMessage(`{"cmd":"x"}`), By: alice,
		})
		if domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("got %v", err)
		}
		if w.approvals(id, 1)[0].Status != domain.ApprovalPending {
			t.Error("a refused edit decided the approval")
		}
		w.decide(approval, deny(""))
		w.ended(id)
	})
}

func TestSeveralApprovalsAreDecidedOnTheirOwn(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, func(_ context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			calls := []domain.ToolCall{sessionstest.Bash("c1", "one"), sessionstest.Bash("c2", "two"), sessionstest.Bash("c3", "three")}
			for _, call := range calls {
				if err := t.Want("m1", call); err != nil {
					return "", err
				}
			}
			done := make(chan error, len(calls))
			for _, call := range calls {
				go func() {
					_, err := t.Use(call, func(json.RawMessage) string { return "ok" })
					done <- err
				}()
			}
			for range calls {
				if err := <-done; err != nil {
					return "", err
				}
			}
			return domain.StopEndTurn, t.Say("m2", "all answered")
		})
		id := w.start()
		all := w.approvals(id, 3)
		w.decide(all[2])
		w.until(id, domain.ToolCallStartedType)
		if got := w.execution(id).Status; got != domain.StatusPendingToolApproval {
			t.Errorf("status %s while two approvals are open", got)
		}
		w.decide(all[0], deny("no"))
		w.decide(all[1])
		if end := w.ended(id); end.Output.Text != "all answered" {
			t.Errorf("ended %+v", end.Output)
		}
	})
}

func TestRememberedForTheExecution(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, func(_ context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			for _, id := range []string{"c1", "c2", "c3"} {
				command := "same"
				if id == "c3" {
					command = "other"
				}
				call := sessionstest.Bash(id, command)
				if err := t.Want("m"+id, call); err != nil {
					return "", err
				}
				if _, err := t.Use(call, func(json.RawMessage) string { return "ok" }); err != nil {
					return "", err
				}
			}
			return domain.StopEndTurn, t.Say("end", "done")
		})
		id := w.start()
		w.decide(w.approvals(id, 1)[0], func(a *approvals.Answer) { a.Remember = domain.RememberExecution })
		other := w.approvals(id, 2)[1]
		if !strings.Contains(string(other.Call.Arguments), "other") {
			t.Errorf("asked again for %s", other.Call.Arguments)
		}
		w.decide(other)
		w.ended(id)
		started := payloads[domain.ToolCallStarted](t, w.events(id))
		if len(started) != 3 || started[1].AllowedBy != "rule" || started[1].RuleID == "" {
			t.Errorf("started: %+v", started)
		}
	})
}

func TestCapabilitiesAndSandboxRefuseWithoutAsking(t *testing.T) {
	for name, test := range map[string]struct {
		config  func(*dispatch.Config)
		request func(*domain.Request)
		code    domain.Code
	}{
		"capability denies": {func(*dispatch.Config) {}, func(r *domain.Request) { r.Capabilities.Execute = domain.Deny }, domain.CodePolicyDenied},
		"no sandbox": {func(c *dispatch.Config) { c.Sandbox = sessionstest.Sandbox{Kind: "none"} }, func(*domain.Request) {},
			domain.CodeSandboxUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, storetest.SQLite(t), one("ls"), test.config)
			id := w.start(test.request)
			w.ended(id)
			log := w.events(id)
			if asked := payloads[domain.ApprovalRequested](t, log); len(asked) != 0 {
				t.Errorf("a person was asked: %+v", asked)
			}
			if outcomes := payloads[domain.ToolCallCompleted](t, log); len(outcomes) != 1 || outcomes[0].Error.Code != test.code {
				t.Errorf("outcomes: %+v", outcomes)
			}
		})
	}
}

func TestStopReasons(t *testing.T) {
	for stop, want := range map[domain.StopReason]struct {
		status domain.Status
		finish domain.FinishReason
		code   domain.Code
	}{
		domain.StopEndTurn:       {domain.StatusCompleted, domain.FinishEndTurn, ""},
		domain.StopMaxTokens:     {domain.StatusFailed, domain.FinishMaxTokens, domain.CodeLimitReached},
		domain.StopMaxIterations: {domain.StatusFailed, domain.FinishMaxIterations, domain.CodeLimitReached},
		domain.StopRefusal:       {domain.StatusFailed, domain.FinishRefusal, domain.CodeRefused},
		domain.StopCancelled:     {domain.StatusFailed, domain.FinishError, domain.CodeAgentFailed},
	} {
		t.Run(string(stop), func(t *testing.T) {
			w := newWorld(t, storetest.SQLite(t), func(_ context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
				return stop, t.Say("m", "partial")
			})
			end := w.ended(w.start())
			code := domain.Code("")
			if end.Output.Error != nil {
				code = end.Output.Error.Code
			}
			if end.Status != want.status || end.Output.FinishReason != want.finish || code != want.code || end.Output.Text != "partial" {
				t.Errorf("%s: %+v", end.Status, end.Output)
			}
		})
	}
}

// TestAStopInWords: the agent's own words and code take the place of the session's, and the stop reason stays.
func TestAStopInWords(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), func(_ context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		_ = t.Say("m", "partial")
		return domain.StopRefusal, domain.Errorf(domain.CodeContentFiltered, "The filter said no.")
	})
	id := w.start()
	end := w.ended(id)
	want := domain.Failure{Code: domain.CodeContentFiltered, Message: "The filter said no."}
	if end.Status != domain.StatusFailed || end.Output.FinishReason != domain.FinishRefusal || *end.Output.Error != want || end.Output.Text != "partial" {
		t.Errorf("%s: %+v", end.Status, end.Output)
	}
}

func TestAgentThatFails(t *testing.T) {
	for name, test := range map[string]struct {
		script sessionstest.Script
		code   domain.Code
	}{
		"with a code": {func(context.Context, *sessionstest.Turn) (domain.StopReason, error) {
			return "", domain.Errorf(domain.CodeModelFailed, "the model said no")
		}, domain.CodeModelFailed},
		"without one": {func(context.Context, *sessionstest.Turn) (domain.StopReason, error) {
			return "", errors.New("password=hunter2")
		}, domain.CodeInternal},
		"panics": {func(context.Context, *sessionstest.Turn) (domain.StopReason, error) { panic("hunter2") }, domain.CodeInternal},
		"leaves all open": {func(_ context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			_ = t.Host.Emit(context.Background(), domain.MessageDelta{MessageID: "m", Text: "half a"})
			_ = t.Want("m", sessionstest.Bash("c1", "ls"))
			return "", domain.Errorf(domain.CodeModelStreamBroken, "broken")
		}, domain.CodeModelStreamBroken},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, storetest.SQLite(t), test.script)
			id := w.start()
			end := w.ended(id)
			if end.Status != domain.StatusFailed || end.Output.Error.Code != test.code {
				t.Errorf("%s: %+v", end.Status, end.Output)
			}
			for _, event := range w.events(id) {
				if strings.Contains(string(event.Data), "hunter2") {
					t.Errorf("the cause is shown: %s", event.Data)
				}
			}
		})
	}
}

func TestBurstIsWholeAndMerged(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		const pieces = 100_000
		w := newWorld(t, s, func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			for range pieces {
				if err := t.Host.Emit(ctx, domain.MessageDelta{MessageID: "m", Text: "chunk "}); err != nil {
					return "", err
				}
			}
			return domain.StopEndTurn, t.Say("m")
		})
		id := w.start()
		end := w.ended(id)
		if len(end.Output.Text) != pieces*len("chunk ") {
			t.Errorf("%d bytes of text", len(end.Output.Text))
		}
		if n := len(w.events(id)); n > pieces/10 {
			t.Errorf("%d events for %d pieces", n, pieces)
		}
	})
}

// TestNewsOfMCPServers: our own agent tells what becomes of the servers that it uses.
func TestNewsOfMCPServers(t *testing.T) {
	told := []domain.Payload{
		domain.AgentMCPServerUpdated{Server: "paint", Status: domain.MCPServerFailed, Message: "no such program"},
		domain.MCPServerRestarted{Server: "paint", Message: "its process had ended"},
	}
	w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		return domain.StopEndTurn, t.Host.Emit(ctx, told...)
	})
	id := w.start()
	w.ended(id)
	log := w.events(id)
	if diff := cmp.Diff(told[0], domain.Payload(payloads[domain.AgentMCPServerUpdated](t, log)[0])); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(told[1], domain.Payload(payloads[domain.MCPServerRestarted](t, log)[0])); diff != "" {
		t.Error(diff)
	}
}
