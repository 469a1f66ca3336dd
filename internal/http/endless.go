package http

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"signoff/api"
	"signoff/internal/domain"
)

// This file refuses schemas that are well formed, and that nothing can fit. Otherwise a model would be asked three times for
// what cannot be, and the execution would fail after it has cost something.

func (f *faults) schemas(body api.CreateExecution) {
	f.fittable("/outputSchema", body.OutputSchema)
	for i, tool := range value(body.ClientTools, nil) {
		f.fittable(fmt.Sprintf("/clientTools/%d/schema", i), tool.Schema)
	}
	for i, own := range value(body.BlockTypes, nil) {
		f.fittable(fmt.Sprintf("/blockTypes/%d/propsSchema", i), own.PropsSchema)
	}
}

func (f *faults) fittable(at string, document json.RawMessage) {
	var root map[string]any
	if json.Unmarshal(document, &root) != nil { // there is none, or it is said elsewhere what is wrong with it
		return
	}
	switch {
	case fitsNothing(root):
		f.add(at, "must be a schema that a value can fit")
	case (&references{root: root, seen: map[string]bool{}}).endless(nil):
		f.add(at, "must not refer to itself for the same value: nobody could tell whether it fits")
	}
}

// fitsNothing knows the plain ways to say "nothing". Those that take more than a look are the author's business.
func fitsNothing(schema map[string]any) bool {
	if values, is := schema["enum"].([]any); is && len(values) == 0 {
		return true
	}
	switch not := schema["not"].(type) {
	case bool:
		return not
	case map[string]any:
		return len(not) == 0
	default:
		return false
	}
}

// references follows a schema through all that is about the same value: references, and the branches that are put together.
// What is about a part of the value may lead back, and usually does in a tree: parts come to an end.
type references struct {
	root any
	seen map[string]bool // by place: true while it is being looked at, false when it was
}

func (r *references) endless(place []string) bool {
	schema, is := resolved(r.root, place).(map[string]any)
	if !is {
		return false
	}
	name := domain.Pointer(place...)
	if under, known := r.seen[name]; known {
		return under
	}
	r.seen[name] = true
	for _, next := range onward(schema, place) {
		if r.endless(next) {
			return true
		}
	}
	r.seen[name] = false
	return false
}

// onward lists the places of the schemas that a value has to be held against where it is held against this one.
func onward(schema map[string]any, place []string) (places [][]string) {
	below := func(steps ...string) []string { return append(append([]string{}, place...), steps...) }
	for _, word := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		target, is := schema[word].(string)
		fragment, local := strings.CutPrefix(target, "#")
		if !is || !local || fragment != "" && fragment[0] != '/' {
			continue
		}
		if plain, err := url.PathUnescape(fragment); err == nil {
			places = append(places, pathOf(plain))
		}
	}
	for _, word := range []string{"allOf", "anyOf", "oneOf"} {
		branches, _ := schema[word].([]any)
		for i := range branches {
			places = append(places, below(word, strconv.Itoa(i)))
		}
	}
	for _, word := range []string{"not", "if", "then", "else"} {
		places = append(places, below(word))
	}
	return places
}

// pathOf reads a JSON pointer (RFC 6901).
func pathOf(pointer string) []string {
	if pointer == "" {
		return nil
	}
	parts := strings.Split(pointer[1:], "/")
	for i, part := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
	}
	return parts
}

// resolved is what lies at a place of a document, nil where nothing does.
func resolved(node any, place []string) any {
	for _, step := range place {
		switch inner := node.(type) {
		case map[string]any:
			node = inner[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(inner) {
				return nil
			}
			node = inner[i]
		default:
			return nil
		}
	}
	return node
}
