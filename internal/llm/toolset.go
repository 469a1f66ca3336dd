package llm

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/tools"
)

// The tools that depend on more than their class.
const (
	toolMemoryRead  = "memory_read"
	toolMemoryWrite = "memory_write"
	toolAskUser     = "ask_user"
)

// toolset is the tools of one execution. Its model is told of these and can call no other: one that would be refused
// each time, or has nothing behind it, only wastes rounds.
type toolset struct {
	registry    *tools.Registry
	definitions []tools.Definition
}

func newToolset(registry *tools.Registry, request domain.Request) toolset {
	granted := toolset{registry: registry}
	for _, definition := range registry.Definitions() {
		if grants(request, definition) {
			granted.definitions = append(granted.definitions, definition)
		}
	}
	for i, definition := range granted.definitions {
		granted.definitions[i].Description = granted.without(definition.Description)
	}
	return granted
}

var (
	items = regexp.MustCompile(`(?m)^- .*\n?(?:^  .*\n?)*`) // of a list in Markdown
	words = regexp.MustCompile("`([a-z_]+)`")
)

// without takes the items out of a description that send the model to tools that it does not have: it would try them.
func (s toolset) without(description string) string {
	return items.ReplaceAllStringFunc(description, func(item string) string {
		for _, word := range words.FindAllStringSubmatch(item, -1) {
			_, exists := s.registry.Lookup(word[1])
			if _, granted := s.lookup(word[1]); exists && !granted {
				return ""
			}
		}
		return item
	})
}

// grants tells whether the request has the tool.
func grants(request domain.Request, definition tools.Definition) bool {
	if enabled := request.Tools.Enabled; enabled != nil && !slices.Contains(enabled, definition.Name) {
		return false
	}
	switch definition.Name {
	case toolMemoryRead, toolMemoryWrite:
		if !request.Memory {
			return false
		}
	case toolAskUser:
		if request.Unattended { // nobody would answer
			return false
		}
	}
	switch request.Capabilities.Of(definition.Class) {
	case domain.Allow, domain.Ask:
		return true
	default:
		return false
	}
}

// lookup finds a tool of the execution.
func (s toolset) lookup(name string) (tools.Tool, bool) {
	if !slices.Contains(s.names(), name) {
		return nil, false
	}
	return s.registry.Lookup(name)
}

// describe has the tool read the arguments. A tool that the execution does not have is refused with the names of those
// that it has.
func (s toolset) describe(name string, arguments json.RawMessage, dir string) (domain.ToolCall, error) {
	if _, granted := s.lookup(name); granted {
		return s.registry.Describe(name, arguments, dir)
	}
	there := "There are no tools at all."
	if names := s.names(); len(names) > 0 {
		there = "The tools are: " + strings.Join(names, ", ") + "."
	}
	return domain.ToolCall{Tool: name, Arguments: arguments},
		domain.Errorf(domain.CodeUnknownTool, "There is no tool called %q. %s", name, there)
}

func (s toolset) names() []string {
	names := make([]string, 0, len(s.definitions))
	for _, definition := range s.definitions {
		names = append(names, definition.Name)
	}
	return names
}
