package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"signoff/internal/acp/settings"
	"signoff/internal/domain"
	"signoff/internal/schema"
)

// promptParams are the parameters of a prompt. The agent keeps its own history, so the prompt alone is enough, except for a new
// session: that also gets the instructions and the conversation so far, with its files.
func (a *agent) promptParams(ctx context.Context, host domain.Host, prompt domain.Prompt) (json.RawMessage, error) {
	parts := prompt.Parts
	if parts == nil {
		parts = []domain.PromptPart{{Type: domain.PartText, Text: prompt.Text}}
	}
	if a.fresh {
		parts = slices.Concat([]domain.PromptPart{{Type: domain.PartText, Text: a.instructions()}}, a.earlier(prompt), parts)
	}
	c := a.newContent(host, parts)
	for _, part := range parts {
		if err := c.part(ctx, part); err != nil {
			return nil, err
		}
	}
	c.end(nil, `]}`)
	return c.json, nil
}

func (a *agent) takes() settings.Takes { return settings.ReadTakes(a.hello) }

// instructions are the system prompt, the instructions and the demand for an output schema. The protocol has no field for them but
// the prompt.
func (a *agent) instructions() string {
	request := a.execution.Request
	var parts []string
	for _, part := range []string{request.SystemPrompt, request.Instructions, schema.Demand(request.OutputSchema)} {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "\n\n")
}

// earlier is the conversation before this turn's prompt: a text, and behind it the files of the conversation. What came after the prompt, in a
// turn that is begun once more, belongs to it too: the agent is not to do it again unknowingly.
func (a *agent) earlier(prompt domain.Prompt) []domain.PromptPart {
	history := withoutPrompt(prompt)
	if len(history) == 0 {
		return nil
	}
	files := a.keepFiles(history, prompt.Parts)
	var text strings.Builder
	text.WriteString("This is the conversation so far, for you to know. Answer only the message that comes after it.\n")
	for _, message := range history {
		writeMessage(&text, message)
	}
	text.WriteString("\nThis is the end of the conversation so far.")
	if len(files) > 0 {
		text.WriteString(" Its files follow, in their order.")
	}
	return append([]domain.PromptPart{{Type: domain.PartText, Text: text.String()}}, files...)
}

// keepFiles returns the files of a history that the agent is sent. In the history, a note takes the place of each of the others. If there are too many
// beside those of the prompt, the newest are sent.
func (a *agent) keepFiles(history []domain.Message, asked []domain.PromptPart) (files []domain.PromptPart) {
	takes, size := a.takes(), domain.PartsSize(asked)
	for i := range slices.Backward(history) {
		parts := slices.Clone(history[i].Parts)
		for at, part := range slices.Backward(parts) {
			switch why := takes.Omits(part); {
			case !part.IsFile():
			case why != "":
				parts[at] = part.LeftOut(why)
			case size+part.Size > domain.MaxPromptBytes:
				parts[at] = part.LeftOut(domain.NoRoom)
			default:
				size += part.Size
				files = append(files, part)
			}
		}
		history[i].Parts = parts
	}
	slices.Reverse(files)
	return files
}

// withoutPrompt is the history without the message that is the prompt.
func withoutPrompt(prompt domain.Prompt) (history []domain.Message) {
	asked := -1
	for i, message := range prompt.History {
		if message.Role == domain.RoleUser && message.Text == prompt.Text {
			asked = i
		}
	}
	for i, message := range prompt.History {
		if i != asked {
			history = append(history, message)
		}
	}
	return history
}

func writeMessage(text *strings.Builder, message domain.Message) {
	if said := message.Said(); said != "" {
		label := string(message.Role)
		if message.Role == domain.RoleTool {
			label = "result of the tool call " + message.ToolCallID
		}
		fmt.Fprintf(text, "\n[%s]\n%s\n", label, said)
	}
	for _, call := range message.ToolCalls {
		fmt.Fprintf(text, "\n[tool call %s: %s]\n%s\n", call.ID, call.Tool, call.Arguments)
	}
}
