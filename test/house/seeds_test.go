package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	proof     = regexp.MustCompile("`([^`]+)`(?: “([^”]+)”)?")
	goTest    = regexp.MustCompile(`^([\w/]+)\.((?:Test|Fuzz)\w+)$`)
	scriptEnd = regexp.MustCompile(`\.test\.[jt]s$`)
)

// TestEveryItemOfTheSeedsIsAccountedFor: docs/seeds.md has a line for each item of the list, in its order, and each line names tests that are there,
// or says which later issue brings the item.
func TestEveryItemOfTheSeedsIsAccountedFor(t *testing.T) {
	const page = "docs/seeds.md"
	table := rows(t, page, "## Items")
	if diff := cmp.Diff(strings.Fields(read(t, "test/house/testdata/seeds.txt")), firstCells(table)); diff != "" {
		t.Errorf("the list (-) and %s (+) differ:\n%s", page, diff)
	}
	sources := sources{}
	for _, row := range table {
		if len(row) != 3 || len(row[1]) < 20 {
			t.Errorf("%s is no line with an item, a sentence and its tests", strings.Join(row, " | "))
			continue
		}
		if row[2] == "later" && strings.Contains(row[1], "(a later issue)") {
			continue
		}
		if rest := strings.Trim(proof.ReplaceAllString(row[2], ""), ", "); row[2] == "" || rest != "" {
			t.Errorf("%s: %q names no test", row[0], rest)
		}
		for _, named := range proof.FindAllStringSubmatch(row[2], -1) {
			if !sources.has(t, named[1], named[2]) {
				t.Errorf("%s names %s, which is no test", row[0], named[0])
			}
		}
	}
}

// sources are the tests of folders that were read.
type sources map[string]declared

// declared are the test functions of a folder, and all texts in its tests: the names of parts of tests are among them.
type declared struct{ functions, texts map[string]bool }

// has says whether there is such a test: `folder.Test`, or a file of another suite, either with the name of one of its parts.
func (s sources) has(t *testing.T, name, part string) bool {
	t.Helper()
	if scriptEnd.MatchString(name) {
		content, err := os.ReadFile(filepath.Join(root, name))
		return err == nil && part != "" && regexp.MustCompile(`\btest\(\s*"`+regexp.QuoteMeta(part)+`"`).Match(content)
	}
	found := goTest.FindStringSubmatch(name)
	if found == nil {
		return false
	}
	tests, is := s[found[1]]
	if !is {
		tests = testsOf(t, found[1])
		s[found[1]] = tests
	}
	return tests.functions[found[2]] && (part == "" || tests.texts[part])
}

func testsOf(t *testing.T, folder string) declared {
	t.Helper()
	tests := declared{map[string]bool{}, map[string]bool{}}
	paths, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.FuncDecl:
				tests.functions[node.Name.Name] = node.Recv == nil
			case *ast.BasicLit:
				if text, err := strconv.Unquote(node.Value); err == nil && node.Kind == token.STRING {
					tests.texts[text] = true
				}
			}
			return true
		})
	}
	return tests
}
