package contract

import (
	"net/url"
	"unicode/utf8"

	"signoff/internal/domain"
)

// jsonOfForm converts a form to JSON, an object of strings, as the document describes it. It refuses a repeated name, which two readers could
// read in two ways.
func jsonOfForm(data []byte) ([]byte, error) {
	values, err := url.ParseQuery(string(data))
	if err != nil {
		return nil, malformed("The form cannot be read.")
	}
	fields := make(map[string]string, len(values))
	for name, all := range values {
		if len(all) != 1 || !utf8.ValidString(name) || !utf8.ValidString(all[0]) {
			return nil, malformed("A field of the form comes twice, or is not text in UTF-8.")
		}
		fields[name] = all[0]
	}
	return domain.Encode(fields), nil
}
