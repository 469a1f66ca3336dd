package provider

import (
	"encoding/json"
	"strings"
)

// errorText finds the sentence in the error bodies that are about: {"error": {"message", "code"}}, {"error": "text"},
// {"detail": …}, {"message": …}, or plain text. A page of HTML says nothing.
func errorText(body []byte) (message, code string) {
	var told struct {
		Error   json.RawMessage `json:"error"`
		Detail  json.RawMessage `json:"detail"`
		Message json.RawMessage `json:"message"`
	}
	if err := json.Unmarshal(body, &told); err != nil {
		text := strings.TrimSpace(string(body))
		if strings.HasPrefix(text, "<") || strings.HasPrefix(text, "{") {
			return "", ""
		}
		return text, ""
	}
	for _, part := range []json.RawMessage{told.Error, told.Detail, told.Message} {
		if message, code = partText(part); message != "" {
			return message, code
		}
	}
	return "", ""
}

// partText reads a string, an object with a message, or else the JSON as it stands.
func partText(part json.RawMessage) (message, code string) {
	var object struct {
		Message string          `json:"message"`
		Code    json.RawMessage `json:"code"`
		Type    string          `json:"type"`
	}
	switch {
	case len(part) == 0 || string(part) == "null":
		return "", ""
	case json.Unmarshal(part, &message) == nil:
		return message, ""
	case json.Unmarshal(part, &object) == nil && object.Message != "":
		return object.Message, codeOf(object.Code, object.Type)
	default:
		return string(part), ""
	}
}

// codeOf is the code, or else the type: Anthropic sends only types, OpenAI has both.
func codeOf(code json.RawMessage, kind string) string {
	if code := strings.Trim(string(code), `"`); code != "" && code != "null" {
		return code
	}
	return kind
}
