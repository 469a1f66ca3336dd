package jcs

import "testing"

func TestCanonical(t *testing.T) {
	for document, want := range map[string]string{
		`{"b": 1, "a": {"d": [1.0, "\u0041"], "c": null}}`: `{"a":{"c":null,"d":[1,"A"]},"b":1}`,
		`1e3`:                `1000`,
		`9007199254740993`:   "", // its float64 is …992
		`{"a": 1, "a": 2}`:   "",
		`1e-999999`:          "",
		`{"a": 1`:            "",
		`9007199254740992`:   `9007199254740992`,
		"\"\\ud83d\\ude00\"": `"😀"`,
	} {
		got, err := Canonical([]byte(document))
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%s: %s, %v", document, got, err)
		}
	}
}
