package secrets

import (
	"strings"
	"testing"
)

// TestADumpIsReadWithinItsBudget: the text is written by those who are being watched, so what one place of it costs must not grow with it.
func TestADumpIsReadWithinItsBudget(t *testing.T) {
	value := strings.Repeat("a", 60) + "b"
	for name, text := range map[string]string{
		"bytes": strings.Repeat("61", 2000), "one a row": strings.Repeat("61\n", 2000), "blanks": strings.Repeat("61  ", 2000),
		"columns": strings.Repeat("61 61 "+strings.Repeat("x", 100)+"\n", 200), "offsets": strings.Repeat("61616161 61\n", 500),
	} {
		for _, d := range dumps(value) {
			r := dumpReader{text: []byte(text), whole: true, dump: d, budget: budgetOf(d)}
			if _, fits := r.read(0, 0); fits || r.budget < -2*mostColumn-2*len(d) {
				t.Errorf("%s: %d bytes were looked at beyond the budget", name, -r.budget)
			}
		}
	}
}

// Dumped is what the masker finds at i, for the tests of the package from outside.
func (m *Masker) Dumped(text []byte, i int, end bool) (to int, cut bool) {
	return m.known().dumped(text, i, end)
}

// DumpedPlainly reads every dump of the values at i, without the index.
func DumpedPlainly(values []string, text []byte, i int, end bool) (to int, cut bool) {
	for _, value := range values {
		for _, d := range dumps(value) {
			if i+1 == len(text) {
				cut = cut || !end && hexDigit(text[i]) == int8(d[0]>>4)
				continue
			}
			last, open := d.read(text, i, end)
			to, cut = max(to, last), cut || open
		}
	}
	return to, cut
}
