package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// TestDoctorAsksMCPServers for their tools, but not where it is told to ask nobody, and none that wants a sign-in.
func TestDoctorAsksMCPServers(t *testing.T) {
	results := map[string]string{
		"server/discover": `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete","serverInfo":{"name":"tickets","version":"4.5.6"}}`,
		"tools/list":      `{"tools":[{"name":"close","inputSchema":{"type":"object"}}],"resultType":"complete"}`,
	}
	var requests atomic.Int32
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		var asked struct {
			ID     json.RawMessage
			Method string
		}
		if json.NewDecoder(r.Body).Decode(&asked) != nil || results[asked.Method] == "" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, asked.ID, results[asked.Method])
	}))
	t.Cleanup(at.Close)
	config := "models: {default: demo, demo: {provider: demo}}\nmcpServers:\n  tickets: {url: \"" + at.URL + "\"}\n" +
		"  absent: {command: /no/such/program, tenants: [other]}\n  signed: {url: \"" + at.URL + "\", oauth: {}}\n"

	quiet, _ := doctorWith(t, config, "--no-requests")
	for _, line := range []string{"-     MCP server tickets     not asked", "-     MCP server absent      not asked", "-     MCP server signed      not asked: it wants a sign-in"} {
		if !strings.Contains(quiet, line) {
			t.Errorf("no line %q in\n%s", line, quiet)
		}
	}
	if requests.Load() != 0 {
		t.Errorf("%d requests were sent", requests.Load())
	}
	loud, err := doctorWith(t, config)
	for _, line := range []string{"ok    MCP server tickets     version unknown, tools: 1, protocol 2026-07-28", "FAIL  MCP server absent      The MCP server \"absent\" cannot be used", "-     MCP server signed      not asked"} {
		if !strings.Contains(loud, line) {
			t.Errorf("no line %q in\n%s", line, loud)
		}
	}
	if err == nil {
		t.Error("a server that cannot be used is no mistake")
	}
}
