package template

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// dollar puts variables into the places of ${NAME}. There are no expressions, so nothing can run for long, and it is done
// without a budget. $$ is one $; a $ before anything else is itself. Only what was given is a variable, never what the
// server's environment holds.
func dollar(t Template, variables map[string]json.RawMessage, left int) (Rendered, error) {
	pieces, err := read(t)
	if err != nil {
		return Rendered{}, err
	}
	var out strings.Builder
	for _, p := range pieces {
		value, ok := p.text, true
		if p.path != "" {
			value, ok = resolve(variables, p.path)
		}
		if !ok {
			return Rendered{}, t.invalid("Line %d of the template: %s is not defined.", p.line, p.path)
		}
		if out.WriteString(value); out.Len() > left {
			return Rendered{}, t.invalid("The rendered text is longer than %d bytes.", MaxText)
		}
	}
	return Rendered{Text: out.String(), Usage: usage(pieces)}, nil
}

func usage(pieces []piece) Usage {
	variables, paths := []string{}, []string{}
	for _, p := range pieces {
		if p.path != "" {
			first, _, _ := strings.Cut(p.path, ".")
			variables, paths = append(variables, first), append(paths, p.path)
		}
	}
	slices.Sort(variables)
	slices.Sort(paths)
	return Usage{Variables: slices.Compact(variables), Paths: slices.Compact(paths)}
}

// piece is text as it stands, or the place of a variable.
type piece struct {
	text string
	path string
	line int
}

func read(t Template) ([]piece, error) {
	var pieces []piece
	line, rest := 1, t.Source
	for {
		text, after, found := strings.Cut(rest, "$")
		pieces = append(pieces, piece{text: text})
		if !found {
			return pieces, nil
		}
		line += strings.Count(text, "\n")
		switch {
		case strings.HasPrefix(after, "$"):
			pieces, rest = append(pieces, piece{text: "$"}), after[1:]
		case strings.HasPrefix(after, "{"):
			path, behind, closed := strings.Cut(after[1:], "}")
			if !closed {
				return nil, t.invalid("Line %d of the template: ${ is not closed with }.", line)
			}
			if !isPath(path) {
				return nil, t.invalid("Line %d of the template: between ${ and } stands a name, or names with dots between them; $${ is a plain ${.", line)
			}
			pieces, rest = append(pieces, piece{path: path, line: line}), behind
		default:
			pieces, rest = append(pieces, piece{text: "$"}), after
		}
	}
}

func isPath(path string) bool {
	for name := range strings.SplitSeq(path, ".") {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return !nameRune(r) }) {
			return false
		}
	}
	return true
}

func nameRune(r rune) bool {
	return r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// resolve follows a path through objects. A text is put in as it is, anything else as its JSON.
func resolve(variables map[string]json.RawMessage, path string) (string, bool) {
	first, rest, deeper := strings.Cut(path, ".")
	value, ok := variables[first]
	if !ok {
		return "", false
	}
	if deeper {
		var inner map[string]json.RawMessage
		if json.Unmarshal(value, &inner) != nil {
			return "", false
		}
		return resolve(inner, rest)
	}
	var text string
	if bytes.HasPrefix(value, []byte{'"'}) && json.Unmarshal(value, &text) == nil {
		return text, true
	}
	var compact bytes.Buffer
	if json.Compact(&compact, value) != nil {
		return "", false
	}
	return compact.String(), true
}
