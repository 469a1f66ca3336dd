package acp

import (
	"fmt"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/schema"
)

// block is a part of a prompt. Text is what every agent takes.
type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// promptBlocks are the content of a prompt. The agent keeps its own history, so the prompt alone is enough, except for a new
// session: that also gets the instructions and the conversation so far.
func (a *agent) promptBlocks(prompt domain.Prompt) []block {
	var texts []string
	if a.fresh {
		texts = append(texts, a.instructions(), earlier(prompt))
	}
	var blocks []block
	for _, text := range append(texts, prompt.Text) {
		if text != "" {
			blocks = append(blocks, block{Type: "text", Text: text})
		}
	}
	return blocks
}

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

// earlier is the conversation before this turn's prompt, as text. What came after the prompt, in a turn that is begun
// once more, belongs to it too: the agent is not to do it again unknowingly.
func earlier(prompt domain.Prompt) string {
	history := withoutPrompt(prompt)
	if len(history) == 0 {
		return ""
	}
	var text strings.Builder
	text.WriteString("This is the conversation so far, for you to know. Answer only the message that comes after it.\n")
	for _, message := range history {
		writeMessage(&text, message)
	}
	text.WriteString("\nThis is the end of the conversation so far.")
	return text.String()
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
	if message.Text != "" {
		label := string(message.Role)
		if message.Role == domain.RoleTool {
			label = "result of the tool call " + message.ToolCallID
		}
		fmt.Fprintf(text, "\n[%s]\n%s\n", label, message.Text)
	}
	for _, call := range message.ToolCalls {
		fmt.Fprintf(text, "\n[tool call %s: %s]\n%s\n", call.ID, call.Tool, call.Arguments)
	}
}
