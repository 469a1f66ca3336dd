package items

import (
	"bytes"
	"strings"
	"testing"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
	"pgregory.net/rapid"
)

// A diff is right where another program makes the new text of the old one with it, and good where no shorter one would do.
func TestDiffsLeadFromOneTextToTheOther(t *testing.T) {
	line := rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n", "d\r\n"})
	rapid.Check(t, func(t *rapid.T) {
		old := rapid.SliceOfN(line, 0, 30).Draw(t, "old")
		current := rapid.SliceOfN(line, 0, 30).Draw(t, "current")
		before, after := strings.Join(old, ""), strings.Join(current, "")
		if rapid.Bool().Draw(t, "unended") {
			after += "e"
			current = append(current, "e")
		}
		diff := newFileDiff("path", &before, after)
		applied(t, diff, before, after)
		if diff.additions-diff.deletions != len(current)-len(old) {
			t.Errorf("+%d -%d leads from %d lines to %d", diff.additions, diff.deletions, len(old), len(current))
		}
		if shortest := len(old) + len(current) - 2*common(old, current); diff.additions+diff.deletions != shortest {
			t.Errorf("+%d -%d, and %d would do", diff.additions, diff.deletions, shortest)
		}
	})
}

type failing interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func applied(t failing, diff fileDiff, before, after string) {
	t.Helper()
	if before == after {
		if diff.text != "" {
			t.Fatalf("nothing has changed, and the diff is %q", diff.text)
		}
		return
	}
	files, _, err := gitdiff.Parse(strings.NewReader(diff.text))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d files, %v in\n%s", len(files), err, diff.text)
	}
	var made bytes.Buffer
	if err := gitdiff.Apply(&made, strings.NewReader(before), files[0]); err != nil {
		t.Fatalf("%v for\n%s", err, diff.text)
	}
	if made.String() != after {
		t.Fatalf("the diff makes %q of %q, not %q:\n%s", made.String(), before, after, diff.text)
	}
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

// What is too large to be compared is replaced, between the first and the last difference.
func TestLargeDiffsAreRight(t *testing.T) {
	for name, c := range map[string]struct {
		before, after        string
		additions, deletions int
	}{
		"many lines":       {"same\n" + strings.Repeat("a\nb\n", 10_000) + "same\n", "same\n" + strings.Repeat("b\nc\n", 5000) + "same\n", 10_000, 20_000},
		"many differences": {strings.Repeat("a\nb\n", 300), strings.Repeat("b\nc\na\nd\n", 300), 1200, 600},
		"few in many":      {strings.Repeat("a\n", 9000) + "b\n" + strings.Repeat("c\n", 900), "x\n" + strings.Repeat("a\n", 9000) + strings.Repeat("c\n", 900) + "x\n", 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			diff := newFileDiff("path", &c.before, c.after)
			applied(t, diff, c.before, c.after)
			if diff.additions != c.additions || diff.deletions != c.deletions {
				t.Errorf("+%d -%d, wanted +%d -%d", diff.additions, diff.deletions, c.additions, c.deletions)
			}
		})
	}
}

func TestDiffsAsTheyRead(t *testing.T) {
	two := "2"
	old := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	for name, c := range map[string]struct {
		path   string
		before *string
		after  string
		wanted string
	}{
		"a new file": {"p", nil, "1\n2", "--- /dev/null\n+++ p\n@@ -0,0 +1,2 @@\n+1\n+2\n\\ No newline at end of file\n"},
		"a piece":    {"p", &two, "3", "--- p\n+++ p\n@@ -1,1 +1,1 @@\n-2\n+3\n"},
		"the end":    {"p", &two, "2\n", "--- p\n+++ p\n@@ -1,1 +1,1 @@\n-2\n\\ No newline at end of file\n+2\n"},
		"an odd path": {"a\n+++ b", &two, "3",
			"--- \"a\\n+++ b\"\n+++ \"a\\n+++ b\"\n@@ -1,1 +1,1 @@\n-2\n+3\n"},
		"two places, far from each other": {"p", &old, "0\n2\n3\n4\n5\n6\n7\n8\n9\n11\n",
			"--- p\n+++ p\n@@ -1,4 +1,4 @@\n-1\n+0\n 2\n 3\n 4\n@@ -7,4 +7,4 @@\n 7\n 8\n 9\n-10\n+11\n"},
		"two places, near": {"p", &old, "1\n2\n0\n4\n5\n6\n7\n8\n9\n11\n",
			"--- p\n+++ p\n@@ -1,10 +1,10 @@\n 1\n 2\n-3\n+0\n 4\n 5\n 6\n 7\n 8\n 9\n-10\n+11\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := newFileDiff(c.path, c.before, c.after).text; got != c.wanted {
				t.Errorf("got\n%s\nwanted\n%s", got, c.wanted)
			}
		})
	}
}

func TestPatchesAreSplitByFile(t *testing.T) {
	for name, c := range map[string]struct {
		patch  string
		wanted []fileDiff
	}{
		"git": {"diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-a\n b\ndiff --git a/y b/y\n--- a/y\n+++ /dev/null\n@@ -1 +0,0 @@\n-c\n",
			[]fileDiff{{"x", "--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-a\n b\n", 0, 1}, {"y", "--- a/y\n+++ /dev/null\n@@ -1 +0,0 @@\n-c\n", 0, 1}}},
		"a folder called a":    {"--- a/x\n+++ a/x\n@@\n+b", []fileDiff{{"a/x", "--- a/x\n+++ a/x\n@@\n+b", 1, 0}}},
		"with times":           {"--- x\t2026\n+++ x\t2026\n@@\n+b\n", []fileDiff{{"x", "--- x\t2026\n+++ x\t2026\n@@\n+b\n", 1, 0}}},
		"Windows":              {"--- x\r\n+++ x\r\n@@\r\n+b\r\n", []fileDiff{{"x", "--- x\r\n+++ x\r\n@@\r\n+b\r\n", 1, 0}}},
		"quoted":               {"--- \"a/\\303\\251\"\n+++ \"b/\\303\\251\"\n@@\n+b\n", []fileDiff{{"é", "--- \"a/\\303\\251\"\n+++ \"b/\\303\\251\"\n@@\n+b\n", 1, 0}}},
		"badly quoted":         {"--- \"x\n+++ \"x\n@@\n", []fileDiff{{"\"x", "--- \"x\n+++ \"x\n@@\n", 0, 0}}},
		"lines that look like": {"--- x\n+++ x\n@@\n--- a\n+++ b\n", []fileDiff{{"x", "--- x\n+++ x\n@@\n--- a\n+++ b\n", 1, 1}}},
		"none":                 {"no patch\n--- x\n+++ x\n", nil},
		"empty":                {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := splitPatch(c.patch)
			if len(got) != len(c.wanted) {
				t.Fatalf("%d files: %+v", len(got), got)
			}
			for n := range got {
				if got[n] != c.wanted[n] {
					t.Errorf("got %+v, wanted %+v", got[n], c.wanted[n])
				}
			}
		})
	}
}
