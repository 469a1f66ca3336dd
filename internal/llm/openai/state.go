package openai

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// What servers want back beside text and arguments, by the name of the field that it came in and goes back in.
const (
	partExtraContent     = "extra_content"     // of a call: Gemini's thought signature, in google.thought_signature
	partReasoningContent = "reasoning_content" // of a message: its thought
	partReasoning        = "reasoning"         // the same, as gateways and some local servers call it
	partReasoningDetails = "reasoning_details" // of a message: OpenRouter's list of thoughts with their signatures, or encrypted
)

// placeholder is the extra content of a call that Gemini did not make: the vendor's documented way to have the check of the signature left
// out, https://ai.google.dev/gemini-api/docs/thought-signatures. The model does worse with it than with its own, and better than
// without the call.
var placeholder = json.RawMessage(`{"google":{"thought_signature":"skip_thought_signature_validator"}}`)

// thoughtState collects the thought of an answer as its field has it: tags in the text are text for the server.
type thoughtState struct {
	field, text string
	details     []detail
}

// detail is an element of reasoning_details. It comes in pieces of one type and index, whose texts follow upon each other; the signature
// comes with the last. The list goes back whole, in its order:
// https://openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning-blocks
type detail map[string]json.RawMessage

func (s *thoughtState) addDetail(piece gjson.Result) error {
	if !piece.IsObject() {
		return nil
	}
	came := detail{}
	piece.ForEach(func(name, value gjson.Result) bool {
		came[name.String()] = json.RawMessage(value.Raw)
		return true
	})
	last := len(s.details) - 1
	if last < 0 || came["index"] == nil || string(came["index"]) != string(s.details[last]["index"]) || string(came["type"]) != string(s.details[last]["type"]) {
		s.details = append(s.details, came)
		return nil
	}
	for name, value := range came {
		switch earlier := gjson.ParseBytes(s.details[last][name]); {
		case string(value) == "null":
		case (name == "text" || name == "summary" || name == "data") && earlier.Type == gjson.String:
			s.details[last][name] = domain.Encode(earlier.Str + gjson.ParseBytes(value).String())
		default:
			s.details[last][name] = value
		}
	}
	return nil
}

func (s *thoughtState) add(field, text string) {
	if text != "" {
		s.field, s.text = field, s.text+text
	}
}

func (s *thoughtState) parts() []provider.Part {
	switch {
	case len(s.details) > 0: // the other field has nothing that this one has not
		return []provider.Part{{Kind: partReasoningDetails, JSON: domain.Encode(s.details)}}
	case s.text != "":
		return []provider.Part{{Kind: s.field, JSON: domain.Encode(s.text)}}
	default:
		return nil
	}
}

// fieldsOf returns the fields that an answer gets beside its text and calls: its thought, or what stands for it.
func (v vendor) fieldsOf(state provider.State, calls, inTurn bool) map[string]any {
	fields := map[string]any{}
	goesBack := v.replay == replayAll || calls && (v.replay == replayCalls || v.replay == replayInTurn && inTurn)
	for _, field := range []string{partReasoningContent, partReasoning, partReasoningDetails} {
		if thought := provider.Find(state.Parts, field); thought != nil && goesBack {
			fields[field] = thought
		}
	}
	if content := provider.Find(state.Parts, partContent); content != nil {
		fields[partContent] = content
	}
	if calls && v.filler != nil && len(fields) == 0 {
		fields[partReasoningContent] = *v.filler
	}
	return fields
}

// extraOf returns the extra content of a call, or nil. Of parallel calls only the first is signed, and only signatures of the turn are checked, so
// that no other call gets the placeholder, which makes the model worse: Google's own figures are in BerriAI/litellm #37541.
func (v vendor) extraOf(state provider.CallState, checked bool) json.RawMessage {
	if extra := provider.Find(state.Parts, partExtraContent); extra != nil {
		return extra
	}
	if v.signs && checked {
		return placeholder
	}
	return nil
}
