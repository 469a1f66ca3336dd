package anthropic

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// reader turns events into text, thoughts and an answer.
type reader struct {
	model    string // its name in the registry
	sink     provider.Sink
	thoughts thoughtReader
	calls    provider.Calls
	stop     string
	declined []string // category and explanation of a refusal, as far as there are any
	usage    usage
	size     provider.Size
	spoken   int // characters of text
}

func (r *reader) take(next *event) error {
	switch next.kind {
	case "message_start":
		r.usage.take(next.usage)
	case "content_block_start":
		return r.begin(next.index, &next.part)
	case "content_block_delta":
		return r.takeDelta(next.index, &next.part)
	case "content_block_stop":
		r.thoughts.end()
	case "message_delta":
		r.usage.take(next.usage)
		r.stop = cmp.Or(next.part.stop, r.stop)
		r.decline(next.part.category, next.part.explanation)
	}
	return nil // also an event that is not known: the vendor adds some without a new version
}

func (r *reader) begin(index int64, block *part) error {
	if err := r.size.Grow(provider.CallBytes + len(block.data) + len(block.signature)); err != nil { // also of a block that is no call
		return err
	}
	switch block.kind {
	case "text":
		return r.say(block.text)
	case "thinking":
		r.thoughts.begin(r.spoken, r.calls.Len())
		r.thoughts.signature.WriteString(block.signature)
		return r.think(block.thinking)
	case "redacted_thinking":
		r.thoughts.begin(r.spoken, r.calls.Len())
		r.thoughts.open.Redacted = block.data
	case "tool_use":
		return r.call(provider.CallPiece{Index: new(index), ID: block.id, Name: block.name})
	}
	return nil
}

func (r *reader) takeDelta(index int64, delta *part) error {
	switch delta.kind {
	case "text_delta":
		return r.say(delta.text)
	case "thinking_delta":
		return r.think(delta.thinking)
	case "signature_delta":
		r.thoughts.signature.WriteString(delta.signature)
		return r.size.Grow(len(delta.signature))
	case "input_json_delta":
		return r.call(provider.CallPiece{Index: new(index), Arguments: delta.partial})
	}
	return nil
}

func (r *reader) call(piece provider.CallPiece) error {
	cost, err := r.calls.Add(piece)
	return cmp.Or(err, r.size.Grow(cost))
}

func (r *reader) say(text string) error {
	if err := r.size.Grow(len(text)); err != nil || text == "" {
		return err
	}
	r.spoken += utf8.RuneCountInString(text)
	return r.sink.Text(text)
}

func (r *reader) think(thought string) error {
	if err := r.size.Grow(len(thought)); err != nil || thought == "" {
		return err
	}
	r.thoughts.text.WriteString(thought)
	return r.sink.Thought(thought)
}

// decline keeps the newest reasons alone: a stream may repeat them without an end.
func (r *reader) decline(reasons ...string) {
	if reasons = slices.DeleteFunc(reasons, func(reason string) bool { return reason == "" }); len(reasons) > 0 {
		r.declined = reasons
	}
}

// answer reads the stop reason. A refusal is one of the vendor's classifiers; a model that declines says so in its text and ends its turn as
// with any other: https://platform.claude.com/docs/en/test-and-evaluate/strengthen-guardrails/handle-streaming-refusals
// A pause is for tools that the vendor runs itself, and we ask for none of them.
func (r *reader) answer(failures provider.Failures) (provider.Answer, error) {
	got := provider.Answer{Calls: r.calls.Result(), State: r.thoughts.state()}
	switch r.stop {
	case "end_turn", "tool_use", "stop_sequence":
		got.Finish = provider.FinishStop
	case "max_tokens", "model_context_window_exceeded":
		got.Finish = provider.FinishLength
	case "refusal":
		return provider.Answer{}, failures.Filtered(r.declined...)
	case "pause_turn":
		return provider.Answer{}, provider.Broken(nil, "The provider of model %q paused the answer.", r.model)
	default:
		return provider.Answer{}, &provider.Error{Shown: domain.Errorf(domain.CodeModelFailed,
			"The answer of model %q ended for a reason that is not known: %s", r.model, provider.OneLine(r.stop, 100))}
	}
	return got, nil
}
