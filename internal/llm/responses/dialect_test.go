package responses

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"signoff/internal/llm/provider/providertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func dialect() providertest.Dialect {
	return providertest.Dialect{
		Provider: Provider,
		Wire:     wire,
		Fail: func(_ int, message string) string {
			return `{"error":{"message":` + providertest.InJSON(message) + `,"type":"some_error","code":null}}`
		},
		FailEvent: func(status int, message string) string {
			return fmt.Sprintf("event: error\ndata: {\"type\":\"error\",\"error\":{\"message\":%s,\"code\":\"%d\"}}\n\n", providertest.InJSON(message), status)
		},
		Overflow: `{"error":{"message":"This model's limit is 128000 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`,
		Filtered: `{"error":{"message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy.","code":"invalid_prompt"}}`,
		Address:  "http://vendor.test/prefix/v1/responses", KeyHeader: "Authorization", Key: "Bearer " + providertest.Key,
		Read: readSent, TellsRefusals: true,
	}
}

func TestConformance(t *testing.T) { providertest.Run(t, dialect()) }

// wire is a stream as the vendor writes it. Usage comes with the end of an answer; where it comes apart, a gateway has put it into an
// event of the response's progress.
func wire(pieces ...providertest.Piece) string {
	var body strings.Builder
	event := func(kind, fields string) {
		fmt.Fprintf(&body, "event: %s\ndata: {\"type\":%q,%s}\n\n", kind, kind, fields)
	}
	for _, p := range pieces {
		switch {
		case p.Raw != "":
			body.WriteString(p.Raw)
		case p.Text != "":
			event("response.output_text.delta", `"delta":`+providertest.InJSON(p.Text))
		case p.Refusal != "":
			event("response.refusal.delta", `"delta":`+providertest.InJSON(p.Refusal))
		case p.Thought != "":
			event("response.reasoning_summary_text.delta", `"delta":`+providertest.InJSON(p.Thought))
		case p.Call != nil && p.Call.Name != "":
			event("response.output_item.added", fmt.Sprintf(`"output_index":%d,"item":{"type":"function_call","call_id":%q,"name":%s,"arguments":""}`,
				p.Call.Number, cmp.Or(p.Call.ID, fmt.Sprintf("c%d", p.Call.Number)), providertest.InJSON(p.Call.Name)))
			fallthrough
		case p.Call != nil:
			event("response.function_call_arguments.delta", fmt.Sprintf(`"output_index":%d,"delta":%s`, p.Call.Number, providertest.InJSON(p.Call.Arguments)))
		case p.Stop == "length":
			event("response.incomplete", `"response":{"incomplete_details":{"reason":"max_output_tokens"}}`)
		case p.Stop == "filter":
			event("response.incomplete", `"response":{"incomplete_details":{"reason":"content_filter"}}`)
		case p.Stop != "":
			event("response.completed", `"response":{"status":"completed"}`)
		case p.Usage != nil:
			u := p.Usage
			input := u.Fresh + u.CacheRead + u.CacheWrite
			event("response.in_progress", fmt.Sprintf(`"response":{"usage":{"input_tokens":%d,"output_tokens":%d,"total_tokens":%d,`+
				`"input_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d},"output_tokens_details":{"reasoning_tokens":%d}}}`,
				input, u.Output, input+u.Output, u.CacheRead, u.CacheWrite, u.Reasoning))
		}
	}
	return body.String()
}

func readSent(t *testing.T, body []byte) providertest.Conversation {
	var sent struct {
		Model, Instructions string
		Stream, Store       bool
		Include             []string
		Input               []struct {
			Type, Role, Content, Name, Arguments, Output string
			CallID                                       string `json:"call_id"`
		}
		Tools []struct {
			Type, Name string
			Strict     *bool
			Parameters json.RawMessage
		}
	}
	providertest.Decode(t, body, &sent)
	if sent.Model != providertest.ModelName || !sent.Stream || sent.Store || len(sent.Include) != 1 || sent.Include[0] != "reasoning.encrypted_content" ||
		!strings.Contains(string(body), `"store":false`) {
		t.Errorf("sent %s", body)
	}
	got := providertest.Conversation{System: sent.Instructions}
	for _, item := range sent.Input {
		switch item.Type {
		case "function_call":
			got.Messages = append(got.Messages, providertest.Message{Role: "assistant", Call: item.CallID, Text: item.Name + " " + item.Arguments})
		case "function_call_output":
			got.Messages = append(got.Messages, providertest.Message{Role: "user", Result: item.CallID, Text: item.Output})
		default:
			got.Messages = append(got.Messages, providertest.Message{Role: item.Role, Text: item.Content})
		}
	}
	for _, tool := range sent.Tools {
		if tool.Type != "function" || tool.Strict == nil || *tool.Strict || len(tool.Parameters) == 0 {
			t.Errorf("a tool is %+v", tool)
		}
		got.Tools = append(got.Tools, tool.Name)
	}
	return got
}
