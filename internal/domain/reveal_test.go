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
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"signoff/internal/domain"
)

var update = flag.Bool("update", false, "write what is, as what should be")

// revealed is what the console's own reveal is tested with.
const revealed = "../../test/console/unit/reveal.json"

// The page of a link and the console show the same calls. A character that only one of them marks is one that somebody can hide
// from those who look at the other.
func TestTheConsoleMarksTheSameCharacters(t *testing.T) {
	got := table{
		Unseen: marked(domain.ShowUnseen), Suspects: marked(domain.Reveal), Samples: map[string]string{}, Calls: map[string]string{},
	}
	for _, sample := range []string{"df -h", "a\u202etxt.exe", "r\u200bm", "\x1b[31mred", "tab\there", "l\u00f6ve \U0001f600", "\u3164\U000e0041"} {
		got.Samples[sample] = domain.ShowUnseen(sample)
	}
	for _, sample := range suspects {
		got.Calls[sample] = domain.Reveal(sample)
	}
	if *update {
		document, err := json.MarshalIndent(got, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(revealed, append(document, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(module, moduleOf(t), 0o600); err != nil {
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

// TestTheConsoleHasTheTable: the module is written from the table that the server has.
func TestTheConsoleHasTheTable(t *testing.T) {
	content, err := os.ReadFile(module)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(moduleOf(t)), string(content)); diff != "" {
		t.Errorf("go test ./internal/domain -run Console -update:\n%s", diff)
	}
}

// suspects are texts that somebody who decides must not read as something else.
var suspects = []string{
	"df -h", "сat /etc/passwd", "cаt", "/еtс", "сору", "ѕудо rm", "ls； rm", "ls；rm", "ls;rm", "https://good.example∕.evil.example", "𝐫𝐦 -rf /",
	"ｒｍ", "ﬁnd .", "rm −rf", "привет, мир", "файл1.txt", "мама/сор", "你好；再见", "你好；rm", "café ñandú", "don’t — “do” that…",
	"rm אבג 123", "echo مرحبا", "a\u202e\u05d0", "с\u200bat", "\u212a", "x×y", "æ", "", "\n", "с\nat", "αβγ", "αpp",
	"rm –rf", "rm —rf", "cat –", "– a – b\n– c", "1–2", "ⓡⓜ -rf", "🅁🄼", "⒭m", "ʀᴍ -rf", "ʳᵐ", "km²", "r̶m", "r\u20ddm", "п\u0336", "Cafe\u0301 n\u0303", "\u200b– a", "a–\u05d0",
}

func TestReveal(t *testing.T) {
	for text, want := range map[string]string{
		"сat x":          "⟨U+0441⟩at x",
		"ls；rm":          "ls⟨U+FF1B⟩rm",
		"ls\u037erm":     "ls⟨U+037E⟩rm",
		"/bin∕sh":        "/bin⟨U+2215⟩sh",
		"𝐫𝐦 -rf":         "⟨U+1D42B⟩⟨U+1D426⟩ -rf",
		"сосо":           "⟨U+0441⟩⟨U+043E⟩⟨U+0441⟩⟨U+043E⟩",
		"привет, сосед":  "привет, сосед",
		"я.сс":           "я.⟨U+0441⟩⟨U+0441⟩",
		"rm \u05d0 1":    "rm ⟨U+05D0⟩ 1",
		"\u0661\u0627":   "⟨U+0661⟩⟨U+0627⟩",
		"a\u202eb":       "a⟨U+202E⟩b",
		"Zoë 李\nb":       "Zoë 李\nb",
		"rm –rf /":       "rm ⟨U+2013⟩rf /",
		"rm —rf —-x":     "rm ⟨U+2014⟩rf ⟨U+2014⟩-x",
		"kill ‒9 ―1":     "kill ⟨U+2012⟩9 ⟨U+2015⟩1",
		"that – is":      "that – is",
		"so —\nthat":     "so —\nthat",
		"cat –":          "cat ⟨U+2013⟩",
		"мама–папа":      "мама–папа",
		"ⓡm 🅡m 🆁m ⒭m":    "⟨U+24E1⟩m ⟨U+1F161⟩m ⟨U+1F181⟩m ⟨U+24AD⟩m",
		"🅁🄼 -rf":         "⟨U+1F141⟩⟨U+1F13C⟩ -rf",
		"ʀᴍ -rf":         "⟨U+0280⟩⟨U+1D0D⟩ -rf",
		"ʳᵐ ⁻⁹ x²":       "⟨U+02B3⟩⟨U+1D50⟩ ⟨U+207B⟩⟨U+2079⟩ x⟨U+00B2⟩",
		"r\u0336m\u0336": "r⟨U+0336⟩m⟨U+0336⟩",
		"rm\u20dd":       "rm⟨U+20DD⟩",
		"Cafe\u0301 Việt Nam, nên e\u0323\u0302, ñandú, Łódź, ağaç, Ærø, straße 1º … ™": "Cafe\u0301 Việt Nam, nên e\u0323\u0302, ñandú, Łódź, ağaç, Ærø, straße 1º … ™",
		"サーバー 第一": "サーバー 第一",
	} {
		if got := domain.Reveal(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	if text := "сat \u05d0 привет"; domain.ShowUnseen(text) != text {
		t.Error("a model that lists a folder gets names that it cannot use")
	}
}

// TestWhatNormalizesToASCIIIsMarked: of the characters that Unicode takes for variants of printed ASCII characters, those stay that stand in
// ordinary texts or are drawn wide.
func TestWhatNormalizesToASCIIIsMarked(t *testing.T) {
	stay := map[rune]bool{'ª': true, 'º': true, '™': true, '℠': true, '…': true, '‥': true, '№': true, '㉐': true}
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		variant := norm.NFKC.String(string(r))
		plain := !strings.ContainsFunc(variant, func(c rune) bool { return c <= ' ' || c > '~' })
		isMarked := strings.Contains(domain.Reveal("a"+string(r)), "⟨")
		isDash, isUnit := unicode.Is(unicode.Pd, r) && r >= 0x80, r >= 0x32CC && r <= 0x33FF
		if assigned(r) && (plain || isDash) && !isUnit && isMarked == stay[r] {
			t.Errorf("%U %q, a variant of %q: marked is %v", r, r, variant, isMarked)
		}
	}
}

// What a person reads in place of the look-alikes has none left, however they are mixed.
func TestNoLookAlikeStaysBesideASCII(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"a", "с", "о", "п", "；", "∕", "\u05d0", "\u202e", " ", "/", "1", "李"})).Draw(t, "text"), "")
		shown := domain.Reveal(text)
		for word := range strings.FieldsFuncSeq(shown, func(r rune) bool { return strings.ContainsRune(" /⟨⟩+", r) }) {
			if strings.Contains(word, "a") && strings.ContainsAny(word, "со；∕") || strings.Contains(word, "\u05d0") {
				t.Errorf("%q became %q", text, shown)
			}
		}
	})
}

type table struct {
	Unseen   []string          `json:"unseen"`   // first-last, of assigned characters: which are assigned, every browser knows on its own
	Suspects []string          `json:"suspects"` // the same of those that are marked in what somebody decides on
	Samples  map[string]string `json:"samples"`
	Calls    map[string]string `json:"calls"`
}

// module is the console's own copy of what is marked beside the unseen.
const module = "../console/web/lookalikes.js"

func moduleOf(t *testing.T) []byte {
	t.Helper()
	content, err := os.ReadFile("lookalikes.txt")
	if err != nil {
		t.Fatal(err)
	}
	var alike strings.Builder
	for line := range strings.Lines(string(content)) {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		alike.WriteString("  \"")
		for _, span := range strings.Fields(line) {
			first, last, isSpan := strings.Cut(span, "-")
			fmt.Fprintf(&alike, `\\u{%s}`, first)
			if isSpan {
				fmt.Fprintf(&alike, `-\\u{%s}`, last)
			}
		}
		alike.WriteString("\",\n")
	}
	return []byte(`// What a person takes for ASCII, as the inside of a class of a pattern. It is written from internal/domain/lookalikes.txt, which tells more:
// go test ./internal/domain -run Console -update

export const lookAlikes = [
` + alike.String() + `].join("");
`)
}

// marked are the spans of what is marked alone.
func marked(show func(string) string) []string {
	var spans []string
	first, last := rune(-1), rune(-1)
	for r := rune(0); r <= unicode.MaxRune+1; r++ {
		switch unseen := assigned(r) && strings.HasPrefix(show(string(r)), "⟨U+"); {
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
