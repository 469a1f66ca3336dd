package sessions_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// remembering is a script that goes on from its history as the internal agent does: a call in each turn, then a text, each an answer with a state.
// It keeps the states that it finds, one line for each prompt.
type remembering struct {
	mu    sync.Mutex
	found []string
}

func (r *remembering) play(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
	history := t.Prompt.History
	r.note(history)
	last, turn := history[len(history)-1], string(rune('0'+t.Prompt.Turn))
	call := sessionstest.Bash("c"+turn, "ls")
	if last.Role == domain.RoleUser {
		asked := domain.ToolCallRequested{
			ToolCallID: call.ID, MessageID: "a" + turn, Tool: call.Tool, Class: call.Class, Arguments: call.Arguments, Summary: call.Summary,
		}
		if err := t.Host.EmitAnswer(ctx, stateOf("a"+turn), asked); err != nil {
			return "", err
		}
	}
	if last.Role != domain.RoleTool {
		if _, err := t.Use(call, func(json.RawMessage) string { return "ran" }); err != nil {
			return "", err
		}
	}
	if err := t.Host.Emit(ctx, domain.MessageDelta{MessageID: "b" + turn, Text: "done"}); err != nil {
		return "", err
	}
	return domain.StopEndTurn, t.Host.EmitAnswer(ctx, stateOf("b"+turn), domain.MessageCompleted{MessageID: "b" + turn})
}

func stateOf(message string) domain.AnswerState {
	return domain.AnswerState{MessageID: message, State: json.RawMessage(`"state of ` + message + `"`)}
}

func (r *remembering) note(history []domain.Message) {
	var states []string
	for _, message := range history {
		if message.Role == domain.RoleAssistant {
			states = append(states, string(message.State))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found = append(r.found, strings.Join(states, " "))
}

// TestStatesOfAnswersSurvive a kill between call and result, parking there, another replica, and the turns after it. The log has nothing of them.
func TestStatesOfAnswersSurvive(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		agent := &remembering{}
		first := newWorld(t, s, agent.play)
		id := first.start(func(r *domain.Request) { r.KeepOpen = true })
		first.approvals(id, 1)
		first.killed()

		second := newWorld(t, s, agent.play, parks)
		approval := second.approvals(id, 1)[0]
		second.parked(id)
		third := second
		if s.Shared() {
			third = newWorld(t, s, agent.play, parks) // which has never heard of it
		}
		third.decide(approval)
		third.until(id, domain.TurnEndedType)
		third.prompted(id, "again")
		again := third.approvals(id, 2)[1]
		third.parked(id)
		third.decide(again)
		third.becomes(id, domain.StatusIdle, 2)

		a1, b1, a2 := `"state of a1"`, ` "state of b1"`, ` "state of a2"`
		agent.mu.Lock()
		defer agent.mu.Unlock()
		found := slices.Compact(agent.found) // who recovers what only waits may ask the agent once more, or not
		if diff := cmp.Diff([]string{"", a1, a1 + b1, a1 + b1 + a2}, found); diff != "" {
			t.Errorf("found (-want +got):\n%s", diff)
		}
		for _, event := range third.events(id) {
			if strings.Contains(string(event.Data), "state of") {
				t.Errorf("the log has %s", event.Data)
			}
		}
	})
}
