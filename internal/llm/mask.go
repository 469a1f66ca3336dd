package llm

import (
	"bytes"
	"encoding/json"
	"slices"

	"signoff/internal/domain"
	"signoff/internal/tools"
)

// Masker hides the values of secrets; see [Config].
type Masker interface {
	// MaskString masks a text, and leaves alone what it has masked already.
	MaskString(text string) string
	// JSON masks a document, each of its strings as what it says, so that no escape is a way past it. It stays a document.
	JSON(document json.RawMessage) json.RawMessage
}

// mask stands at three gates: before what a model is sent, before what a model asks for is judged and logged, and before
// what a tool has found goes anywhere. What a provider says of a failure passes it, too.
type mask struct{ Masker }

// unmasked is the Masker where there are no secrets.
type unmasked struct{}

// MaskString implements [Masker].
func (unmasked) MaskString(text string) string { return text }

// JSON implements [Masker].
func (unmasked) JSON(document json.RawMessage) json.RawMessage { return document }

// messages returns the conversation as a provider may read it. Results of tools are without control characters: nobody knows what a model, or the
// program behind it, makes of an escape sequence. State that only the provider can read is signed: where
// a secret is in it, it cannot be mended and stays here.
func (m mask) messages(list []domain.Message) []domain.Message {
	masked := make([]domain.Message, 0, len(list))
	for _, message := range list {
		message.Text, message.Thought = m.MaskString(message.Text), m.MaskString(message.Thought)
		if message.Role == domain.RoleTool {
			message.Text = domain.Harmless(message.Text)
		}
		message.Parts = m.parts(message.Parts)
		if !bytes.Equal(m.JSON(message.State), message.State) {
			message.State = nil
		}
		var calls []domain.ToolCall
		for _, call := range message.ToolCalls {
			call.Arguments = m.JSON(argumentsOf(string(call.Arguments)))
			calls = append(calls, call)
		}
		message.ToolCalls = calls
		masked = append(masked, message)
	}
	return masked
}

// parts masks texts and names. What a picture shows nobody can mask.
func (m mask) parts(list []domain.PromptPart) []domain.PromptPart {
	list = slices.Clone(list)
	for i := range list {
		list[i].Text, list[i].Name = m.MaskString(list[i].Text), m.MaskString(list[i].Name)
	}
	return list
}

// result returns what a tool has found as anybody may read it.
func (m mask) result(result tools.Result) tools.Result {
	result.Output, result.ModelOutput = m.MaskString(result.Output), m.MaskString(result.ModelOutput)
	if result.Failure != nil {
		result.Failure = &domain.Failure{Code: result.Failure.Code, Message: m.MaskString(result.Failure.Message)}
	}
	return result
}

// argumentsOf keeps what the model wrote. What is not JSON becomes a JSON string, so that the log can hold it, and so does what is
// nested so deep that clients could not read it; for a tool without parameters some models write nothing at all.
func argumentsOf(written string) json.RawMessage {
	switch {
	case written == "":
		return json.RawMessage("{}")
	case !domain.TooDeep([]byte(written)) && json.Valid([]byte(written)):
		return json.RawMessage(written)
	default:
		return domain.Encode(written)
	}
}
