package sessions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

const shortLog = 1200

func lengthLimit(c *dispatch.Config) { c.Limits.Events = shortLog }

// full fails the test where an execution did not end because of the length of its log, or its log is longer than allowed.
func (w *world) full(id domain.ExecutionID) {
	w.t.Helper()
	end := w.ended(id)
	if end.Status != domain.StatusFailed || end.Output.Error == nil || end.Output.Error.Code != domain.CodeLimitReached {
		w.t.Errorf("%s: %+v", end.Status, end.Output)
	}
	log := w.events(id)
	if len(log) > shortLog || len(log) < shortLog/10 {
		w.t.Errorf("the log has %d events, %d are allowed", len(log), shortLog)
	}
	warnings := payloads[domain.BudgetWarned](w.t, log)
	if len(warnings) != 1 || warnings[0].Limit != "events" || warnings[0].Max > shortLog-500 {
		w.t.Errorf("warned by %+v", warnings)
	}
}

// flood says one thing after the other, and never stops by itself.
func flood(ctx context.Context, say func(n int) error) (domain.StopReason, error) {
	for n := 0; ctx.Err() == nil; n++ {
		if err := say(n); err != nil {
			return "", err
		}
	}
	return "", context.Cause(ctx)
}

func requested(n int) domain.ToolCallRequested {
	return domain.ToolCallRequested{ToolCallID: fmt.Sprint("c", n), MessageID: "m", Tool: "t", Class: domain.ClassRead, Arguments: json.RawMessage(`{}`)}
}

// A log has a maximal length, whatever is written: texts, the output of commands, notifications of an external agent, and calls
// that are never ended. Everything open is closed within it, and the end is in it.
func TestALogHasALength(t *testing.T) {
	for name, script := range map[string]sessionstest.Script{
		"text in pieces": func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			return flood(ctx, func(n int) error {
				return t.Host.Emit(ctx, domain.MessageDelta{MessageID: fmt.Sprint("m", n%7), Text: "x"})
			})
		},
		"open calls": func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			return flood(ctx, func(n int) error { return t.Host.Emit(ctx, requested(n)) })
		},
		"what a call prints": func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			if err := t.Host.Emit(ctx, requested(0)); err != nil {
				return "", err
			}
			return flood(ctx, func(int) error {
				return t.Host.Emit(ctx, domain.ToolCallUpdated{ToolCallID: "c0", Output: "line\n"}, domain.AgentStderr{Text: "x"})
			})
		},
		"notifications": func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			return flood(ctx, func(int) error { return t.Host.Emit(ctx, domain.PlanUpdated{Update: json.RawMessage(`{}`)}) })
		},
		"all of it": func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			dice := rand.New(rand.NewPCG(1, 2))
			return flood(ctx, func(n int) error {
				switch dice.IntN(4) {
				case 0:
					return t.Host.Emit(ctx, requested(n))
				case 1:
					return t.Host.Emit(ctx, domain.ToolCallCompleted{ToolCallID: fmt.Sprint("c", dice.IntN(n+1)), Outcome: domain.OutcomeCancelled})
				case 2:
					return t.Host.Emit(ctx, domain.MessageCompleted{MessageID: fmt.Sprint("m", dice.IntN(5))})
				default:
					return t.Host.Emit(ctx, domain.MessageDelta{MessageID: fmt.Sprint("m", dice.IntN(5)), Text: "x"})
				}
			})
		},
	} {
		for kind, change := range map[string]func(*domain.Request){"internal": func(*domain.Request) {}, "external": outside} {
			t.Run(name+", "+kind, func(t *testing.T) {
				w := newWorld(t, storetest.SQLite(t), script, lengthLimit, func(c *dispatch.Config) {
					c.Agents[domain.SourceACP] = sessionstest.Open(script)
				})
				w.full(w.start(change))
			})
		}
	}
}

// The length counts over turns and restarts, with what others write.
func TestTheLengthCountsOverTurnsAndRestarts(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		script := func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			for range 150 {
				if err := t.Host.Emit(ctx, domain.AgentStderr{Text: "x"}); err != nil {
					return "", err
				}
			}
			return domain.StopEndTurn, nil
		}
		first := newWorld(t, s, script, lengthLimit)
		id := first.start(keepOpen)
		first.becomes(id, domain.StatusIdle, 1)
		for turn := 2; turn < 4; turn++ {
			first.say(id, "more", "")
			first.becomes(id, domain.StatusIdle, turn)
		}
		first.drain()
		second := newWorld(t, s, script, lengthLimit)
		for range 20 {
			_, _, err := second.manager.Prompt(context.Background(), tenant, id, domain.QueuedPrompt{Text: "more"}, alice, nil)
			if domain.CodeOf(err) == domain.CodeExecutionEnded {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		second.full(id)
		if warnings := payloads[domain.BudgetWarned](t, second.events(id)); len(warnings) > 1 {
			t.Errorf("warned by %+v", warnings)
		}
	})
}

// Somebody is warned in time, once: the log is written with room to spare.
func TestTheLengthIsWarnedOf(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		return flood(ctx, func(int) error { return t.Host.Emit(ctx, domain.AgentStderr{Text: "x"}) })
	}, func(c *dispatch.Config) { c.Limits.Events = 10_000 })
	id := w.start()
	end := w.ended(id)
	log := w.events(id)
	warnings := payloads[domain.BudgetWarned](t, log)
	if len(log) > 10_000 || end.Output.Error.Code != domain.CodeLimitReached {
		t.Errorf("%d events, %+v", len(log), end.Output.Error)
	}
	if len(warnings) != 1 || warnings[0].Limit != "events" || warnings[0].Max != 9500 || warnings[0].Used != 7600 {
		t.Errorf("warned by %+v", warnings)
	}
}
