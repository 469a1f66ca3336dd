package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
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

func TestWhatIsNotStrictJSONIsRefusedWhereItIs(t *testing.T) {
	nested := func(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }
	for body, want := range map[string]struct {
		code    domain.Code
		pointer string
	}{
		`{"a":[{"b":1,"b":2}]}`:          {domain.CodeMalformed, "/a/0/b"},
		`{"a":1,"\u0061":2}`:             {domain.CodeMalformed, "/a"},
		`{"outputsFrom":{"a":1,"a":2}}`:  {domain.CodeInvalid, "/outputsFrom/a"},
		`{"a/~":{"x":1,"x":1}}`:          {domain.CodeMalformed, "/a~1~0/x"},
		`{"a":["x","\u0000"]}`:           {domain.CodeInvalid, "/a/1"},
		`{"a":{"n\u0000":1}}`:            {domain.CodeInvalid, "/a"},
		`"\ud800"`:                       {domain.CodeMalformed, ""},
		`"\udc00\ud800"`:                 {domain.CodeMalformed, ""},
		"\"\xed\xa0\x80\"":               {domain.CodeMalformed, ""},
		"\xef\xbb\xbf{}":                 {domain.CodeMalformed, ""},
		nested(domain.MaxDepth + 1):      {domain.CodeMalformed, ""},
		strings.Repeat("[", 100_000):     {domain.CodeMalformed, ""},
		strings.Repeat(`{"a":`, 100_000): {domain.CodeMalformed, ""},
		`{} {}`:                          {domain.CodeMalformed, ""},
		`{},`:                            {domain.CodeMalformed, ""},
		`[1,]`:                           {domain.CodeMalformed, ""},
		`{"a":1,}`:                       {domain.CodeMalformed, ""},
		`{1:2}`:                          {domain.CodeMalformed, ""},
		`01`:                             {domain.CodeMalformed, ""},
		`NaN`:                            {domain.CodeMalformed, ""},
		`'a'`:                            {domain.CodeMalformed, ""},
		``:                               {domain.CodeMalformed, ""},
		`{"a":1 // why` + "\n}":          {domain.CodeMalformed, ""},
	} {
		_, err := ParseJSON([]byte(body))
		var coded *domain.Error
		if !errors.As(err, &coded) || coded.Code != want.code {
			t.Errorf("%.40q: %v", body, err)
			continue
		}
		if want.pointer != "" && (len(coded.Details) != 1 || coded.Details[0].Pointer != want.pointer) {
			t.Errorf("%.40q: %+v", body, coded.Details)
		}
	}
	value, err := ParseJSON([]byte(nested(domain.MaxDepth)))
	if err != nil || value == nil {
		t.Errorf("%d levels: %v", domain.MaxDepth, err)
	}
	got, err := ParseJSON([]byte(` {"big":123456789012345678901234567890,"exact":1.50e+3,"t":true,"n":null,"s":"\ud83d\ude00<","l":[]} `))
	want := map[string]any{
		"big": json.Number("123456789012345678901234567890"), "exact": json.Number("1.50e+3"), "t": true, "n": nil, "s": "😀<", "l": []any{},
	}
	if diff := cmp.Diff(any(want), got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}
