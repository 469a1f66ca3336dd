package approvals

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"signoff/internal/domain"
)

// form is what a question shows.
type form struct {
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"schema"`
}

// fits checks an answer against the schema that the question came with. An agent that sends a schema which is none
// gets an answer all the same: it is one object, and what to make of it is the agent's own trouble.
func fits(question, answer json.RawMessage) error {
	if answer == nil {
		return domain.Invalid("/answer", "A question that is approved needs an answer.")
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(answer))
	if err != nil {
		return domain.Invalid("/answer", "The answer is not JSON.").With(err)
	}
	if _, object := value.(map[string]any); !object {
		return domain.Invalid("/answer", "An answer is an object with the fields of the form.")
	}
	schema, err := compile(question)
	if err != nil || schema == nil {
		return nil //nolint:nilerr // see above
	}
	var wrong *jsonschema.ValidationError
	if err := schema.Validate(value); errors.As(err, &wrong) {
		return misfit(wrong)
	}
	return nil
}

func compile(question json.RawMessage) (*jsonschema.Schema, error) {
	var f form
	if err := json.Unmarshal(question, &f); err != nil || f.Schema == nil {
		return nil, err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(f.Schema))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(nowhere{}) // a schema of an agent must not make the server read files or fetch pages
	if err := compiler.AddResource("form:schema", document); err != nil {
		return nil, err
	}
	return compiler.Compile("form:schema")
}

type nowhere struct{}

func (nowhere) Load(string) (any, error) {
	return nil, errors.New("approvals: a form refers to another document")
}

// misfit names the fields that are wrong.
func misfit(wrong *jsonschema.ValidationError) error {
	problem := &domain.Error{Code: domain.CodeInvalid, Message: "The answer does not fit the form of the question."}
	for _, unit := range wrong.BasicOutput().Errors {
		problem.Details = append(problem.Details, domain.Detail{
			Pointer: "/answer" + unit.InstanceLocation, Message: strings.TrimSpace(unit.Error.String()),
		})
	}
	return problem.With(wrong)
}
