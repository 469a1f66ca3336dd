package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
			"Template access: the output of a block that has failed":            templateAccessToAFailure,
			"Output: the execution and its terminal event say the same":         sameOutput,
			"Output: a value that fits the schema":                              structuredOutput,
			"Output: an answer that never fits the schema":                      outputThatNeverFits,
			"Chain of steps: the conversation of an earlier execution":          chained,
			"Chain of steps: only executions that have ended, and one's own":    badChains,
			"Block document: what is wrong is pointed at":                       badDocuments,
			"Templates: what cannot be rendered names the variable":             badTemplates,
			"Templates: hostile ones die alone":                                 hostileTemplates,
			"Cancellation during execution":                                     cancelledBlock,
			"Capabilities: what is granted runs, what is not is asked for":      grantedCapabilities,
			"Template access: all keys of the output, in a preview":             previewedOutput,
			"Block document: the example of the specification runs as it is":    exampleDocument,
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
		Fate     domain.Fate
	}
	var executed []line
	for _, call := range shown.Output.ToolCallsExecuted {
		executed = append(executed, line{call.Name, call.Approved, call.Fate})
	}
	if diff := cmp.Diff([]line{{"bash", true, domain.FateSucceeded}, {"bash", false, domain.FateDenied}}, executed); diff != "" {
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

func templateAccessToAFailure(t *testing.T, stage *stage) {
	failing := stage.story(t, refuses(http.StatusBadRequest, "invalid_request"))
	first := failing.runs(object{"name": "analyze"})
	failing.over(first, domain.StatusFailed)
	s := stage.story(t, finally("I see."))
	id := s.runs(object{"prompt": s.prompt("{% if not doc.named.analyze.output.success %}{{ doc.named.analyze.output.error }}{% endif %}")},
		object{"outputsFrom": object{"analyze": first}})
	said := s.over(id, domain.StatusCompleted).Prompt
	if failure := failing.see(first).Output.Error.Message; failure == "" || !strings.Contains(said, failure) {
		t.Errorf("%q is not in %q", failure, said)
	}
}

// previewedOutput has each key of the output, as it is and as its kind of value.
func previewedOutput(t *testing.T, stage *stage) {
	s := stage.story(t, finally(`{"full": ["sda", "sdb"]}`))
	first := s.runs(object{"name": "analyze"}, object{"outputSchema": object{"type": "object", "required": []string{"full"}}})
	s.over(first, domain.StatusCompleted)
	rendered := want[struct {
		Text      string
		Variables []string
	}](s.client, http.StatusOK, "POST", "/templates/render", object{
		"template": "{% set o = doc.named['analyze'].output %}{{ o.success }} {{ o.error is none }} {{ o.durationSeconds >= 0 }} " +
			"{{ o.inputTokens + 1 }} {{ o.outputTokens }} {{ o.structured.full | join('+') }} {{ o.finishReason }} {{ o.text | length }}",
		"outputsFrom": object{"analyze": first},
	})
	if rendered.Text != "true true true 101 20 sda+sdb endTurn 24" {
		t.Errorf("%+v", rendered)
	}
}

func sameOutput(t *testing.T, stage *stage) {
	for _, row := range []struct {
		steps []script
		props object
	}{
		{[]script{calls("read", object{"path": "none"}), finally("There is no such file.")}, object{}},
		{[]script{stalls}, object{"timeoutSeconds": 1}},
		{[]script{refuses(http.StatusBadRequest, "invalid_request")}, object{}},
	} {
		s := stage.story(t, row.steps...)
		id := s.runs(row.props)
		s.ended(id)
		shown := want[struct{ Output any }](s.client, http.StatusOK, "GET", "/executions/"+id, nil).Output
		log := s.log(id)
		var end struct{ Output map[string]any }
		must(t, json.Unmarshal(log[len(log)-1].Data, &end))
		if _, said := end.Output["truncated"]; !said { // the event leaves out what is not so
			end.Output["truncated"] = false
		}
		if _, said := end.Output["structured"]; !said {
			end.Output["structured"] = nil
		}
		if diff := cmp.Diff(shown, any(end.Output)); diff != "" {
			t.Errorf("the execution (-) and its event (+) differ:\n%s", diff)
		}
	}
}

func structuredOutput(t *testing.T, stage *stage) {
	s := stage.story(t, finally("The disks sda and sdb."), finally("```json\n{\"disks\": [\"sda\", \"sdb\"]}\n```"))
	id := s.runs(object{}, object{"outputSchema": object{
		"type": "object", "required": []string{"disks"}, "properties": object{"disks": object{"type": "array", "items": object{"type": "string"}}},
	}})
	shown := s.over(id, domain.StatusCompleted)
	var value struct{ Disks []string }
	must(t, json.Unmarshal(shown.Output.Structured, &value))
	if diff := cmp.Diff([]string{"sda", "sdb"}, value.Disks); diff != "" {
		t.Error(diff)
	}
	s.heardOf(2)
	if turns := of[domain.TurnStarted](t, s.log(id)); len(turns) != 2 || turns[1].Repair != 1 {
		t.Errorf("turns: %+v", turns)
	}
}

func outputThatNeverFits(t *testing.T, stage *stage) {
	s := stage.story(t, finally("I do not speak JSON."))
	id := s.runs(object{}, object{"outputSchema": object{"type": "object"}})
	shown := s.over(id, domain.StatusFailed)
	if out := shown.Output; out.Error.Code != domain.CodeOutputInvalid || out.Text != "I do not speak JSON." || string(out.Structured) != "null" {
		t.Errorf("%+v %+v", out, out.Error)
	}
	s.heardOf(3)
	s.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/executions", object{
		"block": agentBlock(object{"prompt": "x"}), "outputSchema": object{"$ref": "https://example.com/schema.json"},
	})
}

// chained is what the model of a later execution is sent: what was said before, by whom, and none of the calls.
func chained(t *testing.T, stage *stage) {
	s := stage.story(t, calls("read", object{"path": "none"}), finally("There is no such file."), finally("It was never there."), finally("Then we are done."))
	first := s.runs(object{"name": "look", "prompt": s.prompt("Where is it?")})
	s.over(first, domain.StatusCompleted)
	second := s.runs(object{"name": "ask", "prompt": s.prompt("Why?")}, object{"contextFrom": []string{first}})
	if shown := s.over(second, domain.StatusCompleted); len(shown.ContextFrom) != 1 || shown.ContextFrom[0] != first {
		t.Errorf("%+v", shown)
	}
	third := s.runs(object{"prompt": s.prompt("And now?")}, object{"contextFrom": []string{first, second}})
	s.over(third, domain.StatusCompleted)
	heard := s.requests()
	if diff := cmp.Diff([]string{
		"user: Where is it? (story)", "assistant: There is no such file.", "user: Why? (story)",
	}, wire(heard[2])); diff != "" {
		t.Errorf("the second execution (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"user: Where is it? (story)", "assistant: There is no such file.", "user: Why? (story)", "assistant: It was never there.", "user: And now? (story)",
	}, wire(heard[3])); diff != "" {
		t.Errorf("the third execution (-want +got):\n%s", diff)
	}
}

func badChains(t *testing.T, stage *stage) {
	s := stage.story(t, stalls)
	live := s.runs(object{})
	foreign := s.with(stage.newKey("--name", "foreign", "--scopes", "all", "--tenant", "other"))
	blind := s.with(stage.newKey("--name", "blind", "--scopes", "executions:write"))
	body := func(change object) object {
		whole := object{"block": agentBlock(object{"prompt": s.prompt("x")})}
		for name, value := range change {
			whole[name] = value
		}
		return whole
	}
	for name, row := range map[string]struct {
		client  client
		change  object
		pointer string
	}{
		"one that lives":       {s.client, object{"contextFrom": []string{live}}, "/contextFrom/0"},
		"the output of it":     {s.client, object{"outputsFrom": object{"x": live}}, "/outputsFrom/x"},
		"one that is not":      {s.client, object{"contextFrom": []string{someBlock}}, "/contextFrom/0"},
		"another tenant's":     {foreign, object{"contextFrom": []string{live}}, "/contextFrom/0"},
		"another's output":     {foreign, object{"outputsFrom": object{"x": live}}, "/outputsFrom/x"},
		"a name that is taken": {s.client, object{"outputsFrom": object{" ": live}}, "/outputsFrom/ "},
	} {
		row.client.t = t
		p := row.client.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/executions", body(row.change))
		if len(p.Errors) == 0 || p.Errors[0].Pointer != row.pointer {
			t.Errorf("%s: %+v", name, p)
		}
	}
	blind.refused(http.StatusForbidden, "forbidden", "POST", "/executions", body(object{"contextFrom": []string{live}}))
}

func badDocuments(t *testing.T, stage *stage) {
	s := stage.story(t, finally("not asked"))
	without := func(name string) object {
		whole := agentBlock(object{"prompt": "x"})
		delete(whole, name)
		return whole
	}
	with := func(name string, value any) object {
		whole := agentBlock(object{"prompt": "x"})
		whole[name] = value
		return whole
	}
	for name, row := range map[string]struct {
		block   any
		code    string
		pointer string
	}{
		"no document":           {"x", "invalid", "/block"},
		"missing id":            {without("id"), "invalid", "/block/id"},
		"missing props":         {without("props"), "invalid", "/block/props"},
		"missing source":        {object{"id": someBlock, "type": "agent", "props": object{"prompt": "x"}}, "invalid", "/block/props/source"},
		"invalid id":            {with("id", "b1"), "invalid", "/block/id"},
		"another type":          {with("type", "script"), "invalid", "/block/type"},
		"invalid source":        {agentBlock(object{"prompt": "x", "source": object{"type": "magic"}}), "invalid", "/block/props/source/type"},
		"a source that is text": {agentBlock(object{"prompt": "x", "source": "internal"}), "invalid", "/block/props/source"},
		"unknown agent":         {agentBlock(object{"prompt": "x", "source": object{"type": "acp", "command": "rm"}}), "unknownAgent", "/block/props/source/command"},
		"arguments of its own": {agentBlock(object{"prompt": "x", "source": object{"type": "acp", "command": "scripted", "args": []string{"--dangerously-skip-permissions"}}}),
			"unknownAgent", "/block/props/source/args"},
		"an environment":        {agentBlock(object{"prompt": "x", "source": object{"type": "acp", "command": "scripted", "env": object{"A": "b"}}}), "invalid", "/block/props/source/env"},
		"unknown model":         {agentBlock(object{"prompt": "x", "source": object{"type": "internal", "model": "gpt-9"}}), "unknownModel", "/block/props/source/model"},
		"invalid capabilities":  {agentBlock(object{"prompt": "x", "capabilities": object{"readFiles": "yes"}}), "invalid", "/block/props/capabilities/readFiles"},
		"unknown capability":    {agentBlock(object{"prompt": "x", "capabilities": object{"fly": true}}), "invalid", "/block/props/capabilities/fly"},
		"missing prompt":        {agentBlock(), "invalid", "/block/props/prompt"},
		"blank prompt":          {agentBlock(object{"prompt": " \n"}), "invalid", "/block/props/prompt"},
		"blank once rendered":   {agentBlock(object{"prompt": "{{ '' }}"}), "invalid", "/block/props/prompt"},
		"a timeout below zero":  {agentBlock(object{"prompt": "x", "timeoutSeconds": -1}), "invalid", "/block/props/timeoutSeconds"},
		"a directory outside":   {agentBlock(object{"prompt": "x", "workingDirectory": "/etc"}), "invalid", "/block/props/workingDirectory"},
		"a template in pieces":  {agentBlock(object{"prompt": "{{ x"}), "templateFailed", "/block/props/prompt"},
		"an unknown prop":       {agentBlock(object{"prompt": "x", "colour": "red"}), "invalid", "/block/props/colour"},
		"an undefined variable": {agentBlock(object{"prompt": "x", "systemPrompt": "{{ nobody }}"}), "templateFailed", "/block/props/systemPrompt"},
	} {
		p := s.refused(http.StatusUnprocessableEntity, row.code, "POST", "/executions", object{"block": row.block})
		if len(p.Errors) == 0 || p.Errors[0].Pointer != row.pointer {
			t.Errorf("%s: %+v", name, p)
		}
	}
	s.heardOf(0)
}

func badTemplates(t *testing.T, stage *stage) {
	s := stage.story(t, finally("not asked"))
	for template, names := range map[string]string{
		"{{ host }}": "host", "{{ doc.named['query'].output.columns }}": "columns", "{{ doc.named.nobody.output.text }}": "nobody",
		"{% for x in rows %}{{ x }}{% endfor %}": "rows", "a\nb\n{{ deep.er }}": "deep",
	} {
		p := s.refused(http.StatusUnprocessableEntity, "templateFailed", "POST", "/executions", object{
			"block":     agentBlock(object{"prompt": template}),
			"variables": object{"doc": object{"named": object{"query": object{"output": object{"rows": []int{1}}}}}},
		})
		if len(p.Errors) != 1 || p.Errors[0].Pointer != "/block/props/prompt" || !strings.Contains(p.Errors[0].Message+p.Detail, names) {
			t.Errorf("%s: %+v", template, p)
		}
	}
	s.heardOf(0)
}

// hostileTemplates ask for all time and all memory; each is refused, and the server answers as before.
func hostileTemplates(t *testing.T, stage *stage) {
	s := stage.story(t, finally("still here"))
	for name, template := range map[string]string{
		"loops in loops":     "{% for a in range(100000) %}{% for b in range(100000) %}{% for c in range(100000) %}x{% endfor %}{% endfor %}{% endfor %}",
		"memory":             "{% set x = 'x' * 1000000000 %}{{ x }}",
		"itself":             "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
		"a file":             "{% include '/etc/passwd' %}",
		"the environment":    "{{ env.HOME }}{{ self }}{{ __class__ }}",
		"nested to death":    "{{ " + strings.Repeat("(", 100_000) + "1" + strings.Repeat(")", 100_000) + " }}",
		"brackets":           "{{ " + strings.Repeat("[", 100_000) + " }}",
		"a broken surrogate": "{{ '\\ud800' }}{{",
	} {
		began := time.Now()
		response, content := s.do("POST", "/executions", object{"block": agentBlock(object{"prompt": s.prompt("x") + template})})
		if response.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s: %s %.300s", name, response.Status, content)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s: took %s", name, took)
		}
	}
	want[object](s.client, http.StatusOK, "GET", "/healthz", nil)
	id := s.runs(object{"prompt": s.prompt("{{ 1 + 1 }}")})
	s.over(id, domain.StatusCompleted)
}

func cancelledBlock(t *testing.T, stage *stage) {
	s := stage.story(t, stalls)
	id := s.runs(object{})
	s.reach(id, domain.StatusStreaming)
	s.cancel(id)
	if out := s.over(id, domain.StatusCancelled).Output; out.Success || out.Text != "half a sen" || out.FinishReason != "cancelled" {
		t.Errorf("%+v", out)
	}
}

func grantedCapabilities(t *testing.T, stage *stage) {
	reads := stage.story(t, calls("list", object{"path": "."}), finally("done"))
	id := reads.runs(object{"capabilities": object{"readFiles": true}})
	if out := reads.over(id, domain.StatusCompleted).Output; len(out.ToolCallsExecuted) != 1 || !out.ToolCallsExecuted[0].Approved {
		t.Errorf("%+v", out)
	}
	asks := stage.story(t, calls("list", object{"path": "."}), finally("done"))
	id = asks.runs(object{"capabilities": object{"readFiles": false}})
	asks.decide(asks.pending(id), object{"decision": "deny"})
	if out := asks.over(id, domain.StatusCompleted).Output; len(out.ToolCallsExecuted) != 1 || out.ToolCallsExecuted[0].Approved {
		t.Errorf("%+v", out)
	}
	trusts := stage.story(t, calls("bash", object{"command": "echo trusted"}), finally("done"))
	id = trusts.runs(object{"capabilities": object{"executeCommands": true, "alwaysAllowTools": true}})
	if out := trusts.over(id, domain.StatusCompleted).Output; len(out.ToolCallsExecuted) != 1 || !out.ToolCallsExecuted[0].Approved {
		t.Errorf("%+v", out)
	}
}

// exampleDocument is the document of the specification, but for the agent, which is not installed here.
func exampleDocument(t *testing.T, stage *stage) {
	s := stage.story(t, finally("not asked"))
	id := s.createdAs(object{
		"variables": object{"doc": object{"named": object{"fetch_logs": object{"output": object{"stdout": "#! say disk full"}}}}},
		"block": object{"id": someBlock, "type": "agent", "props": object{
			"name": "Analyze Logs", "source": object{"type": "acp", "command": "scripted", "args": []string{}, "env": object{}},
			"prompt":         "Analyze these error logs and identify patterns:\n\n{{ doc.named['fetch_logs'].output.stdout }}",
			"systemPrompt":   "You are a log analysis expert. Be concise.",
			"capabilities":   object{"readFiles": true, "writeFiles": false, "executeCommands": false, "alwaysAllowTools": false},
			"timeoutSeconds": 300, "workingDirectory": nil,
		}},
	})
	shown := s.over(id, domain.StatusCompleted)
	if shown.Output.Text != "disk full" || shown.Block.Name != "Analyze Logs" {
		t.Errorf("%+v %+v", shown.Output, shown.Block)
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
