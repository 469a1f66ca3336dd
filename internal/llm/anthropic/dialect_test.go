package anthropic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
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
		Fail:     failure,
		FailEvent: func(status int, message string) string {
			return "event: error\ndata: " + failure(status, message) + "\n\n"
		},
		Overflow: `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}`,
		Filtered: `{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}`,
		Address:  "http://vendor.test/prefix/v1/messages", KeyHeader: "X-Api-Key", Key: providertest.Key,
		Read: readSent,
	}
}

func TestConformance(t *testing.T) { providertest.Run(t, dialect()) }

// stream writes an answer block by block. Calls stay open until the end, so that their pieces may be mixed.
type stream struct {
	body  strings.Builder
	next  int
	open  string // text or thinking
	calls map[int]int
}

func wire(pieces ...providertest.Piece) string {
	s := &stream{calls: map[int]int{}}
	s.event(`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"stop_reason":null}}`)
	for _, p := range pieces {
		s.write(p)
	}
	return s.body.String()
}

func (s *stream) write(p providertest.Piece) {
	switch {
	case p.Raw != "":
		s.body.WriteString(p.Raw)
	case p.Text != "" || p.Refusal != "":
		s.enter("text", `{"type":"text","text":""}`)
		s.delta(s.next-1, `{"type":"text_delta","text":`+providertest.InJSON(p.Text+p.Refusal)+`}`)
	case p.Thought != "":
		s.enter("thinking", `{"type":"thinking","thinking":"","signature":""}`)
		s.delta(s.next-1, `{"type":"thinking_delta","thinking":`+providertest.InJSON(p.Thought)+`}`)
	case p.Call != nil:
		s.leave()
		if p.Call.Name != "" {
			s.calls[p.Call.Number] = s.start(fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%s,"input":{}}`, cmp.Or(p.Call.ID, fmt.Sprintf("toolu_%d", p.Call.Number)), providertest.InJSON(p.Call.Name)))
		}
		s.delta(s.calls[p.Call.Number], `{"type":"input_json_delta","partial_json":`+providertest.InJSON(p.Call.Arguments)+`}`)
	case p.Usage != nil:
		u := p.Usage
		s.event(fmt.Sprintf(`{"type":"message_delta","delta":{},"usage":{"input_tokens":%d,"cache_read_input_tokens":%d,`+
			`"cache_creation_input_tokens":%d,"output_tokens":%d,"output_tokens_details":{"thinking_tokens":%d}}}`,
			u.Fresh, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning))
	case p.Stop != "":
		s.leave()
		for _, index := range slices.Sorted(maps.Values(s.calls)) {
			s.event(fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index))
		}
		reason := map[string]string{"stop": "end_turn", "tools": "tool_use", "length": "max_tokens", "filter": "refusal"}[p.Stop]
		if reason == "" {
			reason = p.Stop
		}
		s.event(`{"type":"message_delta","delta":{"stop_reason":` + providertest.InJSON(reason) + `,"stop_sequence":null}}`)
	}
}

func (s *stream) enter(kind, block string) {
	if s.open != kind {
		s.leave()
		s.start(block)
		s.open = kind
	}
}

func (s *stream) leave() {
	if s.open == "thinking" {
		s.delta(s.next-1, `{"type":"signature_delta","signature":"signed"}`)
	}
	if s.open != "" {
		s.event(fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, s.next-1))
	}
	s.open = ""
}

func (s *stream) start(block string) int {
	s.event(fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, s.next, block))
	s.next++
	return s.next - 1
}

func (s *stream) delta(index int, delta string) {
	s.event(fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, index, delta))
}

func (s *stream) event(data string) {
	var told struct{ Type string }
	if err := json.Unmarshal([]byte(data), &told); err != nil {
		panic(err)
	}
	s.body.WriteString("event: " + told.Type + "\ndata: " + data + "\n\n")
}

func failure(status int, message string) string {
	kind := map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
		413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 503: "api_error", 529: "overloaded_error",
	}[status]
	return `{"type":"error","error":{"type":"` + kind + `","message":` + providertest.InJSON(message) + `},"request_id":"req_1"}`
}

// sentRequest is a request as Anthropic reads it.
type sentRequest struct {
	Model     string
	Stream    bool
	MaxTokens int `json:"max_tokens"`
	Thinking  map[string]any
	System    []sentBlock
	Messages  []struct {
		Role    string
		Content []sentBlock
	}
	Tools []struct {
		Name        string
		Description string
		Schema      json.RawMessage `json:"input_schema"`
	}
}

type sentBlock struct {
	Type      string
	Text      string
	Thinking  string
	Signature string
	Data      string
	ID        string
	Name      string
	Input     json.RawMessage
	ToolUseID string `json:"tool_use_id"`
	Content   []sentBlock
	Cache     map[string]string `json:"cache_control"`
}

func readSent(t *testing.T, body []byte) providertest.Conversation {
	var sent sentRequest
	providertest.Decode(t, body, &sent)
	var got providertest.Conversation
	for _, block := range sent.System {
		got.System += block.Text
	}
	for _, message := range sent.Messages {
		for _, block := range message.Content {
			said := providertest.Message{Role: message.Role, Text: block.Text}
			switch block.Type {
			case "tool_use":
				said.Call, said.Text = block.ID, block.Name+" "+string(block.Input)
			case "tool_result":
				said.Result = block.ToolUseID
				for _, part := range block.Content {
					said.Text += part.Text
				}
			}
			got.Messages = append(got.Messages, said)
		}
	}
	for _, tool := range sent.Tools {
		got.Tools = append(got.Tools, tool.Name)
	}
	return got
}
