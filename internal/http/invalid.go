package http

import (
	"errors"
	"fmt"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"signoff/internal/domain"
)

// invalid says in our words what the document has against a value: one line for each wrong part, nothing of the value.
// Parameter is the name of the query parameter or header; empty for a body.
func invalid(parameter string, err error) *domain.Error {
	problem := &domain.Error{Code: domain.CodeInvalid, Message: "Some of the input is not allowed; see errors."}
	collect(err, func(wrong *openapi3.SchemaError) {
		detail := domain.Detail{Pointer: pointer(wrong.JSONPointer()), Message: complaint(wrong)}
		if parameter != "" {
			detail.Pointer = parameter
		}
		problem.Details = append(problem.Details, detail)
	})
	if len(problem.Details) == 0 { // unreachable while the validator speaks in schema errors
		problem.Details = []domain.Detail{{Pointer: parameter, Message: "is not allowed"}}
	}
	if len(problem.Details) == 1 {
		d := problem.Details[0]
		problem.Message = strings.TrimSpace(shorten(strings.TrimPrefix(d.Pointer, "/"), 100) + " " + d.Message + ".")
	}
	return problem
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
	if wrong.SchemaField == "allOf" && wrong.Origin != nil { // the branch says it better
		collect(wrong.Origin, take)
		return
	}
	take(wrong)
}

func complaint(wrong *openapi3.SchemaError) string {
	schema := wrong.Schema
	switch wrong.SchemaField {
	case "required":
		return "is required"
	case "properties", "additionalProperties":
		return "is not a known field"
	case "type":
		return "must be " + article(schema.Type)
	case "nullable":
		return "must not be null"
	case "enum":
		return "must be one of " + enumerate(schema.Enum)
	case "minimum", "maximum":
		return fmt.Sprintf("must be between %s and %s", bound(schema.Min), bound(schema.Max))
	case "minLength":
		return fmt.Sprintf("must have at least %d characters", schema.MinLength)
	case "maxLength":
		return fmt.Sprintf("must have at most %d characters", *schema.MaxLength)
	case "minItems":
		return fmt.Sprintf("must have at least %d items", schema.MinItems)
	case "maxItems":
		return fmt.Sprintf("must have at most %d items", *schema.MaxItems)
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

func bound(limit *float64) string {
	if limit == nil {
		return "any"
	}
	return fmt.Sprintf("%.0f", *limit)
}
