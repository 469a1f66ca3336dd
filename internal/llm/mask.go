package llm

import (
	"encoding/json"
	"regexp"

	"signoff/internal/domain"
	"signoff/internal/tools"
)

// mask hides the values of secrets; see [Config]. It stands at three gates: before what a model is sent, before what a
// model asks for is judged and logged, and before what a tool has found goes anywhere.
type mask func(text string) string

// literals finds the strings of a JSON text.
var literals = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// json masks a JSON text: as it stands, and each of its strings as it reads. Otherwise a secret that holds a quote or a
// line break would not be found, and \u0061 would be a way to write any other past the mask.
func (m mask) json(text string) string {
	return m(literals.ReplaceAllStringFunc(text, func(literal string) string {
		var plain string
		if json.Unmarshal([]byte(literal), &plain) != nil {
			return literal
		}
		if hidden := m(plain); hidden != plain {
			return string(quoted(hidden))
		}
		return literal
	}))
}

// messages returns the conversation as a provider may read it. State that only the provider can read is signed: where
// a secret is in it, it cannot be mended and stays here.
func (m mask) messages(list []domain.Message) []domain.Message {
	masked := make([]domain.Message, 0, len(list))
	for _, message := range list {
		message.Text, message.Thought = m(message.Text), m(message.Thought)
		if thinking := string(message.Thinking); m.json(thinking) != thinking {
			message.Thinking = nil
		}
		var calls []domain.ToolCall
		for _, call := range message.ToolCalls {
			call.Arguments = argumentsOf(m.json(string(call.Arguments)))
			calls = append(calls, call)
		}
		message.ToolCalls = calls
		masked = append(masked, message)
	}
	return masked
}

// result returns what a tool has found as anybody may read it.
func (m mask) result(result tools.Result) tools.Result {
	result.Output = m(result.Output)
	if result.Failure != nil {
		result.Failure = &domain.Failure{Code: result.Failure.Code, Message: m(result.Failure.Message)}
	}
	return result
}
