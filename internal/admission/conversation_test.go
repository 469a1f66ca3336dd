package admission

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"signoff/internal/domain"
)

// TestToolCallsOfEarlierExecutions: in any logs, each call stands right before its own result, ids are not used twice, no more than the bound is taken, and
// the newest results are kept.
func TestToolCallsOfEarlierExecutions(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 32))
		known, list := executions{}, []string{}
		for i := range 1 + random.IntN(4) {
			id := domain.ExecutionID(fmt.Sprintf("01890000-0000-7000-8000-00000000020%d", i))
			known[id] = randomLog(random, id)
			list = append(list, fmt.Sprintf(`{"executionId":%q,"include":"toolCalls"}`, id))
		}
		a := newAdmission(func(c *Config) { c.Executions = known })
		request := a.admitted(t, `{`+valid+`,"contextFrom":[`+strings.Join(list, ",")+`]}`)
		size, whole, used, open := 0, false, map[string]bool{}, []domain.ContextCall(nil)
		for _, message := range request.Context {
			size += len(message.Content)
			if message.Role == domain.RoleTool {
				if len(open) == 0 || open[0].ID != message.ToolCallID {
					t.Fatalf("seed %d: a result of %q, expected are those of %v", seed, message.ToolCallID, open)
				}
				if len(message.Content) > maxContextResult+100 {
					t.Fatalf("seed %d: a result of %d bytes", seed, len(message.Content))
				}
				if left := message.Content == resultLeftOut; left && whole {
					t.Fatalf("seed %d: a result is left out behind one that is not", seed)
				} else if len(message.Content) > len(resultLeftOut) { // a shorter one would take more room left out
					whole = true
				}
				open = open[1:]
				continue
			}
			if len(open) > 0 {
				t.Fatalf("seed %d: no results of %v", seed, open)
			}
			open = message.ToolCalls
			for _, call := range open {
				if size += len(call.Arguments); used[call.ID] || !domain.IsContextCall(call.ID) || !json.Valid(call.Arguments) {
					t.Fatalf("seed %d: %+v", seed, call)
				}
				used[call.ID] = true
			}
		}
		if size > MaxContext || len(open) > 0 {
			t.Errorf("seed %d: %d bytes, without a result: %v", seed, size, open)
		}
	}
}

// randomLog is an execution with calls, some of which have no result, whose ids are those of every other such execution.
func randomLog(random *rand.Rand, id domain.ExecutionID) stored {
	var log []domain.Event
	add := func(payload domain.Payload) { log = append(log, domain.NewEvent(id, payload)) }
	longest := 10 << random.IntN(15)
	prompts, longPrompt := 0, random.IntN(60_000)
	for round := range 1 + random.IntN(40) {
		if round%16 == 0 {
			prompts++
			add(domain.TurnStarted{Turn: prompts, Text: "Go on." + strings.Repeat("q", longPrompt)})
		}
		message := fmt.Sprintf("m%d", round)
		var calls []string
		for i := range random.IntN(4) {
			calls = append(calls, fmt.Sprintf("c%d.%d", round, i))
			arguments := json.RawMessage(`{"path":"` + strings.Repeat("p", random.IntN(100)) + `"}`)
			add(domain.ToolCallRequested{ToolCallID: calls[i], MessageID: message, Tool: "read", Arguments: arguments})
		}
		random.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
		for _, call := range calls {
			if random.IntN(8) > 0 {
				add(domain.ToolCallStarted{ToolCallID: call, Arguments: json.RawMessage(`{}`)})
				add(domain.ToolCallCompleted{ToolCallID: call, Outcome: domain.OutcomeSucceeded, Output: strings.Repeat("r", random.IntN(longest))})
			}
		}
	}
	for seq := range log {
		log[seq].Seq = int64(seq) + 1
	}
	return stored{Execution: domain.Execution{ID: id, Tenant: "default", Status: domain.StatusCompleted}, log: log}
}

// TestPromptsCountAsContext: the prompts of later turns take room as everything else that was said.
func TestPromptsCountAsContext(t *testing.T) {
	const id = domain.ExecutionID("01890000-0000-7000-8000-000000000200")
	for _, form := range []string{`%q`, `{"executionId":%q,"include":"toolCalls"}`} {
		var log []domain.Event
		for turn := range 5 {
			log = append(log, domain.NewEvent(id, domain.TurnStarted{Turn: turn + 1, Text: strings.Repeat("p", MaxContext/4)}))
			log[turn].Seq = int64(turn) + 1
		}
		known := executions{id: stored{Execution: domain.Execution{ID: id, Tenant: "default", Status: domain.StatusCompleted}, log: log}}
		a := newAdmission(func(c *Config) { c.Executions = known })
		_, err := a.Admit(t.Context(), anybody, bodyOf(t, `{`+valid+`,"contextFrom":[`+fmt.Sprintf(form, id)+`]}`), nil)
		if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(fmt.Sprint(err), "longer than") {
			t.Errorf("%s: %v", form, err)
		}
	}
}
