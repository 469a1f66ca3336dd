package llm

import "regexp"

var notInWords = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// maxWordBytes is what every vendor takes for the name of a tool.
const maxWordBytes = 64

// word is text as vendors want ids and names of tools. Ours are so; a name that a model made up may not be, as the one
// that has swallowed its own marks, `functions.bash<|channel|>`. The log keeps it as it came. Sent back like that, it
// would have the vendor refuse the whole conversation from then on.
func word(text string) string {
	text = notInWords.ReplaceAllString(text, "_")
	if text == "" {
		return "_"
	}
	return text[:min(len(text), maxWordBytes)]
}
