package openai

import (
	"strings"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// ending is the meaning of a finish reason.
type ending int

const (
	endedWell      ending = iota // also for a reason that nobody knows: servers make up names for this one
	endedShort                   // at a limit of tokens
	endedFiltered                // by the vendor's content filter
	endedBroken                  // the server gave up
	endedMalformed               // the model has written a call that its server could not read
)

// endings are the finish reasons that vendors have beside "stop" and "tool_calls", in small letters. Gemini's endpoint puts its own reason behind
// one of OpenAI's, as in "content_filter: RECITATION", and gateways in front of it send that reason alone.
//   - Gemini: https://ai.google.dev/api/generate-content#FinishReason; "function_call_filter: MALFORMED_FUNCTION_CALL" was seen by others
//   - DeepSeek: https://api-docs.deepseek.com/api/create-chat-completion
//   - GLM: https://docs.z.ai/api-reference/llm/chat-completion
//   - Mistral: https://docs.mistral.ai/api/#tag/chat
var endings = map[string]ending{
	"length": endedShort, "max_tokens": endedShort, "model_length": endedShort, "model_context_window_exceeded": endedShort,

	"content_filter": endedFiltered, "sensitive": endedFiltered,
	"safety": endedFiltered, "recitation": endedFiltered, "blocklist": endedFiltered, "prohibited_content": endedFiltered, "spii": endedFiltered,
	"image_safety": endedFiltered, "image_prohibited_content": endedFiltered, "image_recitation": endedFiltered,

	"error": endedBroken, "network_error": endedBroken, "insufficient_system_resource": endedBroken,

	"function_call_filter": endedMalformed, "malformed_function_call": endedMalformed, "unexpected_tool_call": endedMalformed,
}

// finish is the answer that has come to its end, or why it is none.
func (c *client) finish(r *reader) (provider.Answer, error) {
	reason, detail, _ := strings.Cut(r.finish, ":")
	got := provider.Answer{Calls: r.calls.Result(), State: append(r.thought.parts(), r.content.parts()...)}
	switch endings[strings.ToLower(strings.TrimSpace(reason))] {
	case endedShort:
		got.Finish = provider.FinishLength
	case endedFiltered:
		return provider.Answer{}, c.failures.Filtered(filterReasons(reason, detail, r.filter)...)
	case endedBroken:
		return provider.Answer{}, provider.Broken(nil, "The provider of model %q broke the answer off.", c.name)
	case endedMalformed: // answers differ from one request to the next, so a second one may be well-formed
		return provider.Answer{}, &provider.Error{Retry: true, Once: true, Shown: domain.Errorf(domain.CodeModelFailed,
			"The answer of model %q was given up: its provider could not read the tool call in it.", c.name)}
	case endedWell:
		if r.refused {
			got.Finish = provider.FinishRefusal
		}
	}
	return got, nil
}

// filterReasons are the reasons for which a filter has stopped an answer, if the vendor gives any.
func filterReasons(reason, detail string, categories []string) []string {
	switch detail = strings.TrimSpace(detail); {
	case detail != "":
		return append([]string{detail}, categories...)
	case reason != "content_filter" && reason != "sensitive":
		return append([]string{reason}, categories...)
	}
	return categories
}
