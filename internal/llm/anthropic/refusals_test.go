package anthropic

import (
	"testing"

	"signoff/internal/llm/provider/providertest"
)

// TestWhichRefusalsMayBeAboutState: what the vendor was seen to say of state, what it says of other things, and what nobody knows.
func TestWhichRefusalsMayBeAboutState(t *testing.T) {
	providertest.Refusals(t, dialect(), map[string]bool{
		`{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid ` + "`" + `signature` + "`" + ` in ` + "`" + `thinking` + "`" + ` block"}}`:                                                true,
		`{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0.type: Expected ` + "`" + `thinking` + "`" + ` or ` + "`" + `redacted_thinking` + "`" + `, but found ` + "`" + `text` + "`" + `."}}`: true,
		`{"type":"error","error":{"type":"invalid_request_error","message":"messages.5.content.2.thinking.foo: Extra inputs are not permitted"}}`:                                                                                    true,
		`{"type":"error","error":{"type":"invalid_request_error","message":"messages.3: ` + "`" + `tool_use` + "`" + ` ids were found without ` + "`" + `tool_result` + "`" + ` blocks immediately after: toolu_1"}}`:                true,
		`{"type":"error","error":{"type":"invalid_request_error","message":"Oh"}}`:                                                                                                                                                   true,
		`{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 100000 > 64000, which is the maximum allowed"}}`:                                                                                             false,
		`{"type":"error","error":{"type":"invalid_request_error","message":"` + "`" + `max_tokens` + "`" + ` must be greater than ` + "`" + `thinking.budget_tokens` + "`" + `"}}`:                                                   false,
		`{"type":"error","error":{"type":"invalid_request_error","message":"\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\""}}`:                                                            false,
		`{"type":"error","error":{"type":"invalid_request_error","message":"tools.0.custom.input_schema: JSON schema is invalid"}}`:                                                                                                  false,
		`{"type":"error","error":{"type":"invalid_request_error","message":"messages.0.content.1.image.source.base64: image exceeds 5 MB maximum"}}`:                                                                                 false,
	})
}
