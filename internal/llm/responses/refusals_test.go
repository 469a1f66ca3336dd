package responses

import (
	"testing"

	"signoff/internal/llm/provider/providertest"
)

// TestWhichRefusalsMayBeAboutState: what the vendor was seen to say of state, what it says of other things, and what nobody knows.
func TestWhichRefusalsMayBeAboutState(t *testing.T) {
	providertest.Refusals(t, dialect(), map[string]bool{
		`{"error":{"message":"The encrypted content gAAA could not be verified.","code":"invalid_encrypted_content"}}`:                                         true,
		`{"error":{"message":"Item 'rs_1' of type 'reasoning' was provided without its required following item.","code":null,"type":"invalid_request_error"}}`: true,
		`{"error":{"message":"Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'."}}`:                              true,
		`{"error":{"message":"No tool output found for function call call_1."}}`:                                                                               true,
		`{"error":{"message":"Item with id 'rs_1' not found. Items are not persisted when store is set to false."}}`:                                           true,
		`{"error":{"message":"Oh"}}`: true,
		`{"error":{"message":"The requested model 'gpt-9' does not exist.","code":"model_not_found"}}`:                                 false,
		`{"error":{"message":"Unsupported parameter: 'temperature' is not supported with this model."}}`:                               false,
		`{"error":{"message":"Unknown parameter: 'foo'.","code":"unknown_parameter"}}`:                                                 false,
		`{"error":{"message":"Invalid schema for function 'bash': array schema missing items.","code":"invalid_function_parameters"}}`: false,
	})
}
