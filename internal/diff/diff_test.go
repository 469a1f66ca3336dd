package diff

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var unlimited = Limits{Bytes: math.MaxInt, Lines: math.MaxInt}

// A diff is right where another program makes the new text of the old one with it, and good where no shorter one would do.
func TestDiffsLeadFromOneTextToTheOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, current := drawLines(t, "old"), drawLines(t, "current")
		before, after := strings.Join(old, ""), strings.Join(current, "")
		compared := Files([]byte(before), []byte(after), unlimited)
		if made := applied(t, compared, before); made != after {
			t.Fatalf("the diff makes %q of %q, not %q:\n%s", made, before, after, compared.Unified("f", "f"))
		}
		if shortest := len(old) + len(current) - 2*common(old, current); compared.Additions+compared.Deletions != shortest {
			t.Errorf("+%d -%d, and %d would do", compared.Additions, compared.Deletions, shortest)
		}
		sameHunks(t, compared)
		if compared.Truncated || compared.Binary {
			t.Errorf("%+v", compared)
		}
	})
}

// A truncated diff is the beginning of the whole one.
func TestLinesBeyondTheLimitAreCountedOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := strings.Join(drawLines(t, "old"), ""), strings.Join(drawLines(t, "current"), "")
		whole := Files([]byte(before), []byte(after), unlimited)
		limit := rapid.IntRange(0, 40).Draw(t, "limit")
		cut := Files([]byte(before), []byte(after), Limits{Bytes: math.MaxInt, Lines: limit})
		if cut.Additions != whole.Additions || cut.Deletions != whole.Deletions {
			t.Errorf("+%d -%d, and +%d -%d without a limit", cut.Additions, cut.Deletions, whole.Additions, whole.Deletions)
		}
		if cut.Truncated != (len(allLines(whole)) > limit) {
			t.Errorf("truncated: %v, with %d lines and a limit of %d", cut.Truncated, len(allLines(whole)), limit)
		}
		shown := allLines(cut)
		if len(shown) > limit || !slices.Equal(shown, allLines(whole)[:len(shown)]) {
			t.Errorf("%+v is no beginning of %+v", shown, allLines(whole))
		}
		sameHunks(t, cut)
	})
}

func TestFilesBeyondTheLimitAreCountedOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, current := drawLines(t, "old"), drawLines(t, "current")
		before, after := strings.Join(old, ""), strings.Join(current, "")
		got := Files([]byte(before), []byte(after), Limits{Bytes: max(len(before), len(after)) - 1, Lines: math.MaxInt})
		head, tail := 0, 0
		for head < min(len(old), len(current)) && old[head] == current[head] {
			head++
		}
		for tail < min(len(old), len(current))-head && old[len(old)-1-tail] == current[len(current)-1-tail] {
			tail++
		}
		wanted := Diff{Deletions: len(old) - head - tail, Additions: len(current) - head - tail, Truncated: before != after}
		if !cmp.Equal(got, wanted) {
			t.Errorf("got %+v, wanted %+v", got, wanted)
		}
	})
}

// drawLines draws the lines of a text. Only the last one may lack its line feed.
func drawLines(t *rapid.T, label string) []string {
	lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n", "d\r\n", "aa\n", "-- a\n"}), 0, 30).Draw(t, label)
	if end := rapid.SampledFrom([]string{"", "", "a", "e", "\r"}).Draw(t, label+" end"); end != "" {
		lines = append(lines, end)
	}
	return lines
}

type failing interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// applied returns the text that another program makes of the old one with the unified text.
func applied(t failing, compared Diff, before string) string {
	t.Helper()
	text := compared.Unified("a/f", "b/f")
	if text == "" {
		return before
	}
	files, _, err := gitdiff.Parse(strings.NewReader(text))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d files, %v in\n%s", len(files), err, text)
	}
	var made bytes.Buffer
	if err := gitdiff.Apply(&made, strings.NewReader(before), files[0]); err != nil {
		t.Fatalf("%v for\n%s", err, text)
	}
	return made.String()
}

// sameHunks compares the hunks with those that another program reads in the unified text.
func sameHunks(t failing, compared Diff) {
	t.Helper()
	files, _, err := gitdiff.Parse(strings.NewReader(compared.Unified("a/f", "b/f")))
	if err != nil {
		t.Fatal(err)
	}
	var read []Hunk
	for _, file := range files {
		for _, fragment := range file.TextFragments {
			h := Hunk{int(fragment.OldPosition), int(fragment.OldLines), int(fragment.NewPosition), int(fragment.NewLines), nil}
			for _, line := range fragment.Lines {
				text, ended := strings.CutSuffix(line.Line, "\n")
				h.Lines = append(h.Lines, Line{Op(line.Op.String()[0]), text, !ended})
			}
			read = append(read, h)
		}
	}
	if difference := cmp.Diff(compared.Hunks, read); difference != "" {
		t.Fatalf("the unified text says something else (+) than the hunks (-):\n%s", difference)
	}
}

func allLines(compared Diff) (all []Line) {
	for _, h := range compared.Hunks {
		all = append(all, h.Lines...)
	}
	return all
}

// common is how many lines two texts share in order, found the slow way.
func common(a, b []string) int {
	row := make([]int, len(b)+1)
	for i := range a {
		diagonal := 0
		for j := range b {
			above := row[j+1]
			if a[i] == b[j] {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			diagonal = above
		}
	}
	return row[len(b)]
}

// Lines that are too many to be compared are replaced, between the first and the last difference.
func TestLargeDiffsAreRight(t *testing.T) {
	for name, c := range map[string]struct {
		before, after   string
		excerpts, files [2]int // additions and deletions
	}{
		"many lines": {before: "same\n" + strings.Repeat("a\nb\n", 20_000) + "same\n", after: "same\n" + strings.Repeat("b\nc\n", 5000) + "same\n",
			excerpts: [2]int{10_000, 40_000}, files: [2]int{10_000, 40_000}},
		"many edits": {before: strings.Repeat("a\nb\n", 300), after: strings.Repeat("b\nc\na\nd\n", 300),
			excerpts: [2]int{1200, 600}, files: [2]int{601, 1}},
		"more edits": {before: strings.Repeat("a\nb\n", 1500), after: strings.Repeat("b\nc\na\nd\n", 1500),
			excerpts: [2]int{6000, 3000}, files: [2]int{6000, 3000}},
		"few in many": {before: strings.Repeat("a\n", 9000) + "b\n" + strings.Repeat("c\n", 900), after: "x\n" + strings.Repeat("a\n", 9000) + strings.Repeat("c\n", 900) + "x\n",
			excerpts: [2]int{2, 1}, files: [2]int{2, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, got := range []struct {
				Diff
				wanted [2]int
			}{
				{Excerpts(c.before, c.after), c.excerpts},
				{Files([]byte(c.before), []byte(c.after), unlimited), c.files},
			} {
				if applied(t, got.Diff, c.before) != c.after {
					t.Error("the diff does not make the new text")
				}
				if [2]int{got.Additions, got.Deletions} != got.wanted {
					t.Errorf("+%d -%d, wanted %d", got.Additions, got.Deletions, got.wanted)
				}
			}
		})
	}
}

func TestDiffsAsTheyRead(t *testing.T) {
	old := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	for name, c := range map[string]struct{ before, after, wanted string }{
		"equal":             {"1\n2", "1\n2", ""},
		"from nothing":      {"", "1\n2", "@@ -0,0 +1,2 @@\n+1\n+2\n\\ No newline at end of file\n"},
		"to nothing":        {"1\n2\n", "", "@@ -1,2 +0,0 @@\n-1\n-2\n"},
		"an end more":       {"2", "2\n", "@@ -1,1 +1,1 @@\n-2\n\\ No newline at end of file\n+2\n"},
		"an end less":       {"2\n", "2", "@@ -1,1 +1,1 @@\n-2\n+2\n\\ No newline at end of file\n"},
		"both without end":  {"1\n2", "0\n2", "@@ -1,2 +1,2 @@\n-1\n+0\n 2\n\\ No newline at end of file\n"},
		"other line ends":   {"1\r\n2\r\n", "1\n2\r\n", "@@ -1,2 +1,2 @@\n-1\r\n+1\n 2\r\n"},
		"two places, apart": {old, "0\n2\n3\n4\n5\n6\n7\n8\n9\n11\n", "@@ -1,4 +1,4 @@\n-1\n+0\n 2\n 3\n 4\n@@ -7,4 +7,4 @@\n 7\n 8\n 9\n-10\n+11\n"},
		"two places, near":  {old, "1\n2\n0\n4\n5\n6\n7\n8\n9\n11\n", "@@ -1,10 +1,10 @@\n 1\n 2\n-3\n+0\n 4\n 5\n 6\n 7\n 8\n 9\n-10\n+11\n"},
	} {
		t.Run(name, func(t *testing.T) {
			wanted := c.wanted
			if wanted != "" {
				wanted = "--- a/f\n+++ b/f\n" + wanted
			}
			if got := Files([]byte(c.before), []byte(c.after), unlimited).Unified("a/f", "b/f"); got != wanted {
				t.Errorf("got\n%s\nwanted\n%s", got, wanted)
			}
		})
	}
}

// The file goes on behind an excerpt, so the diff must not say that it ends there.
func TestExcerptsDoNotEndTheFile(t *testing.T) {
	for name, c := range map[string]struct{ before, after, wanted string }{
		"both without end": {"2", "3", "@@ -1,1 +1,1 @@\n-2\n+3\n"},
		"an end more":      {"2", "2\n", "@@ -1,1 +1,1 @@\n-2\n\\ No newline at end of file\n+2\n"},
		"from nothing":     {"", "2", "@@ -0,0 +1,1 @@\n+2\n\\ No newline at end of file\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Excerpts(c.before, c.after).Unified("f", "f"); got != "--- f\n+++ f\n"+c.wanted {
				t.Errorf("got\n%s\nwanted\n%s", got, c.wanted)
			}
		})
	}
}

func TestNamesAreWrittenInOneLine(t *testing.T) {
	got := Excerpts("", "1\n").Unified(DevNull, "a\n+++ b")
	if wanted := "--- /dev/null\n+++ \"a\\n+++ b\"\n@@ -0,0 +1,1 @@\n+1\n"; got != wanted {
		t.Errorf("got\n%s\nwanted\n%s", got, wanted)
	}
}

func TestBinaryFilesHaveNoHunks(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		binary  bool
	}{
		"a NUL where git looks": {strings.Repeat("a", 7999) + "\x00", true},
		"a NUL further on":      {strings.Repeat("a", 8000) + "\x00", false},
		"not UTF-8":             {strings.Repeat("a", 9000) + "\xff", true},
		"UTF-8":                 {"é\n", false},
		"empty":                 {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, got := range []Diff{
				Files([]byte(c.content), []byte("text\n"), unlimited),
				Files([]byte("text\n"), []byte(c.content), unlimited),
				Files([]byte("text\n"), []byte(c.content), Limits{}),
			} {
				if got.Binary != c.binary {
					t.Errorf("binary: %v", got.Binary)
				}
				if c.binary && !cmp.Equal(got, Diff{Binary: true}) {
					t.Errorf("%+v", got)
				}
			}
		})
	}
}

// The search ends at its bound. Without a bound, it would take gigabytes for such files.
func TestHostilePairsAreBounded(t *testing.T) {
	for name, c := range map[string]struct{ before, after string }{
		"periods out of step": {strings.Repeat("a\nb\nc\n", 150_000), strings.Repeat("a\nc\nb\n", 150_000)},
		"nothing in common":   {strings.Repeat("a\n", 500_000), strings.Repeat("b\n", 500_000)},
		"at the bound":        {strings.Repeat("a\nb\n", 9999), strings.Repeat("b\nb\na\na\n", 4999)},
	} {
		t.Run(name, func(t *testing.T) {
			got := Files([]byte(c.before), []byte(c.after), Limits{Bytes: 1 << 20, Lines: 1000})
			if !got.Truncated || len(allLines(got)) > 1000 || got.Additions+got.Deletions < 30_000 {
				t.Errorf("%d lines, +%d -%d, truncated: %v", len(allLines(got)), got.Additions, got.Deletions, got.Truncated)
			}
		})
	}
}
