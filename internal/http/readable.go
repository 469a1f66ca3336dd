package http

import (
	"bytes"
	"encoding/json"
	"strings"

	"signoff/internal/domain"
)

// readable is a JSON document in one spelling, over several lines. A letter that was written as an escape is a letter again: nobody reads
// \u0072\u006d as rm.
func readable(document json.RawMessage) string {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber() // or 9007199254740993 would be shown as its neighbour
	var value any
	if err := decoder.Decode(&value); err != nil {
		return domain.Reveal(string(document))
	}
	var shown bytes.Buffer
	encoder := json.NewEncoder(&shown)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil { // unreachable: it has just been decoded
		return domain.Reveal(string(document))
	}
	return domain.Reveal(strings.TrimSpace(shown.String()))
}
