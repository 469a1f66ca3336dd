package secrets

import (
	"encoding/json"
	"fmt"

	"signoff/internal/domain"
)

// JSON masks a document. It stays valid JSON, whatever was found in it: each string is masked by itself, so nothing that
// begins in one eats what stands behind it, and as what it says, so no escape hides a value. Numbers stay as they are: a
// reader that expects a count of tokens must not find a word, only because some secret has the same digits. What is no
// JSON becomes one string of JSON; nothing at all stays nothing.
func (m *Masker) JSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return raw
	}
	if !json.Valid(raw) {
		return domain.Encode(m.MaskString(string(raw)))
	}
	d := document{masker: m, raw: raw}
	for i := 0; i < len(raw); {
		end := literal(raw, i)
		if end > i {
			d.mask(i, end)
		}
		i = max(end, i+1)
	}
	if d.out == nil {
		return raw
	}
	return append(d.out, raw[d.done:]...)
}

// document is a JSON text on its way through a masker.
type document struct {
	masker *Masker
	raw    json.RawMessage
	out    json.RawMessage // nil until something is found
	done   int             // how much of raw is in out
	names  int             // how many members had to be renamed
}

// mask writes the masked string, if it differs.
func (d *document) mask(from, to int) {
	said := d.raw[from:to]
	var text string
	if json.Unmarshal(said, &text) != nil { // unreachable: the document is valid
		text = string(said[1 : len(said)-1])
	}
	masked := d.masker.MaskString(text)
	if masked == text {
		return
	}
	if member(d.raw, to) { // of two with one name, readers would see only the last
		if d.names++; d.names > 1 {
			masked = fmt.Sprintf("%s %d", masked, d.names)
		}
	}
	d.out = append(append(d.out, d.raw[d.done:from]...), domain.Encode(masked)...)
	d.done = to
}

// member reports whether the string that ends here is the name of a member.
func member(raw []byte, i int) bool {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\t' || raw[i] == '\r' || raw[i] == '\n') {
		i++
	}
	return i < len(raw) && raw[i] == ':'
}

// literal returns where the string that begins at i ends, or i where none does.
func literal(raw []byte, i int) (end int) {
	if raw[i] != '"' {
		return i
	}
	for end = i + 1; raw[end] != '"'; end++ {
		if raw[end] == '\\' {
			end++
		}
	}
	return end + 1
}
