package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// The page lists exactly what is covered.
func TestThePageListsSecretFiles(t *testing.T) {
	text, err := os.ReadFile("../../docs/environments.md")
	if errors.Is(err, fs.ErrNotExist) && os.Getuid() != 0 {
		t.Skip("the pages are not there for the ordinary user of TestOrdinaryUser; root has read them")
	}
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "## The table of secret files\n")
	files, names, split := strings.Cut(rest, "### Names of secrets\n")
	if !found || !split {
		t.Fatal("the page has no table")
	}
	names, _, _ = strings.Cut(names, "\n## ")
	var wantFiles, wantNames []string
	for _, secret := range SecretFiles {
		wantFiles = append(wantFiles, secret.Pattern+" "+secret.What)
	}
	for _, name := range SecretNames {
		what := name.What
		if name.Content != "" {
			what += ", by their content"
		}
		wantNames = append(wantNames, name.Pattern+" "+what)
	}
	compareTable(t, files, wantFiles)
	compareTable(t, names, wantNames)
}

func compareTable(t *testing.T, text string, want []string) {
	t.Helper()
	var got []string
	for line := range strings.Lines(text) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 || strings.Contains(line, "---") || strings.HasPrefix(line, "| what ") {
			continue
		}
		for one := range strings.SplitSeq(cells[2], ",") {
			pattern := strings.Trim(one, " `")
			if _, err := path.Match(pattern, ""); err != nil {
				t.Error(pattern, err)
			}
			got = append(got, pattern+" "+strings.TrimSpace(cells[1]))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	for _, one := range got {
		if !slices.Contains(want, one) {
			t.Error("the page lists what is not covered:", one)
		}
	}
	for _, one := range want {
		if !slices.Contains(got, one) {
			t.Error("the page does not list:", one)
		}
	}
	if !slices.Equal(slices.Compact(slices.Clone(want)), want) {
		t.Error("the table says something twice")
	}
}
