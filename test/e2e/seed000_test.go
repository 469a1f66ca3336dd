package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/acp/acptest"
	"signoff/internal/domain"
)

// TestSeed000 is the list of integration tests for the agent block of a runbook: both kinds of agents, the approval flow
// and the timeout, with what a block's template and its output promise.
func TestSeed000(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		s := newStage(t, e)
		s.section("agents", object{"scripted": object{"command": acptest.Build(t), "home": "shared"}})
		s.start()
		for name, test := range map[string]func(t *testing.T, s *stage){
			"Internal agent execution (mock AI provider)":         internalAgent,
			"ACP connection lifecycle (mock subprocess)":          acpLifecycle,
			"ACP connection lifecycle, an agent that dies":        acpDeath,
			"Tool approval flow (GC event emission and response)": approvalFlow,
			"Timeout handling": timeoutHandling,
			"Template access: the output of an earlier block":                   templateAccess,
			"Streaming: what is said comes as it is said, and the whole at end": streamed,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, s)
			})
		}
	})
}

const someBlock = "7f9c24e8-3b12-4a6f-9d0e-5c1b2a3d4e5f"

// agentBlock is a document of an agent block.
func agentBlock(props ...object) object {
	all := object{"source": object{"type": "internal"}}
	for _, more := range props {
		for name, value := range more {
			all[name] = value
		}
	}
	return object{"id": someBlock, "type": "agent", "props": all}
}

// runs starts a block of the internal agent.
func (s *story) runs(props object, change ...object) string {
	s.t.Helper()
	if _, said := props["prompt"]; !said {
		props["prompt"] = s.prompt("go")
	}
	return s.createdAs(object{"block": agentBlock(props)}, change...)
}

func internalAgent(t *testing.T, stage *stage) {
	s := stage.story(t, finally("Two disks are full."))
	id := s.runs(object{
		"name":         "Analyze Logs",
		"prompt":       s.prompt("{% for row in doc.named['query'].output.rows %}{{ row.host | upper }}={{ row.used }};{% endfor %}"),
		"systemPrompt": "You are an expert of {{ topic }}.",
	}, object{"variables": object{"topic": "disks", "doc": object{"named": object{"query": object{"output": object{
		"rows": []object{{"host": "db-1", "used": 91}, {"host": "db-2", "used": 97}},
	}}}}}})
	shown := s.over(id, domain.StatusCompleted)
	prompt := s.prompt("DB-1=91;DB-2=97;")
	if shown.Prompt != prompt || *shown.SystemPrompt != "You are an expert of disks." || shown.Kind != "agent" ||
		*shown.Block != (domain.BlockName{ID: someBlock, Name: "Analyze Logs"}) {
		t.Errorf("%+v %+v", shown, shown.Block)
	}
	heard := s.requests()
	if len(heard) != 1 || last(heard[0]).Content != prompt || !strings.Contains(system(heard[0]), "You are an expert of disks.") {
		t.Errorf("the model was sent %+v", heard)
	}
	if out := shown.Output; !out.Success || out.Text != "Two disks are full." || out.FinishReason != "endTurn" || out.Error != nil ||
		out.DurationSeconds < 0 || *out.TokenUsage.InputTokens != 100 || *out.TokenUsage.OutputTokens != 20 || len(out.ToolCallsExecuted) != 0 {
		t.Errorf("%+v", out)
	}
}

// scripted is a block of the external agent, which does what the prompt says.
func (s *story) scripted(props object, steps ...string) string {
	s.t.Helper()
	folder := filepath.Join(s.stage.workspace, "block-"+strings.ReplaceAll(filepath.Base(s.t.Name()), " ", "-"))
	must(s.t, os.MkdirAll(folder, 0o755))
	all := object{"source": object{"type": "acp", "command": "scripted", "args": []string{}, "env": object{}}, "workingDirectory": folder,
		"prompt": "Please.\n" + acptest.Prompt(steps...)}
	for name, value := range props {
		all[name] = value
	}
	return s.createdAs(object{"block": agentBlock(all), "variables": object{"who": "db-1"}})
}

func acpLifecycle(t *testing.T, stage *stage) {
	s := stage.story(t, finally("not asked"))
	id := s.scripted(object{"name": "Outside"}, "think Hm.", `ask c1 kind=execute title="Run ls" input={"command":"ls"}`, "usage 1200 8000", "message", "say All is well on {{ who }}.")
	a := s.pending(id)
	if a.Summary == "" || s.see(id).Status != "pendingToolApproval" || len(s.see(id).PendingApprovals) != 1 {
		t.Errorf("asked: %+v", a)
	}
	s.decide(a)
	shown := s.over(id, domain.StatusCompleted)
	if !shown.Output.Success || !strings.Contains(shown.Output.Text, "All is well on db-1.") {
		t.Errorf("%+v", shown.Output)
	}
	if executed := shown.Output.ToolCallsExecuted; len(executed) != 1 || !executed[0].Approved {
		t.Errorf("executed: %+v", executed)
	}
	var statuses []string
	for _, change := range of[domain.StateChanged](t, s.log(id)) {
		statuses = append(statuses, string(change.To))
	}
	for i, wanted := range []string{"initializing", "waiting"} {
		if len(statuses) <= i || statuses[i] != wanted {
			t.Fatalf("the statuses: %q", statuses)
		}
	}
	s.heardOf(0)
}

func acpDeath(t *testing.T, stage *stage) {
	s := stage.story(t, finally("not asked"))
	id := s.scripted(nil, "say Half a sen", "crash 3")
	shown := s.over(id, domain.StatusFailed)
	if out := shown.Output; out.Success || out.Error == nil || out.Error.Code != domain.CodeAgentExited || !strings.Contains(out.Text, "Half a sen") {
		t.Errorf("%+v %+v", out, out.Error)
	}
}

// approvalFlow follows the events as an editor does, and answers what they ask.
func approvalFlow(t *testing.T, stage *stage) {
	s := stage.story(t, calls("bash", object{"command": "echo one"}), calls("bash", object{"command": "echo two"}), finally("done"))
	id := s.runs(object{"capabilities": object{"readFiles": true, "writeFiles": false, "executeCommands": false, "alwaysAllowTools": false}})
	ctx, cancel := context.WithTimeout(context.Background(), scenario)
	defer cancel()
	asked, resolved := 0, 0
	_, err := s.follow(ctx, id, 0, func(event wireEvent) bool {
		switch domain.EventType(event.Type) {
		case domain.ApprovalRequestedType:
			var request domain.ApprovalRequested
			must(t, json.Unmarshal(event.Data, &request))
			decision := "approve"
			if asked++; asked == 2 {
				decision = "deny"
			}
			want[approval](s.client, http.StatusOK, "POST", "/approvals/"+string(request.ApprovalID), object{"decision": decision, "argumentsHash": request.ArgumentsHash})
		case domain.ApprovalResolvedType:
			resolved++
		}
		return true
	})
	must(t, err)
	shown := s.over(id, domain.StatusCompleted)
	if asked != 2 || resolved != 2 {
		t.Errorf("%d asked, %d resolved", asked, resolved)
	}
	type line struct {
		Name     string
		Approved bool
		Outcome  domain.Outcome
	}
	var executed []line
	for _, call := range shown.Output.ToolCallsExecuted {
		executed = append(executed, line{call.Name, call.Approved, call.Outcome})
	}
	if diff := cmp.Diff([]line{{"bash", true, domain.OutcomeSucceeded}, {"bash", false, domain.OutcomeDenied}}, executed); diff != "" {
		t.Error(diff)
	}
	if summary := shown.Output.ToolCallsExecuted[0].ResultSummary; !strings.Contains(summary, "one") {
		t.Errorf("the result in short: %q", summary)
	}
	if told := last(s.requests()[2]); told.Role != "tool" || strings.Contains(told.Content, "two") {
		t.Errorf("told: %+v", told)
	}
}

func timeoutHandling(t *testing.T, stage *stage) {
	s := stage.story(t, stalls)
	id := s.runs(object{"timeoutSeconds": 5}) // in which the half must have come
	external := stage.story(t, finally("not asked"))
	other := external.scripted(object{"timeoutSeconds": 10}, "say half a sen", "silence 60000")
	shown := s.over(id, domain.StatusTimedOut)
	if out := shown.Output; out.Success || out.Text != "half a sen" || out.FinishReason != "timeout" || out.Error.Code != "timedOut" || out.DurationSeconds < 1 {
		t.Errorf("%+v %+v", out, out.Error)
	}
	if out := external.over(other, domain.StatusTimedOut).Output; out.Success || out.Text != "half a sen" || out.Error.Code != "timedOut" {
		t.Errorf("%+v %+v", out, out.Error)
	}
}

// useOfOutput is the example of the specification.
const useOfOutput = `{{ doc.named['analyze'].output.text }}
{% if doc.named['analyze'].output.success %}Analysis complete in {{ doc.named['analyze'].output.durationSeconds }}s
{% else %}Analysis failed: {{ doc.named['analyze'].output.error }}
{% endif %}Used {{ doc.named['analyze'].output.inputTokens }} input tokens`

func templateAccess(t *testing.T, stage *stage) {
	s := stage.story(t, finally("Two disks are full."), finally("Cleaned."))
	first := s.runs(object{"name": "analyze"})
	s.over(first, domain.StatusCompleted)
	byID := s.runs(object{"prompt": s.prompt(useOfOutput)}, object{"outputsFrom": object{"analyze": first}})
	byName := s.runs(object{"prompt": s.prompt(useOfOutput)}, object{"contextFrom": []string{first}})
	for how, id := range map[string]string{"by outputsFrom": byID, "by the name of the block": byName} {
		said := s.over(id, domain.StatusCompleted).Prompt
		for _, part := range []string{"Two disks are full.\n", "Analysis complete in ", "Used 100 input tokens"} {
			if !strings.Contains(said, part) {
				t.Errorf("%s: %q is not in\n%s", how, part, said)
			}
		}
		if strings.Contains(said, "failed") {
			t.Errorf("%s:\n%s", how, said)
		}
	}
}

func streamed(t *testing.T, stage *stage) {
	s := stage.story(t, func(a *answer, _ []message) { a.Say("Two ", "disks ", "are full.") })
	id := s.runs(object{})
	log := s.read(id)
	if said := text(t, log); said != "Two disks are full." {
		t.Errorf("said: %q", said)
	}
	if end := log[len(log)-1]; end.Type != string(domain.ExecutionCompletedType) || !strings.Contains(string(end.Data), "Two disks are full.") {
		t.Errorf("the end: %s", end.Raw)
	}
}
