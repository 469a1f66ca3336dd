package secrets

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"

	"signoff/internal/domain"
)

// forms are the ways in which a text may hold value. Space around it is no part of it: a file ends its secret with a
// line break, a header does not.
func forms(value string) []string {
	value = strings.TrimSpace(value)
	if len(value) < MinLength {
		return nil
	}
	inHex := hex.EncodeToString([]byte(value))
	all := slices.Concat([]string{value}, inURLs(value), inJSON(value), inHTML(value), inBase64(value), byLine(value), []string{inHex, strings.ToUpper(inHex)})
	return slices.DeleteFunc(all, func(form string) bool {
		return len(form) < MinLength || strings.Contains(Masked, form) // masked text must not change when it is masked again
	})
}

// inURLs knows how Go, Python and JavaScript escape, which differ in spaces, slashes and quotes.
func inURLs(value string) (all []string) {
	query := url.QueryEscape(value)
	python := strings.ReplaceAll(query, "+", "%20")
	script := strings.NewReplacer("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").Replace(python)
	for _, form := range []string{query, url.PathEscape(value), python, strings.ReplaceAll(python, "%2F", "/"), script} {
		all = append(all, form, percentCode.ReplaceAllStringFunc(form, strings.ToLower))
	}
	return all
}

var percentCode = regexp.MustCompile(`%[0-9A-F]{2}`)

// inJSON is how value stands within a JSON string, and how that stands in a string again: an error that quotes a body
// does it. Go's encoder escapes <, > and & as well, and Python's all that is not ASCII; nobody escapes plain letters.
func inJSON(value string) (all []string) {
	for _, once := range []string{escaped(value, true), escaped(value, false), ascii(value, `\u%04x`), ascii(value, `\u%04X`)} {
		all = append(all, once, escaped(once, false))
	}
	return all
}

func escaped(value string, html bool) string {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(html)
	if encoder.Encode(value) != nil {
		return ""
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(buffer.String()), `"`), `"`)
}

func ascii(value, escape string) string {
	var all strings.Builder
	for _, r := range escaped(value, false) {
		if r < 0x80 {
			all.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&all, escape, unit)
		}
	}
	return all.String()
}

// inHTML knows how Go, Python, PHP and XML write quotes.
func inHTML(value string) (all []string) {
	plain := html.EscapeString(value)
	for _, quotes := range [][2]string{{"&#34;", "&#39;"}, {"&quot;", "&#x27;"}, {"&quot;", "&#39;"}, {"&quot;", "&apos;"}} {
		all = append(all, strings.NewReplacer("&#34;", quotes[0], "&#39;", quotes[1]).Replace(plain))
	}
	return all
}

// inBase64 counts in the line break that `echo $KEY | base64` encodes, and those that it makes.
func inBase64(value string) (all []string) {
	encodings := []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding}
	for _, encoding := range encodings {
		for _, raw := range []string{value, value + "\n"} {
			all = append(all, encoding.EncodeToString([]byte(raw)))
		}
	}
	for _, width := range []int{64, 76} {
		for _, encoded := range all[:2] {
			all = append(all, wrapped(encoded, width)...)
		}
	}
	return append(all, shifted([]byte(value))...)
}

// wrapped are the lines of a text that has no line breaks of its own.
func wrapped(text string, width int) (lines []string) {
	for len(text) > width {
		lines, text = append(lines, text[:width]), text[width:]
	}
	if len(lines) > 0 && len(text) >= longLine {
		lines = append(lines, text)
	}
	return lines
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

// byLine is a value of several lines as it may be printed, line by line.
func byLine(value string) (all []string) {
	for line := range strings.Lines(value) {
		if line = strings.TrimSpace(line); len(line) >= longLine && line != value {
			all = append(all, line)
		}
	}
	return all
}

// longLine is the length from which a line of a value tells something of it; a PEM key's lines have 64.
const longLine = 24

// MinLength is how long a value must be to be looked for, in bytes.
const MinLength = 6

// Masked stands where a secret was.
const Masked = domain.Masked
