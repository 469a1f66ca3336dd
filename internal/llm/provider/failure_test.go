package provider

import (
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/secrets"
)

// silent is of a model without a key, where nothing is masked.
var silent = Failures{model: "m", masker: secrets.NewMasker()}

func TestShorten(t *testing.T) {
	const secret = "correct horse"
	hide := Failures{masker: secrets.NewMasker("another secret of ours"), key: secret}
	tests := []struct{ name, in, want string }{
		{"plain", "The model is overloaded.", "The model is overloaded."},
		{"own key", "The key correct horse is wrong.", "The key [key] is wrong."},
		{"half a key", "Incorrect API key provided: sk-proj-ab********xyz.", "Incorrect API key provided: [key]"},
		{"header", "Got Authorization: Bearer abcdefgh12345", "Got Authorization: Bearer [masked]"},
		{"what the server knows", "No anot her, another secret of ours?", "No anot her, [masked]?"},
		{"a secret at the cut", strings.Repeat("x", 290) + "another secret of ours", strings.Repeat("x", 290) + "[masked]"},
		{"address", "See https://vendor.test/keys?x=1, or HTTP://10.0.0.1/", "See [address] or [address]"},
		{"lines", "one\r\n\ttwo\u2028three\u202efour\x00", "one two threefour"},
		{"long", strings.Repeat("ä", 400), strings.Repeat("ä", 299) + "…"},
	}
	for _, test := range tests {
		if got := hide.shorten(test.in); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
	if got := silent.shorten("anything"); got != "anything" {
		t.Errorf("without a key: %q", got)
	}
}

// TestGeminisErrors: they come in a list of one, and a wrong key is called a wrong request.
func TestGeminisErrors(t *testing.T) {
	message, code, _ := errorText([]byte(`[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`))
	failed := (&statusError{status: 400, message: message, code: code}).failure(silent)
	if failed.Shown.Code != domain.CodeModelUnauthorized {
		t.Errorf("%q, %q: %v", message, code, failed.Shown)
	}
}

// TestContentFilter is what vendors were seen to say of a request that their filter refuses, and what they say of other things.
func TestContentFilter(t *testing.T) {
	for _, test := range []struct {
		status     int
		body, says string // empty: it is another error
	}{
		{400, `{"error":{"message":"Filtered.","code":"content_filter","innererror":{"content_filter_result":{"hate":{"filtered":true,"severity":"high"},` +
			`"jailbreak":{"filtered":true,"detected":true},"violence":{"filtered":false,"severity":"low"}}}}}`, `model "m" (hate high, jailbreak)`},
		{400, `{"error":{"message":"The request was rejected because it was considered high risk","type":"content_filter"}}`, "It says: The request was rejected"},
		{400, `{"error":{"message":"Content Exists Risk","type":"invalid_request_error"}}`, "Content Exists Risk"},
		{400, `{"error":{"message":"Unsafe.","code":"1301"}}`, "Unsafe."},
		{403, `{"error":{"message":"Your input was flagged","code":403,"metadata":{"reasons":["violence","hate"],"flagged_input":"x"}}}`, "(violence, hate)"},
		{403, `{"error":{"message":"No access to this model","code":403}}`, ""},
		{400, `{"error":{"message":"bad schema","code":"invalid_request_error"}}`, ""},
		{500, `{"error":{"message":"content management policy","code":"server_error"}}`, ""},
	} {
		told := &statusError{status: test.status}
		told.message, told.code, told.reasons = errorText([]byte(test.body))
		got := told.failure(silent).Shown
		if filtered := got.Code == domain.CodeContentFiltered; filtered != (test.says != "") || !strings.Contains(got.Message, test.says) {
			t.Errorf("%s: %s: %s", test.body, got.Code, got.Message)
		}
	}
}

// TestOverflow is what servers were seen to say when a conversation is too long, and what they say of other things.
func TestOverflow(t *testing.T) {
	tests := []struct {
		status        int
		message, code string
		want          bool
	}{
		{400, "prompt is too long: 208310 tokens > 200000 maximum", "invalid_request_error", true},
		{400, "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000", "invalid_request_error", true},
		{413, "Prompt is too long", "request_too_large", true},
		{400, "Your input exceeds the limit.", "context_length_exceeded", true},
		{400, "This model's maximum context length is 4096 tokens.", "400", true},
		{400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096.", "", true},
		{400, "the request exceeds the available context size", "exceed_context_size_error", true},
		{400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", "", true},
		{422, "maximum context of 8192 exceeded", "", true},
		{400, "max_tokens: must be greater than 0", "invalid_request_error", false},
		{413, "Request exceeds the maximum size", "request_too_large", false},
		{429, "Too many tokens for your context window tier", "rate_limit_error", false},
		{500, "context length", "", false},
	}
	for _, test := range tests {
		told := &statusError{status: test.status, message: test.message, code: test.code}
		failed := told.failure(silent)
		if (failed.Shown.Code == domain.CodeContextOverflow) != test.want || (test.want && failed.Retry) {
			t.Errorf("%d %s: %s, retry %v", test.status, test.message, failed.Shown.Code, failed.Retry)
		}
	}
}

// TestOutOfCredit is what vendors say when an account is empty, and what sounds like it.
func TestOutOfCredit(t *testing.T) {
	tests := []struct {
		status        int
		message, code string
		want          bool
	}{
		{429, "You exceeded your current quota, please check your plan and billing details.", "insufficient_quota", true},
		{429, "You exceeded your current quota, please check your plan and billing details.", "429", false}, // Gemini, for a minute
		{429, "Rate limit reached", "rate_limit_exceeded", false},
		{402, "", "", true},
		{402, "Payment required", "billing_error", true},
		{400, "Your credit balance is too low to access the Anthropic API.", "invalid_request_error", true},
		{403, "Insufficient balance", "", true},
		{403, "You may not use this model", "permission_error", false},
		{500, "insufficient funds", "", false},
		{0, "quota", "insufficient_quota", true},
	}
	for _, test := range tests {
		told := &statusError{status: test.status, message: test.message, code: test.code}
		failed := told.failure(silent)
		if (failed.Shown.Code == domain.CodeQuotaExceeded) != test.want || (test.want && (failed.Retry || !failed.Elsewhere())) {
			t.Errorf("%d %s: %s, retry %v", test.status, test.message, failed.Shown.Code, failed.Retry)
		}
	}
}
