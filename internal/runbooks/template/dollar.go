package template

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// dollar puts variables into the places of ${NAME}, and of $1, $2 … where there are variables with numbers for names: else the price in "it costs $5"
// would be a missing variable. There are no expressions, so nothing can run for long, and it is done without a budget. $$ is one $; a $ before anything
// else is itself. Only the given variables exist, never those of the server's environment.
func dollar(t Template, variables map[string]json.RawMessage, left int) (Rendered, error) {
	pieces, err := read(t, hasPositional(variables))
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

// hasPositional reports whether a variable has a number for its name.
func hasPositional(variables map[string]json.RawMessage) bool {
	for name := range variables {
		if name != "" && digits(name) == len(name) {
			return true
		}
	}
	return false
}

// digits counts the digits at the beginning of a text.
func digits(text string) int {
	if end := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		return end
	}
	return len(text)
}

func read(t Template, positional bool) ([]piece, error) {
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
		case positional && digits(after) > 0:
			end := digits(after)
			pieces, rest = append(pieces, piece{path: after[:end], line: line}), after[end:]
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
