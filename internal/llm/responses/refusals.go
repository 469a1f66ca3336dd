package responses

import (
	"regexp"

	"signoff/internal/llm/provider"
)

// stateRefusals are the sentences with which the vendor refuses items that go back to it, all of the parameter input:
//   - "The encrypted content … could not be verified" (invalid_encrypted_content)
//   - "Item 'rs_…' of type 'reasoning' was provided without its required following item"
//   - "Item 'fc_…' of type 'function_call' was provided without its required 'reasoning' item"
//   - "No tool output found for function call call_…"
//   - "Item with id 'rs_…' not found"
//
// The others are those of https://platform.openai.com/docs/guides/error-codes.
var stateRefusals = provider.StateRefusals{
	About: regexp.MustCompile(`(?i)encrypted|\bitem ('|with id)|\breasoning\b|function[ _]call\b|tool output`),
	Other: regexp.MustCompile(`(?i)model_not_found|unsupported_(parameter|value)|unknown_parameter|invalid_function_parameters|invalid_json_schema|invalid_image|` +
		`\bmodel .*(does not exist|not found|is not supported)|unknown parameter|unsupported (parameter|value)|invalid schema for`),
}
