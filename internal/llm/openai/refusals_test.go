package openai

import (
	"testing"

	"signoff/internal/llm/provider/providertest"
)

// TestWhichRefusalsMayBeAboutState: what the vendor was seen to say of state, what it says of other things, and what nobody knows.
func TestWhichRefusalsMayBeAboutState(t *testing.T) {
	providertest.Refusals(t, dialect(), map[string]bool{
		`{"error":{"code":400,"message":"Function call is missing a thought_signature in functionCall parts.","status":"INVALID_ARGUMENT"}}`: true,
		`[{"error":{"code":400,"message":"Corrupted thought signature.","status":"INVALID_ARGUMENT"}}]`:                                      true,
		`[{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"extra_content\" at 'messages[1].tool_calls[0]'"}}]`:  true,
		`{"error":{"message":"The reasoning_content in the thinking mode must be passed back to the API.","code":"invalid_request_error"}}`:  true,
		`{"error":{"message":"thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"}}`:             true,
		`{"detail":[{"loc":["body","messages",1,"reasoning_content"],"msg":"Extra inputs are not permitted"}]}`:                              true,
		`{"error":{"message":"Oh"}}`:                                                                                                                                      true,
		`{"error":{"message":"Request contains an invalid argument."}}`:                                                                                                   true,
		`{"error":{"message":"The model ` + "`" + `gpt-9` + "`" + ` does not exist","code":"model_not_found"}}`:                                                           false,
		`{"error":{"message":"Model Not Exist","type":"invalid_request_error"}}`:                                                                                          false,
		`{"error":{"message":"Unsupported parameter: 'seed' is not supported","code":"unsupported_parameter"}}`:                                                           false,
		`{"error":{"message":"Invalid schema for function 'bash'","code":"invalid_function_parameters"}}`:                                                                 false,
		`{"error":{"message":"invalid temperature: only 1 is allowed for this model"}}`:                                                                                   false,
		`[{"error":{"code":400,"message":"Expected one of either ` + "`" + `reasoning_effort` + "`" + ` or custom ` + "`" + `thinking_config` + "`" + `; found both."}}]`: false,
	})
}
