package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/acp/acptest"
	"signoff/internal/domain"
	"signoff/test/harness"
)

// seedExample is an example that a seed prints, in the spelling of the contract, and what must become of it.
type seedExample struct {
	steps []script // what the model does
	sent  func(*story) object
	then  func(s *story, id string)

	refused, at string // the code and the pointer of a request that starts nothing
}

// TestSeedExamples sends the examples of the seeds to one server. The name of a row has the number of the seed and its section. The checklists
// are [TestSeed000] and [TestSeed002], the full step of a workflow is [TestAgentStep], and what names a place is in [TestSeedsNamePlaces].
func TestSeedExamples(t *testing.T) {
	t.Parallel()
	s := newStage(t, engine{})
	agent := object{"command": acptest.Build(t), "home": "shared", "mode": "", "description": "Claude Code (Anthropic)"}
	s.section("agents", object{"claude": agent, "codex": object{"command": agent["command"], "home": "shared", "mode": ""}})
	s.section("settings", object{"defaultTimeout": 300, "defaultCapabilities": object{"read": "allow", "write": "ask", "execute": "ask"}})
	s.section("blockTypes", object{"paragraph": object{"description": "Text."}, "script": object{"description": "Runs a script.", "propsSchema": storyTypes[0]["propsSchema"]}})
	s.start()
	for name, example := range seedExamples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if example.steps == nil {
				example.steps = []script{finally("not asked")}
			}
			s := s.story(t, example.steps...)
			body := example.sent(s)
			if example.refused == "" {
				example.then(s, s.createdAs(body))
				return
			}
			p := s.refused(http.StatusUnprocessableEntity, example.refused, "POST", "/executions", body)
			if len(p.Errors) != 1 || p.Errors[0].Pointer != example.at {
				t.Errorf("%+v", p)
			}
			s.heardOf(0)
		})
	}
}

var seedExamples = map[string]seedExample{
	"000: the document with its bypass": {
		sent:    func(s *story) object { return object{"block": logsBlock("--dangerously-skip-permissions")} },
		refused: "unknownAgent", at: "/block/props/source/args",
	},
	"000: the document without it": {
		sent: func(s *story) object {
			return object{"block": logsBlock(), "variables": object{"doc": object{"named": object{"fetch_logs": object{"output": object{"stdout": "#! say disk full"}}}}}}
		},
		then: func(s *story, id string) {
			completesWith("disk full")(s, id)
			if shown := s.see(id); shown.Block.Name != "Analyze Logs" || *shown.SystemPrompt != "You are a log analysis expert. Be concise." {
				s.t.Errorf("%+v", shown)
			}
		},
	},
	"000: a block of the internal agent": {
		steps: []script{finally("Two disks are full.")},
		sent: func(s *story) object {
			return object{"block": agentBlock(object{"source": object{"type": "internal", "model": nil}, "prompt": s.prompt("Which disks are full?")})}
		},
		then: completesWith("Two disks are full."),
	},
	"000: the settings": {
		sent: func(s *story) object { return internally(s, "go") },
		then: func(s *story, id string) {
			shown := want[object](s.client, http.StatusOK, "GET", "/executions/"+id, nil)
			if shown["timeoutSeconds"] != 300.0 || shown["safeMode"] != true {
				s.t.Errorf("%+v", shown)
			}
			granted, _ := shown["capabilities"].(map[string]any)
			for class, verdict := range map[string]string{"read": "allow", "write": "ask", "execute": "ask"} {
				if granted[class] != verdict {
					s.t.Errorf("%s: %v", class, granted[class])
				}
			}
			described := map[string]string{}
			for _, agent := range want[list[struct{ Name, Description string }]](s.client, http.StatusOK, "GET", "/agents", nil).Items {
				described[agent.Name] = agent.Description
			}
			if described["claude"] != "Claude Code (Anthropic)" || described["gemini"] == "" || described["codex"] == "" {
				s.t.Errorf("%v", described)
			}
			s.over(id, domain.StatusCompleted)
		},
	},
	"000: the states of an approval": {
		steps: []script{
			func(a *answer, _ []message) { a.Say("I look."); a.Want("bash", object{"command": "echo one"}) },
			calls("bash", object{"command": "echo two"}), finally("done"),
		},
		sent: func(s *story) object { return internally(s, "go") },
		then: func(s *story, id string) {
			s.decide(s.pending(id))
			s.decide(s.pending(id), object{"decision": "deny"})
			s.over(id, domain.StatusCompleted)
			var states []string
			for _, change := range of[domain.StateChanged](s.t, s.log(id)) {
				states = append(states, string(change.To))
			}
			answered := "pendingToolApproval executingTool waiting pendingToolApproval waiting streaming" // approved, and then denied
			if all := strings.Join(states, " "); !strings.Contains(all, answered) || !strings.HasPrefix(all, "initializing waiting streaming ") {
				s.t.Errorf("the states: %s", all)
			}
		},
	},
	"000: what runs unasked": {
		steps: []script{
			calls("get_block_docs", object{}), calls("get_runbook_document", object{}), calls("insert_blocks", object{"blocks": []object{block("df")}}), finally("done"),
		},
		sent: func(s *story) object {
			return object{"kind": "assistant", "source": object{"type": "internal"}, "prompt": s.prompt("go"), "keepOpen": false, "document": notebook("12"),
				"blockTypes": storyTypes, "capabilities": object{"readFiles": true, "writeFiles": false}}
		},
		then: func(s *story, id string) {
			held := s.pending(id)
			if held.Tool != "insert_blocks" || len(s.requests()) != 3 {
				s.t.Errorf("asked about %s after %d requests", held.Tool, len(s.requests()))
			}
			s.decide(held, object{"decision": "deny"})
			s.over(id, domain.StatusCompleted)
		},
	},
	"000: no tools": {
		steps: []script{finally("Only words.")},
		sent:  func(s *story) object { return internally(s, "go", object{"tools": object{"enabled": []string{}}}) },
		then: func(s *story, id string) {
			completesWith("Only words.")(s, id)
			if offered := s.tools(); len(offered) != 0 {
				s.t.Errorf("offered: %q", offered)
			}
		},
	},
	"000: open questions: servers, standard error, folder": {
		sent: func(s *story) object {
			return object{"source": object{"type": "acp", "command": "claude"}, "debug": true, "keepOpen": true, "prompt": acptest.Prompt("whoami", "stderr a line for whoever looks")}
		},
		then: func(s *story, id string) {
			s.rests(id, 1)
			var said strings.Builder
			s.eventually("the line of standard error", func() bool { // a stream of its own, which nothing orders with the answer
				said.Reset()
				for _, line := range of[domain.AgentStderr](s.t, s.log(id)) {
					said.WriteString(line.Text)
				}
				return strings.Contains(said.String(), "a line for whoever looks")
			})
			want[object](s.client, http.StatusOK, "POST", "/executions/"+id+"/close", nil, waits)
			me := whoamis(s.t, s.log(id))
			if len(me) != 1 || me[0].Cwd != s.stage.workspace || len(me[0].MCPServers) > 0 {
				s.t.Errorf("%+v", me)
			}
			if answer := s.see(id).Output.Text; strings.Contains(answer, "whoever looks") {
				s.t.Errorf("standard error is in the answer: %q", answer)
			}
		},
	},
	"001: a session, a prompt, and the session loaded": {
		sent: func(*story) object {
			return object{"source": object{"type": "acp", "command": "claude"}, "prompt": acptest.Prompt("whoami")}
		},
		then: func(s *story, id string) {
			s.over(id, domain.StatusCompleted)
			again := s.createdAs(object{"source": object{"type": "acp", "command": "claude"}, "resumeFrom": id, "prompt": acptest.Prompt("whoami")})
			s.over(again, domain.StatusCompleted)
			first, second := whoamis(s.t, s.log(id)), whoamis(s.t, s.log(again))
			if len(first) != 1 || len(second) != 1 || first[0].SessionID != second[0].SessionID || second[0].Opened == "new" {
				s.t.Errorf("%+v, and then %+v", first, second)
			}
		},
	},
	"001: thoughts within marks": {
		steps: []script{func(a *answer, _ []message) { a.Say("<think>A disk ", "is full.</thi", "nk>Clean it.") }},
		sent:  func(s *story) object { return internally(s, "go") },
		then: func(s *story, id string) {
			if shown := s.over(id, domain.StatusCompleted); shown.Output.Text != "Clean it." {
				s.t.Errorf("%+v", shown.Output)
			}
			var thought strings.Builder
			for _, delta := range of[domain.ThoughtDelta](s.t, s.log(id)) {
				thought.WriteString(delta.Text)
			}
			if thought.String() != "A disk is full." {
				s.t.Errorf("thought: %q", &thought)
			}
		},
	},
	"001: always allow, in this session": {
		steps: []script{
			calls("write", object{"path": "allowed.txt", "content": "1"}), calls("write", object{"path": "allowed.txt", "content": "2"}),
			calls("write", object{"path": "other.txt", "content": "3"}), finally("done"),
		},
		sent: func(s *story) object { return internally(s, "go") },
		then: func(s *story, id string) {
			s.decide(s.pending(id), object{"remember": object{"scope": "execution", "previewId": "path"}})
			next := s.pending(id)
			if !strings.Contains(next.Summary, "other.txt") || len(s.requests()) != 3 {
				s.t.Errorf("asked after %d requests: %s", len(s.requests()), next.Summary)
			}
			s.decide(next, object{"decision": "deny"})
			s.over(id, domain.StatusCompleted)
		},
	},
	"002: what the model says on the way": {
		steps: []script{func(a *answer, conversation []message) {
			a.Think("A disk is full.")
			a.Say("I write it.")
			hands("df -h")(a, conversation)
		}},
		sent: func(s *story) object { return s.generation() },
		then: func(s *story, id string) {
			s.rests(id, 1)
			log := s.log(id)
			if text(s.t, log) != "I write it." || len(of[domain.ThoughtDelta](s.t, log)) == 0 {
				s.t.Errorf("said: %q", text(s.t, log))
			}
			s.accept(id, 1, "12")
			s.over(id, domain.StatusCompleted)
		},
	},
	"002: open items: types and model of the server": {
		steps: []script{hands("df -h")},
		sent: func(s *story) object {
			body := s.generation()
			delete(body, "blockTypes")
			return body
		},
		then: func(s *story, id string) {
			s.rests(id, 1)
			if said := system(s.requests()[0]); !strings.Contains(said, "Runs a script.") {
				s.t.Errorf("the model was told %s", said)
			}
			s.accept(id, 1, "12")
			s.over(id, domain.StatusCompleted)
		},
	},
	"003: the minimal step": {
		steps: []script{finally("The pool was exhausted.")},
		sent: func(s *story) object {
			return object{"source": object{"type": "internal"}, "messages": []object{
				{"role": "user", "content": s.prompt("Analyze the errors of the last hour.\nSummarize the root causes and suggest fixes.\n")},
			}}
		},
		then: func(s *story, id string) {
			completesWith("The pool was exhausted.")(s, id)
			next := s.createdAs(object{
				"source": object{"type": "internal"}, "prompt": s.prompt("Fix: {{ doc.named.ANALYSIS_RESULT.output.text }}"), "outputsFrom": object{"ANALYSIS_RESULT": id},
			})
			if shown := s.over(next, domain.StatusCompleted); !strings.HasPrefix(shown.Prompt, "Fix: The pool was exhausted.") {
				s.t.Errorf("the next step was told %q", shown.Prompt)
			}
		},
	},
	"003: the tools that are listed": {
		steps: []script{calls("patch", object{"patch": configPatch}), finally("done")},
		sent: func(s *story) object {
			return internally(s, "go", object{"tools": object{"enabled": []string{"bash", "read", "think"}}})
		},
		then: func(s *story, id string) {
			s.over(id, domain.StatusCompleted)
			if diff := cmp.Diff([]string{"bash", "read", "think"}, s.tools()); diff != "" {
				s.t.Error(diff)
			}
			if outcomes := of[domain.ToolCallCompleted](s.t, s.log(id)); len(outcomes) != 1 || outcomes[0].Error == nil || outcomes[0].Error.Code != domain.CodeUnknownTool {
				s.t.Errorf("%+v", outcomes)
			}
		},
	},
	"003: tools that only an interface has": {
		sent: func(s *story) object {
			return internally(s, "go", object{"tools": object{"enabled": []string{"bash", "navigate"}}})
		},
		refused: "invalid", at: "/tools/enabled/1",
	},
	"003: a command that the policy blocks": {
		steps: []script{calls("bash", object{"command": "rm notes"}), calls("bash", object{"command": "echo instead"}), finally("done")},
		sent:  func(s *story) object { return internally(s, "go", denies("block")) },
		then: func(s *story, id string) {
			s.over(id, domain.StatusCompleted)
			if told := last(s.requests()[1]).Content; !strings.Contains(told, "rule-name") {
				s.t.Errorf("told: %s", told)
			}
			if told := last(s.requests()[2]).Content; !strings.Contains(told, "instead") {
				s.t.Errorf("told: %s", told)
			}
		},
	},
	"003: a command that waits for a person": {
		steps: []script{calls("bash", object{"command": "rm notes"}), finally("done")},
		sent:  func(s *story) object { return internally(s, "go", denies("hitl")) },
		then: func(s *story, id string) {
			held := s.pending(id)
			if !strings.Contains(held.Summary, "rm notes") || !strings.Contains(held.Summary, s.stage.workspace) {
				s.t.Errorf("held: %s", held.Summary)
			}
			s.decide(held, object{"decision": "deny", "reason": "They are needed."})
			s.over(id, domain.StatusCompleted)
			if told := last(s.requests()[1]).Content; !strings.Contains(told, "They are needed.") {
				s.t.Errorf("told: %s", told)
			}
		},
	},
	"003: notes outlive a run": {
		steps: []script{calls("memory_write", object{"scope": "runbook", "content": "db1 is slow on Mondays"}), finally("noted")},
		sent: func(s *story) object {
			return internally(s, "go", object{"memory": object{"enabled": true}, "runbookId": "outlives", "capabilities": object{"write": "allow"}})
		},
		then: func(s *story, id string) {
			completesWith("noted")(s, id)
			again := s.createdAs(internally(s, "go", object{"memory": object{"enabled": true}, "runbookId": "outlives"}))
			s.over(again, domain.StatusCompleted)
			without := s.createdAs(internally(s, "go", object{"runbookId": "outlives"}))
			s.over(without, domain.StatusCompleted)
			requests := s.requests()
			if !strings.Contains(system(requests[len(requests)-2]), "slow on Mondays") || strings.Contains(system(requests[len(requests)-1]), "slow on Mondays") {
				s.t.Error("the notes are not in the prompts that they belong to")
			}
			if slices.Contains(s.tools(), "memory_read") {
				s.t.Error("notes can be read without memory")
			}
		},
	},
	"003: a chain of steps": {
		steps: []script{calls("bash", object{"command": "echo 91 percent"}), finally("The disk is full.")},
		sent: func(s *story) object {
			return internally(s, "go", object{"capabilities": object{"execute": "allow"}})
		},
		then: func(s *story, id string) {
			completesWith("The disk is full.")(s, id)
			for tools, want := range map[string][]string{
				"bash": {"user:", "assistant:bash", "tool:91 percent\n", "assistant:The disk is full.", "user:"}, "": {"user:", "assistant:", "user:[result of a tool call]\n91 percent", "assistant:The disk is full.", "user:"},
			} {
				next := s.createdAs(internally(s, "and now?", object{
					"tools": object{"enabled": strings.Fields(tools)}, "contextFrom": []object{{"executionId": id, "include": "toolCalls"}},
				}))
				s.over(next, domain.StatusCompleted)
				requests := s.requests()
				sent := requests[len(requests)-1][1:]
				if len(sent) != len(want) {
					s.t.Fatalf("%+v", sent)
				}
				for i, message := range sent {
					got := message.Role + ":" + message.Content
					if len(message.ToolCalls) > 0 {
						got = message.Role + ":" + message.ToolCalls[0].Function.Name
					}
					if !strings.HasPrefix(got, want[i]) {
						s.t.Errorf("tools %q: message %d is %q", tools, i, got)
					}
				}
			}
		},
	},
	"003: full trust": {
		steps: []script{calls("bash", object{"command": "echo trusted > trusted.txt; cat trusted.txt"}), finally("done")},
		sent:  func(s *story) object { return internally(s, "go", object{"safeMode": false}) },
		then: func(s *story, id string) {
			s.over(id, domain.StatusCompleted)
			if told := last(s.requests()[1]).Content; !strings.Contains(told, "trusted") {
				s.t.Errorf("told: %s", told)
			}
		},
	},
	"003: an endless loop of calls": {
		steps: []script{func(a *answer, _ []message) { a.Say("Round."); a.Want("think", object{"thought": "again"}) }},
		sent:  func(s *story) object { return internally(s, "go", object{"maxIterations": 5}) },
		then: func(s *story, id string) {
			shown := s.over(id, domain.StatusFailed)
			if shown.Output.Error.Code != domain.CodeLimitReached || shown.Output.FinishReason != "maxIterations" {
				s.t.Errorf("%+v %+v", shown.Output, shown.Output.Error)
			}
			s.heardOf(5)
			if got := want[struct{ Progress progress }](s.client, http.StatusOK, "GET", "/executions/"+id, nil).Progress; got != (progress{5, 5}) {
				s.t.Errorf("progress: %+v", got)
			}
		},
	},
	"003: a person who does not answer": {
		steps: []script{calls("bash", object{"command": "echo one"}), finally("Nobody answered.")},
		sent:  func(s *story) object { return internally(s, "go", object{"approvalTimeoutSeconds": 1}) },
		then: func(s *story, id string) {
			completesWith("Nobody answered.")(s, id)
			if outcomes := of[domain.ToolCallCompleted](s.t, s.log(id)); len(outcomes) != 1 || outcomes[0].Outcome != domain.OutcomeExpired {
				s.t.Errorf("%+v", outcomes)
			}
		},
	},
	"003: what a variable names in a prompt": {
		steps: []script{finally("done")},
		sent: func(s *story) object {
			return internally(s, "Analyze ${INPUT_FILE} and write results to ${OUTPUT_DIR}",
				object{"templateSyntax": "dollar", "variables": object{"INPUT_FILE": "a.log", "OUTPUT_DIR": "reports"}})
		},
		then: func(s *story, id string) {
			if shown := s.over(id, domain.StatusCompleted); shown.Prompt != s.prompt("Analyze a.log and write results to reports") {
				s.t.Errorf("the prompt is %s", shown.Prompt)
			}
		},
	},
	"004: one walk of events": {
		sent: func(s *story) object {
			return object{"source": object{"type": "acp", "command": "codex"}, "keepOpen": true, "debug": true,
				"prompt": "Hello\n" + acptest.Prompt("think Hm.", "call c1 kind=read title=look status=completed", "say Hello, who", "say ever you are.")}
		},
		then: talks,
	},
	"004: several agents at once": {
		sent: func(*story) object {
			return object{"source": object{"type": "acp", "command": "claude_code"}, "keepOpen": true, "prompt": acptest.Prompt("say One.")}
		},
		then: func(s *story, id string) {
			s.rests(id, 1)
			other := s.createdAs(object{"source": object{"type": "acp", "command": "codex"}, "keepOpen": true, "prompt": acptest.Prompt("say Two.")})
			s.rests(other, 1)
			for id, prompt := range map[string]string{id: "say Three.", other: "say Four."} {
				want[object](s.client, http.StatusAccepted, "POST", "/executions/"+id+"/prompts", object{"prompt": acptest.Prompt(prompt)})
			}
			for id, said := range map[string]string{id: "One.Three.", other: "Two.Four."} {
				s.rests(id, 2)
				if got := text(s.t, s.log(id)); got != said {
					s.t.Errorf("said %q, want %q", got, said)
				}
			}
		},
	},
	"000: a block as an editor stores it": {
		sent: func(*story) object {
			stored := logsBlock()
			stored["children"], stored["content"] = []object{}, []object{}
			stored["props"].(object)["textAlignment"] = "left"
			return object{"block": stored, "variables": object{"doc": object{"named": object{"fetch_logs": object{"output": object{"stdout": "#! say disk full"}}}}}}
		},
		then: func(s *story, id string) {
			completesWith("disk full")(s, id)
			if diff := cmp.Diff([]string{"/block/children", "/block/content", "/block/props/textAlignment"}, s.warnings(id)); diff != "" {
				s.t.Error(diff)
			}
		},
	},
	"000: a block without words": {
		steps: []script{finally("Hello.")},
		sent: func(s *story) object {
			return object{"block": agentBlock(object{"prompt": ""}), "messages": []object{{"role": "user", "content": s.prompt("Say hello.")}}}
		},
		then: completesWith("Hello."),
	},
	"000: what an output does not have": {
		steps: []script{finally("one")},
		sent: func(s *story) object {
			first := s.createdAs(internally(s, "go"))
			s.over(first, domain.StatusCompleted)
			return internally(s, "<{{ doc.named.a.output.error }}{{ doc.named.a.output.nothing }}>", object{"outputsFrom": object{"a": first}})
		},
		then: func(s *story, id string) {
			if shown := s.over(id, domain.StatusCompleted); shown.Prompt != s.prompt("<>") {
				s.t.Errorf("the prompt is %s", shown.Prompt)
			}
		},
	},
	"000: what a template may name": {
		steps: []script{finally("Two disks are full.")},
		sent: func(s *story) object {
			return object{"block": agentBlock(object{"name": "analyze", "prompt": s.prompt("go")}), "runbookId": "autocompletes", "variables": object{"region": "eu-west"}}
		},
		then: func(s *story, id string) {
			s.over(id, domain.StatusCompleted)
			_, listed := s.do("GET", "/runbooks/autocompletes/outputs", nil)
			for _, word := range []string{`"analyze"`, "durationSeconds", "inputTokens", "Two disks are full.", `"region"`, "eu-west"} {
				if !strings.Contains(string(listed), word) {
					s.t.Errorf("%s is not in %s", word, listed)
				}
			}
		},
	},
	"000: an approval names its block": {
		steps: []script{calls("bash", object{"command": "echo one"}), finally("done")},
		sent: func(s *story) object {
			return object{"block": agentBlock(object{"prompt": s.prompt("go")}), "runbookId": "names-it"}
		},
		then: func(s *story, id string) {
			held := s.pending(id)
			shown := want[object](s.client, http.StatusOK, "GET", "/approvals/"+held.ID, nil)
			if shown["runbookId"] != "names-it" || shown["blockId"] != someBlock || shown["toolDescription"] == nil {
				s.t.Errorf("%v", shown)
			}
			s.decide(held)
			s.over(id, domain.StatusCompleted)
			for _, event := range s.log(id) {
				if said := string(event.Data); strings.HasPrefix(event.Type, "approval.") && (!strings.Contains(said, "names-it") || !strings.Contains(said, someBlock)) {
					s.t.Errorf("%s", event.Raw)
				}
			}
			if _, records := s.do("GET", "/audit?executionId="+id, nil); !strings.Contains(string(records), someBlock) {
				s.t.Errorf("the audit does not name the block: %s", records)
			}
		},
	},
	"002: who pays": {
		steps: []script{hands("df")},
		sent: func(s *story) object {
			return s.generation(object{"metadata": object{"chargeTarget": "team-a", "username": "ada"}})
		},
		then: func(s *story, id string) {
			s.rests(id, 1)
			s.accept(id, 1, "12")
			s.over(id, domain.StatusCompleted)
			log := s.log(id)
			_, records := s.do("GET", "/audit?executionId="+id, nil)
			for where, said := range map[string]string{"the end": string(log[len(log)-1].Data), "the audit": string(records)} {
				if !strings.Contains(said, "team-a") || !strings.Contains(said, `"ada"`) {
					s.t.Errorf("%s: %s", where, said)
				}
			}
		},
	},
	"003: the full step": {
		steps: []script{finally("The URL points to db.internal now.")},
		sent: func(s *story) object {
			return harness.With(fixConfig, object{
				"source": object{"type": "internal"}, "workingDirectory": "", "runbookId": "fix-config-unsearched", "templateSyntax": "dollar", "variables": object{"DB_HOST": "db.internal"},
				"messages": []object{{"role": "user", "content": s.prompt("Fix the URL to point to ${DB_HOST}, and validate.")}},
			})
		},
		then: func(s *story, id string) {
			completesWith("db.internal")(s, id)
			if told := last(s.requests()[0]).Content; told != s.prompt("Fix the URL to point to db.internal, and validate.") {
				s.t.Errorf("told: %s", told)
			}
			if slices.Contains(s.tools(), "web_search") || !slices.Contains(s.tools(), "patch") {
				s.t.Errorf("offered: %q", s.tools())
			}
			if diff := cmp.Diff([]string{"/tools/enabled/4"}, s.warnings(id)); diff != "" {
				s.t.Error(diff)
			}
		},
	},
	"003: the model of the full step, on a server without it": {
		sent: func(s *story) object {
			return harness.With(fixConfig, object{"source": object{"type": "internal", "model": "claude-sonnet"}, "workingDirectory": "", "runbookId": "fix-config-unserved"})
		},
		refused: "unknownModel", at: "/source/model",
	},
	"003: variables by number": {
		steps: []script{finally("done")},
		sent: func(s *story) object {
			return internally(s, "Analyze $1", object{"templateSyntax": "dollar", "variables": object{"1": "errors.log"}})
		},
		then: func(s *story, id string) {
			if shown := s.over(id, domain.StatusCompleted); shown.Prompt != s.prompt("Analyze errors.log") {
				s.t.Errorf("the prompt is %s", shown.Prompt)
			}
		},
	},
	"003: requests in the log": {
		steps: []script{calls("think", object{"thought": "hm"}), finally("done")},
		sent: func(s *story) object {
			return internally(s, "go", object{"tools": object{"enabled": []string{"think"}}})
		},
		then: func(s *story, id string) {
			s.over(id, domain.StatusCompleted)
			var iterations []int
			for _, event := range s.log(id) {
				var told struct {
					Model           string
					Iteration       int
					Messages, Tools int
				}
				if event.Type != "model.requested" {
					continue
				}
				must(s.t, json.Unmarshal(event.Data, &told))
				if told.Model != "test" || told.Tools != 1 || told.Messages == 0 {
					s.t.Errorf("%s", event.Raw)
				}
				iterations = append(iterations, told.Iteration)
			}
			if !slices.Equal(iterations, []int{1, 2}) {
				s.t.Errorf("iterations: %v", iterations)
			}
		},
	},
	"004: an agent without a prompt": {
		sent: func(*story) object {
			return object{"source": object{"type": "acp", "command": "codex"}, "keepOpen": true}
		},
		then: func(s *story, id string) {
			s.rests(id, 0)
			want[object](s.client, http.StatusAccepted, "POST", "/executions/"+id+"/prompts", object{"prompt": acptest.Prompt("say Hello.")})
			s.rests(id, 1)
			want[object](s.client, http.StatusOK, "POST", "/executions/"+id+"/close", nil, waits)
			completesWith("Hello.")(s, id)
			s.feedStream("", func(event fed) bool {
				ours := strings.Contains(event.raw, id)
				if ours && !strings.Contains(event.raw, `"name":"codex"`) {
					s.t.Errorf("which agent? %s", event.raw)
				}
				return !ours
			})
		},
	},
	"004: limits in one form": {
		sent: func(*story) object {
			return object{"source": object{"type": "acp", "command": "codex"},
				"prompt": acptest.Prompt(fmt.Sprintf(`notify codex/rateLimits {"rateLimits":{"primary":{"usedPercent":12,"windowDurationMins":300,"resetsAt":%d}}}`, nextHour.Unix()), "say Hello.")}
		},
		then: func(s *story, id string) {
			completesWith("Hello.")(s, id)
			found := slices.ContainsFunc(s.log(id), func(event wireEvent) bool {
				return event.Type == "rateLimit.updated" && strings.Contains(string(event.Data), `{"usedPercent":12,"resetsAt":"`+nextHour.Format(time.RFC3339)+`","window":"5h"}`)
			})
			if !found {
				s.t.Error("no limits in one form")
			}
		},
	},
}

// nextHour is when a limit of the stories begins anew.
var nextHour = time.Now().UTC().Truncate(time.Hour).Add(time.Hour)

// warnings are the places of a request that were ignored.
func (s *story) warnings(id string) (places []string) {
	s.t.Helper()
	for _, warning := range want[struct{ Warnings []struct{ Pointer string } }](s.client, http.StatusOK, "GET", "/executions/"+id, nil).Warnings {
		places = append(places, warning.Pointer)
	}
	return places
}

// logsBlock is the document of the specification, with the arguments of its agent.
func logsBlock(args ...string) object {
	return object{"id": someBlock, "type": "agent", "props": object{
		"name": "Analyze Logs", "source": object{"type": "acp", "command": "claude", "args": append([]string{}, args...), "env": object{}},
		"prompt":         "Analyze these error logs:\n\n{{ doc.named['fetch_logs'].output.stdout }}",
		"systemPrompt":   "You are a log analysis expert. Be concise.",
		"capabilities":   object{"readFiles": true, "writeFiles": false, "executeCommands": false, "alwaysAllowTools": false},
		"timeoutSeconds": 300, "workingDirectory": nil,
	}}
}

// internally is a request of the internal agent.
func internally(s *story, prompt string, more ...object) object {
	body := object{"source": object{"type": "internal"}, "prompt": s.prompt(prompt)}
	for _, fields := range more {
		for name, value := range fields {
			body[name] = value
		}
	}
	return body
}

// denies is a policy with one rule.
func denies(behavior string) object {
	return object{"tools": object{"bashPolicy": object{"defaultBehavior": "allow", "denyBehavior": behavior,
		"rules": []object{{"name": "rule-name", "pattern": `^rm\b`, "action": "deny"}}}}, "capabilities": object{"execute": "allow"}}
}

// completesWith expects words of the output.
func completesWith(words ...string) func(*story, string) {
	return func(s *story, id string) {
		s.t.Helper()
		shown := s.over(id, domain.StatusCompleted)
		for _, word := range words {
			if !strings.Contains(shown.Output.Text, word) {
				s.t.Errorf("%q is not in %+v", word, shown.Output)
			}
		}
	}
}

// talks is the manual test: a message is sent, the answer streams and is an item, the raw feed has both directions, and the session ends.
func talks(s *story, id string) {
	s.rests(id, 1)
	want[object](s.client, http.StatusAccepted, "POST", "/executions/"+id+"/prompts", object{"prompt": acptest.Prompt("say Still here.")})
	s.rests(id, 2)
	want[object](s.client, http.StatusOK, "POST", "/executions/"+id+"/close", nil, waits)
	if shown := s.over(id, domain.StatusCompleted); shown.Output.Text != "Still here." {
		s.t.Errorf("%+v", shown.Output)
	}
	log := s.log(id)
	if said := text(s.t, log); said != "Hello, whoever you are.Still here." {
		s.t.Errorf("said: %q", said)
	}
	var kinds []string
	for _, item := range want[list[struct{ Kind string }]](s.client, http.StatusOK, "GET", "/executions/"+id+"/items", nil).Items {
		kinds = append(kinds, item.Kind)
	}
	if diff := cmp.Diff([]string{"message", "reasoning", "tool", "message", "message", "message"}, kinds); diff != "" {
		s.t.Error(diff)
	}
	directions := map[string]bool{}
	for _, raw := range want[list[struct{ Direction string }]](s.client, http.StatusOK, "GET", "/executions/"+id+"/debug", nil).Items {
		directions[raw.Direction] = true
	}
	if !directions["toAgent"] || !directions["fromAgent"] {
		s.t.Errorf("the raw feed has %v", directions)
	}
	s.refused(http.StatusConflict, "executionEnded", "POST", "/executions/"+id+"/prompts", object{"prompt": "Hello?"})
}
