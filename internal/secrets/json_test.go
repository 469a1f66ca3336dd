package secrets_test

import (
	"encoding/json"
	"strings"
	"testing"

	"signoff/internal/secrets"
)

func TestJSONStaysJSON(t *testing.T) {
	masker := secrets.NewMasker("my \"quoted\"\nvalue", "12345678", `open","next":"spans`, "grüße-geheim", `ends-with-\`, "true,false", "key-of-a-member", "another-member")
	for text, want := range map[string]string{
		`{"a":"nothing","b":[1,true,null,-1.5e3]}`:                          `{"a":"nothing","b":[1,true,null,-1.5e3]}`,
		`{"a": "x my \"quoted\"\nvalue y"}`:                                 `{"a": "x [masked] y"}`,
		`{"a":"my \u0022quoted\u0022\u000avalue"}`:                          `{"a":"[masked]"}`,
		`{"a":12345678,"b":[ 12345678 ]}`:                                   `{"a":12345678,"b":[ 12345678 ]}`,
		`{"a":"open","next":"spans"}`:                                       `{"a":"open","next":"spans"}`,
		`{"a":"gr\u00fc\u00DFe-geheim"}`:                                    `{"a":"[masked]"}`,
		`{"a":"\u0041KIAIOSFODNN7EXAMPLE"}`:                                 `{"a":"[masked]"}`,
		`{"a":"ends-with-\\","b":"c"}`:                                      `{"a":"[masked]","b":"c"}`,
		`[true,false]`:                                                      `[true,false]`,
		`{"key-of-a-member":1,"another-member" : 2,"x":"another-member"}`:   `{"[masked]":1,"[masked] 2" : 2,"x":"[masked]"}`,
		`{"a":"-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0123","b":"c"}`: `{"a":"[masked]","b":"c"}`,
		`{"a":"Bearer ","b":"abcdefghijkl12345"}`:                           `{"a":"Bearer ","b":"abcdefghijkl12345"}`,
		`"https:\/\/me:password@host\/"`:                                    `"https://me:[masked]@host/"`,
		`{"a":"{\"b\":\"my \\\"quoted\\\"\\nvalue\"}"}`:                     `{"a":"{\"b\":\"[masked]\"}"}`,
		`{"a":12345678`:                                                     `"{\"a\":[masked]"`,
		``:                                                                  ``,
		`"`:                                                                 `"\""`,
	} {
		got := string(masker.JSON(json.RawMessage(text)))
		if got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
		if text != "" && !json.Valid([]byte(got)) {
			t.Errorf("%s is no JSON any more", got)
		}
	}
}

// TestMaskKeepsJSONWithinAString also where a private key is cut off before a quote within the string.
func TestMaskKeepsJSONWithinAString(t *testing.T) {
	for _, text := range []string{
		`{"a":"` + openAI + `"}`,
		`{"a":"-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0123"}`,
		`{"a":"{\"b\":\"-----BEGIN PRIVATE KEY-----\\nMIIEpAIBAAKCAQEA0123\"}"}`,
		`{"a":"say \"https://me:password@host\" to"}`,
	} {
		got := (*secrets.Masker)(nil).Mask([]byte(text))
		if !json.Valid(got) || !strings.Contains(string(got), secrets.Masked) {
			t.Errorf("%s became %s", text, got)
		}
	}
}

func TestJSONWithoutSecretsIsTheSame(t *testing.T) {
	raw := json.RawMessage(`{"a" : "b\n", "a": [1, 2.0]}`)
	if got := (*secrets.Masker)(nil).JSON(raw); &got[0] != &raw[0] {
		t.Error("it was copied")
	}
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"a":"value-1\n\u0041","b":[12345678]}`), "12345678", `1\n`)
	f.Add([]byte(`"`), "value-1", `\",\"`)
	f.Fuzz(func(t *testing.T, raw []byte, one, two string) {
		got := secrets.NewMasker(one, two).JSON(raw)
		if len(raw) > 0 && !json.Valid(got) {
			t.Errorf("%q became %q", raw, got)
		}
	})
}
