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
	variables := namesOfFailpoints(t)
	if around := len(failpoint.All()) - len(variables); len(variables) < 60 || around < 20 {
		t.Errorf("%d variables, and %d names around events", len(variables), around)
	}
	seen := map[failpoint.Name]bool{}
	for _, name := range failpoint.All() {
		if moment, _, _ := strings.Cut(string(name), "."); moment != "before" && moment != "after" {
			t.Errorf("%q is neither before nor after an event", name)
		}
		if seen[name] || strings.ContainsAny(string(name), ": \n") {
			t.Errorf("%q is there twice, or cannot be armed", name)
		}
		seen[name] = true
	}
	for _, variable := range append(variables, "Before", "After") { // the two functions return the names around events
		if len(places[variable]) != 1 {
			t.Errorf("failpoint.%s stands in %d places: %v", variable, len(places[variable]), places[variable])
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

// namesOfFailpoints reads the variables that hold one name each.
func namesOfFailpoints(t *testing.T) (all []string) {
	t.Helper()
	for _, declaration := range parse(t, failpoints+"/names.go", parser.SkipObjectResolution).Decls {
		group, is := declaration.(*ast.GenDecl)
		if !is {
			continue
		}
		for _, spec := range group.Specs {
			if variable, is := spec.(*ast.ValueSpec); is && len(variable.Values) == 1 && makesName(variable.Values[0]) {
				all = append(all, variable.Names[0].Name)
			}
		}
	}
	return all
}

func makesName(value ast.Expr) bool {
	call, is := value.(*ast.CallExpr)
	if !is {
		return false
	}
	function, is := call.Fun.(*ast.Ident)
	return is && (function.Name == "before" || function.Name == "after")
}
