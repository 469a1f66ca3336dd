package mcptools

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/mcp"
	"signoff/internal/tools"
)

// MostAtOnce is how many tools of servers a model is shown without asking for them: more fill its context, and it chooses worse.
const MostAtOnce = 40

// Config is what a [Set] is made with.
type Config struct {
	Session Session
	Servers []string               // that the execution may use, whether they work or not
	Enabled []string               // names of tools, with mcp__SERVER__* for all of a server; nil: all
	Taken   func(name string) bool // names that other tools have

	Mask     func(string) string // hides the values of secrets
	MaskJSON func(json.RawMessage) json.RawMessage
}

// Set is the tools of an execution's MCP servers at one moment. It never changes.
type Set struct {
	config Config
	tools  []*serverTool // by server, then by tool
	byName map[string]*serverTool
}

// New returns the set of the listed tools, as far as they are enabled.
func New(config Config, list []mcp.Tool) *Set {
	s := &Set{config: config, byName: map[string]*serverTool{}}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b mcp.Tool) int {
		return cmp.Or(strings.Compare(a.Server, b.Server), strings.Compare(a.Tool, b.Tool))
	})
	pairs := map[string]int{} // how many tools would have the name
	for _, tool := range list {
		pairs[NameOf(tool.Server, tool.Tool)]++
	}
	for _, tool := range list {
		name := NameOf(tool.Server, tool.Tool)
		if pairs[name] > 1 || config.Taken(name) {
			name = hashed(tool.Server, tool.Tool)
		}
		if _, twice := s.byName[name]; twice || config.Taken(name) || !config.enables(name, tool.MCPTool) {
			continue // a server that lists a tool twice has one of them
		}
		made := newServerTool(&s.config, name, tool)
		s.tools, s.byName[name] = append(s.tools, made), made
	}
	return s
}

// enables reports whether the request has the tool.
func (c Config) enables(name string, tool domain.MCPTool) bool {
	if c.Enabled == nil {
		return true
	}
	return slices.ContainsFunc(c.Enabled, func(entry string) bool {
		beginning, open := strings.CutSuffix(entry, "*")
		if !open || beginning == Prefix {
			return entry == name || beginning == Prefix
		}
		server, is := ServerOf(beginning, c.Servers) // exactly: mcp__git__* is about the server git, and not about git__hub
		return is && server == tool.Server && (strings.HasPrefix(name, beginning) || strings.HasPrefix(Prefix+tool.Server+between+tool.Tool, beginning))
	})
}

// OnDemand reports whether there are so many tools that the model asks for those that it needs.
func (s *Set) OnDemand() bool { return len(s.tools) > MostAtOnce }

// Tools are the tools of the servers.
func (s *Set) Tools() []tools.Tool {
	list := make([]tools.Tool, len(s.tools))
	for i, tool := range s.tools {
		list[i] = tool
	}
	return list
}

// Bound returns a tool of this package that works with the set; any other tool as it is.
func (s *Set) Bound(tool tools.Tool) tools.Tool {
	switch tool.(type) {
	case Search:
		return Search{s}
	case Resources:
		return Resources{s}
	case Read:
		return Read{s}
	default:
		return tool
	}
}

// Shown is the names of the tools whose definitions the model gets: all of them or, on demand, those that it has found or called, in that order. It depends
// on the conversation alone, so that it is the same in each process, and only grows.
func (s *Set) Shown(history []domain.Message) (names []string) {
	if !s.OnDemand() {
		for _, tool := range s.tools {
			names = append(names, tool.name)
		}
		return names
	}
	seen, searches := map[string]bool{}, map[string]bool{}
	show := func(name string) {
		if s.byName[name] != nil && !seen[name] {
			seen[name], names = true, append(names, name)
		}
	}
	for _, message := range history {
		for _, call := range message.ToolCalls {
			searches[call.ID] = searches[call.ID] || call.Tool == SearchName
			show(call.Tool)
		}
		if message.Role == domain.RoleTool && searches[message.ToolCallID] {
			for _, name := range namesIn(message.Text) {
				show(name)
			}
		}
	}
	return names
}

// Missing says to a model that wants a tool of a server which is not there where to look; empty for the name of any other tool.
func (s *Set) Missing(name string) string {
	server, is := ServerOf(name, s.config.Servers)
	switch {
	case !is:
		return ""
	case s.Count(server) == 0:
		return fmt.Sprintf("The MCP server %s cannot be used now, or has no tools.", server)
	case s.OnDemand():
		return "Find the tools of MCP servers with " + SearchName + "."
	default:
		return ""
	}
}

// Count is how many tools a server has.
func (s *Set) Count(server string) (count int) {
	for _, tool := range s.tools {
		if tool.tool.Server == server {
			count++
		}
	}
	return count
}
