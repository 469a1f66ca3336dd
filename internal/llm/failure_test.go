package llm

import (
	"strings"
	"testing"
)

func TestShorten(t *testing.T) {
	const secret = "correct horse"
	tests := []struct{ name, in, want string }{
		{"plain", "The model is overloaded.", "The model is overloaded."},
		{"own key", "The key correct horse is wrong.", "The key [key] is wrong."},
		{"half a key", "Incorrect API key provided: sk-proj-ab********xyz.", "Incorrect API key provided: [key]"},
		{"header", "Got Authorization: Bearer abcdefgh12345", "Got Authorization: [key]"},
		{"address", "See https://vendor.test/keys?x=1, or HTTP://10.0.0.1/", "See [address] or [address]"},
		{"lines", "one\r\n\ttwo\u2028three\u202efour\x00", "one two threefour"},
		{"long", strings.Repeat("ä", 400), strings.Repeat("ä", 299) + "…"},
	}
	for _, test := range tests {
		if got := shorten(test.in, secret); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
	if got := shorten("anything", ""); got != "anything" {
		t.Errorf("without a key: %q", got)
	}
}
