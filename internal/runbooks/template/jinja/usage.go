package jinja

import (
	"maps"
	"slices"
	"strings"
)

// usage notes which variables a template takes from outside. Names that it sets itself are known by scope, as far as the
// text tells: a name that only one branch sets counts as set behind it.
type usage struct {
	scopes []map[string]bool
	paths  map[string]string // a path → the variable that it begins with
}

func newUsage() *usage {
	return &usage{scopes: []map[string]bool{{}}, paths: map[string]string{}}
}

func (u *usage) declare(names ...string) {
	for _, name := range names {
		u.scopes[len(u.scopes)-1][name] = true
	}
}

// scope opens a scope in which these names are set, until it is called back.
func (u *usage) scope(names ...string) (leave func()) {
	u.scopes = append(u.scopes, map[string]bool{})
	u.declare(names...)
	return func() { u.scopes = u.scopes[:len(u.scopes)-1] }
}

// start begins the path of a name. One that is set inside, or is a function of ours, begins none.
func (u *usage) start(name string) path {
	inside := functions[name] != nil || slices.ContainsFunc(u.scopes, func(scope map[string]bool) bool { return scope[name] })
	return path{root: name, text: name, inside: inside}
}

func (u *usage) note(p path) {
	if p.root != "" && !p.inside {
		u.paths[p.text] = p.root
	}
}

// Usage is what a template reads: the variables by name, and how far the way into each is constant.
type Usage struct {
	Variables []string `json:"variables"` // doc
	Paths     []string `json:"paths"`     // doc.named['x'].output.rows
}

func (u *usage) result() Usage {
	variables := slices.Sorted(maps.Values(u.paths))
	return Usage{Variables: slices.Compact(variables), Paths: slices.Sorted(maps.Keys(u.paths))}
}

// path is a chain of constant steps into a variable, as the template spells it.
type path struct {
	root, text string
	inside     bool
	ended      bool // what follows is not constant, so it no longer belongs to the path
}

func (p path) end() path {
	p.ended = true
	return p
}

func (p path) with(step string) path {
	if p.root != "" && !p.ended {
		p.text += step
	}
	return p
}

func (p path) field(name string) path { return p.with("." + name) }

func (p path) key(t token) path {
	if t.kind == integer {
		return p.with("[" + t.text + "]")
	}
	escaped := strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`).Replace(t.text)
	return p.with("['" + escaped + "']")
}

// String is how a fault calls the value; where the way to it is not constant, it has no name.
func (p path) String() string {
	if p.ended {
		return ""
	}
	return p.text
}
