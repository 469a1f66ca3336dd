package approvals

import (
	"encoding/json"

	"signoff/internal/domain"
	"signoff/internal/schema"
)

// form is the content of a question.
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
	if !json.Valid(answer) {
		return domain.Invalid("/answer", "The answer is not JSON.")
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(answer, &object); err != nil || object == nil {
		return domain.Invalid("/answer", "An answer is an object with the fields of the form.")
	}
	var f form
	if err := json.Unmarshal(question, &f); err != nil || f.Schema == nil {
		return nil //nolint:nilerr // see above
	}
	wanted, err := schema.Compile(f.Schema)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	return misfit(wanted.Check(answer))
}

// misfit names the fields that are wrong.
func misfit(details []domain.Detail) error {
	if len(details) == 0 {
		return nil
	}
	problem := &domain.Error{Code: domain.CodeInvalid, Message: "The answer does not fit the form of the question."}
	for _, detail := range details {
		problem.Details = append(problem.Details, domain.Detail{Pointer: "/answer" + detail.Pointer, Message: detail.Message})
	}
	return problem
}
