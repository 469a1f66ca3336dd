package llm

import (
	"context"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/schema"
	"signoff/internal/tools"
)

var (
	//go:embed safety.md
	safetyText string

	//go:embed memory.md
	memoryText string

	//go:embed memorywrite.md
	memoryWriteText string
)

// notes reads what earlier executions left, where the request wants that.
func (t *turn) notes(ctx context.Context) ([]domain.Memory, error) {
	request := &t.agent.execution.Request
	if !request.Memory {
		return nil, nil
	}
	scopes := []domain.MemoryScope{domain.GlobalMemory}
	if request.RunbookID != "" {
		scopes = append(scopes, domain.RunbookMemory(request.RunbookID))
	}
	var notes []domain.Memory
	for _, scope := range scopes {
		memory, err := t.host.Memory(ctx, scope)
		if err != nil {
			return nil, err
		}
		memory.Scope = scope
		notes = append(notes, memory)
	}
	return notes, nil
}

// surroundings is what the tools of the turn see of the machine; nothing for a turn that has none of these.
func (t *turn) surroundings(ctx context.Context) string {
	sees := func(definition tools.Definition) bool {
		return slices.Contains([]domain.Class{domain.ClassRead, domain.ClassWrite, domain.ClassExecute}, definition.Class)
	}
	if !slices.ContainsFunc(t.agent.tools.definitions, sees) {
		return ""
	}
	return t.host.Surroundings(ctx)
}

// systemPrompt is what the model reads first: the safety layer, which no request replaces; the persona, ours or the
// request's; the rules of the kind, which no request replaces either; where it works, and what it sees there; its MCP servers; the request's instructions; what
// its answer has to fit; the notes, where it has some, and may change them if it writes.
func (t *turn) systemPrompt(surroundings string, notes []domain.Memory) string {
	request := &t.agent.execution.Request
	character := persona(request.Kind)
	if strings.TrimSpace(request.SystemPrompt) != "" {
		character = request.SystemPrompt
	}
	parts := []string{safetyText, character, t.agent.tools.without(t.kindRules())}
	if request.WorkingDirectory != "" && !t.agent.conversation.generates {
		parts = append(parts, "Working directory: "+request.WorkingDirectory, surroundings)
	}
	_, writes := t.agent.tools.lookup(toolMemoryWrite)
	parts = append(parts, t.serversPrompt(), request.Instructions, schema.Demand(request.OutputSchema), memoryPrompt(notes, writes))
	return paragraphs(parts...)
}

// memoryPrompt comes last. What agents wrote there stands behind all that people have said, and says what it is.
func memoryPrompt(notes []domain.Memory, writes bool) string {
	if len(notes) == 0 {
		return ""
	}
	parts := []string{memoryText}
	if writes {
		parts = append(parts, memoryWriteText)
	}
	for _, memory := range notes {
		content := strings.TrimSpace(memory.Content)
		if content == "" {
			content = "(none yet)"
		}
		scope := "runbook" // as the tools call it: a model that knew the runbook's id could not use it there
		if memory.Scope == domain.GlobalMemory {
			scope = "global"
		}
		content = notesTag.ReplaceAllString(content, "($1") // a note that closes the tag would speak as the server from there on
		parts = append(parts, fmt.Sprintf("<notes scope=%q revision=\"%d\">\n%s\n</notes>", scope, memory.Revision, content))
	}
	return paragraphs(parts...)
}

var notesTag = regexp.MustCompile(`(?i)<(\s*/?\s*notes)`)
