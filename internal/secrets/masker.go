package secrets

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// Masked stands where a secret was.
const Masked = "[masked]"

// MinLength is how long a value must be to be looked for, in bytes.
const MinLength = 6

// Masker replaces secrets. It never changes, and may be used by any number of goroutines at once. A nil Masker knows no
// values, but the shapes of common keys.
type Masker struct {
	begins  [1 << 16]bool // the first two bytes of everything that is looked for: nearly all texts end their search here
	needles [256][]string // by their first byte, the longest first
}

// plain knows the shapes alone.
var plain = NewMasker()

// NewMasker returns a masker of values. Those that are too short are left out.
func NewMasker(values ...string) *Masker {
	m := &Masker{}
	for _, shape := range shapes {
		m.begins[pair(shape.prefix)] = true
	}
	for _, value := range values {
		for _, form := range forms(value) {
			m.begins[pair(form)] = true
			m.needles[form[0]] = append(m.needles[form[0]], form)
		}
	}
	for i, bucket := range m.needles {
		slices.SortFunc(bucket, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
		m.needles[i] = slices.Compact(bucket)
	}
	return m
}

func pair[T string | []byte](text T) int { return int(text[0])<<8 | int(text[1]) }

// Mask returns text without secrets. It does not change text; where nothing is found, it returns text itself.
func (m *Masker) Mask(text []byte) []byte {
	if m == nil {
		m = plain
	}
	var masked []byte // nil until something is found
	written := 0      // how much of text is in masked
	for i := 0; i+1 < len(text); i++ {
		if !m.begins[pair(text[i:])] {
			continue
		}
		from, to := m.find(text, i)
		if to == 0 {
			continue
		}
		from, to = m.widen(text, i, from, to)
		if masked == nil {
			masked = make([]byte, 0, len(text))
		}
		masked = append(append(masked, text[written:from]...), Masked...)
		written, i = to, to-1
	}
	if masked == nil {
		return text
	}
	return append(masked, text[written:]...)
}

// MaskString is Mask for strings.
func (m *Masker) MaskString(text string) string {
	masked := m.Mask([]byte(text))
	if len(masked) == len(text) && string(masked) == text {
		return text
	}
	return string(masked)
}

// find looks for a value or a key at i; to is 0 where there is none.
func (m *Masker) find(text []byte, i int) (from, to int) {
	from, to = key(text, i)
	if end := m.needle(text, i); end > 0 {
		return i, max(to, end)
	}
	return from, to
}

// widen takes up the values that begin within what was found at i.
func (m *Masker) widen(text []byte, i, from, to int) (start, end int) {
	for i++; i < to && i+1 < len(text); i++ {
		if !m.begins[pair(text[i:])] {
			continue
		}
		if end := m.needle(text, i); end > 0 {
			from, to = min(from, i), max(to, end)
		}
	}
	return from, to
}

// needle returns where the longest value that begins at i ends, or 0.
func (m *Masker) needle(text []byte, i int) (end int) {
	for _, needle := range m.needles[text[i]] {
		if len(needle) <= len(text)-i && string(text[i:i+len(needle)]) == needle {
			return i + len(needle)
		}
	}
	return 0
}

// forms are the ways in which a text may hold value.
func forms(value string) []string {
	if len(value) < MinLength {
		return nil
	}
	all := []string{value, url.QueryEscape(value), url.PathEscape(value), escaped(value, true), escaped(value, false)}
	raw := []byte(value)
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		all = append(all, encoding.EncodeToString(raw))
	}
	// A value of several lines may be printed line by line.
	for line := range strings.Lines(value) {
		if line = strings.TrimSpace(line); len(line) >= longLine && line != value {
			all = append(all, line)
		}
	}
	return slices.DeleteFunc(append(all, shifted(raw)...), func(form string) bool { return len(form) < MinLength })
}

// longLine is the length from which a line of a value tells something of it; a PEM key's lines have 64.
const longLine = 24

// escaped is how value stands within a JSON string; Go's encoder escapes <, > and & as well, most others do not.
func escaped(value string, html bool) string {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(html)
	if encoder.Encode(value) != nil {
		return ""
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(buffer.String()), `"`), `"`)
}

// shifted are the parts of the base64 of a longer text that value alone decides, wherever in the text it lies: a basic
// authorization is the base64 of user:password.
func shifted(value []byte) (parts []string) {
	const shortest = 12 // the parts of shorter values are found in texts that have nothing to do with them
	if len(value) < shortest {
		return nil
	}
	for offset := range 3 {
		padded := append(make([]byte, offset), value...)
		from, to := (offset*8+5)/6, len(padded)*8/6
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			parts = append(parts, encoding.EncodeToString(padded)[from:to])
		}
	}
	return parts
}
