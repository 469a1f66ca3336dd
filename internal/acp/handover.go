package acp

import (
	"maps"
	"slices"

	"signoff/internal/acp/relay"
	"signoff/internal/domain"
	"signoff/internal/mcp"
)

// handOver returns the servers as the protocol writes them: a list also where there are none. Programs are started through
// a relay, which reports that they have started.
func (a *agent) handOver() ([]any, error) {
	can := a.hello.Object("agentCapabilities").Object("mcpCapabilities")
	servers := []any{}
	for _, server := range a.config.MCPServers {
		if server.IsProgram() {
			start, err := a.wrap(server)
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

// wrap returns how the agent starts a server that is a program.
func (a *agent) wrap(server mcp.Endpoint) (relay.Start, error) {
	if a.outside != nil {
		return a.outside.wrap(server), nil
	}
	return a.servers.wrap(server)
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

// tellServers reports the servers whose start cannot be seen.
func (a *agent) tellServers() {
	for _, name := range a.config.Withheld {
		a.servers.is(domain.AgentMCPServerUpdated{
			Server: name, Status: domain.MCPServerWithheld, Message: "The capability mcp is denied, so the agent was not handed the server.",
		})
	}
	for _, server := range a.config.MCPServers {
		if !server.IsProgram() {
			a.servers.is(domain.AgentMCPServerUpdated{Server: server.Name, Status: domain.MCPServerUnknown})
		}
	}
}

// tellMissing reports, at the end of a turn, the servers that the agent has not started.
func (a *agent) tellMissing() {
	for _, server := range a.config.MCPServers {
		if server.IsProgram() && !a.servers.known(server.Name) {
			a.servers.is(domain.AgentMCPServerUpdated{
				Server: server.Name, Status: domain.MCPServerNotStarted, Message: "The agent was handed the server and has not started it.",
			})
		}
	}
}
