package stdio

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
)

// pieces reads what is written to a standard error, and returns what was told of it.
func pieces(t testing.TB, writes ...string) (told []string, kept *stderr) {
	t.Helper()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	kept = newStderr(out, func(text []byte) { told = append(told, string(text)) })
	for _, text := range writes {
		if _, err := io.WriteString(in, text); err != nil {
			t.Fatal(err)
		}
	}
	in.Close()
	<-kept.drained
	return told, kept
}

// TestStandardErrorIsToldByLines: a secret that comes in two writes is one when it is hidden.
func TestStandardErrorIsToldByLines(t *testing.T) {
	told, _ := pieces(t, "sk-se", "cret\nrest")
	if got := told[len(told)-1]; got != "rest" {
		t.Errorf("last: %v", got)
	}
	if got := strings.Join(told[:len(told)-1], ""); got != "sk-secret\n" {
		t.Errorf("lines: %v", got)
	}
	told, kept := pieces(t, strings.Repeat("0123456789abcde\n", 64<<10))
	if got := len(strings.Join(told, "")); got != stderrKept {
		t.Errorf("told in all: %v", got)
	}
	if n := len(kept.text()); n < stderrKept || n > stderrKept*5/4 {
		t.Errorf("%d bytes are kept", n)
	}
	told, _ = pieces(t, strings.Repeat("x", 100<<10))
	if len(told) < 2 {
		t.Error("a line without an end is held back")
	}
}

func TestLastWordsAreLines(t *testing.T) {
	_, kept := pieces(t, strings.Repeat("a line of words\n", 1000))
	words := (&Program{stderr: kept}).lastWords(func(text []byte) []byte { return bytes.ReplaceAll(text, []byte("words"), []byte("***")) })
	if len(words) > lastWords+10 || !strings.HasPrefix(words, "…\na line of ***\n") || !strings.HasSuffix(words, "a line of ***") {
		t.Errorf("the last words are %d bytes: %.50q", len(words), words)
	}
}
