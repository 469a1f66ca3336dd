package llm

import (
	"signoff/internal/domain"
)

// noResult stands for a result that the log does not have, so that a provider accepts the conversation.
const noResult = "There is no result of this call."

// answered tells whether the history ends with an answer that asked for nothing: the turn was over, and the server
// went down before it could say so.
func (t *turn) answered() bool {
	if len(t.history) == 0 {
		return false
	}
	last := t.history[len(t.history)-1]
	return last.Role == domain.RoleAssistant && len(last.ToolCalls) == 0
}

// unsettled finds the calls at the end of the history that have no result: a restart came between.
func (t *turn) unsettled() []pendingCall {
	settled := map[string]bool{}
	for i := len(t.history) - 1; i >= 0; i-- {
		message := t.history[i]
		switch message.Role {
		case domain.RoleTool:
			settled[message.ToolCallID] = true
			continue
		case domain.RoleAssistant:
			return t.unsettledOf(message, settled)
		}
		break
	}
	return nil
}

func (t *turn) unsettledOf(message domain.Message, settled map[string]bool) []pendingCall {
	var calls []pendingCall
	for _, call := range message.ToolCalls {
		if !settled[call.ID] {
			calls = append(calls, t.check(call))
		}
	}
	return calls
}

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
