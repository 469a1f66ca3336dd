package openai

import (
	"regexp"

	"signoff/internal/llm/provider"
)

// stateRefusals are the sentences with which the vendors refuse the state that goes back to them, and other things. Those about state were seen in:
//   - Gemini: "Function call is missing a thought_signature in functionCall parts", "Corrupted thought signature"
//   - DeepSeek: "The reasoning_content in the thinking mode must be passed back to the API"
//   - Kimi: "thinking is enabled but reasoning_content is missing in assistant tool call message"
//   - Mistral: "Tool call id was … but must be a-z, A-Z, 0-9, with a length of 9", and "extra inputs are not permitted" of a field of state
//   - OpenRouter passes on the sentences of the vendors behind it, about signatures, thinking and encrypted content
//
// Codes and sentences of other things are those of https://platform.openai.com/docs/guides/error-codes, which the others copy.
var stateRefusals = provider.StateRefusals{
	About: regexp.MustCompile(`(?i)signature|reasoning_(content|details)|\breasoning\b|\bthinking\b|\bthoughts?\b|encrypted|extra_content|tool[ _-]?call|function[ _-]?call\b`),
	Other: regexp.MustCompile(`(?i)model_not_found|unsupported_(parameter|value)|unknown_parameter|invalid_function_parameters|invalid_json_schema|` +
		`\bmodel .*(not (exist|found)|is not supported)|unknown (name|parameter|field)|unrecognized request argument|unsupported (parameter|value)|` +
		`invalid schema for|invalid (temperature|max_tokens|max_completion_tokens|top_p|seed)\b|response_format|reasoning_effort`),
}
