package llm

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/llm/mcptools"
	"signoff/internal/runbooks"
	"signoff/internal/tools"
)

// The tools that depend on more than their class.
const (
	toolMemoryRead      = "memory_read"
	toolMemoryWrite     = "memory_write"
	toolAskUser         = "ask_user"
	toolRead            = "read"
	toolRunbookDocument = runbooks.GetDocument
	toolBlockDocs       = "get_block_docs"
	toolDefaultShell    = "get_default_shell"
	toolSubmitBlocks    = "submit_blocks"
	toolSearchServers   = mcptools.SearchName
)

// toolset is the tools of one execution. Its model sees these and can call no other: one that would be refused
// each time, or has nothing behind it, only wastes rounds. It never changes, and many executions may share it; see toolsets.go.
type toolset struct {
	missing     []string // tools that another execution has, and texts may speak of; in backquotes
	registry    *tools.Registry
	definitions []tools.Definition
	servers     *mcptools.Set // nil: it has no tools of MCP servers
	served      []string      // those of its tools that are among the definitions
}

func newToolset(known *tools.Registry, request domain.Request) (*toolset, error) {
	types, err := runbooks.Compile(request.Runbook.BlockTypes)
	if err != nil {
		return nil, err
	}
	var list []tools.Tool
	for i, definition := range known.Definitions() {
		if !grants(request, definition) {
			continue
		}
		tool := known.Tools()[i]
		if _, submits := tool.(tools.SubmitBlocks); submits {
			tool = tools.SubmitBlocks{Types: types}
		}
		list = append(list, tool)
	}
	clients, err := clientTools(known, request, types)
	if err != nil {
		return nil, err
	}
	granted := &toolset{registry: tools.NewRegistry(append(list, clients...)...)}
	granted.definitions = slices.Clone(granted.registry.Definitions())
	granted.missing = granted.withheld(known)
	for i, definition := range granted.definitions {
		granted.definitions[i].Description = granted.without(definition.Description)
	}
	return granted, nil
}

// delegating returns the toolset of an execution that may delegate to these agents: its model reads the list of them, and a person reads about the agent of a call.
func (s *toolset) delegating(options []domain.DelegateOption) *toolset {
	granted := &toolset{missing: s.missing, definitions: slices.Clone(s.definitions)}
	list := slices.Clone(s.registry.Tools())
	for i, tool := range list {
		if _, delegates := tool.(*tools.Delegate); delegates {
			delegate := tools.NewDelegate(options...)
			list[i] = delegate
			granted.definitions[i].Description = paragraphs(granted.definitions[i].Description, delegate.Agents())
		}
	}
	granted.registry = tools.NewRegistry(list...)
	return granted
}

// with returns the toolset with those of MCP servers: it can call all of them, and shows some.
func (s *toolset) with(servers *mcptools.Set, shown []string) *toolset {
	granted := &toolset{missing: s.missing, servers: servers, served: shown}
	var list []tools.Tool
	for i, tool := range s.registry.Tools() {
		list = append(list, servers.Bound(tool))
		if s.definitions[i].Name != toolSearchServers || servers.OnDemand() {
			granted.definitions = append(granted.definitions, s.definitions[i])
		}
	}
	granted.registry = tools.NewRegistry(append(list, servers.Tools()...)...)
	for _, name := range shown { // behind the others, in the order in which they came: what stands before them stays in the provider's cache
		tool, _ := granted.lookup(name)
		granted.definitions = append(granted.definitions, tool.Definition())
	}
	return granted
}

func (s *toolset) withheld(known *tools.Registry) (quoted []string) {
	names := slices.Clone(runbooks.DocumentTools)
	for _, definition := range known.Definitions() {
		names = append(names, definition.Name)
	}
	for _, name := range names {
		if _, granted := s.lookup(name); !granted {
			quoted = append(quoted, "`"+name+"`")
		}
	}
	return quoted
}

// clientTools are the tools that the client runs: those that it declares, and, for an assistant, those of the document that it
// does not declare itself. Whoever generates blocks hands them in, and changes nothing.
func clientTools(known *tools.Registry, request domain.Request, types *runbooks.Types) (list []tools.Tool, err error) {
	if request.Kind == domain.KindGeneration {
		return nil, nil
	}
	names := map[string]bool{}
	for _, declared := range request.ClientTools {
		tool, err := tools.NewClientTool(declared)
		if err != nil {
			return nil, err
		}
		_, ours := known.Lookup(declared.Name)
		if (ours && !runbooks.ClientMayRun(request, declared.Name)) || names[declared.Name] {
			return nil, domain.Errorf(domain.CodeInvalid, "There is more than one tool called %q; the client's need names of their own.", declared.Name)
		}
		names[declared.Name] = true
		if allowed(request, declared.Class) {
			list = append(list, tool)
		}
	}
	if request.Kind != domain.KindAssistant {
		return list, nil
	}
	if live := tools.LiveDocument(); request.Runbook.Document == nil && !names[toolRunbookDocument] && offers(request, live.Definition()) {
		list = append(list, live)
	}
	for _, tool := range tools.DocumentTools(types) {
		if definition := tool.Definition(); !names[definition.Name] && grants(request, definition) {
			list = append(list, tool)
		}
	}
	return list, nil
}

// items are those of a list in Markdown.
var items = regexp.MustCompile(`(?m)^- .*\n?(?:^  .*\n?)*`)

// without takes the items out of a description that send the model to tools that it does not have: it would try them. Most
// descriptions have none, and are not looked at by their lines.
func (s *toolset) without(description string) string {
	if !s.sendsAstray(description) {
		return description
	}
	return items.ReplaceAllStringFunc(description, func(item string) string {
		if s.sendsAstray(item) {
			return ""
		}
		return item
	})
}

func (s *toolset) sendsAstray(text string) bool {
	return slices.ContainsFunc(s.missing, func(name string) bool { return strings.Contains(text, name) })
}

// grants tells whether the request has the tool.
func grants(request domain.Request, definition tools.Definition) bool {
	return serves(request, definition.Name) && offers(request, definition)
}

// offers tells whether nothing that the request says keeps the tool away.
func offers(request domain.Request, definition tools.Definition) bool {
	if enabled := request.Tools.Enabled; enabled != nil && !slices.Contains(enabled, definition.Name) && !needed(definition.Name) {
		return false
	}
	return allowed(request, definition.Class)
}

// needed tells whether a request has the tool without naming it: the other tools of the execution lead nowhere without it.
func needed(name string) bool { return name == toolSubmitBlocks || name == toolSearchServers }

// serves tells whether the kind of the execution has the tool, and the tool something to work with.
func serves(request domain.Request, name string) bool {
	generates := request.Kind == domain.KindGeneration
	switch name {
	case toolSubmitBlocks:
		return generates
	case toolRunbookDocument:
		return generates || request.Runbook.Document != nil
	case toolBlockDocs:
		return generates || len(request.Runbook.BlockTypes) > 0
	case toolDefaultShell:
		return generates || request.Runbook.DefaultShell != ""
	case toolMemoryRead, toolMemoryWrite:
		return !generates && request.Memory
	case toolAskUser:
		return !generates && !request.Unattended // else nobody would answer
	case domain.DelegateTool, domain.AwaitDelegatesTool, domain.MessageDelegateTool, domain.CancelDelegateTool:
		return !generates && request.Delegation != nil && allowed(request, domain.ClassDelegate)
	case toolSearchServers, mcptools.ResourcesName, mcptools.ReadName:
		return !generates && len(request.MCPServers) > 0 && allowed(request, domain.ClassMCP)
	default:
		return !generates
	}
}

func allowed(request domain.Request, class domain.Class) bool {
	switch request.Capabilities.Of(class) {
	case domain.Allow, domain.Ask:
		return true
	default:
		return false
	}
}

// lookup finds a tool of the execution.
func (s *toolset) lookup(name string) (tools.Tool, bool) { return s.registry.Lookup(name) }

// describe has the tool read the arguments. A tool that the execution does not have is refused with the names of those
// that it has.
func (s *toolset) describe(name string, arguments json.RawMessage, dir string) (domain.ToolCall, error) {
	if _, granted := s.lookup(name); granted {
		return s.registry.Describe(name, arguments, dir)
	}
	there := "There are no tools at all."
	if names := s.names(); len(names) > 0 {
		there = "The tools are: " + strings.Join(names, ", ") + "."
	}
	if s.servers != nil {
		there = cmp.Or(s.servers.Missing(name), there)
	}
	return domain.ToolCall{Tool: name, Arguments: arguments},
		domain.Errorf(domain.CodeUnknownTool, "There is no tool called %q. %s", name, there)
}

func (s *toolset) names() []string {
	names := make([]string, 0, len(s.definitions))
	for _, definition := range s.definitions {
		names = append(names, definition.Name)
	}
	return names
}
