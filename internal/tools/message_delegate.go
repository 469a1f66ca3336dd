package tools

import (
	_ "embed"
	"encoding/json"

	"signoff/internal/domain"
)

const messageFields = `"id" (string), "prompt" (string) and optionally "wait" (boolean)`

//go:embed message_delegate.md
var messageText string

// MessageDelegate sends a further prompt to a child.
type MessageDelegate struct{ delegationBase }

var _ DelegationTool = MessageDelegate{}

// Definition implements [Tool].
func (MessageDelegate) Definition() Definition {
	return Definition{
		Name:        domain.MessageDelegateTool,
		Version:     "1",
		Class:       domain.ClassDelegate,
		Description: messageText,
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"id": {"type": "string", "description": "The agent."},
				"prompt": {"type": "string", "description": "What to do next. The agent remembers its earlier work."},
				"wait": {"type": "boolean", "description": "Wait for its answer. Default true."}
			},
			"required": ["id", "prompt"],
			"additionalProperties": false
		}`),
	}
}

// Check implements [Tool].
func (MessageDelegate) Check(arguments json.RawMessage, _ string) (Intent, error) {
	wanted, err := readMessage(arguments)
	if err != nil {
		return Intent{}, err
	}
	summary := "Ask the agent " + code(string(wanted.ID)) + " to go on with " + code(wanted.Prompt)
	if wanted.Background() {
		summary += "; nothing waits for it"
	}
	return Intent{Summary: summary}, nil
}

func readMessage(arguments json.RawMessage) (domain.MessageDelegateArguments, error) {
	members := readFields(arguments, messageFields, "id", "prompt", "wait")
	wanted := domain.MessageDelegateArguments{ID: members.child("id"), Prompt: members.text("prompt", maxDelegatePrompt), Wait: members.wait()}
	return wanted, members.mistake
}
