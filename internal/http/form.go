package http

import (
	"net/url"
	"unicode/utf8"
)

const typeForm = "application/x-www-form-urlencoded"

// parseForm reads a form as the document speaks of it: an object of strings. A name that comes twice would be read by two readers in
// two ways.
func parseForm(data []byte) (any, error) {
	values, err := url.ParseQuery(string(data))
	if err != nil {
		return nil, malformed("The form cannot be read.")
	}
	fields := make(map[string]any, len(values))
	for name, all := range values {
		if len(all) != 1 || !utf8.ValidString(name) || !utf8.ValidString(all[0]) {
			return nil, malformed("A field of the form comes twice, or is not text in UTF-8.")
		}
		fields[name] = all[0]
	}
	return fields, nil
}
