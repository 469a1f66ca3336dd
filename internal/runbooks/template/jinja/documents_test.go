package jinja

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNamesAreDocumented holds the lists of docs/templates.md against the tables.
func TestNamesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/templates.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from, to string
		table    map[string]*operation
	}{
		{"\nFilters: ", "\n\n", filters},
		{"\nTests: ", "\n\n", tests},
		{"\nMethods of texts: ", " of maps:", textMethods},
		{" of maps:\n", "; of lists:", mapMethods},
		{"; of lists:", ".\n", listMethods},
		{"| functions | ", " |\n", functions},
	} {
		_, after, _ := strings.Cut(string(page), c.from)
		list, _, _ := strings.Cut(after, c.to)
		var documented, there []string
		for _, found := range regexp.MustCompile("`([a-z]+)`").FindAllStringSubmatch(list, -1) {
			documented = append(documented, found[1])
		}
		for name := range maps.Keys(c.table) {
			if name[0] >= 'a' { // "is ==" need not be advertised
				there = append(there, name)
			}
		}
		slices.Sort(there)
		if diff := cmp.Diff(there, documented); diff != "" {
			t.Errorf("%s is there (-), and documented (+):\n%s", strings.TrimSpace(c.from), diff)
		}
	}
}
