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

// ContextMessages converts messages for another agent, without the states of their provider. With calls, each answer has its calls that have a
// result, and the results follow it: the vendors of models refuse any other order. number counts the calls so far; see [ContextCallID].
func ContextMessages(all []Message, calls bool, number *int) (messages []ContextMessage) {
	results := map[string]string{}
	for _, message := range all {
		if message.Role == RoleTool && calls {
			results[message.ToolCallID] = message.Said()
		}
	}
	for _, message := range all {
		if message.Role == RoleTool {
			continue
		}
		said, answers := ContextMessage{Role: message.Role, Content: message.Said()}, []ContextMessage(nil)
		for _, call := range message.ToolCalls {
			if result, done := results[call.ID]; done {
				*number++
				id := ContextCallID(*number)
				said.ToolCalls = append(said.ToolCalls, ContextCall{ID: id, Tool: call.Tool, Arguments: orObject(call.Arguments)})
				answers = append(answers, ContextMessage{Role: RoleTool, Content: result, ToolCallID: id})
			}
		}
		if strings.TrimSpace(said.Content) != "" || said.ToolCalls != nil {
			messages = append(append(messages, said), answers...)
		}
	}
	return messages
}

// orObject returns an empty object if an external agent has sent no arguments.
func orObject(arguments json.RawMessage) json.RawMessage {
	if len(arguments) == 0 {
		return json.RawMessage("{}")
	}
	return arguments
}

// Brought are the messages with which an execution begins, before its own log.
func (r Request) Brought() (messages []Message) {
	for _, m := range r.Context {
		messages = append(messages, m.Message())
	}
	for _, m := range r.Messages {
		messages = append(messages, Message{Role: m.Role, Text: m.Content})
	}
	if strings.TrimSpace(r.Prompt) != "" || r.Parts != nil {
		messages = append(messages, Message{Role: RoleUser, Text: r.Prompt, Parts: r.Parts})
	}
	return messages
}
