package tools

import (
	_ "embed"
	"encoding/json"

	"signoff/internal/domain"
)

const cancelFields = `"id" (string) and optionally "reason" (string)`

//go:embed cancel_delegate.md
var cancelText string

// CancelDelegate ends a child and its own children.
type CancelDelegate struct{ delegationBase }

var _ DelegationTool = CancelDelegate{}

// Definition implements [Tool].
func (CancelDelegate) Definition() Definition {
	return Definition{
		Name:        domain.CancelDelegateTool,
		Version:     "1",
		Class:       domain.ClassDelegate,
		Description: cancelText,
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"id": {"type": "string", "description": "The agent."},
				"reason": {"type": "string", "description": "Why, for the people who read it later."}
			},
			"required": ["id"],
			"additionalProperties": false
		}`),
	}
}

// Check implements [Tool].
func (CancelDelegate) Check(arguments json.RawMessage, _ string) (Intent, error) {
	wanted, err := readCancel(arguments)
	if err != nil {
		return Intent{}, err
	}
	summary := "Cancel the agent " + code(string(wanted.ID)) + " and all that it has delegated"
	if wanted.Reason != "" {
		summary += ", because " + code(wanted.Reason)
	}
	return Intent{Summary: summary}, nil
}

func readCancel(arguments json.RawMessage) (domain.CancelDelegateArguments, error) {
	members := readFields(arguments, cancelFields, "id", "reason")
	wanted := domain.CancelDelegateArguments{ID: members.child("id"), Reason: members.optionalText("reason", maxReason)}
	return wanted, members.mistake
}
