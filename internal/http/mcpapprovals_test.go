package http

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"signoff/internal/admission/admissiontest"
	"signoff/internal/approvals"
	"signoff/internal/domain"
	"signoff/internal/store"
)

// toolOfFiles is the tool read of the MCP server files, as the server defines it with this letter.
func toolOfFiles(letter string) *domain.MCPTool {
	return &domain.MCPTool{
		Server: "files", Tool: "read", Definition: strings.Repeat(letter, 64), Canonical: json.RawMessage(`{"description":"` + letter + `"}`),
		Annotations: domain.MCPAnnotations{ReadOnly: new(true)},
	}
}

// askAbout has a person asked about a call of a tool in a running execution.
func (h *testServer) askAbout(execution string, tool *domain.MCPTool) domain.Approval {
	h.Helper()
	of, err := h.store.Execution(h.Context(), domain.DefaultTenant, domain.ExecutionID(execution))
	must(h, err)
	policy, err := approvals.NewPolicy(of.Request)
	must(h, err)
	policy.Pin, err = h.store.MCPPin(h.Context(), of.Tenant, tool.Server, tool.Tool)
	must(h, err)
	environment, err := admissiontest.Environments().Choose(of.Request.Environment)
	must(h, err)
	policy.Environment = &environment
	call := domain.ToolCall{ID: "c", Tool: "mcp__files__read", Class: domain.ClassMCP, Arguments: json.RawMessage(`{"path":"/srv/a"}`), MCP: tool}
	hash, err := approvals.Hash(call, of.Request.WorkingDirectory, environment.Stamp())
	must(h, err)
	question := domain.Question{Kind: domain.ApprovalToolCall, Call: call}
	asked := approvals.New(of, question, hash, policy.Judge(h.Context(), call, hash, time.Now()), 0, time.Now())
	asked.Environment = environment.ForApproval()
	_, err = h.log.Commit(h.Context(), store.Change{
		Execution: of.ID, Ask: []domain.Approval{asked}, Events: []domain.Event{domain.NewEvent(of.ID, approvals.Requested(asked))},
	})
	must(h, err)
	return asked
}

// TestAPersonSeesTheToolOfAnMCPServer also has each answer and the event held against the document.
func TestAPersonSeesTheToolOfAnMCPServer(t *testing.T) {
	h := newTestServer(t)
	id := h.create("hang")
	asked := h.askAbout(id, toolOfFiles("a"))
	a := h.ask("GET", "/approvals/"+string(asked.ID), "").want(200)
	if a.text("mcp", "server") != "files" || a.text("mcp", "tool") != "read" || a.text("mcp", "standing") != "new" || a.get("mcp", "annotations", "readOnlyHint") != true ||
		a.text("mcp", "definition") != strings.Repeat("a", 64) || a.get("mcp", "pinnedHash") != nil {
		t.Errorf("%s", a.body)
	}
	h.ask("POST", "/approvals/"+string(asked.ID), `{"decision":"approve","argumentsHash":"`+asked.ArgumentsHash+`","remember":{"scope":"global","previewId":"mcpServer"}}`).want(200)
	changed := h.ask("GET", "/approvals/"+string(h.askAbout(id, toolOfFiles("b")).ID), "").want(200)
	if changed.text("askedBy") != "pin" || changed.text("mcp", "standing") != "changed" || changed.text("mcp", "pinnedBy", "name") != "ann" || changed.text("mcp", "pinnedAt") == "" ||
		changed.text("mcp", "changes", "0", "field") != "/description" || changed.text("mcp", "changes", "0", "before") != "a" || changed.text("mcp", "changes", "0", "after") != "b" {
		t.Errorf("%s", changed.body)
	}
	path := h.link(changed.text("id"), `{"for":"ann"}`)
	card := h.opened(path, show).want(200)
	for _, shown := range []string{"files, tool read", "it only reads", "It has changed since it was approved: by ann", "/description\n- a\n&#43; b"} {
		if !strings.Contains(string(card.body), shown) {
			t.Errorf("the page of a link does not show %q: %s", shown, card.body)
		}
	}
	if log := h.ask("GET", "/executions/"+id+"/events", "", "Accept", "application/json").want(200); !strings.Contains(string(log.body), `"standing":"changed"`) {
		t.Errorf("%s", log.body)
	}
}

func TestADryRunOfAnMCPTool(t *testing.T) {
	h := newTestServer(t)
	id := h.create("hang")
	const read = `{"mcpServer":"files","tool":"read","arguments":{"path":"/srv/a"}`
	evaluated := func(what, fields, decision, by string) answer {
		t.Helper()
		a := h.ask("POST", "/policy/evaluate", read+fields+`}`).want(200)
		if a.text("decision") != decision || a.text("decidedBy") != by || a.text("class") != "mcp" {
			t.Errorf("%s: %s", what, a.body)
		}
		return a
	}
	if a := evaluated("nobody has approved it", "", "ask", "capability"); !strings.Contains(a.text("reason"), `Nobody has approved the tool "read" of the MCP server "files" before.`) {
		t.Errorf("%s", a.body)
	}
	asked := h.askAbout(id, toolOfFiles("a"))
	h.ask("POST", "/approvals/"+string(asked.ID), `{"decision":"approve","argumentsHash":"`+asked.ArgumentsHash+`"}`).want(200)
	h.rule(`{"scope":"global","effect":"allow","matcher":{"mcpServer":"files","tool":"read","arguments":{"path":"/srv/**"}}}`)
	evaluated("the pinned definition", "", "allow", "rule")
	evaluated("by its hash", `,"definition":"`+strings.Repeat("a", 64)+`"`, "allow", "rule")
	if a := evaluated("another one", `,"definition":"`+strings.Repeat("b", 64)+`"`, "ask", "pin"); a.get("step") != 3.0 || !strings.Contains(a.text("reason"), "has changed since ann approved it") {
		t.Errorf("%s", a.body)
	}
	evaluated("whatever is trusted", `,"safeMode":false,"definition":"`+strings.Repeat("b", 64)+`"`, "ask", "pin")
	a := h.ask("POST", "/policy/evaluate", `{"mcpServer":"files","tool":"read","arguments":{"path":"/etc/a"}}`).want(200)
	if a.text("decision") != "ask" {
		t.Errorf("%s", a.body)
	}
	for _, row := range []badInput{
		{"a definition of no server", `{"tool":"bash","arguments":{"command":"ls"},"definition":"` + strings.Repeat("a", 64) + `"}`, 422, domain.CodeInvalid, "/definition"},
		{"no hash", read + `,"definition":"x"}`, 422, domain.CodeInvalid, "/definition"},
	} {
		h.wrong(row, h.ask("POST", "/policy/evaluate", row.body))
	}
}

func TestARuleWithPatternsOfArguments(t *testing.T) {
	h := newTestServer(t)
	const body = `{"scope":"global","effect":"allow","matcher":{"mcpServer":"files","tool":"read","arguments":{"path":"/srv/**","/to/0":"main"}}}`
	made := h.ask("POST", "/permission-rules", body, "Idempotency-Key", "k").want(201)
	if made.text("matcher", "arguments", "path") != "/srv/**" || !strings.Contains(made.text("description"), "whose argument /to/0 matches “main”, and path matches “/srv/**”") ||
		!strings.Contains(made.text("warnings", "0"), "new or change") {
		t.Errorf("%s", made.body)
	}
	if again := h.ask("POST", "/permission-rules", body, "Idempotency-Key", "k").want(201); again.text("id") != made.text("id") {
		t.Errorf("%s", again.body)
	}
	h.ask("POST", "/permission-rules", strings.Replace(body, "main", "next", 1), "Idempotency-Key", "k").problem(409, domain.CodeIdempotencyMismatch)
	for _, row := range []badInput{
		{"patterns without a server", `{"scope":"global","effect":"deny","matcher":{"tool":"bash","arguments":{"command":"rm"}}}`, 422, domain.CodeInvalid, "/matcher/arguments"},
		{"no glob", `{"scope":"global","effect":"deny","matcher":{"mcpServer":"files","arguments":{"path":"{a,b}"}}}`, 422, domain.CodeInvalid, "/matcher/arguments/path"},
	} {
		h.wrong(row, h.ask("POST", "/permission-rules", row.body))
	}
	bad := h.ask("POST", "/executions", `{"source":{"type":"internal"},"prompt":"hang","policy":{"rules":[{"effect":"deny","matcher":{"tool":"bash","arguments":{"command":"rm"}}}]}}`)
	bad.problem(422, domain.CodeInvalid)
}
