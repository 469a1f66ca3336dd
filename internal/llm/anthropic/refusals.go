package anthropic

import (
	"regexp"

	"signoff/internal/llm/provider"
)

// stateRefusals are the sentences with which the vendor refuses thoughts that go back to it, and calls without results:
//   - "messages.1.content.0: Invalid `signature` in `thinking` block"
//   - "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`"
//   - "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified"
//
// A sentence about anything else begins with the field of the request: https://platform.claude.com/docs/en/api/errors
var stateRefusals = provider.StateRefusals{
	About: regexp.MustCompile(`(?i)signature|redacted|content\.\d+\S*thinking|tool_use|tool_result`),
	Other: regexp.MustCompile(`(?i)^invalid_request_error \W?(model|max_tokens|temperature|top_[pk]|tools|tool_choice|system|output_config|output_format|metadata|thinking\.)|` +
		`extra inputs are not permitted|is not supported for this model|image exceeds|could not process (image|pdf)|pdf`),
}
