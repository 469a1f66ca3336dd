package items

import "testing"

func TestDiffsOfFilesAsTheyRead(t *testing.T) {
	two := "2"
	for name, c := range map[string]struct {
		path   string
		before *string
		after  string
		wanted fileDiff
	}{
		"a new file": {"p", nil, "1\n2", fileDiff{"p", "--- /dev/null\n+++ p\n@@ -0,0 +1,2 @@\n+1\n+2\n\\ No newline at end of file\n", 2, 0}},
		"a piece":    {"p", &two, "3", fileDiff{"p", "--- p\n+++ p\n@@ -1,1 +1,1 @@\n-2\n+3\n", 1, 1}},
		"an odd path": {"a\n+++ b", &two, "3",
			fileDiff{"a\n+++ b", "--- \"a\\n+++ b\"\n+++ \"a\\n+++ b\"\n@@ -1,1 +1,1 @@\n-2\n+3\n", 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := newFileDiff(c.path, c.before, c.after); got != c.wanted {
				t.Errorf("got\n%+v\nwanted\n%+v", got, c.wanted)
			}
		})
	}
}
