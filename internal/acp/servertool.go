package acp

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"signoff/internal/acp/wire"
)

// toolOfServer is what the names of the tools of MCP servers begin with, with most agents and here: mcp__server__tool.
const toolOfServer = "mcp__"

// serverTool is a tool of an MCP server.
type serverTool struct {
	server string // empty: the agent does not say
	tool   string
	byName bool // the agent itself names it as one, whatever the servers are called
}

// findServerTool looks for the tool of a server in what an agent says of a call. Names that begin with mcp__ are no
// other tool's. The rest are names that a tool of the agent's own could have as well; so they count only for the servers that
// the agent was handed: Gemini CLI says mcp_server_tool, as the beginning of the call's id, and "tool (server MCP Server)" as the title;
// OpenCode says server_tool as the title.
func findServerTool(update wire.Object, servers []string) (found serverTool, is bool) {
	names := toolNames(update)
	for _, name := range names {
		rest, of := strings.CutPrefix(name, toolOfServer)
		if !of {
			continue
		}
		if found, is := cutServer(rest, "__", servers); is {
			found.byName = true
			return found, true
		}
		server, tool, named := strings.Cut(rest, "__")
		if !named {
			server = ""
		}
		return serverTool{server: server, tool: tool, byName: true}, true
	}
	title := update.Text("title")
	if parts := titleOfServerTool.FindStringSubmatch(title); parts != nil && slices.Contains(servers, parts[2]) {
		return serverTool{server: parts[2], tool: parts[1]}, true
	}
	id := numberedID.ReplaceAllString(update.Text("toolCallId"), "")
	if rest, of := strings.CutPrefix(id, "mcp_"); of {
		if found, is := cutServer(rest, "_", servers); is {
			return found, true
		}
	}
	for _, name := range append(names, title) {
		if found, is := cutServer(strings.TrimPrefix(name, "mcp_"), "_", servers); is {
			return found, true
		}
	}
	return serverTool{}, false
}

var (
	titleOfServerTool = regexp.MustCompile(`^(\S+) \((\S+) MCP Server\)$`)
	numberedID        = regexp.MustCompile(`(-\d+)+$`) // of Gemini CLI: the name, the time and a number
	toolForm          = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,128}$`)
)

// cutServer finds the server that a name begins with; of several the longest.
func cutServer(name, separator string, servers []string) (found serverTool, is bool) {
	longest := slices.SortedFunc(slices.Values(servers), func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, server := range longest {
		if tool, of := strings.CutPrefix(name, server+separator); of && toolForm.MatchString(tool) {
			return serverTool{server: server, tool: tool}, true
		}
	}
	return serverTool{}, false
}
