package domain_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"signoff/internal/domain"
)

func TestHarmless(t *testing.T) {
	for text, wanted := range map[string]string{
		"a\tb\r\nc":                  "a\tb\r\nc",
		"\x1b[31mred\x1b[0m":         "␛[31mred␛[0m",
		"a\x00b\x07\x7f":             "a␀b␇␡",
		"8-bit \u009b31m \u0085":     "8-bit \uFFFD31m \uFFFD",
		"\x1b]8;;http://x\x07link":   "␛]8;;http://x␇link",
		"äöü € \u00a0 日本 👍 \u202e ␛": "äöü € \u00a0 日本 👍 \u202e ␛",
		"": "",
	} {
		if got := domain.Harmless(text); got != wanted {
			t.Errorf("%q is %q, want %q", text, got, wanted)
		}
	}
}

func FuzzHarmless(f *testing.F) {
	f.Add("a\x1b[0m\u009b\x00")
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "\uFFFD")
		harmless := domain.Harmless(text)
		if strings.ContainsFunc(harmless, func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\n\r\t", r) }) {
			t.Errorf("%q is not harmless", harmless)
		}
		if domain.Harmless(harmless) != harmless || utf8.RuneCountInString(harmless) != utf8.RuneCountInString(text) {
			t.Errorf("%q became %q", text, harmless)
		}
	})
}
