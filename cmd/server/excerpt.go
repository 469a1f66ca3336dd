package main

import (
	"regexp"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"signoff/internal/secrets"
)

// private finds the parts of a configuration file that a message must not quote. Secrets do not belong into the file, and messages are about
// such mistakes: a key instead of the name of its variable, a password in an address, a token under setEnv. Messages go to terminals and
// logs, and from there into tickets.
//
// It reads the syntax tree, because a mistake may prevent any other reading. A file with a syntax error is not readable, and no message
// may quote it.
func private(content []byte) (masker *secrets.Masker, readable bool) {
	file, err := parser.ParseBytes(content, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, false
	}
	var found privateValues
	for _, document := range file.Docs {
		if _, mapping := document.Body.(ast.MapNode); !mapping && document.Body != nil {
			return nil, false
		}
		found.read(document.Body, nil)
	}
	return secrets.NewMasker(found...), true
}

type privateValues []string

// read walks a node. The place is the path of keys to it.
func (p *privateValues) read(node ast.Node, place []string) {
	switch n := node.(type) {
	case *ast.MappingNode:
		for _, member := range n.Values {
			p.read(member, place)
		}
	case *ast.MappingValueNode:
		p.read(n.Value, append(place[:len(place):len(place)], n.Key.GetToken().Value))
	case *ast.SequenceNode:
		for _, element := range n.Values {
			p.read(element, place)
		}
	case *ast.AnchorNode:
		p.read(n.Value, place)
	case *ast.TagNode:
		p.read(n.Value, place)
	case *ast.LiteralNode:
		p.takeLines(n.Value.Value, place)
	case ast.ScalarNode:
		p.take(n.GetToken().Value, place)
		p.takeLines(n.GetToken().Origin, place)
	}
}

// takeLines takes a value as the file has it, with its escapes: a message quotes lines of the file.
func (p *privateValues) takeLines(written string, place []string) {
	for line := range strings.Lines(written) {
		p.take(strings.Trim(line, " \t\r\n,'\""), place)
	}
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// take judges a value by its place.
func (p *privateValues) take(value string, place []string) {
	section, field, last := place[0], "", place[len(place)-1]
	if len(place) > 2 {
		field = place[2] // of an agent, a server or a model
	}
	switch {
	case field == "setEnv", field == "extraHeaders", field == "extraBody", section == "secrets" && last != "env" && last != "as":
		*p = append(*p, value)
	case field == "env", field == "headersEnv", last == "env", strings.HasSuffix(last, "Env"):
		if !variableName.MatchString(value) { // the value itself, or NAME=value
			_, assigned, _ := strings.Cut(value, "=")
			*p = append(*p, value, assigned)
		}
	case secrets.Suspect(last):
		*p = append(*p, value)
	default:
		_, query, _ := strings.Cut(value, "?")
		*p = append(*p, query)
	}
}
