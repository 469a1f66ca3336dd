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
func (u *usage) start(name string) *path {
	inside := functions[name] != nil || slices.ContainsFunc(u.scopes, func(scope map[string]bool) bool { return scope[name] })
	return &path{root: name, text: []byte(name), inside: inside}
}

func (u *usage) note(p *path) {
	if p != nil && !p.inside {
		u.paths[string(p.text)] = p.root
	}
}

// Usage lists the variables of a template: by name, and how far the way into each is constant.
type Usage struct {
	Variables []string `json:"variables"` // doc
	Paths     []string `json:"paths"`     // doc.named['x'].output.rows
}

func (u *usage) result() Usage {
	variables := slices.AppendSeq([]string{}, maps.Values(u.paths))
	paths := slices.AppendSeq([]string{}, maps.Keys(u.paths))
	slices.Sort(variables)
	slices.Sort(paths)
	return Usage{Variables: slices.Compact(variables), Paths: paths}
}

// path is a chain of constant steps into a variable, as the template spells it. It only grows, so that the steps can name
// their part of it without a copy: a chain of 100,000 attributes would have 100,000 paths.
type path struct {
	root   string
	text   []byte
	inside bool
	ended  bool // what follows is not constant, so it no longer belongs to the path
}

// add adds a step and returns how a fault calls the value there; where the way to it is not constant, it has no name.
func (p *path) add(step ...string) (name func() string) {
	if p == nil || p.ended {
		return func() string { return "" }
	}
	for _, s := range step {
		p.text = append(p.text, s...)
	}
	length := len(p.text)
	return func() string { return string(p.text[:length]) }
}

func (p *path) end() {
	if p != nil {
		p.ended = true
	}
}

var keyEscaper = strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`)
