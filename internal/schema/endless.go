package schema

import (
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// endless reports whether a check of a value against s leads back to s with the same value. The meter bounds such a check and the
// library ends it, but nothing fits: a model would be asked for the impossible, and the execution would fail after it has cost something. What leads
// back by way of a part of the value, as in a tree, comes to an end with the parts. A schema in open is true while it is looked into.
func endless(s *jsonschema.Schema, open map[*jsonschema.Schema]bool) bool {
	if within, known := open[s]; known {
		return within
	}
	open[s] = true
	for _, next := range slices.Concat([]*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else}, s.AllOf, s.AnyOf, s.OneOf) {
		if next != nil && endless(next, open) {
			return true
		}
	}
	open[s] = false
	return false
}
