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
	for _, named := range proof.FindAllStringSubmatch(strings.Join(strings.Fields(read(t, page)), " "), -1) {
		if test := goTest.MatchString(named[1]) || scriptEnd.MatchString(named[1]); test && !sources.has(t, named[1], named[2]) {
			t.Errorf("%s names %s, which is no test", page, named[0])
		}
	}
}

// sources are the tests of folders that were read.
type sources map[string]map[string]*declaration

// declaration is a function or a variable of a folder's tests.
type declaration struct {
	test  bool            // it is a function that can be run as a test
	parts map[string]bool // the names that it gives to parts of tests
	uses  map[string]bool // the names that it mentions
}

// has says whether there is such a test: `folder.Test`, or a file of another suite, either with the name of one of its parts. The name of a part stands
// in the test itself, or in what it uses, such as a table.
func (s sources) has(t *testing.T, name, part string) bool {
	t.Helper()
	if scriptEnd.MatchString(name) {
		content, err := os.ReadFile(filepath.Join(root, name))
		return err == nil && part != "" && regexp.MustCompile(`(?m)^\s*test\(\s*"`+regexp.QuoteMeta(part)+`"`).Match(content)
	}
	found := goTest.FindStringSubmatch(name)
	if found == nil {
		return false
	}
	if s[found[1]] == nil {
		s[found[1]] = testsOf(t, found[1])
	}
	test := s[found[1]][found[2]]
	return test != nil && test.test && (part == "" || s.reaches(found[1], found[2], part, map[string]bool{}))
}

// reaches says whether a declaration, or one that it uses, names the part.
func (s sources) reaches(folder, name, part string, seen map[string]bool) bool {
	d := s[folder][name]
	if d == nil || seen[name] {
		return false
	}
	seen[name] = true
	if d.parts[part] {
		return true
	}
	for used := range d.uses {
		if s.reaches(folder, used, part, seen) {
			return true
		}
	}
	return false
}

func testsOf(t *testing.T, folder string) map[string]*declaration {
	t.Helper()
	all := map[string]*declaration{}
	paths, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, top := range file.Decls {
			switch top := top.(type) {
			case *ast.FuncDecl:
				d := declarationOf(top)
				d.test = top.Recv == nil && !skips(top)
				if top.Recv == nil {
					all[top.Name.Name] = d
				}
			case *ast.GenDecl:
				for _, spec := range top.Specs {
					if values, is := spec.(*ast.ValueSpec); is {
						for _, name := range values.Names {
							all[name.Name] = declarationOf(spec)
						}
					}
				}
			}
		}
	}
	return all
}

// skips says whether a test begins with a call that skips it.
func skips(f *ast.FuncDecl) bool {
	if f.Body == nil || len(f.Body.List) == 0 {
		return true
	}
	statement, is := f.Body.List[0].(*ast.ExprStmt)
	if !is {
		return false
	}
	call, is := statement.X.(*ast.CallExpr)
	if !is {
		return false
	}
	method, is := call.Fun.(*ast.SelectorExpr)
	return is && strings.HasPrefix(method.Sel.Name, "Skip")
}

// declarationOf reads what a declaration mentions. A part of a test is named by a key of a table, by the first text of a row, or by the argument of a call.
func declarationOf(node ast.Node) *declaration {
	d := &declaration{parts: map[string]bool{}, uses: map[string]bool{}}
	name := func(expression ast.Expr) {
		if literal, is := expression.(*ast.BasicLit); is && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil {
				d.parts[text] = true
			}
		}
	}
	ast.Inspect(node, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.Ident:
			d.uses[node.Name] = true
		case *ast.KeyValueExpr:
			name(node.Key)
			if key, is := node.Key.(*ast.Ident); is && key.Name == "name" {
				name(node.Value)
			}
		case *ast.CompositeLit:
			if len(node.Elts) > 0 {
				name(node.Elts[0])
			}
		case *ast.CallExpr:
			if method, is := node.Fun.(*ast.SelectorExpr); is && method.Sel.Name == "Run" && len(node.Args) > 0 {
				name(node.Args[0])
			}
		}
		return true
	})
	return d
}
