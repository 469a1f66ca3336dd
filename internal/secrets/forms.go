package secrets

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

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
