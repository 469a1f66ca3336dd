// Package mcptoolstest is scripted MCP servers for tests of the internal agent.
package mcptoolstest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"

	"signoff/internal/domain"
	"signoff/internal/mcp"
)

// Session is the servers of one execution. Its fields are the script; set them before use, and later by Change.
type Session struct {
	List      []mcp.Tool
	Failure   error                                                        // of Tools
	Answer    func(ctx context.Context, call mcp.Call) (mcp.Answer, error) // nil: each call has the text "done"
	Refreshed func(ctx context.Context, server string) error               // answers Refresh, and may Change; nil: nothing has changed
	Reads     map[string]mcp.Result                                        // by URI
	Listed    []mcp.Resource
	Texts     map[string]string // prompts, by name
	Keeps     bool

	mu       sync.Mutex
	revision uint64
	calls    []mcp.Call
	earlier  []string
	restarts []string
	closed   int
}

// Tool is a tool of a server, with the schema of its arguments.
func Tool(server, name, description, schema string) mcp.Tool {
	tool := mcp.Tool{MCPTool: domain.MCPTool{Server: server, Tool: name}, Description: description, InputSchema: json.RawMessage(schema)}
	sum := sha256.Sum256([]byte(name + description + schema))
	tool.Definition = hex.EncodeToString(sum[:])
	return tool
}

// Change changes the script, as a server changes its list.
func (s *Session) Change(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	s.revision++
}

// Restart makes the next call of Restarted return the server.
func (s *Session) Restart(server string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restarts = append(s.restarts, server)
}

// Calls are the calls so far.
func (s *Session) Calls() []mcp.Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]mcp.Call(nil), s.calls...)
}

// Used is what Earlier was told.
func (s *Session) Used() []string { return s.earlier }

// Closed is how often the session was closed.
func (s *Session) Closed() int { return s.closed }

// Tools implements llm.Session.
func (s *Session) Tools(context.Context) ([]mcp.Tool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]mcp.Tool(nil), s.List...), s.Failure
}

// Refresh implements llm.Session.
func (s *Session) Refresh(ctx context.Context, server string) error {
	if s.Refreshed == nil {
		return nil
	}
	return s.Refreshed(ctx, server)
}

// Revision implements llm.Session.
func (s *Session) Revision() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision
}

// Call implements llm.Session.
func (s *Session) Call(ctx context.Context, call mcp.Call) (mcp.Answer, error) {
	s.mu.Lock()
	s.calls = append(s.calls, call)
	s.mu.Unlock()
	if s.Answer == nil {
		return mcp.Answer{Result: mcp.Result{Text: "done"}}, nil
	}
	return s.Answer(ctx, call)
}

// Resources implements llm.Session.
func (s *Session) Resources(context.Context, string) ([]mcp.Resource, error) { return s.Listed, nil }

// Read implements llm.Session.
func (s *Session) Read(_ context.Context, _, uri string) (mcp.Result, error) {
	result, there := s.Reads[uri]
	if !there {
		return mcp.Result{}, domain.Errorf(domain.CodeToolFailed, "no such resource")
	}
	return result, nil
}

// Prompts implements llm.Session.
func (s *Session) Prompts(context.Context, string) ([]mcp.Prompt, error) {
	var list []mcp.Prompt
	for name := range s.Texts {
		list = append(list, mcp.Prompt{Name: name, Description: "A prompt.", Arguments: []mcp.PromptArgument{{Name: "who", Required: true}}})
	}
	return list, nil
}

// Prompt implements llm.Session.
func (s *Session) Prompt(_ context.Context, _, name string, arguments map[string]string) (string, error) {
	return fmt.Sprint(s.Texts[name], arguments["who"]), nil
}

// Earlier implements llm.Session.
func (s *Session) Earlier(names []string) { s.earlier = names }

// Restarted implements llm.Session.
func (s *Session) Restarted() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	restarts := s.restarts
	s.restarts = nil
	return restarts
}

// KeepsRunning implements llm.Session.
func (s *Session) KeepsRunning() bool { return s.Keeps }

// Close implements llm.Session.
func (s *Session) Close() error {
	s.closed++
	return nil
}
