package tools

import (
	"encoding/json"
	"strings"

	"signoff/internal/domain"
)

// Registry knows the tools by name. It never changes after its construction.
type Registry struct {
	tools  []Tool
	byName map[string]Tool
}

// NewRegistry keeps the order of list, which is the order in which the model reads about the tools. Two tools of one
// name are a programming error.
func NewRegistry(list ...Tool) *Registry {
	r := &Registry{tools: list, byName: make(map[string]Tool, len(list))}
	for _, tool := range list {
		name := tool.Definition().Name
		if _, taken := r.byName[name]; taken {
			panic("tools: two tools are called " + name)
		}
		r.byName[name] = tool
	}
	return r
}

// Lookup finds a tool by its exact name.
func (r *Registry) Lookup(name string) (Tool, bool) {
	tool, known := r.byName[name]
	return tool, known
}

// Tools are all tools, in their order.
func (r *Registry) Tools() []Tool { return r.tools }

// Definitions lists what every tool is.
func (r *Registry) Definitions() []Definition {
	definitions := make([]Definition, 0, len(r.tools))
	for _, tool := range r.tools {
		definitions = append(definitions, tool.Definition())
	}
	return definitions
}

// Describe returns the call of the named tool with these arguments, as policy and people judge it; it has no id. A name
// that nobody has is [domain.CodeUnknownTool], with the names that exist. Arguments that the tool does not take come
// with the error and the call as far as it is known.
func (r *Registry) Describe(name string, arguments json.RawMessage, dir string) (domain.ToolCall, error) {
	call := domain.ToolCall{Tool: name, Arguments: arguments}
	tool, known := r.Lookup(name)
	if !known {
		return call, domain.Errorf(domain.CodeUnknownTool, "There is no tool called %q. The tools are: %s.",
			shorten(visible(name), 60, 0), r.names())
	}
	definition := tool.Definition()
	call.Version, call.Class = definition.Version, definition.Class
	intent, err := tool.Check(arguments, dir)
	call.Summary, call.Action = intent.Summary, intent.Action
	return call, err
}

func (r *Registry) names() string {
	names := make([]string, 0, len(r.tools))
	for _, tool := range r.tools {
		names = append(names, tool.Definition().Name)
	}
	return strings.Join(names, ", ")
}
