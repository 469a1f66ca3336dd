package schema

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"signoff/internal/domain"
)

// Bounds of an error: the details, and the bytes of each message.
const (
	maxDetails      = 20
	maxMessageBytes = 300
)

// explain describes what is wrong with a schema. The text quotes nothing but the schema.
func explain(err error) error {
	var wrong *jsonschema.SchemaValidationError
	var details *jsonschema.ValidationError
	var pattern *jsonschema.InvalidRegexError
	var elsewhere *jsonschema.LoadURLError
	switch {
	case errors.As(err, &elsewhere):
		return refused("The schema refers to another document; only references inside of it (#/…) are followed.").With(err)
	case errors.As(err, &pattern):
		return refused("The schema has a pattern that cannot be used: %s. Patterns are those of RE2.", cut(pattern.Regex)).With(err)
	case errors.As(err, &wrong) && errors.As(wrong.Err, &details):
		first := misfits(details)[0]
		return refused("This is no JSON Schema: at %q: %s.", first.Pointer, first.Message).With(err)
	default:
		return refused("This is no JSON Schema that can be used: a reference or a keyword cannot be resolved.").With(err)
	}
}

func refused(format string, args ...any) *domain.Error {
	return domain.Errorf(domain.CodeInvalid, format, args...)
}

// misfits are the places that are wrong, in a steady order: the validator walks maps.
func misfits(wrong *jsonschema.ValidationError) []domain.Detail {
	details := leaves(wrong)
	slices.SortFunc(details, func(a, b domain.Detail) int {
		return cmp.Or(strings.Compare(a.Pointer, b.Pointer), strings.Compare(a.Message, b.Message))
	})
	details = slices.Compact(details)
	if more := len(details) - maxDetails; more > 0 {
		details = append(details[:maxDetails], domain.Detail{Message: fmt.Sprintf("%d more places are wrong", more)})
	}
	return details
}

// leaves returns the innermost errors; the outer ones only say that an inner one exists.
func leaves(wrong *jsonschema.ValidationError) (details []domain.Detail) {
	for _, cause := range wrong.Causes {
		details = append(details, leaves(cause)...)
	}
	if len(wrong.Causes) > 0 {
		return details
	}
	unit := wrong.BasicOutput()
	return []domain.Detail{{Pointer: cut(unit.InstanceLocation), Message: cut(strings.TrimSpace(unit.Error.String()))}}
}

// cut keeps a message short: a list of a thousand allowed values says no more than its beginning.
func cut(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= maxMessageBytes {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessageBytes], "") + "…"
}
