package mcptools

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"regexp"
	"strings"

	"signoff/internal/domain"
)

// Prefix begins the names of all tools of MCP servers.
const Prefix = "mcp__"

const (
	between     = "__"
	maxName     = 64 // of a tool: OpenAI and Anthropic take no longer ones
	maxServer   = 24 // bytes of the server in a shortened name
	hashLetters = 8
)

// NameOf is the name of a tool for the model: mcp__SERVER__TOOL. A pair that cannot be written like that, or not so that it could be no other pair, gets a
// name that ends with letters of its hash.
func NameOf(server, tool string) string {
	name := Prefix + server + between + tool
	if len(name) <= maxName && tool != "" && plain(server) == server && plain(tool) == tool && decodes(server) {
		return name
	}
	return hashed(server, tool)
}

// decodes reports whether the first "__" behind a server of this name is the one that ends it. Otherwise the tool c of the server a__b would be called like
// the tool b__c of the server a.
func decodes(server string) bool {
	return server != "" && !strings.Contains(server, between) && !strings.HasSuffix(server, "_")
}

// hashed keeps the beginnings of both names, and tells pairs apart by their hash.
func hashed(server, tool string) string {
	sum := sha256.Sum256(domain.Encode([]string{server, tool}))
	letters := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:hashLetters]
	name := Prefix + shortServer(server) + between
	tool = plain(tool)
	return name + tool[:min(len(tool), maxName-len(name)-len("_")-hashLetters)] + "_" + letters
}

func shortServer(server string) string {
	server = plain(server)
	return server[:min(len(server), maxServer)]
}

// plain replaces what a model's provider takes in no name. The result is ASCII, so it can be cut anywhere.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		default:
			return '_'
		}
	}, name)
}

// ServerOf finds the server of a tool by the tool's name alone, among those that an execution may use.
func ServerOf(name string, servers []string) (server string, found bool) {
	rest, is := strings.CutPrefix(name, Prefix)
	if !is {
		return "", false
	}
	for _, candidate := range servers {
		whole := strings.HasPrefix(rest, candidate+between)
		if (whole || strings.HasPrefix(rest, shortServer(candidate)+between)) && len(candidate) > len(server) {
			server, found = candidate, true
		}
	}
	return server, found
}

var enabledForm = regexp.MustCompile(`^mcp__[A-Za-z0-9_-]*\*?$`)

// OfServers reports whether a name in a list of enabled tools is that of a tool of these servers, or, with a star at its end, of several.
func OfServers(name string, servers []string) bool {
	_, is := ServerOf(name, servers)
	return enabledForm.MatchString(name) && (is || name == Prefix+"*" && len(servers) > 0)
}

// Describe is a call of a tool of a server, as far as the tool's name says it. Whose tool it is exactly, only its server's list tells.
func Describe(name string, arguments json.RawMessage, servers []string) (call domain.ToolCall, is bool) {
	server, is := ServerOf(name, servers)
	if !is {
		return domain.ToolCall{}, false
	}
	_, tool, _ := strings.Cut(strings.TrimPrefix(name, Prefix), between)
	call = domain.ToolCall{
		Tool: name, Version: version, Class: domain.ClassMCP, Arguments: arguments,
		Summary: summary(server, tool, arguments), Action: domain.Action{Server: server},
	}
	if NameOf(server, tool) == name {
		call.MCP = &domain.MCPTool{Server: server, Tool: tool}
	}
	return call, true
}
