package provider

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"signoff/internal/domain"
)

// An entry may add fields to the body of each request to its model, and headers, as some gateways want them. None of them may change what is asked,
// who asks or how the answer comes: the conversation would be another one than the log has, or the key would be sent past its masking.

// ownFields are the fields of bodies that are not the operator's, without their underscores.
var ownFields = []string{
	"model", "models", "messages", "input", "instructions", "system", "prompt", "previousresponseid", "conversation",
	"tools", "toolchoice", "functions", "functioncall", "stream", "streamoptions", "store", "include", "background", "n",
	"apikey", "authorization", "accesstoken", "password", "secret", "credentials",
}

// ownHeaders are the headers that are not the operator's.
var ownHeaders = []string{
	"Authorization", "Proxy-Authorization", "Api-Key", "X-Api-Key", "X-Goog-Api-Key", "Cookie", "Anthropic-Version",
	"Host", "Content-Type", "Content-Length", "Content-Encoding", "Accept", "Accept-Encoding",
	"Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Te", "Trailer", "Upgrade", "Expect",
}

var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// CheckExtra returns the first mistake in the fields and headers that the entry adds.
func CheckExtra(m Model) error {
	for _, name := range slices.Sorted(maps.Keys(m.ExtraBody)) {
		if slices.Contains(ownFields, plainName(name)) {
			return domain.Invalid(m.Pointer("extraBody")+domain.Pointer(name), "the field %s of requests to model %q is the server's own, and cannot be set", name, m.Name)
		}
	}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(m.ExtraHeaders)) {
		pointer, known := m.Pointer("extraHeaders")+domain.Pointer(name), http.CanonicalHeaderKey(name)
		switch {
		case !headerName.MatchString(name):
			return domain.Invalid(pointer, "model %q has an extra header whose name is not valid: use letters, digits and hyphens", m.Name)
		case slices.Contains(ownHeaders, known):
			return domain.Invalid(pointer, "the header %s of requests to model %q is the server's own, and cannot be set", known, m.Name)
		case seen[known]:
			return domain.Invalid(pointer, "model %q has the extra header %s twice", m.Name, known)
		case strings.ContainsFunc(m.ExtraHeaders[name], unicode.IsControl):
			return domain.Invalid(pointer, "the value of the extra header %s of model %q has a line break or another control character; remove it", known, m.Name)
		}
		seen[known] = true
	}
	return nil
}

// plainName is a name of a field in lower case, as letters and digits alone: a server that takes api_key may take apiKey.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// AddHeaders adds the entry's headers.
func (m Model) AddHeaders(to http.Header) {
	for name, value := range m.ExtraHeaders {
		to.Set(name, value)
	}
}

// AddFields adds the entry's fields to the body of a request, except for those that the body has already: the request has precedence. It copies no body:
// one with files has many megabytes.
func (m Model) AddFields(body []byte) []byte {
	if len(m.ExtraBody) == 0 {
		return body
	}
	missing := slices.DeleteFunc(slices.Sorted(maps.Keys(m.ExtraBody)), func(name string) bool {
		return gjson.GetBytes(body, gjson.Escape(name)).Exists()
	})
	body = bytes.TrimSuffix(bytes.TrimSpace(body), []byte("}"))
	for _, name := range missing {
		body = fmt.Appendf(body, ",%s:%s", domain.Encode(name), m.ExtraBody[name])
	}
	return append(body, '}')
}

// leastHidden is the length from which on an added value is hidden: a shorter one, such as "true", stands in many messages.
const leastHidden = 6

// Hiding returns a masker for what the vendor says of a failure, which also hides the values that the entry adds: a gateway may quote them.
func (m Model) Hiding(next Masker) Masker {
	var values []string
	for _, value := range m.ExtraHeaders {
		_, credential, _ := strings.Cut(value, " ") // of "Bearer …"
		values = append(values, value, credential)
	}
	for _, field := range m.ExtraBody {
		values = append(values, texts(gjson.ParseBytes(field))...)
	}
	values = slices.DeleteFunc(values, func(value string) bool { return len(value) < leastHidden })
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) }) // a longer one may begin with a shorter one
	var pairs []string
	for _, value := range values {
		pairs = append(pairs, value, "[masked]")
	}
	return hiding{next, strings.NewReplacer(pairs...)}
}

// hiding hides the values of one entry.
type hiding struct {
	Masker
	values *strings.Replacer
}

// MaskString implements [Masker].
func (h hiding) MaskString(text string) string { return h.Masker.MaskString(h.values.Replace(text)) }

// texts are the strings of a document, without its names.
func texts(of gjson.Result) (found []string) {
	if of.Type == gjson.String {
		return []string{of.Str}
	}
	if of.IsObject() || of.IsArray() {
		of.ForEach(func(_, element gjson.Result) bool {
			found = append(found, texts(element)...)
			return true
		})
	}
	return found
}
