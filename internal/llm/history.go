package llm

import (
	"fmt"
	"strings"

	"signoff/internal/domain"
)

// noResult stands for a result that the log does not have, so that a provider accepts the conversation.
const noResult = "There is no result of this call."

// orderly puts the results behind the answer that asked for them, in the order in which it asked, each once. Providers
// refuse a conversation that is not so, and after a restart or a cancelled turn the log's order is another.
func orderly(history []domain.Message) []domain.Message {
	results := map[string]domain.Message{}
	for _, message := range history {
		if message.Role == domain.RoleTool {
			results[message.ToolCallID] = message
		}
	}
	ordered := make([]domain.Message, 0, len(history))
	for _, message := range history {
		if message.Role == domain.RoleTool {
			continue
		}
		ordered = append(ordered, message)
		for _, call := range message.ToolCalls {
			result, known := results[call.ID]
			if !known {
				result = domain.Message{Role: domain.RoleTool, ToolCallID: call.ID, Text: noResult}
			}
			ordered = append(ordered, result)
		}
	}
	return ordered
}

// inWords writes calls and their results as texts. Vendors refuse a conversation with calls from a model that has no tools, such as one that begins with
// the calls of another execution.
func inWords(view []domain.Message) []domain.Message {
	words := make([]domain.Message, 0, len(view))
	for _, message := range view {
		var text strings.Builder
		if message.Role == domain.RoleTool {
			message.Role, message.ToolCallID = domain.RoleUser, ""
			text.WriteString("[result of a tool call]\n")
		}
		text.WriteString(message.Text)
		for _, call := range message.ToolCalls {
			fmt.Fprintf(&text, "\n[tool call: %s]\n%s", call.Tool, call.Arguments)
		}
		if message.ToolCalls != nil {
			message.ToolCalls, message.State = nil, nil // the state belongs to the calls
		}
		message.Text = strings.TrimSpace(text.String())
		words = append(words, message)
	}
	return words
}

// withoutAsides leaves out what a model has said instead of handing in blocks, and then did hand in. The turn that nudged it has left
// it out already; the log keeps it, so that later turns and a restart find it again: an answer right before an answer, which some
// providers refuse. Only a generation has it. In a conversation that a client brought along, both answers are somebody's words.
func withoutAsides(history []domain.Message) []domain.Message {
	kept := make([]domain.Message, 0, len(history))
	for i, message := range history {
		aside := message.Role == domain.RoleAssistant && len(message.ToolCalls) == 0
		if aside && i+1 < len(history) && history[i+1].Role == domain.RoleAssistant {
			continue
		}
		kept = append(kept, message)
	}
	return kept
}
