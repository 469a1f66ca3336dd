package http

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/mcp"
)

// mcpRegistry has a server that nobody has asked yet, and one that has failed. Asked, the first one has a tool.
type mcpRegistry struct{}

func (mcpRegistry) MCPServers(domain.TenantID) []mcp.ServerStatus {
	return []mcp.ServerStatus{asked(true), {
		Name: "old", Transport: mcp.TransportSSE, Deprecated: true, Required: true, PinOff: true, Status: mcp.ServerFailed,
		LastError: "It does not answer " + canary + ".", Failed: time.Unix(0, 0),
	}}
}

func (mcpRegistry) MCPServer(_ context.Context, _ domain.TenantID, name string, probe bool) (mcp.ServerStatus, bool) {
	return asked(probe), name == "github"
}

// RenderMCPPrompt fills in the one prompt of github, which says the secret that the server was given.
func (mcpRegistry) RenderMCPPrompt(_ context.Context, tenant domain.TenantID, server, prompt string, arguments map[string]string) (mcp.Rendered, error) {
	switch {
	case tenant != domain.DefaultTenant || server != "github" || prompt != "review 2":
		return mcp.Rendered{}, domain.Errorf(domain.CodeNotFound, "There is none.")
	case arguments["path"] == "":
		return mcp.Rendered{}, domain.InvalidParts(domain.Detail{Pointer: "/arguments/path", Message: "is missing: the prompt needs it"})
	case arguments["path"] == "down":
		return mcp.Rendered{}, domain.Errorf(domain.CodeMCPServerUnavailable, "It answered %s.", canary)
	}
	return mcp.Rendered{Description: "Reviews " + canary, Messages: []mcp.PromptMessage{
		{Role: domain.RoleUser, Content: "Review " + arguments["path"]}, {Role: domain.RoleAssistant, Content: "I know " + canary}, {Role: domain.RoleUser, Content: "Go on."},
	}}, nil
}

func asked(is bool) mcp.ServerStatus {
	status := mcp.ServerStatus{Name: "github", Transport: mcp.TransportStdio, KeepRunning: true, Status: mcp.ServerUnused}
	if is {
		status.Status, status.Version, status.Protocol = mcp.ServerAvailable, "1.2.3", "2026-07-28"
		status.Tools = []mcp.Tool{{
			MCPTool:     domain.MCPTool{Server: "github", Tool: "create_issue", Definition: strings.Repeat("0", 64), Annotations: domain.MCPAnnotations{Destructive: new(true)}},
			Description: "Makes an issue, with " + canary, InputSchema: json.RawMessage(`{"type":"object","default":"` + canary + `"}`),
		}}
		status.Prompts = []mcp.Prompt{{
			Name: "review 2", Description: "Reviews with " + canary, Arguments: []mcp.PromptArgument{{Name: "path", Title: "Path", Description: canary, Required: true}},
		}}
		status.PromptsError = "Some of " + canary
	}
	return status
}

// The list has what is known, without schemas. One server is asked for its tools only by a key that may use it.
func TestMCPServers(t *testing.T) {
	h := newTestServer(t)
	list := h.ask("GET", "/mcp-servers", "").want(200)
	if list.text("items", "0", "tools", "0", "name") != "create_issue" || list.get("items", "0", "tools", "0", "inputSchema") != nil || list.get("items", "0", "prompts") != nil ||
		list.get("items", "0", "pinned") != true || list.get("items", "0", "lastError") != nil || list.get("items", "0", "keepRunning") != true {
		t.Errorf("%s", list.body)
	}
	if list.text("items", "1", "lastError") != "It does not answer "+domain.Masked+"." || list.text("items", "1", "failedAt") != "1970-01-01T00:00:00.000000Z" ||
		list.get("items", "1", "deprecated") != true || list.get("items", "1", "pinned") != false || list.get("items", "1", "version") != nil {
		t.Errorf("%s", list.body)
	}
	for scopes, status := range map[string]mcp.ServerState{
		"agents:read": mcp.ServerUnused, "agents:read mcp:use:other": mcp.ServerUnused,
		"agents:read mcp:use": mcp.ServerAvailable, "agents:read mcp:use:github": mcp.ServerAvailable,
	} {
		key := h.key("", strings.Fields(scopes)...)
		one := h.ask("GET", "/mcp-servers/github", "", "Authorization", "Bearer "+key).want(200)
		if strings.Contains(string(list.body)+string(one.body), canary) {
			t.Errorf("a secret is shown: %s", one.body)
		}
		if status == mcp.ServerAvailable && (one.text("prompts", "0", "name") != "review 2" || one.get("prompts", "0", "arguments", "0", "required") != true || one.text("promptsError") != "Some of "+domain.Masked) {
			t.Errorf("%s: the prompts are %s", scopes, one.body)
		}
		if one.text("status") != string(status) || status == mcp.ServerAvailable && one.text("tools", "0", "inputSchema", "type") != "object" {
			t.Errorf("%s: %s", scopes, one.body)
		}
	}
	h.ask("GET", "/mcp-servers/other", "").problem(404, domain.CodeNotFound)
}

// A prompt is rendered for a key that may use its server, as messages that POST /executions takes.
func TestRenderingAnMCPPrompt(t *testing.T) {
	h := newTestServer(t)
	const route = "/mcp-servers/github/prompts/review%202"
	for scopes, status := range map[string]int{
		"agents:read": 403, "agents:read mcp:use:other": 403, "mcp:use": 403, "agents:read mcp:use": 200, "agents:read mcp:use:github": 200,
	} {
		key := h.key("", strings.Fields(scopes)...)
		h.ask("POST", route, `{"arguments":{"path":"/a"}}`, "Authorization", "Bearer "+key).want(status)
		if status == 403 {
			h.ask("POST", "/mcp-servers/third/prompts/p", `{}`, "Authorization", "Bearer "+key).problem(403, domain.CodeForbidden)
		}
	}
	rendered := h.ask("POST", route, `{"arguments":{"path":"/a"}}`).want(200)
	if rendered.text("messages", "0", "content") != "Review /a" || rendered.text("messages", "1", "role") != "assistant" || rendered.text("description") != "Reviews "+domain.Masked ||
		strings.Contains(string(rendered.body), canary) {
		t.Errorf("%s", rendered.body)
	}
	messages, err := json.Marshal(rendered.get("messages"))
	if err != nil {
		t.Fatal(err)
	}
	h.ask("POST", "/executions", `{"source":{"type":"internal"},"messages":`+string(messages)+`}`).want(201)

	other := h.key("other", "agents:read", "mcp:use")
	h.ask("POST", route, `{"arguments":{"path":"/a"}}`, "Authorization", "Bearer "+other).problem(404, domain.CodeNotFound)
	h.ask("POST", "/mcp-servers/github/prompts/none", `{}`).problem(404, domain.CodeNotFound)
	for body, pointer := range map[string]string{
		`{}`: "/arguments/path", `{"arguments":{"path":7}}`: "/arguments/path", `{"arguments":["/a"]}`: "/arguments", `{"argument":{}}`: "/argument",
	} {
		if wrong := h.ask("POST", route, body).problem(422, domain.CodeInvalid); wrong.text("errors", "0", "pointer") != pointer {
			t.Errorf("%s: %s", body, wrong.body)
		}
	}
	if down := h.ask("POST", route, `{"arguments":{"path":"down"}}`).problem(502, domain.CodeMCPServerUnavailable); strings.Contains(string(down.body), canary) {
		t.Errorf("a secret is shown: %s", down.body)
	}
}
