package contract

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func FuzzParseJSON(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.5e-3,true,null,"\u00e9\ud83d\ude00"]}`, `{"a":1,"a":2}`, `"\ud800"`, `"\udc00\ud800"`, "\xef\xbb\xbf{}", "{}x", "[[[[", `"\ufffd"`,
		"\xff", `{"a":"\u0000"}`, `-0`, `01`, `1e999`, ` `, `{"a"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		value, err := ParseJSON(body)
		if err != nil {
			return
		}
		if !json.Valid(body) || !utf8.Valid(body) {
			t.Errorf("taken, but not JSON: %q", body)
		}
		encoded, err := json.Marshal(value)
		if err != nil || bytes.Contains(encoded, []byte(`\ufffd`)) && !bytes.Contains(body, []byte("\ufffd")) && !bytes.Contains(bytes.ToLower(body), []byte(`\ufffd`)) {
			t.Errorf("%q became %s (%v)", body, encoded, err)
		}
	})
}
