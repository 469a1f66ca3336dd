package house

import (
	"go/parser"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const console = "internal/console/web"

// consoleFiles are those that a browser gets, by name, with their text.
func consoleFiles(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range files(t) {
		if path.Dir(name) == console {
			all[path.Base(name)] = read(t, name)
		} else if below(name, console) {
			t.Errorf("%s lies in a folder of its own, and would not be served", name)
		}
	}
	if len(all) < 10 {
		t.Fatalf("only %d files were found; the test looks in the wrong place", len(all))
	}
	return all
}

// TestTheConsolesPolicyIsDocumented: whoever looks after a proxy or a scanner reads it there.
func TestTheConsolesPolicyIsDocumented(t *testing.T) {
	directives := func(text string) []string {
		_, text, _ = strings.Cut(text, "default-src ")
		text, _, _ = strings.Cut(text, "trusted-types 'none'")
		return strings.Fields(strings.ReplaceAll(text, ";", " ; "))
	}
	real := directives(strings.Join(textsIn(parse(t, "internal/console/console.go", parser.SkipObjectResolution)), ""))
	if diff := cmp.Diff(real, directives(read(t, "docs/console.md"))); diff != "" || len(real) < 20 {
		t.Errorf("the policy of the code (-) and docs/console.md (+) differ:\n%s", diff)
	}
}

// TestModulesSayWhatTheyAreFor as packages do.
func TestModulesSayWhatTheyAreFor(t *testing.T) {
	for name, text := range consoleFiles(t) {
		first, _, _ := strings.Cut(text, "\n")
		if path.Ext(name) == ".js" && (!strings.HasPrefix(first, "// ") || len(strings.Fields(first)) < 6) {
			t.Errorf("%s does not begin with what it is for, but with %q", name, first)
		}
	}
}

// TestConsoleTestsAreRun: a test in another folder would be found by nobody.
func TestConsoleTestsAreRun(t *testing.T) {
	for _, name := range files(t) {
		if below(name, "test/console") && strings.HasSuffix(name, ".test.js") && path.Dir(name) != "test/console" && path.Dir(name) != "test/console/unit" {
			t.Errorf("scripts/test-console.sh runs what lies in test/console and its unit, and not %s", name)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "scripts/test-console.sh")); err != nil {
		t.Error(err)
	}
}
