package domain

import (
	"encoding/json"
	"fmt"
	"strings"
)

// ContextMessage is a message of an earlier execution, see [Request].
type ContextMessage struct {
	Role       Role          `json:"role"` // user, assistant or tool
	Content    string        `json:"content"`
	ToolCalls  []ContextCall `json:"toolCalls,omitempty"`  // of the assistant; the result of each follows the message
	ToolCallID string        `json:"toolCallId,omitempty"` // of the tool: the call whose result it is
}

// ContextCall is a tool call of an earlier execution.
type ContextCall struct {
	ID        string          `json:"id"` // see [ContextCallID]
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

const contextCallPrefix = "earlier_"

// ContextCallID is the id that the call with this number has in the context of another execution. Two earlier executions may have calls of the same id.
func ContextCallID(number int) string { return fmt.Sprintf("%s%d", contextCallPrefix, number) }

// IsContextCall reports whether the id is that of a call of an earlier execution: the log of this one does not have it.
func IsContextCall(id string) bool { return strings.HasPrefix(id, contextCallPrefix) }

// Message is the message as an agent reads it.
func (m ContextMessage) Message() Message {
	message := Message{Role: m.Role, Text: m.Content, ToolCallID: m.ToolCallID}
	for _, call := range m.ToolCalls {
		message.ToolCalls = append(message.ToolCalls, ToolCall{ID: call.ID, Tool: call.Tool, Arguments: call.Arguments})
	}
	return message
}
