package items

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"signoff/internal/domain"
)

// text grows piece by piece. Text beyond the bound is counted and not kept.
type text struct {
	kept   strings.Builder
	length int // in the log, UTF-8 bytes
	cut    bool
}

// fits returns an error if a piece does not begin at the end of the text: then a piece is missing or repeated, and the text would be wrong.
func (t *text) fits(offset int, of string) error {
	if offset == t.length {
		return nil
	}
	return domain.Errorf(domain.CodeInternal, "The log has a piece of %s at %d, where %d bytes are.", of, offset, t.length)
}

func (t *text) add(piece string) {
	t.length += len(piece)
	if t.cut {
		return
	}
	piece, t.cut = bounded(piece, TextBytes-t.kept.Len())
	t.kept.WriteString(piece)
}

// restore restores t from its kept beginning.
func (t *text) restore(kept string, length int, cut bool) {
	t.kept.WriteString(kept)
	t.length, t.cut = length, cut
}

// bounded returns the beginning of a text, in whole characters.
func bounded(text string, limit int) (beginning string, cut bool) {
	if len(text) <= limit {
		return text, false
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit], true
}

// boundedJSON returns a value, or null if it is too long, since its beginning alone is no JSON.
func boundedJSON(value json.RawMessage) json.RawMessage {
	if len(value) == 0 || len(value) > TextBytes {
		return json.RawMessage("null")
	}
	return value
}
