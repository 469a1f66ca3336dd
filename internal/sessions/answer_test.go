package sessions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

const rowsSchema = `{"type":"object","properties":{"rows":{"type":"integer"}},"required":["rows"]}`

func wanting(schema string) func(*domain.Request) {
	return func(r *domain.Request) { r.OutputSchema = json.RawMessage(schema) }
}

// saysInTurn says one of texts in each turn.
func saysInTurn(texts ...string) sessionstest.Script {
	return func(_ context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		return domain.StopEndTurn, t.Say(fmt.Sprint("m", t.Prompt.Turn), texts[t.Prompt.Turn-1])
	}
}

func TestTheAnswerFitsItsSchema(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, saysInTurn("Here:\n```json\n{\"rows\": 3}\n```\n"))
		end := w.ended(w.start(wanting(rowsSchema)))
		if end.Status != domain.StatusCompleted || string(end.Output.Structured) != `{"rows":3}` || !end.Output.Success || end.Turn != 1 {
			t.Errorf("%s: %+v", end.Status, end.Output)
		}
	})
}

func TestAnAnswerIsAskedForAgain(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), saysInTurn("three rows", `{"rows":"three"}`, `{"rows":3}`))
	id := w.start(wanting(rowsSchema))
	end := w.ended(id)
	if end.Status != domain.StatusCompleted || string(end.Output.Structured) != `{"rows":3}` {
		t.Fatalf("%s: %+v", end.Status, end.Output)
	}
	turns := payloads[domain.TurnStarted](t, w.events(id))
	if len(turns) != 3 || turns[1].Repair != 1 || turns[2].Repair != 2 || !strings.Contains(turns[2].Text, "/rows") {
		t.Errorf("%+v", turns)
	}
}

func TestAnAnswerThatNeverFits(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), saysInTurn("no", "never", "not at all"))
	end := w.ended(w.start(wanting(rowsSchema)))
	if end.Status != domain.StatusFailed || end.Output.Error.Code != domain.CodeOutputInvalid || end.Output.Structured != nil ||
		end.Output.Text != "not at all" {
		t.Errorf("%s: %+v", end.Status, end.Output)
	}
}

// TestHalfAMessageIsNoAnswer: the agent tried again and went on without it.
func TestHalfAMessageIsNoAnswer(t *testing.T) {
	for name, row := range map[string]struct {
		before, after string
		want          string
	}{
		"nothing else":        {"", "", ""},
		"a message before it": {"It is done.", "", "It is done."},
		"a message behind it": {"I look.", "It is done.", "It is done."},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
				if row.before != "" {
					_ = t.Say("m1", row.before)
				}
				_ = t.Host.Emit(ctx, domain.MessageDelta{MessageID: "m2", Text: "half a sen"})
				_ = t.Host.Emit(ctx, domain.MessageCompleted{MessageID: "m2", Interrupted: true})
				if row.after != "" {
					_ = t.Say("m3", row.after)
				}
				return domain.StopEndTurn, nil
			})
			if end := w.ended(w.start()); end.Status != domain.StatusCompleted || end.Output.Text != row.want {
				t.Errorf("%s: %q, want %q", end.Status, end.Output.Text, row.want)
			}
		})
	}
}

func TestARepairSurvivesAKill(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		first := newWorld(t, s, func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			if t.Prompt.Turn == 1 {
				return saysInTurn("three rows")(ctx, t)
			}
			<-ctx.Done()
			return "", context.Cause(ctx)
		})
		id := first.start(wanting(rowsSchema))
		turns := 0
		first.follow(id, func(f events.Frame) bool {
			if f.Type == domain.TurnStartedType {
				turns++
			}
			return turns == 2
		})
		first.killed()

		second := newWorld(t, s, func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			history := t.Prompt.History
			if last := history[len(history)-1]; last.Role != domain.RoleUser || !strings.Contains(last.Text, "does not fit") {
				return "", fmt.Errorf("the model is not asked again: %+v", history)
			}
			return saysInTurn("three rows", "still none", "{}")(ctx, t)
		})
		if end := second.ended(id); end.Output.Error == nil || end.Output.Error.Code != domain.CodeOutputInvalid || end.Turn != 3 {
			t.Errorf("turn %d: %+v", end.Turn, end.Output)
		}
	})
}

// TestTheTerminalEventTellsTheOutput as the execution does, but for the rest of a long text.
func TestTheTerminalEventTellsTheOutput(t *testing.T) {
	long := strings.Repeat("é", domain.EndedTextBytes)
	w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		for n := range domain.ExecutedCalls + 3 {
			call := readCall(fmt.Sprint("c", n))
			if err := t.Want(fmt.Sprint("r", n), call); err != nil {
				return "", err
			}
			if _, err := t.Use(call, func(json.RawMessage) string { return fmt.Sprintf("line %d\nmore", n) }); err != nil {
				return "", err
			}
		}
		return domain.StopEndTurn, t.Say("m", long)
	})
	id := w.start()
	output := *w.ended(id).Output
	told := payloads[domain.ExecutionEnded](t, w.events(id))[0].Output
	if !told.Truncated || len(told.Text) > domain.EndedTextBytes || !strings.HasPrefix(long, told.Text) || output.Truncated || output.Text != long {
		t.Errorf("%d of %d bytes", len(told.Text), len(output.Text))
	}
	calls := output.ToolCallsExecuted
	if len(calls) != domain.ExecutedCalls || calls[0].ToolCallID != "c3" || calls[0].ResultSummary != "line 3" || !calls[0].Approved {
		t.Errorf("%d calls, the first is %+v", len(calls), calls[0])
	}
	if told.Success != output.Success || told.DurationSeconds != output.DurationSeconds || len(told.ToolCallsExecuted) != len(calls) {
		t.Errorf("%+v", told)
	}
}

func TestAnEarlierConversationComesFirst(t *testing.T) {
	var history []domain.Message
	w := newWorld(t, storetest.SQLite(t), func(_ context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		history = t.Prompt.History
		return domain.StopEndTurn, t.Say("m1", "hello again")
	})
	w.ended(w.start(func(r *domain.Request) {
		r.Context = []domain.ContextMessage{
			{Role: domain.RoleUser, Content: "hi"},
			{Role: domain.RoleAssistant, ToolCalls: []domain.ContextCall{{ID: "earlier_1", Tool: "bash", Arguments: json.RawMessage(`{"command":"df"}`)}}},
			{Role: domain.RoleTool, Content: "91 %", ToolCallID: "earlier_1"},
		}
	}))
	if len(history) != 4 || history[0].Text != "hi" || history[1].ToolCalls[0].Tool != "bash" || history[2].ToolCallID != "earlier_1" || history[3].Text != "go" {
		t.Errorf("%+v", history)
	}
}

// open is an execution that stays open.
func open(r *domain.Request) { r.KeepOpen = true }

func TestAStructuredAnswerSurvivesAKill(t *testing.T) {
	s := storetest.SQLite(t)
	first := newWorld(t, s, saysInTurn(`{"rows":3}`))
	id := first.start(wanting(rowsSchema), open)
	first.becomes(id, domain.StatusIdle, 1)
	first.killed()
	second := newWorld(t, s, nil)
	if end := second.close(id); !end.Output.Success || string(end.Output.Structured) != `{"rows":3}` {
		t.Errorf("%+v", end.Output)
	}
}

// TestNoAnswerThatFits is no success, whatever else is said of the end.
func TestNoAnswerThatFits(t *testing.T) {
	for name, test := range map[string]struct {
		script sessionstest.Script
		change func(*domain.Request)
		end    func(w *world, id domain.ExecutionID) domain.Execution
	}{
		"the budget cannot be kept": {saysInTurn("three rows"), func(r *domain.Request) { r.Budget.Tokens = 1000 }, (*world).ended},
		"a person said no": {func(_ context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			call := sessionstest.Bash("c1", "ls")
			if err := t.Want("m1", call); err != nil {
				return "", err
			}
			if _, err := t.Use(call, func(json.RawMessage) string { return "" }); err != nil {
				return "", err
			}
			return domain.StopCancelled, t.Say("m2", "no json at all")
		}, func(*domain.Request) {}, func(w *world, id domain.ExecutionID) domain.Execution {
			w.decide(w.approvals(id, 1)[0], deny("no"))
			return w.ended(id)
		}},
		"it was closed later": {saysInTurn("no", "never", "not at all"), open, func(w *world, id domain.ExecutionID) domain.Execution {
			w.becomes(id, domain.StatusIdle, 1)
			if _, err := w.manager.Close(context.Background(), tenant, id, alice); err != nil && domain.CodeOf(err) != domain.CodeExecutionEnded {
				t.Error(err)
			}
			return w.ended(id)
		}},
		"the turn after it broke off": {func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			if t.Prompt.Turn == 1 {
				return saysInTurn(`{"rows":3}`)(ctx, t)
			}
			return domain.StopMaxTokens, t.Say("m2", `{"rows":4, "mo`)
		}, open, func(w *world, id domain.ExecutionID) domain.Execution {
			w.becomes(id, domain.StatusIdle, 1)
			if _, err := w.prompt(id, "again", domain.WhenBusyEnqueue); err != nil {
				t.Fatal(err)
			}
			w.becomes(id, domain.StatusIdle, 2)
			_, _ = w.manager.Close(context.Background(), tenant, id, alice)
			return w.ended(id)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, storetest.SQLite(t), test.script)
			end := test.end(w, w.start(wanting(rowsSchema), test.change))
			if end.Output.Success || end.Output.Structured != nil || end.Output.Error == nil {
				t.Errorf("%s: %+v", end.Status, end.Output)
			}
		})
	}
}

// TestNoRepairDuringADrain: the next driver asks again.
func TestNoRepairDuringADrain(t *testing.T) {
	var prompts atomic.Int64
	w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		prompts.Add(1)
		<-ctx.Done()
		_ = t.Host.Emit(context.Background(), domain.MessageDelta{MessageID: "m", Text: "no json"})
		return domain.StopEndTurn, t.Host.Emit(context.Background(), domain.MessageCompleted{MessageID: "m"})
	})
	id := w.start(wanting(rowsSchema))
	w.becomes(id, domain.StatusWaiting, 1)
	w.drain()
	if n := prompts.Load(); n != 1 {
		t.Errorf("%d prompts", n)
	}
}
