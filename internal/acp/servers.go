package acp

import (
	"sync"

	"signoff/internal/acp/relay"
	"signoff/internal/domain"
	"signoff/internal/mcp"
)

// servers reports the status of the MCP servers that the agent was given. An agent may start one late, or again.
type servers struct {
	tell func(domain.AgentMCPServerUpdated)

	mu       sync.Mutex
	listener *relay.Listener
	told     map[string]domain.MCPServerStatus
}

// wrap returns how the agent starts a server.
func (s *servers) wrap(server mcp.Endpoint) (relay.Start, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		listener, err := relay.Listen(s.heard)
		if err != nil {
			return relay.Start{}, domain.Errorf(domain.CodeAgentUnavailable,
				"The MCP server %q cannot be handed over: nothing can listen for its start.", server.Name).With(err)
		}
		s.listener = listener
	}
	return s.listener.Wrap(server.Name, server.Command, server.Args, server.Env), nil
}

func (s *servers) heard(report relay.Report) {
	update := domain.AgentMCPServerUpdated{Server: report.Server, Status: domain.MCPServerStarted}
	if report.Error != "" {
		update.Status, update.Message = domain.MCPServerFailed, "Its program cannot be started: "+report.Error+"."
	}
	s.is(update)
}

// is reports a status, unless it is the one that was reported last.
func (s *servers) is(update domain.AgentMCPServerUpdated) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told[update.Server] == update.Status {
		return
	}
	if s.told == nil {
		s.told = map[string]domain.MCPServerStatus{}
	}
	s.told[update.Server] = update.Status
	s.tell(update)
}

// known reports whether the host knows a status of the server.
func (s *servers) known(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.told[name] != ""
}

func (s *servers) close() {
	s.mu.Lock()
	listener := s.listener
	s.mu.Unlock()
	if listener != nil {
		listener.Close()
	}
}
