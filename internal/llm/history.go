package llm

import "signoff/internal/domain"

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
