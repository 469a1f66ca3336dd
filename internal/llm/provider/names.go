package provider

import (
	"encoding/json"
	"regexp"
)

var notInWords = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// maxWordBytes is what every vendor takes for the name of a tool.
const maxWordBytes = 64

// Word is text as vendors want ids and names of tools. Ours are so; a name that a model made up may not be, as the one
// that has swallowed its own marks, `functions.bash<|channel|>`. The log keeps it as it came. Sent back like that, it
// would have the vendor refuse the whole conversation from then on.
func Word(text string) string {
	text = notInWords.ReplaceAllString(text, "_")
	if text == "" {
		return "_"
	}
	return text[:min(len(text), maxWordBytes)]
}

// ObjectArguments is a call's arguments as every vendor takes them, an object: servers that parse the arguments of earlier calls
// refuse the whole conversation for one that a model once wrote badly.
func ObjectArguments(arguments json.RawMessage) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(arguments, &object) == nil && object != nil {
		return arguments
	}
	wrapped, err := json.Marshal(map[string]json.RawMessage{"invalid": arguments})
	if err != nil { // not JSON at all, which the log cannot hold either
		return json.RawMessage("{}")
	}
	return wrapped
}
