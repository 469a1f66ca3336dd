package acp

import (
	"io"
	"os"
	"strings"
	"testing"

	"signoff/internal/domain"
)

// TestAgentWithoutOutputIsKilled: it lives, and nothing can come of it.
func TestAgentWithoutOutputIsKilled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.launch.Process.Argv = []string{"/bin/sh", "-c", "exec 1>&-; exec sleep 60"}
	message := r.fails(r.tryOpen(), domain.CodeAgentExited)
	want(t, "message", message, "The agent's process was killed, because it had closed its output and did not end.")
}

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
	want(t, "last", told[len(told)-1], "rest")
	want(t, "lines", strings.Join(told[:len(told)-1], ""), "sk-secret\n")
	told, kept := pieces(t, strings.Repeat("0123456789abcde\n", 64<<10))
	want(t, "told in all", len(strings.Join(told, "")), stderrKept)
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
	words := (&program{stderr: kept}).lastWords(masking("words"))
	if len(words) > lastWords+10 || !strings.HasPrefix(words, "…\na line of ***\n") || !strings.HasSuffix(words, "a line of ***") {
		t.Errorf("the last words are %d bytes: %.50q", len(words), words)
	}
}
