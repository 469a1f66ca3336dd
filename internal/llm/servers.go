package llm

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"signoff/internal/domain"
	"signoff/internal/llm/mcptools"
	"signoff/internal/mcp"
)

// Servers opens the MCP servers of executions. Open starts nothing yet; report is told what becomes of each server, from any goroutine.
type Servers interface {
	Open(use mcp.Use, names []string, report func(domain.AgentMCPServerUpdated)) (Session, error)
}

// Session is the MCP servers of one execution; see [mcp.Session]. Its methods may be called at once from several goroutines.
type Session interface {
	mcptools.Session

	// Tools are the tools of all servers that work. The error is that of a server without which the execution must not go on.
	Tools(ctx context.Context) ([]mcp.Tool, error)
	// Refresh reads the tools of a server from the connection that will run its next call. Where they have changed, Revision grows.
	Refresh(ctx context.Context, server string) error
	// Revision grows when Tools would return something else.
	Revision() uint64
	// Earlier says that the execution has used these servers before: the first program of one has another's memory.
	Earlier(names []string)
	// KeepsRunning reports whether a server runs whose memory must not be lost.
	KeepsRunning() bool
	Close() error
}

//go:embed mcp.md
var serversText string

// servers is the MCP servers of an agent. They are opened by its first prompt, and are open until it is closed.
type servers struct {
	opener   Servers
	names    []string // in order, each once
	host     domain.Host
	base     *toolset // without the tools of servers
	request  *domain.Request
	mask     mask
	withheld bool // the capability mcp is denied
	told     bool // that they are withheld

	session  Session
	set      *mcptools.Set
	revision uint64 // of the set

	opened atomic.Bool // session is set: Parkable is asked at any time

	mu     sync.Mutex
	failed map[string]bool
}

// newServers returns nil for a request without servers.
func newServers(opener Servers, opening domain.Opening, base *toolset, mask mask) (*servers, error) {
	request := &opening.Execution.Request
	names := slices.Compact(slices.Sorted(slices.Values(request.MCPServers)))
	if len(names) == 0 || request.Kind == domain.KindGeneration {
		return nil, nil
	}
	if opener == nil {
		return nil, domain.Errorf(domain.CodeUnknownMCPServer, "This server has no MCP servers.")
	}
	return &servers{
		opener: opener, names: names, host: opening.Host, base: base, request: request, mask: mask,
		withheld: !allowed(*request, domain.ClassMCP), failed: map[string]bool{},
	}, nil
}

// report takes what became of a server, from any goroutine.
func (s *servers) report(update domain.AgentMCPServerUpdated) {
	s.mu.Lock()
	s.failed[update.Server] = update.Status == domain.MCPServerFailed
	s.mu.Unlock()
	update.Message = s.mask.MaskString(update.Message)
	_ = s.host.Emit(context.Background(), update) // refused only where the session is over
}

// close ends what the servers hold.
func (s *servers) close() error {
	if s == nil || s.session == nil {
		return nil
	}
	return s.session.Close()
}

// keepRunning reports whether a server runs whose memory must not be lost.
func (s *servers) keepRunning() bool { return s != nil && s.opened.Load() && s.session.KeepsRunning() }

// connect opens the servers of a turn, if they are not open, and gives the turn their tools.
func (t *turn) connect(ctx context.Context) error {
	s := t.agent.servers
	switch {
	case s == nil:
		return nil
	case s.told:
		return nil
	case s.withheld:
		return t.tellWithheld(ctx)
	case s.session == nil:
		use := mcp.Use{
			Tenant: t.agent.execution.Tenant, Execution: t.agent.execution.ID, Environment: t.host.Environment(), Directory: s.request.WorkingDirectory,
		}
		session, err := s.opener.Open(use, s.names, s.report)
		if err != nil {
			return err
		}
		session.Earlier(s.used(t.agent.conversation.history))
		s.session = session
		s.opened.Store(true)
	}
	return t.refresh(ctx)
}

// used is the servers whose tools an earlier process has called.
func (s *servers) used(history []domain.Message) (names []string) {
	for _, message := range history {
		for _, call := range message.ToolCalls {
			if server, is := mcptools.ServerOf(call.Tool, s.names); is && !slices.Contains(names, server) {
				names = append(names, server)
			}
		}
	}
	return names
}

// tellWithheld reports, once, the servers that the agent does not get.
func (t *turn) tellWithheld(ctx context.Context) error {
	var told []domain.Payload
	for _, name := range t.agent.servers.names {
		told = append(told, domain.AgentMCPServerUpdated{
			Server: name, Status: domain.MCPServerWithheld, Message: "The capability mcp is denied, so the agent does not use the server.",
		})
	}
	t.agent.servers.told = true
	return t.host.Emit(ctx, told...)
}

// refresh gives the turn the tools that the servers have now, as far as the model is shown them. Without a change, the toolset stays the same.
func (t *turn) refresh(ctx context.Context) error {
	s := t.agent.servers
	if s == nil || s.session == nil {
		return nil
	}
	changed, err := s.list(ctx)
	if err != nil {
		return err
	}
	shown := s.set.Shown(t.agent.conversation.history)
	if changed || !slices.Equal(shown, t.agent.tools.served) {
		t.grant(s.base.with(s.set, shown))
	}
	return nil
}

// refreshCalls describes calls anew, by the definitions that the servers have now: the loop may know older ones, and a person would then say yes to a
// definition under which nothing is ever sent. A call of a server that cannot be used is not put to anybody.
//
//go:noinline // its variables would lie in the stack of each call that waits; see runner.resolve
func (t *turn) refreshCalls(ctx context.Context, calls []pendingCall) error {
	failures := map[string]error{}
	for _, call := range calls {
		if call.flaw == nil && call.MCP != nil {
			failures[call.MCP.Server] = nil
		}
	}
	if len(failures) == 0 {
		return nil
	}
	t.agent.servers.reread(ctx, failures)
	if err := cmp.Or(ctx.Err(), t.refresh(ctx)); err != nil {
		return err
	}
	for i, call := range calls {
		switch {
		case call.flaw != nil || call.MCP == nil:
		case failures[call.MCP.Server] != nil:
			calls[i].flaw = domain.Errorf(domain.CodeMCPServerUnavailable, "The MCP server %q cannot be used now. The call was not sent.", call.MCP.Server)
		default:
			calls[i] = t.runner.check(call.ToolCall)
		}
	}
	return nil
}

// reread reads the tools of the servers that are the keys, all at once, and sets their errors.
func (s *servers) reread(ctx context.Context, failures map[string]error) {
	names := slices.Sorted(maps.Keys(failures))
	errs := make([]error, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { errs[i] = s.session.Refresh(ctx, name) })
	}
	all.Wait()
	for i, name := range names {
		failures[name] = errs[i]
	}
}

// list asks the servers for their tools, unless they have none but those of the set.
func (s *servers) list(ctx context.Context) (changed bool, err error) {
	revision := s.session.Revision() // before the list: what changes while it is read is read again
	if s.set != nil && revision == s.revision {
		return false, nil
	}
	list, err := s.session.Tools(ctx)
	if err != nil {
		return false, err
	}
	s.revision = revision
	s.set = mcptools.New(mcptools.Config{
		Session: s.session, Servers: s.names, Enabled: s.request.Tools.Enabled, Mask: s.mask.MaskString, MaskJSON: s.mask.JSON,
		Taken: func(name string) bool { _, taken := s.base.lookup(name); return taken },
	}, list)
	return true, nil
}

// serversPrompt tells the model which servers there are. Why one cannot be used may be in the server's words, and stands in the log alone.
func (t *turn) serversPrompt() string {
	s := t.agent.servers
	if s == nil || s.session == nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := []string{strings.TrimSpace(serversText), ""}
	for _, name := range s.names {
		state := "it cannot be used now"
		if count := s.set.Count(name); !s.failed[name] && count == 1 {
			state = "1 tool"
		} else if !s.failed[name] {
			state = fmt.Sprintf("%d tools", count)
		}
		lines = append(lines, "- "+name+": "+state)
	}
	return strings.Join(lines, "\n")
}
