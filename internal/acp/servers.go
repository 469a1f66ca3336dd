package acp

import (
	"maps"
	"slices"
	"sync"

	"signoff/internal/acp/relay"
	"signoff/internal/domain"
	"signoff/internal/mcp"
)

// handOver returns the servers as the protocol writes them: a list also where there are none. Programs are started by way
// of a relay, which tells that they have started.
func (a *agent) handOver() ([]any, error) {
	can := a.hello.Object("agentCapabilities").Object("mcpCapabilities")
	servers := []any{}
	for _, server := range a.config.McpServers {
		if server.IsProgram() {
			start, err := a.servers.wrap(server)
			if err != nil {
				return nil, err
			}
			servers = append(servers, map[string]any{
				"name": server.Name, "command": start.Command,
				"args": append([]string{}, start.Args...), "env": pairs(start.Env),
			})
			continue
		}
		if !can.Has(server.Transport) {
			return nil, domain.Invalid("/mcpServers",
				"The agent cannot use the MCP server %q: it does not speak %s.", server.Name, server.Transport)
		}
		servers = append(servers, map[string]any{
			"type": server.Transport, "name": server.Name, "url": server.URL, "headers": pairs(server.Headers),
		})
	}
	return servers, nil
}

// pair is how the protocol writes a variable and a header.
type pair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func pairs(values map[string]string) []pair {
	list := []pair{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list = append(list, pair{name, values[name]})
	}
	return list
}

// servers tells what becomes of the servers that the agent was handed. An agent may start one late, or again.
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

// is tells a status that was not told yet.
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

// known tells whether something was told of a server.
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

// tellServers tells of the servers whose start nobody will see.
func (a *agent) tellServers() {
	for _, name := range a.config.Withheld {
		a.servers.is(domain.AgentMCPServerUpdated{
			Server: name, Status: domain.MCPServerWithheld, Message: "The capability mcp is denied, so the agent was not handed the server.",
		})
	}
	for _, server := range a.config.McpServers {
		if !server.IsProgram() {
			a.servers.is(domain.AgentMCPServerUpdated{Server: server.Name, Status: domain.MCPServerUnknown})
		}
	}
}

// tellMissing tells, at the end of a turn, of the servers that the agent has not started.
func (a *agent) tellMissing() {
	for _, server := range a.config.McpServers {
		if server.IsProgram() && !a.servers.known(server.Name) {
			a.servers.is(domain.AgentMCPServerUpdated{
				Server: server.Name, Status: domain.MCPServerNotStarted, Message: "The agent was handed the server and has not started it.",
			})
		}
	}
}
