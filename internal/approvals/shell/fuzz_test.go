package shell

import (
	"strings"
	"testing"

	"signoff/internal/domain"
)

// FuzzParse: nothing panics; and a clear line hides nothing behind it: whatever is appended to it is still a command of
// its own, and denied. Whatever the line is, the work is bounded, as the memory shows that it takes.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"bypass.txt", "harmless.txt", "catastrophes.txt"} {
		for i, line := range lines(f, name) {
			if i%10 == 0 {
				f.Add(line)
			}
		}
	}
	for _, line := range growing {
		f.Add(line(3))
		f.Add(line(60))
	}
	policy := compiled(f, Example)
	f.Fuzz(func(t *testing.T, line string) {
		script, verdict, memory := judged(t, policy, line)
		if memory > maxMemory || over(script) && (verdict.Action == domain.Allow || script.Catastrophe() == "") {
			t.Errorf("%q: %d MB, and is %q", line, memory>>20, verdict.Action)
		}
		if len(script.Unclear) > 0 {
			if verdict.Action == domain.Allow {
				t.Errorf("allowed, though unclear: %q", line)
			}
			return
		}
		for _, tail := range []string{"\nrm -rf x", "\n( rm -rf x )", "\ntrue && rm -rf x"} {
			longer := line + tail
			if got := policy.Judge(t.Context(), Parse(t.Context(), longer), longer); got.Action != domain.Deny {
				t.Errorf("%q is %s\n%+v", longer, got.Action, got.Findings)
			}
		}
		for _, c := range script.Commands {
			if len(c.Words) == 0 || c.Words[0] == "" || strings.Join(c.Words, " ") != c.Text {
				t.Errorf("%q has the command %+v", line, c)
			}
		}
	})
}
