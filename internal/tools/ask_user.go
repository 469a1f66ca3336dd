package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"signoff/internal/domain"
)

const (
	askFields        = `"question" (string) and optionally "options" (list of strings) and "multiple" (boolean)`
	maxQuestionBytes = 8 << 10
	maxOptions       = 10
	maxOptionBytes   = 500
)

//go:embed ask_user.md
var askText string

// AskUser puts a question to a person. It is an [Asker]: what waits for the person is the session, and the question is
// an approval of its own kind, which survives the process.
type AskUser struct{}

var _ Asker = AskUser{}

type userQuestion struct {
	text     string
	options  []string
	multiple bool
}

// Definition implements [Tool].
func (AskUser) Definition() Definition {
	return Definition{
		Name:        "ask_user",
		Version:     "1",
		Class:       domain.ClassNone,
		Description: askText,
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"question": {"type": "string", "description": "The question, with all that is needed to answer it."},
				"options": {"type": "array", "items": {"type": "string"}, "maxItems": 10,
					"description": "What the person can choose from. Default: the answer is free text."},
				"multiple": {"type": "boolean", "description": "The person may choose several options. Default false."}
			},
			"required": ["question"],
			"additionalProperties": false
		}`),
	}
}

// Check implements [Tool].
func (AskUser) Check(arguments json.RawMessage, _ string) (Intent, error) {
	question, err := readQuestion(arguments)
	if err != nil {
		return Intent{}, err
	}
	return Intent{Summary: "Ask " + code(question.text)}, nil
}

// Run implements [Tool].
func (AskUser) Run(context.Context, domain.Host, domain.ToolCall) Result {
	return failed("", domain.Errorf(domain.CodeToolFailed, "This tool is answered by a person, not run."))
}

// Form implements [Asker].
func (AskUser) Form(arguments json.RawMessage) (json.RawMessage, error) {
	question, err := readQuestion(arguments)
	if err != nil {
		return nil, err
	}
	return domain.Encode(map[string]any{"message": question.message(), "schema": question.schema()}), nil
}

// message is the question with its lines, and without characters that a person would not see.
func (q userQuestion) message() string {
	lines := strings.Split(q.text, "\n")
	for i, line := range lines {
		lines[i] = visible(strings.TrimSuffix(line, "\r"))
	}
	return strings.Join(lines, "\n")
}

// schema describes the answer. Beside a choice there is room for a comment: the options are the model's, and the best
// of them may still need a word.
func (q userQuestion) schema() map[string]any {
	text := map[string]any{"type": "string", "maxLength": 10_000}
	properties := map[string]any{}
	switch {
	case len(q.options) == 0:
		properties["answer"] = map[string]any{"type": "string", "minLength": 1, "maxLength": 10_000}
	case q.multiple:
		choice := map[string]any{"type": "string", "enum": q.options}
		properties["answer"] = map[string]any{"type": "array", "items": choice, "minItems": 1, "uniqueItems": true}
		properties["comment"] = text
	default:
		properties["answer"] = map[string]any{"type": "string", "enum": q.options}
		properties["comment"] = text
	}
	return map[string]any{
		"type": "object", "properties": properties, "required": []string{"answer"}, "additionalProperties": false,
	}
}

// Answered implements [Asker].
func (AskUser) Answered(_, answer json.RawMessage) Result {
	var said struct {
		Answer  any    `json:"answer"`
		Comment string `json:"comment"`
	}
	if err := json.Unmarshal(answer, &said); err != nil {
		return failed("", domain.Errorf(domain.CodeToolFailed, "A person answered, but the answer cannot be read.").With(err))
	}
	var text string
	switch chosen := said.Answer.(type) {
	case string:
		text = "The person answers: " + chosen
	case []any:
		text = "The person chooses:"
		for _, option := range chosen {
			text += fmt.Sprintf("\n- %v", option)
		}
	default:
		return failed("", domain.Errorf(domain.CodeToolFailed, "A person answered, but said nothing."))
	}
	if strings.TrimSpace(said.Comment) != "" {
		text += "\nThe person adds: " + said.Comment
	}
	return Result{Output: text}
}

func readQuestion(arguments json.RawMessage) (userQuestion, error) {
	members := readFields(arguments, askFields, "question", "options", "multiple")
	question := userQuestion{
		text: members.text("question", maxQuestionBytes), options: members.list("options", maxOptions, maxOptionBytes), multiple: members.flag("multiple"),
	}
	for _, option := range question.options {
		if visible(option) != option {
			members.wrong("The option %s has characters that a person would not see.", code(option))
		}
	}
	if question.multiple && len(question.options) == 0 {
		members.wrong(`The field "multiple" needs "options" to choose from.`)
	}
	return question, members.mistake
}
