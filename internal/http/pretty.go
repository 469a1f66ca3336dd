package http

import (
	"bytes"
	"encoding/json"
	"strings"

	"signoff/internal/domain"
)

// prettyJSON formats a JSON document for people. It decodes escaped letters, because nobody reads \u0072\u006d as rm.
func prettyJSON(document json.RawMessage) string {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber() // or 9007199254740993 would be shown as its neighbour
	var value any
	if err := decoder.Decode(&value); err != nil {
		return domain.Reveal(string(document))
	}
	var pretty bytes.Buffer
	encoder := json.NewEncoder(&pretty)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil { // unreachable: it has just been decoded
		return domain.Reveal(string(document))
	}
	return domain.Reveal(strings.TrimSpace(pretty.String()))
}
