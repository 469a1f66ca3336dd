package items

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"signoff/internal/domain"
)

// text grows piece by piece. What is beyond the bound is counted and not kept.
type text struct {
	kept   strings.Builder
	length int // in the log, UTF-8 bytes
	cut    bool
}

// fits fails where a piece does not begin at the end of what is there: one is missing then, or has come twice, and what would
// be shown was never said.
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

// restore makes t what it was when so much of it was kept.
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

// boundedJSON returns a value, or null where it is too long: its beginning alone could not be read.
func boundedJSON(value json.RawMessage) json.RawMessage {
	if len(value) == 0 || len(value) > TextBytes {
		return json.RawMessage("null")
	}
	return value
}
