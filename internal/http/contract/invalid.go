package contract

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"signoff/internal/domain"
)

// MaxDetails bounds the unknown fields, and the strings with U+0000, that one error lists.
const MaxDetails = 20

// invalid converts an error of the validator: one line for each wrong part, without the value. Parameter is the name of the query parameter or
// header; empty for a body.
func invalid(parameter string, err error) *domain.Error {
	var wrongParts []domain.Detail
	unknown := map[string]bool{} // objects whose unknown fields are listed already
	var all []*openapi3.SchemaError
	collect(err, func(wrong *openapi3.SchemaError) { all = append(all, wrong) })
	for _, wrong := range withoutOtherTypes(all) {
		at := domain.Pointer(wrong.JSONPointer()...)
		switch {
		case parameter != "":
			at = parameter
		case wrong.SchemaField == "properties": // one error for each unknown field, without its name
			if !unknown[at] {
				unknown[at] = true
				wrongParts = append(wrongParts, unknownFields(wrong)...)
			}
			continue
		}
		if last := len(wrongParts) - 1; wrong.SchemaField == "type" && last >= 0 && wrongParts[last].Pointer == at { // of several types none fits
			wrongParts[last].Message += " or " + article(wrong.Schema.Type)
			continue
		}
		wrongParts = append(wrongParts, domain.Detail{Pointer: at, Message: complaint(wrong)})
	}
	if len(wrongParts) == 0 { // unreachable while the validator returns schema errors
		wrongParts = []domain.Detail{{Pointer: parameter, Message: "is not allowed"}}
	}
	return domain.InvalidParts(wrongParts...)
}

// withoutOtherTypes drops the mistakes about a value's type where the value has another type that the document allows, and is wrong within it: a client
// that sends a list of parts is not told that it must be a text.
func withoutOtherTypes(all []*openapi3.SchemaError) []*openapi3.SchemaError {
	return slices.DeleteFunc(slices.Clone(all), func(one *openapi3.SchemaError) bool {
		return one.SchemaField == "type" && slices.ContainsFunc(all, func(other *openapi3.SchemaError) bool {
			at, below := one.JSONPointer(), other.JSONPointer()
			deeper := len(below) > len(at) || len(below) == len(at) && other.SchemaField != "type"
			return deeper && slices.Equal(at, below[:len(at)])
		})
	})
}

func collect(err error, take func(*openapi3.SchemaError)) {
	var many openapi3.MultiError
	if errors.As(err, &many) {
		for _, one := range many {
			collect(one, take)
		}
		return
	}
	var wrong *openapi3.SchemaError
	if !errors.As(err, &wrong) {
		return
	}
	if wrong.SchemaField == "allOf" && wrong.Origin != nil { // the branch has the reason
		collect(wrong.Origin, take)
		return
	}
	take(wrong)
}

func unknownFields(wrong *openapi3.SchemaError) (details []domain.Detail) {
	object, _ := wrong.Value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if wrong.Schema.Properties[name] == nil && len(details) < MaxDetails {
			at := domain.Pointer(append(wrong.JSONPointer(), name)...)
			details = append(details, domain.Detail{Pointer: at, Message: "is not a known field"})
		}
	}
	return details
}

func complaint(wrong *openapi3.SchemaError) string {
	schema := wrong.Schema
	switch wrong.SchemaField {
	case "required":
		return "is required"
	case "type":
		return "must be " + article(schema.Type)
	case "nullable":
		return "must not be null"
	case "format":
		return "must be a time as RFC 3339 writes it"
	case "enum":
		return "must be one of " + enumerate(schema.Enum)
	case "minimum", "maximum", "exclusiveMinimum":
		return "must be " + bounds(schema)
	case "minLength":
		return fmt.Sprintf("must have at least %d characters", schema.MinLength)
	case "maxLength":
		return fmt.Sprintf("must have at most %d characters", *schema.MaxLength)
	case "minProperties":
		return "must not be empty"
	case "minItems":
		return fmt.Sprintf("must have at least %d items", schema.MinItems)
	case "maxItems":
		return fmt.Sprintf("must have at most %d items", *schema.MaxItems)
	case "uniqueItems":
		return "must not name anything twice"
	case "maxProperties":
		return fmt.Sprintf("must have at most %d entries", *schema.MaxProps)
	case "pattern":
		if schema.Pattern == `\S` {
			return "must not be blank"
		}
		return "must match " + schema.Pattern
	default:
		return "is not allowed"
	}
}

func article(types *openapi3.Types) string {
	if types == nil || len(*types) == 0 {
		return "of another type"
	}
	switch name := (*types)[0]; name {
	case "integer":
		return "a whole number"
	case "array", "object":
		return "an " + name
	default:
		return "a " + name
	}
}

func enumerate(values []any) string {
	words := make([]string, len(values))
	for i, value := range values {
		words[i] = fmt.Sprint(value)
	}
	return strings.Join(words, ", ")
}

// bounds describes the range of a number. The document has no upper bound alone.
func bounds(schema *openapi3.Schema) string {
	switch {
	case schema.Max != nil:
		return fmt.Sprintf("between %.0f and %.0f", *schema.Min, *schema.Max)
	case schema.ExclusiveMin.IsTrue():
		return fmt.Sprintf("more than %.0f", *schema.Min)
	default:
		return fmt.Sprintf("at least %.0f", *schema.Min)
	}
}
