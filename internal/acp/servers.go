package acp

import (
	"cmp"
	"maps"
	"slices"

	"signoff/internal/domain"
)

// mcpServer is a server of tools that the agent is to use.
type mcpServer struct {
	name      string
	transport string // stdio, http or sse; empty is stdio
	command   string // stdio: absolute
	args      []string
	env       map[string]string
	url       string // http, sse
	headers   map[string]string
}

// mcpServers are the servers as the protocol writes them: a list also where there are none.
func (a *agent) mcpServers() ([]any, error) {
	can := a.hello.object("agentCapabilities").object("mcpCapabilities")
	servers := []any{}
	for _, server := range a.launch.mcpServers {
		transport := cmp.Or(server.transport, "stdio")
		if transport == "stdio" {
			servers = append(servers, map[string]any{
				"name": server.name, "command": server.command,
				"args": append([]string{}, server.args...), "env": pairs(server.env),
			})
			continue
		}
		if !can.has(transport) {
			return nil, domain.Invalid("/mcpServers",
				"The agent cannot use the MCP server %q: it does not speak %s.", server.name, transport)
		}
		servers = append(servers, map[string]any{
			"type": transport, "name": server.name, "url": server.url, "headers": pairs(server.headers),
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
