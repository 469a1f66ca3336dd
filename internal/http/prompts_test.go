package http

import (
	"context"
	"strings"
	"testing"

	"signoff/internal/admission"
	"signoff/internal/domain"
	"signoff/internal/store"
)

func TestAnExternalAgentStaysOpenForFurtherPrompts(t *testing.T) {
	h := newTestServer(t)
	created := h.ask("POST", "/executions", `{
		"source":{"type":"acp","command":"mock","args":["--acp"],"model":"m-1","mode":"plan"},"prompt":"say one",
		"keepOpen":true,"idleTimeoutSeconds":0,"mcpServers":["files"],"debug":true,"capabilities":{"write":"deny"}}`).want(201)
	id := created.text("id")
	if created.text("source", "type") != "acp" || created.text("source", "command") != "mock" || created.text("source", "model") != "m-1" ||
		created.text("source", "mode") != "plan" || created.get("source", "args") != nil || created.get("keepOpen") != true ||
		created.get("idleTimeoutSeconds") != 0.0 || created.text("mcpServers", "0") != "files" || created.get("debug") != true ||
		created.text("capabilities", "write") != "deny" {
		t.Errorf("created %s", created.body)
	}
	h.idle(id, 1)
	path := "/executions/" + id + "/prompts"
	prompt := h.ask("POST", path, `{"prompt":"say two"}`).want(202)
	if prompt.text("executionId") != id || prompt.text("prompt") != "say two" || prompt.text("whenBusy") != "enqueue" ||
		prompt.text("createdBy") != strings.Split(h.token, "_")[1] || prompt.header.Get("Idempotency-Replayed") != "" {
		t.Errorf("%s", prompt.body)
	}
	h.idle(id, 2)
	closed := h.ask("POST", "/executions/"+id+"/close", "", "Prefer", "wait=30").want(200)
	if closed.text("status") != "completed" || closed.text("output", "finishReason") != "endTurn" {
		t.Errorf("%s", closed.body)
	}
	h.ask("POST", "/executions/"+id+"/close", "", "Prefer", "wait=30").want(200)
	ended := h.ask("POST", path, `{"prompt":"say three"}`).problem(409, domain.CodeExecutionEnded)
	if ended.text("execution", "status") != "completed" {
		t.Errorf("%s", ended.body)
	}
	seen := map[string]int{}
	for _, frame := range h.follow(id).all() {
		seen[frame.event]++
	}
	if seen["prompt.queued"] != 1 || seen["turn.started"] != 2 || seen["execution.completed"] != 1 {
		t.Errorf("%v", seen)
	}
}

func TestAPromptIsTakenInOncePerKey(t *testing.T) {
	h := newTestServer(t)
	id, other := h.open("say one"), h.open("say one")
	path := "/executions/" + id + "/prompts"
	first := h.ask("POST", path, `{"prompt":"say two"}`, "Idempotency-Key", "k").want(202)
	again := h.ask("POST", path, `{ "prompt" : "say two" }`, "Idempotency-Key", "k").want(202)
	if first.text("id") != again.text("id") || again.header.Get("Idempotency-Replayed") != "true" || first.text("createdAt") != again.text("createdAt") {
		t.Errorf("%s\n%s %v", first.body, again.body, again.header)
	}
	h.ask("POST", path, `{"prompt":"say three"}`, "Idempotency-Key", "k").problem(409, domain.CodeIdempotencyMismatch)
	elsewhere := h.ask("POST", "/executions/"+other+"/prompts", `{"prompt":"say two"}`, "Idempotency-Key", "k").want(202)
	if elsewhere.text("id") == first.text("id") || elsewhere.text("executionId") != other {
		t.Errorf("%s", elsewhere.body)
	}
	h.idle(id, 2)
}

func TestAPromptThatComesWhileATurnRuns(t *testing.T) {
	h := newTestServer(t)
	id := h.open("say one")
	path := "/executions/" + id + "/prompts"
	h.ask("POST", path, `{"prompt":"hang"}`).want(202)
	eventually(t, "the second turn runs", func() bool { return h.ask("GET", "/executions/"+id, "").text("status") == "waiting" })
	busy := h.ask("POST", path, `{"prompt":"say three","whenBusy":"reject"}`).problem(409, domain.CodeBusy)
	if busy.text("execution", "id") != id || busy.get("execution", "endedAt") != nil {
		t.Errorf("%s", busy.body)
	}
	h.ask("POST", path, `{"prompt":"say four","whenBusy":"interrupt"}`).want(202)
	h.idle(id, 3)
	h.ask("POST", "/executions/"+id+"/cancel", "", "Prefer", "wait=30").want(200)
	ended := h.ask("POST", "/executions/"+id+"/close", "").problem(409, domain.CodeExecutionEnded)
	if ended.text("execution", "status") != "cancelled" {
		t.Errorf("%s", ended.body)
	}
}

func TestNothingToChoose(t *testing.T) {
	h := newTestServer(t)
	id := h.open("say one")
	a := h.ask("POST", "/executions/"+id+"/resume", `{"mode":"fresh"}`).problem(409, domain.CodeNotInterrupted)
	if a.text("execution", "status") != "idle" {
		t.Errorf("%s", a.body)
	}
}

// fixed returns one answer to all requests.
type fixed struct {
	Sessions
	execution domain.Execution
	err       error
	mode      domain.ResumeMode
}

func (f *fixed) Resume(_ context.Context, _ domain.TenantID, _ domain.ExecutionID, mode domain.ResumeMode, _ domain.Actor) (domain.Execution, error) {
	f.mode = mode
	return f.execution, f.err
}

func TestResumeIsAcceptedOrNotPossible(t *testing.T) {
	f := &fixed{execution: domain.Execution{ID: someID, Status: domain.StatusStreaming, Request: domain.Request{
		Source: domain.Source{Type: domain.SourceACP, Command: "mock"}, Capabilities: domain.DefaultCapabilities,
	}}}
	h := newTestServer(t, func(c *Config) { f.Sessions, c.Sessions = c.Sessions, f })
	h.ask("POST", "/executions/"+someID+"/resume", `{"mode":"load"}`).want(202)
	if f.mode != domain.ResumeLoad {
		t.Errorf("mode %s", f.mode)
	}
	f.err = domain.Errorf(domain.CodeNotResumable, "The agent cannot take its session up.")
	if a := h.ask("POST", "/executions/"+someID+"/resume", `{"mode":"load"}`).problem(422, domain.CodeNotResumable); a.text("errors", "0", "pointer") != "/mode" {
		t.Errorf("%s", a.body)
	}
}

// offering reads what the agent of every execution has offered.
type offering struct {
	admission.Executions
	values *[]string // of the option effort
}

func (o offering) AgentOptions(context.Context, domain.ExecutionID) (options []domain.AgentOption, err error) {
	for _, value := range *o.values {
		options = append(options, domain.AgentOption{ID: "effort", Choices: []domain.AgentChoice{{Value: value}}})
	}
	return options, nil
}

// TestAPromptSetsOptions that the agent has offered. One that was taken in stays so.
func TestAPromptSetsOptions(t *testing.T) {
	values := []string{"high"}
	h := newTestServerWith(t, func(c *admission.Config) { c.Executions = offering{c.Executions, &values} })
	id := h.ask("POST", "/executions", `{"source":{"type":"acp","command":"mock","options":{"effort":"low"}},"prompt":"say one","keepOpen":true}`).want(201).text("id")
	h.idle(id, 1)
	path, body := "/executions/"+id+"/prompts", `{"prompt":"say two","options":{"effort":"high"}}`
	if a := h.ask("POST", path, body, "Idempotency-Key", "k").want(202); a.text("options", "effort") != "high" {
		t.Errorf("%s", a.body)
	}
	h.idle(id, 2)
	values[0] = "low"
	if a := h.ask("POST", path, body).problem(422, domain.CodeInvalid); a.text("errors", "0", "pointer") != "/options/effort" || !strings.Contains(a.text("detail"), "low") {
		t.Errorf("%s", a.body)
	}
	h.ask("POST", path, body, "Idempotency-Key", "k").want(202)
	h.ask("POST", path, `{"prompt":"say two","options":{"effort":"max"}}`, "Idempotency-Key", "k").problem(409, domain.CodeIdempotencyMismatch)
	h.ask("POST", path, `{"prompt":"say two","options":{"effort":3}}`).problem(422, domain.CodeInvalid)
	if a := h.ask("GET", "/executions/"+id, "").want(200); a.text("source", "options", "effort") != "low" {
		t.Errorf("%s", a.body)
	}
	ours := h.ask("POST", "/executions", `{"source":{"type":"internal"},"prompt":"say one","keepOpen":true}`).want(201).text("id")
	if a := h.ask("POST", "/executions/"+ours+"/prompts", body).problem(422, domain.CodeInvalid); a.text("errors", "0", "pointer") != "/options" {
		t.Errorf("%s", a.body)
	}
	h.ask("POST", "/executions/"+someID+"/prompts", body).problem(404, domain.CodeNotFound)
}

// halted reads an execution that is interrupted.
type halted struct {
	*store.Store
	agent string
}

func (h halted) Execution(_ context.Context, _ domain.TenantID, id domain.ExecutionID) (domain.Execution, error) {
	return domain.Execution{ID: id, Status: domain.StatusInterrupted, Cause: domain.CauseProcessGone, Request: domain.Request{
		Source: domain.Source{Type: domain.SourceACP, Command: h.agent}, Capabilities: domain.DefaultCapabilities,
	}}, nil
}

// TestAnAgentThatIsGoneIsNotResumed: it would be interrupted again. Giving up needs no agent.
func TestAnAgentThatIsGoneIsNotResumed(t *testing.T) {
	for agent, status := range map[string]int{"mock": 202, "absent": 422} {
		f := &fixed{execution: domain.Execution{ID: someID, Status: domain.StatusInterrupted, Request: domain.Request{
			Source: domain.Source{Type: domain.SourceACP, Command: agent}, Capabilities: domain.DefaultCapabilities,
		}}}
		var reader halted
		h := newTestServerWith(t, func(c *admission.Config) {
			reader = halted{c.Executions.(*store.Store), agent} //nolint:forcetypeassert // see newTestServer
			c.Executions = reader
		}, func(c *Config) { f.Sessions, c.Sessions, c.Reader = c.Sessions, f, reader })
		for _, mode := range []string{"load", "fresh"} {
			a := h.ask("POST", "/executions/"+someID+"/resume", `{"mode":"`+mode+`"}`).want(status)
			if status == 422 && (a.text("code") != "agentUnavailable" || !strings.Contains(a.text("detail"), "npm install -g absent") || f.mode != "") {
				t.Errorf("%s: %s", mode, a.body)
			}
		}
		h.ask("POST", "/executions/"+someID+"/resume", `{"mode":"fail"}`).want(202)
	}
}

func TestConflictsShowTheExecution(t *testing.T) {
	f := &fixed{}
	h := newTestServer(t, func(c *Config) { f.Sessions, c.Sessions = c.Sessions, f })
	id := h.create("say x")
	h.ended(id)
	for _, code := range []domain.Code{domain.CodeNotInterrupted, domain.CodeConflict, domain.CodeClosed, domain.CodeBusy, domain.CodeExecutionEnded} {
		f.err = domain.Errorf(code, "No.")
		a := h.ask("POST", "/executions/"+id+"/resume", `{"mode":"fail"}`).problem(409, code)
		if a.text("execution", "id") != id {
			t.Errorf("%s: %s", code, a.body)
		}
	}
}
