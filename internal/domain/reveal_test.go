package domain_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
)

var update = flag.Bool("update", false, "write what is, as what should be")

// revealed is what the console's own reveal is tested with.
const revealed = "../../test/console/unit/reveal.json"

// The page of a link and the console show the same calls. A character that only one of them marks is one that somebody can hide
// from those who look at the other.
func TestTheConsoleMarksTheSameCharacters(t *testing.T) {
	got := table{Unseen: marked(), Samples: map[string]string{}}
	for _, sample := range []string{"df -h", "a\u202etxt.exe", "r\u200bm", "\x1b[31mred", "tab\there", "l\u00f6ve \U0001f600", "\u3164\U000e0041"} {
		got.Samples[sample] = domain.Reveal(sample)
	}
	if *update {
		document, err := json.MarshalIndent(got, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(revealed, append(document, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	document, err := os.ReadFile(revealed)
	if err != nil {
		t.Fatal(err)
	}
	var wanted table
	if err := json.Unmarshal(document, &wanted); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("go test ./internal/domain -run Console -update, and make the console's reveal.js agree:\n%s", diff)
	}
}

type table struct {
	Unseen  []string          `json:"unseen"` // first-last, of assigned characters: which are assigned, every browser knows on its own
	Samples map[string]string `json:"samples"`
}

func marked() []string {
	var spans []string
	first, last := rune(-1), rune(-1)
	for r := rune(0); r <= unicode.MaxRune+1; r++ {
		switch unseen := assigned(r) && strings.HasPrefix(domain.Reveal(string(r)), "⟨U+"); {
		case unseen && first < 0:
			first = r
		case !unseen && first >= 0:
			spans, first = append(spans, fmt.Sprintf("%04X-%04X", first, last)), -1
		}
		last = r
	}
	return spans
}

func assigned(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.Cc, unicode.Cf, unicode.Co)
}
