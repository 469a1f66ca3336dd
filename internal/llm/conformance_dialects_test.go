package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	suiteKey   = "sk-suite-0123456789abcdef"
	suiteModel = "vendor-model"
	suiteIdle  = 2 * time.Minute
)

// dialect is how a vendor writes what every vendor says, and reads what every vendor is told.
type dialect struct {
	name string
	open func(transport http.RoundTripper) provider
	// keyless is the same, where the model has no key.
	keyless func(transport http.RoundTripper) provider
	wire    func(pieces ...piece) string // the stream's body
	fail    func(status int, message string) string
	// failEvent is the same in the middle of a stream.
	failEvent func(status int, message string) string
	overflow  string // the body of the 400 for a conversation that is too long
	address   string // that a request goes to
	keyHeader string
	key       string // in it
	read      func(t *testing.T, body []byte) sentConversation
}

// piece is a part of an answer: one of its fields is set.
type piece struct {
	text, thought string
	call          *callSaid
	stop          string // stop, tools, length, refusal
	usage         *usageSaid
	raw           string
}

type callSaid struct {
	number    int
	name      string // in the first piece of a call
	arguments string
}

type usageSaid struct{ fresh, cacheRead, cacheWrite, output, reasoning int64 }

func saying(text string) piece      { return piece{text: text} }
func thinking(thought string) piece { return piece{thought: thought} }
func stopping(reason string) piece  { return piece{stop: reason} }
func verbatim(lines string) piece   { return piece{raw: lines} }
func calling(number int, name, arguments string) piece {
	return piece{call: &callSaid{number: number, name: name, arguments: arguments}}
}

// sentConversation is what a vendor was asked, in no vendor's words.
type sentConversation struct {
	System   string
	Tools    []string
	Messages []sentMessage
}

// sentMessage is one thing that was said, called or answered.
type sentMessage struct{ Role, Text, Call, Result string }

func dialects() []dialect {
	keyless := Model{Model: suiteModel, BaseURL: "http://vendor.test/prefix/v1"}
	model := keyless
	model.APIKey = suiteKey
	return []dialect{{
		name:    ProviderOpenAI,
		open:    func(transport http.RoundTripper) provider { return newOpenAI("suite", model, suiteConfig(transport)) },
		keyless: func(transport http.RoundTripper) provider { return newOpenAI("suite", keyless, suiteConfig(transport)) },
		wire:    openAIWire,
		fail: func(_ int, message string) string {
			return `{"error":{"message":` + inJSON(message) + `,"type":"some_error","code":null}}`
		},
		failEvent: func(status int, message string) string {
			return fmt.Sprintf("data: {\"error\":{\"message\":%s,\"code\":%d}}\n\n", inJSON(message), status)
		},
		overflow: `{"error":{"message":"This model's limit is 128000 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`,
		address:  "http://vendor.test/prefix/v1/chat/completions", keyHeader: "Authorization", key: "Bearer " + suiteKey,
		read: readOpenAI,
	}, {
		name: ProviderAnthropic,
		open: func(transport http.RoundTripper) provider {
			return newAnthropic("suite", model, suiteConfig(transport))
		},
		keyless: func(transport http.RoundTripper) provider {
			return newAnthropic("suite", keyless, suiteConfig(transport))
		},
		wire: anthropicWire,
		fail: anthropicFailure,
		failEvent: func(status int, message string) string {
			return "event: error\ndata: " + anthropicFailure(status, message) + "\n\n"
		},
		overflow: `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}`,
		address:  "http://vendor.test/prefix/v1/messages", keyHeader: "X-Api-Key", key: suiteKey,
		read: readAnthropic,
	}}
}

func suiteConfig(transport http.RoundTripper) Config {
	return Config{Transport: transport, IdleTimeout: suiteIdle, Masker: unmasked{}}
}

func inJSON(text string) string {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false) // so that bytes above 127 and < stand as they are
	if err := encoder.Encode(text); err != nil {
		panic(err)
	}
	return strings.TrimSpace(buffer.String())
}

func openAIWire(pieces ...piece) string {
	var body strings.Builder
	chunk := func(delta, finish string) {
		fmt.Fprintf(&body, "data: {\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", delta, finish)
	}
	for _, p := range pieces {
		switch {
		case p.raw != "":
			body.WriteString(p.raw)
		case p.text != "":
			chunk(`{"content":`+inJSON(p.text)+`}`, "null")
		case p.thought != "":
			chunk(`{"reasoning_content":`+inJSON(p.thought)+`}`, "null")
		case p.call != nil:
			head := ""
			if p.call.name != "" {
				head = fmt.Sprintf(`"id":"c%d","type":"function",`, p.call.number)
			}
			chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,%s"function":{"name":%s,"arguments":%s}}]}`,
				p.call.number, head, inJSON(p.call.name), inJSON(p.call.arguments)), "null")
		case p.stop != "":
			reason := map[string]string{"stop": "stop", "tools": "tool_calls", "length": "length", "refusal": "content_filter"}[p.stop]
			chunk("{}", inJSON(reason))
		case p.usage != nil:
			u := p.usage
			input := u.fresh + u.cacheRead + u.cacheWrite
			fmt.Fprintf(&body, `data: {"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,`+
				`"prompt_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d},"completion_tokens_details":{"reasoning_tokens":%d}}}`+"\n\n",
				input, u.output, input+u.output, u.cacheRead, u.cacheWrite, u.reasoning)
		}
	}
	return body.String()
}

// anthropicStream writes an answer block by block. Calls stay open until the end, so that their pieces may be mixed.
type anthropicStream struct {
	body  strings.Builder
	next  int
	open  string // text or thinking
	calls map[int]int
}

func anthropicWire(pieces ...piece) string {
	s := &anthropicStream{calls: map[int]int{}}
	s.event(`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"stop_reason":null}}`)
	for _, p := range pieces {
		s.write(p)
	}
	return s.body.String()
}

func (s *anthropicStream) write(p piece) {
	switch {
	case p.raw != "":
		s.body.WriteString(p.raw)
	case p.text != "":
		s.enter("text", `{"type":"text","text":""}`)
		s.delta(s.next-1, `{"type":"text_delta","text":`+inJSON(p.text)+`}`)
	case p.thought != "":
		s.enter("thinking", `{"type":"thinking","thinking":"","signature":""}`)
		s.delta(s.next-1, `{"type":"thinking_delta","thinking":`+inJSON(p.thought)+`}`)
	case p.call != nil:
		s.leave()
		if p.call.name != "" {
			s.calls[p.call.number] = s.start(fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":%s,"input":{}}`, p.call.number, inJSON(p.call.name)))
		}
		s.delta(s.calls[p.call.number], `{"type":"input_json_delta","partial_json":`+inJSON(p.call.arguments)+`}`)
	case p.usage != nil:
		u := p.usage
		s.event(fmt.Sprintf(`{"type":"message_delta","delta":{},"usage":{"input_tokens":%d,"cache_read_input_tokens":%d,`+
			`"cache_creation_input_tokens":%d,"output_tokens":%d,"output_tokens_details":{"thinking_tokens":%d}}}`,
			u.fresh, u.cacheRead, u.cacheWrite, u.output, u.reasoning))
	case p.stop != "":
		s.leave()
		for _, index := range slices.Sorted(maps.Values(s.calls)) {
			s.event(fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index))
		}
		reason := map[string]string{"stop": "end_turn", "tools": "tool_use", "length": "max_tokens"}[p.stop]
		if reason == "" {
			reason = p.stop
		}
		s.event(`{"type":"message_delta","delta":{"stop_reason":` + inJSON(reason) + `,"stop_sequence":null}}`)
	}
}

func (s *anthropicStream) enter(kind, block string) {
	if s.open != kind {
		s.leave()
		s.start(block)
		s.open = kind
	}
}

func (s *anthropicStream) leave() {
	if s.open == "thinking" {
		s.delta(s.next-1, `{"type":"signature_delta","signature":"signed"}`)
	}
	if s.open != "" {
		s.event(fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, s.next-1))
	}
	s.open = ""
}

func (s *anthropicStream) start(block string) int {
	s.event(fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, s.next, block))
	s.next++
	return s.next - 1
}

func (s *anthropicStream) delta(index int, delta string) {
	s.event(fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, index, delta))
}

func (s *anthropicStream) event(data string) {
	var told struct{ Type string }
	if err := json.Unmarshal([]byte(data), &told); err != nil {
		panic(err)
	}
	s.body.WriteString("event: " + told.Type + "\ndata: " + data + "\n\n")
}

func anthropicFailure(status int, message string) string {
	kind := map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
		413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 503: "api_error", 529: "overloaded_error",
	}[status]
	return `{"type":"error","error":{"type":"` + kind + `","message":` + inJSON(message) + `},"request_id":"req_1"}`
}

func readOpenAI(t *testing.T, body []byte) sentConversation {
	var sent struct {
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
	decode(t, body, &sent)
	var got sentConversation
	for _, m := range sent.Messages {
		switch {
		case m.Role == "system":
			got.System = m.Content
		case m.Role == "tool":
			got.Messages = append(got.Messages, sentMessage{Role: "user", Result: m.ToolCallID, Text: m.Content})
		case m.Content != "":
			got.Messages = append(got.Messages, sentMessage{Role: m.Role, Text: m.Content})
		}
		for _, call := range m.ToolCalls {
			got.Messages = append(got.Messages, sentMessage{Role: m.Role, Call: call.ID, Text: call.Function.Name + " " + call.Function.Arguments})
		}
	}
	for _, tool := range sent.Tools {
		got.Tools = append(got.Tools, tool.Function.Name)
	}
	return got
}

// anthropicSent is a request as Anthropic reads it.
type anthropicSent struct {
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

func readAnthropic(t *testing.T, body []byte) sentConversation {
	var sent anthropicSent
	decode(t, body, &sent)
	var got sentConversation
	for _, block := range sent.System {
		got.System += block.Text
	}
	for _, message := range sent.Messages {
		for _, block := range message.Content {
			said := sentMessage{Role: message.Role, Text: block.Text}
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

func decode(t *testing.T, body []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(body, into); err != nil {
		t.Fatalf("the request cannot be read: %v\n%s", err, body)
	}
}
