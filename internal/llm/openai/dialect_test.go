package openai

import (
	"cmp"
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
			return fmt.Sprintf("data: {\"error\":{\"message\":%s,\"code\":%d}}\n\n", providertest.InJSON(message), status)
		},
		Overflow: `{"error":{"message":"This model's limit is 128000 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`,
		Filtered: `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","param":"prompt","code":"content_filter"}}`,
		Address:  "http://vendor.test/prefix/v1/chat/completions", KeyHeader: "Authorization", Key: "Bearer " + providertest.Key,
		Read: readSent, TellsRefusals: true,
	}
}

func TestConformance(t *testing.T) { providertest.Run(t, dialect()) }

func wire(pieces ...providertest.Piece) string {
	var body strings.Builder
	chunk := func(delta, finish string) {
		fmt.Fprintf(&body, "data: {\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", delta, finish)
	}
	for _, p := range pieces {
		switch {
		case p.Raw != "":
			body.WriteString(p.Raw)
		case p.Text != "":
			chunk(`{"content":`+providertest.InJSON(p.Text)+`}`, "null")
		case p.Refusal != "":
			chunk(`{"refusal":`+providertest.InJSON(p.Refusal)+`}`, "null")
		case p.Thought != "":
			chunk(`{"reasoning_content":`+providertest.InJSON(p.Thought)+`}`, "null")
		case p.Call != nil:
			head := ""
			if p.Call.Name != "" {
				head = fmt.Sprintf(`"id":%q,"type":"function",`, cmp.Or(p.Call.ID, fmt.Sprintf("c%d", p.Call.Number)))
			}
			chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,%s"function":{"name":%s,"arguments":%s}}]}`,
				p.Call.Number, head, providertest.InJSON(p.Call.Name), providertest.InJSON(p.Call.Arguments)), "null")
		case p.Stop != "":
			reason := map[string]string{"stop": "stop", "tools": "tool_calls", "length": "length", "filter": "content_filter"}[p.Stop]
			chunk("{}", providertest.InJSON(reason))
		case p.Usage != nil:
			u := p.Usage
			input := u.Fresh + u.CacheRead + u.CacheWrite
			fmt.Fprintf(&body, `data: {"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,`+
				`"prompt_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d},"completion_tokens_details":{"reasoning_tokens":%d}}}`+"\n\n",
				input, u.Output, input+u.Output, u.CacheRead, u.CacheWrite, u.Reasoning)
		}
	}
	return body.String()
}

func readSent(t *testing.T, body []byte) providertest.Conversation {
	var sent struct {
		Model         string
		Stream        bool
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
		Messages []struct {
			Role, Content string
			ToolCallID    string `json:"tool_call_id"`
			ToolCalls     []struct {
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Tools []struct{ Function struct{ Name string } }
	}
	providertest.Decode(t, body, &sent)
	if sent.Model != providertest.ModelName || !sent.Stream || !sent.StreamOptions.IncludeUsage {
		t.Errorf("sent %+v", sent)
	}
	var got providertest.Conversation
	for _, m := range sent.Messages {
		switch {
		case m.Role == "system":
			got.System = m.Content
		case m.Role == "tool":
			got.Messages = append(got.Messages, providertest.Message{Role: "user", Result: m.ToolCallID, Text: m.Content})
		case m.Content != "":
			got.Messages = append(got.Messages, providertest.Message{Role: m.Role, Text: m.Content})
		}
		for _, call := range m.ToolCalls {
			got.Messages = append(got.Messages, providertest.Message{Role: m.Role, Call: call.ID, Text: call.Function.Name + " " + call.Function.Arguments})
		}
	}
	for _, tool := range sent.Tools {
		got.Tools = append(got.Tools, tool.Function.Name)
	}
	return got
}
