package house

import (
	"go/parser"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const console = "internal/http/console"

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

var (
	imports = regexp.MustCompile(`(?m)^import\s+(?:[^"'();]*?\bfrom\s+)?["']([^"']+)["']|^export\s+[^"'();=]*?\bfrom\s+["']([^"']+)["']|\bimport\s*\(\s*([^)]*)\)`)
	loads   = regexp.MustCompile(`(?i)\b(?:src|href)="([^"#]*)"|url\(\s*["']?([^"')]*)|@import\s+["']([^"']+)`)
	braces  = regexp.MustCompile(`(?m)^import\s*\{([^}]*)\}\s*from\s+["']\./([^"']+)["']`)
	exports = regexp.MustCompile(`(?m)^export\s+(?:async\s+)?(?:function\*?|class|const|let)\s+([\w$]+)`)
)

// TestWhatTheConsoleLoadsExists: no compiler looks at these names; a browser would show an empty page.
func TestWhatTheConsoleLoadsExists(t *testing.T) {
	all := consoleFiles(t)
	for name, text := range all {
		pattern, prefix := loads, "/console/"
		if path.Ext(name) == ".js" {
			pattern, prefix = imports, "./"
		}
		for _, found := range pattern.FindAllStringSubmatch(spoken(text), -1) {
			address := strings.Trim(strings.Join(found[1:], ""), "\"'`")
			if address == "" {
				continue // a fragment of the page itself
			}
			if loaded, ours := strings.CutPrefix(address, prefix); !ours || all[loaded] == "" {
				t.Errorf("%s loads %s, and there is no such file below %s", name, address, prefix)
			}
		}
	}
}

// TestWhatModulesImportIsExported: one name that is not, and nothing of the page runs.
func TestWhatModulesImportIsExported(t *testing.T) {
	all := consoleFiles(t)
	for name, text := range all {
		for _, found := range braces.FindAllStringSubmatch(spoken(text), -1) {
			var there []string
			for _, export := range exports.FindAllStringSubmatch(all[found[2]], -1) {
				there = append(there, export[1])
			}
			for wanted := range strings.SplitSeq(found[1], ",") {
				wanted, _, _ = strings.Cut(strings.TrimSpace(wanted), " as ")
				if wanted != "" && all[found[2]] != "" && !slices.Contains(there, wanted) {
					t.Errorf("%s imports %s from %s, which exports %s", name, wanted, found[2], strings.Join(there, ", "))
				}
			}
		}
	}
}

// TestNothingOfTheConsoleIsLeftOver: a module that nobody imports is read by people, and by nobody else.
func TestNothingOfTheConsoleIsLeftOver(t *testing.T) {
	all := consoleFiles(t)
	reached := map[string]bool{"index.html": true}
	for next := []string{"index.html"}; len(next) > 0; next = next[1:] {
		for _, pattern := range []*regexp.Regexp{imports, loads} {
			for _, found := range pattern.FindAllStringSubmatch(spoken(all[next[0]]), -1) {
				if name := path.Base(strings.Join(found[1:], "")); all[name] != "" && !reached[name] {
					reached[name] = true
					next = append(next, name)
				}
			}
		}
	}
	for name := range all {
		if !reached[name] {
			t.Errorf("%s/%s is loaded by nobody", console, name)
		}
	}
}

var comments = regexp.MustCompile(`(?m)/\*(?s:.*?)\*/|<!--(?s:.*?)-->|^\s*//.*$|\s// .*$`)

// spoken is what is not said in comments, which may name what is forbidden.
func spoken(text string) string { return comments.ReplaceAllString(text, "") }

// unsaid is what no file of the console says. The page's policy stops most of it in the browser, and there it would be somebody's evening
// that shows it.
var unsaid = []struct{ what, why string }{
	{`\b(inner|outer)HTML\b`, "text is put in as text, by h() of dom.js"},
	{`\binsertAdjacentHTML\b|\bdocument\.write|\bcreateContextualFragment\b|\bparseFromString\b|\bsetHTML|\bsrcdoc\b`, "text is put in as text, by h() of dom.js"},
	{`\beval\s*\(|\bnew\s+Function\b|\bset(Timeout|Interval)\(\s*["'` + "`" + `]`, "text is never run"},
	{`\bstyle=|\scssText\b|setAttribute\(\s*["']style`, "the policy refuses styles in markup; use a class, or element.style.name"},
	{`(?i)<[^>]*\son[a-z]+\s*=`, "the policy refuses code in markup; use on of h()"},
	{`<style\b|<script>`, "the policy takes files alone"},
	{`\blocalStorage\b|\bindexedDB\b|\bdocument\.cookie\b`, "the token is kept in its tab alone, and so is all else"},
	{`\bcaches\.open\b|\bserviceWorker\b`, "nothing of the console outlives its tab"},
}

// addresses are those of other servers. One that is shown, such as an example, belongs to nobody.
var (
	addresses = regexp.MustCompile(`(?i)(?:https?:|["'` + "`" + `(])//[a-z0-9$[][^\s"'` + "`" + `)]*`)
	harmless  = regexp.MustCompile(`^http://www\.w3\.org/|^https?://([a-z-]+\.)?example\b`)
)

func TestTheConsoleKeepsToItsPolicy(t *testing.T) {
	for name, text := range consoleFiles(t) {
		for _, forbidden := range unsaid {
			for _, found := range regexp.MustCompile(forbidden.what).FindAllString(spoken(text), -1) {
				t.Errorf("%s says %s: %s", name, strings.TrimSpace(found), forbidden.why)
			}
		}
		for _, found := range addresses.FindAllString(spoken(text), -1) {
			if !harmless.MatchString(found) {
				t.Errorf("%s names %s: the console loads from its own server alone", name, found)
			}
		}
	}
}

// TestTheConsolesPolicyIsDocumented: whoever looks after a proxy or a scanner reads it there.
func TestTheConsolesPolicyIsDocumented(t *testing.T) {
	directives := func(text string) []string {
		_, text, _ = strings.Cut(text, "default-src ")
		text, _, _ = strings.Cut(text, "trusted-types 'none'")
		return strings.Fields(strings.ReplaceAll(text, ";", " ; "))
	}
	real := directives(strings.Join(textsIn(parse(t, console+".go", parser.SkipObjectResolution)), ""))
	if diff := cmp.Diff(real, directives(read(t, "docs/console.md"))); diff != "" || len(real) < 20 {
		t.Errorf("the policy of the code (-) and docs/console.md (+) differ:\n%s", diff)
	}
}

// TestOnlyTwoModulesTalkToTheServer: one place sends the token, and one reads streams.
func TestOnlyTwoModulesTalkToTheServer(t *testing.T) {
	talks := regexp.MustCompile(`\bfetch\(|\bXMLHttpRequest\b|\bEventSource\b|\bWebSocket\b|\bsendBeacon\b`)
	for name, text := range consoleFiles(t) {
		if found := talks.FindString(spoken(text)); found != "" && !slices.Contains([]string{"api.js", "stream.js"}, name) {
			t.Errorf("%s says %s: requests go through api.js, streams through stream.js", name, found)
		}
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
