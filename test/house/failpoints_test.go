package house

import (
	"go/ast"
	"go/parser"
	"strings"
	"testing"

	"signoff/internal/failpoint"
)

const failpoints = "internal/failpoint"

// TestEachFailpointIsInOnePlace keeps the sweep of the chaos tests honest: a name that stands nowhere is never reached, and
// with one that stands in two places, nobody knows which was tried.
func TestEachFailpointIsInOnePlace(t *testing.T) {
	places := map[string][]string{}
	for _, name := range goFiles(t) {
		if strings.HasSuffix(name, "_test.go") || below(name, failpoints, "test") {
			continue
		}
		ast.Inspect(parse(t, name, parser.SkipObjectResolution), func(node ast.Node) bool {
			if call, is := node.(*ast.CallExpr); is && failpointOf(call.Fun) == "Name" {
				t.Errorf("%s makes a name of its own; names stand in %s/names.go", name, failpoints)
			}
			if call, is := node.(*ast.CallExpr); is && failpointOf(call.Fun) == "Hit" && isLiteral(call.Args[0]) {
				t.Errorf("%s hits a text; names stand in %s/names.go", name, failpoints)
			}
			if expression, is := node.(ast.Expr); is {
				if of := failpointOf(expression); of != "" {
					places[of] = append(places[of], name)
				}
			}
			return true
		})
	}
	constants := namesOfFailpoints(t)
	around := 0
	for _, name := range failpoint.All() {
		if strings.HasPrefix(string(name), "before.") || strings.HasPrefix(string(name), "after.") {
			around++
		}
	}
	if len(constants) != len(failpoint.All())-around || len(constants) < 60 || around < 20 {
		t.Errorf("%d constants, %d names around events, and %d in all", len(constants), around, len(failpoint.All()))
	}
	seen := map[failpoint.Name]bool{}
	for _, name := range failpoint.All() {
		if seen[name] || strings.ContainsAny(string(name), ": \n") || name == "" {
			t.Errorf("%q is there twice, or cannot be armed", name)
		}
		seen[name] = true
	}
	for _, constant := range append(constants, "Before", "After") { // the two functions make the names around events
		if len(places[constant]) != 1 {
			t.Errorf("failpoint.%s stands in %d places: %v", constant, len(places[constant]), places[constant])
		}
	}
}

// failpointOf is X of failpoint.X, and empty for anything else.
func failpointOf(expression ast.Expr) string {
	selector, is := expression.(*ast.SelectorExpr)
	if !is {
		return ""
	}
	if of, is := selector.X.(*ast.Ident); !is || of.Name != "failpoint" {
		return ""
	}
	return selector.Sel.Name
}

func isLiteral(expression ast.Expr) bool {
	_, is := expression.(*ast.BasicLit)
	return is
}

// namesOfFailpoints reads the constants of the table from its source.
func namesOfFailpoints(t *testing.T) (all []string) {
	t.Helper()
	for _, declaration := range parse(t, failpoints+"/names.go", parser.SkipObjectResolution).Decls {
		group, is := declaration.(*ast.GenDecl)
		if !is {
			continue
		}
		for _, spec := range group.Specs {
			if value, is := spec.(*ast.ValueSpec); is && isName(value.Type) {
				all = append(all, value.Names[0].Name)
			}
		}
	}
	return all
}

func isName(expression ast.Expr) bool {
	name, is := expression.(*ast.Ident)
	return is && name.Name == "Name"
}
