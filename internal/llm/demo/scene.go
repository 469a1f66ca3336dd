package demo

import (
	"encoding/json"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// scene is what the script has for one moment of the conversation.
type scene struct {
	thought, text string
	calls         []provider.Call
}

func lastUserText(request provider.Request) string {
	for i := len(request.Messages) - 1; i >= 0; i-- {
		if request.Messages[i].Role == domain.RoleUser {
			return request.Messages[i].Text
		}
	}
	return ""
}

// schemaOf is the schema of a tool that the execution has.
func schemaOf(request provider.Request, name string) json.RawMessage {
	for _, tool := range request.Tools {
		if tool.Name == name {
			return tool.Schema
		}
	}
	return nil
}
