package harness

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A campaign that was killed leaves half a line. The next one reads the lines before it, and begins a line of its own.
func TestResultsOutliveACampaign(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "results.jsonl")
	for run, want := range [][]int{nil, {1, 2}, {1, 2, 1, 2}} {
		results, all, err := OpenResults[int](path)
		if err != nil || !slices.Equal(all, want) {
			t.Fatalf("run %d: %v, %v", run, all, err)
		}
		for _, n := range []int{1, 2} {
			if err := results.Add(n); err != nil {
				t.Fatal(err)
			}
		}
		if err := results.Close(); err != nil {
			t.Fatal(err)
		}
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteString("{\"half"); err != nil {
			t.Fatal(err)
		}
		_ = file.Close()
	}
}
