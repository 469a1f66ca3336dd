package tools

import (
	"encoding/json"
	"strings"

	"signoff/internal/domain"
)

// Registry knows the tools by name. It never changes after its construction. What each tool is, it asks once: a definition has a
// schema that is made anew each time, and executions that wait would each keep theirs.
type Registry struct {
	tools       []Tool
	definitions []Definition
	byName      map[string]int // its place in both
}

// NewRegistry keeps the order of list, which is the order in which the model reads about the tools. Two tools of one
// name are a programming error.
func NewRegistry(list ...Tool) *Registry {
	r := &Registry{tools: list, definitions: make([]Definition, len(list)), byName: make(map[string]int, len(list))}
	for i, tool := range list {
		r.definitions[i] = tool.Definition()
		name := r.definitions[i].Name
		if _, taken := r.byName[name]; taken {
			panic("tools: two tools are called " + name)
		}
		r.byName[name] = i
	}
	return r
}

// Lookup finds a tool by its exact name.
func (r *Registry) Lookup(name string) (Tool, bool) {
	at, known := r.byName[name]
	if !known {
		return nil, false
	}
	return r.tools[at], true
}

// Tools are all tools, in their order.
func (r *Registry) Tools() []Tool { return r.tools }

// Definitions lists the definitions, in the order of Tools. The list belongs to the registry: who changes something in it
// takes a copy.
func (r *Registry) Definitions() []Definition { return r.definitions }

// Describe returns the call of the named tool with these arguments, as policy and people judge it; it has no id. A name
// that nobody has is [domain.CodeUnknownTool], with the names that exist. Arguments that the tool does not take come
// with the error and the call as far as it is known.
func (r *Registry) Describe(name string, arguments json.RawMessage, dir string) (domain.ToolCall, error) {
	call := domain.ToolCall{Tool: name, Arguments: arguments}
	at, known := r.byName[name]
	if !known {
		return call, domain.Errorf(domain.CodeUnknownTool, "There is no tool called %q. The tools are: %s.",
			shorten(visible(name), 60, 0), r.names())
	}
	definition := r.definitions[at]
	call.Version, call.Class, call.Description = definition.Version, definition.Class, firstSentence(definition.Description)
	intent, err := r.tools[at].Check(arguments, dir)
	call.Summary, call.Action, call.MCP = intent.Summary, intent.Action, intent.MCP
	return call, err
}

// firstSentence is what a description begins with, in one line.
func firstSentence(description string) string {
	paragraph, _, _ := strings.Cut(strings.TrimSpace(description), "\n\n")
	line := strings.Join(strings.Fields(paragraph), " ")
	if end := strings.Index(line, ". "); end >= 0 {
		line = line[:end+1]
	}
	if runes := []rune(line); len(runes) > maxSentence {
		line = string(runes[:maxSentence]) + "…"
	}
	return line
}

const maxSentence = 200 // characters

func (r *Registry) names() string {
	names := make([]string, 0, len(r.definitions))
	for _, definition := range r.definitions {
		names = append(names, definition.Name)
	}
	return strings.Join(names, ", ")
}
