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

func asked(is bool) mcp.ServerStatus {
	status := mcp.ServerStatus{Name: "github", Transport: mcp.TransportStdio, KeepRunning: true, Status: mcp.ServerUnused}
	if is {
		status.Status, status.Version, status.Protocol = mcp.ServerAvailable, "1.2.3", "2026-07-28"
		status.Tools = []mcp.Tool{{
			MCPTool:     domain.MCPTool{Server: "github", Tool: "create_issue", Definition: strings.Repeat("0", 64), Annotations: domain.MCPAnnotations{Destructive: new(true)}},
			Description: "Makes an issue, with " + canary, InputSchema: json.RawMessage(`{"type":"object","default":"` + canary + `"}`),
		}}
	}
	return status
}

// The list has what is known, without schemas. One server is asked for its tools only by a key that may use it.
func TestMCPServers(t *testing.T) {
	h := newTestServer(t)
	list := h.ask("GET", "/mcp-servers", "").want(200)
	if list.text("items", "0", "tools", "0", "name") != "create_issue" || list.get("items", "0", "tools", "0", "inputSchema") != nil ||
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
		if one.text("status") != string(status) || status == mcp.ServerAvailable && one.text("tools", "0", "inputSchema", "type") != "object" {
			t.Errorf("%s: %s", scopes, one.body)
		}
	}
	h.ask("GET", "/mcp-servers/other", "").problem(404, domain.CodeNotFound)
}
