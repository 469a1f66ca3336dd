package provider

import (
	"cmp"
	"strings"

	"github.com/tidwall/gjson"
)

// errorText finds the sentence in the error bodies that are about: {"error": {"message", "code"}}, {"error": "text"},
// {"detail": …}, {"message": …}, or plain text. A page of HTML says nothing. Without a code, the type is the code: Anthropic sends
// only types, OpenAI has both.
func errorText(body []byte) (message, code string) {
	read, err := Document(body)
	if err != nil {
		text := strings.TrimSpace(string(body))
		if strings.HasPrefix(text, "<") || strings.HasPrefix(text, "{") {
			return "", ""
		}
		return text, ""
	}
	for _, name := range []string{"error", "detail", "message"} {
		part := Field(read, name)
		inner := Field(part, "message").Str
		switch {
		case inner != "":
			return inner, cmp.Or(Field(part, "code").String(), Field(part, "type").String())
		case part.Type == gjson.String && part.Str != "":
			return part.Str, ""
		case part.Type != gjson.String && part.Type != gjson.Null:
			return part.Raw, ""
		}
	}
	return "", ""
}
