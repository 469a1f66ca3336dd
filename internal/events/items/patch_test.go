package items

import "testing"

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
