package providertest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// The vendors of chat completions.
var (
	// MockGemini wants the signature of the first call of each answer of the current turn, or its placeholder:
	// https://ai.google.dev/gemini-api/docs/thought-signatures
	MockGemini = chatDialect("gemini", chatRules{signs: true})
	// MockDeepSeek wants the thought of each answer with calls, be it empty where another model answered:
	// https://api-docs.deepseek.com/guides/thinking_mode#tool-calls
	MockDeepSeek = chatDialect("deepseek", chatRules{thought: "reasoning_content", wantsThought: func(thought *string) bool { return thought != nil }})
	// MockKimi wants one that is not empty: https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model
	MockKimi = chatDialect("kimi", chatRules{thought: "reasoning_content", replays: true, wantsThought: func(thought *string) bool { return thought != nil && *thought != "" }})
	// MockGLM wants its thoughts unchanged where they come back: https://docs.z.ai/guides/capabilities/thinking-mode
	MockGLM = chatDialect("glm", chatRules{thought: "reasoning_content", replays: true, wantsThought: func(*string) bool { return true }})
	// MockOpenRouter wants its list of thoughts back, whole and in its order:
	// https://openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning-blocks
	MockOpenRouter = chatDialect("openrouter", chatRules{details: true, replays: true})
	// MockMistral refuses fields that it does not know, https://docs.mistral.ai/api/, and each id of a call that is not nine letters and digits (400, code
	// 3280). Its thoughts are chunks of the content: https://docs.mistral.ai/capabilities/reasoning/
	MockMistral = MockDialect{Name: "mistral", Read: mistralRules.read, Stream: mistralRules.stream, Whole: mistralRules.whole, CallID: shortID}

	// MockOpenAI keeps its thoughts to itself, and refuses fields that it does not know: https://platform.openai.com/docs/api-reference/chat/create. The vendor's
	// own client adds parsed to the answers that it streams, and sends it back.
	MockOpenAI = chatDialect("openai", chatRules{fields: openAIFields})
	// MockGroq has its thoughts in the field reasoning, and takes no other: https://console.groq.com/docs/reasoning; what it refuses was seen by others
	// (janhq/jan #8136, NousResearch/hermes-agent #11089)
	MockGroq = chatDialect("groq", chatRules{thought: "reasoning", forgets: true, fields: append([]string{"reasoning"}, openAIFields...)})
	// MockVLLM has its thoughts in the field reasoning, https://docs.vllm.ai/en/latest/features/reasoning_outputs.html, as Ollama has, which reads them there as
	// well: https://github.com/ollama/ollama/blob/main/openai/openai.go
	MockVLLM = chatDialect("vllm", chatRules{thought: "reasoning", forgets: true})

	mistralRules = chatRules{chunks: true, shortIDs: true, refusesUsage: true, fields: []string{"role", "content", "tool_calls", "tool_call_id", "name", "prefix"}}
	openAIFields = []string{"role", "content", "tool_calls", "tool_call_id", "name", "refusal", "audio", "parsed"}
)

type chatRules struct {
	signs        bool
	thought      string // the field of a message that its thought comes and goes back in; empty = none
	replays      bool   // thoughts of answers without calls, too
	forgets      bool   // its thoughts of earlier turns, which nobody needs to send
	chunks       bool   // its thoughts are in the content
	details      bool
	shortIDs     bool
	refusesUsage bool                       // stream_options
	fields       []string                   // of a message, all that are taken; nil = any
	wantsThought func(thought *string) bool // of an answer with calls that another model gave; nil = none
}

type chatMessage struct {
	Role       string
	Content    json.RawMessage
	ToolCallID string                                         `json:"tool_call_id"`
	Thought    *string                                        `json:"reasoning_content"`
	Reasoning  *string                                        `json:"reasoning"`
	Details    []struct{ Type, Text, Signature, Data string } `json:"reasoning_details"`
	Calls      []struct {
		ID       string
		Function struct{ Name, Arguments string }
		Extra    *struct {
			Google struct {
				Signature string `json:"thought_signature"`
			}
		} `json:"extra_content"`
	} `json:"tool_calls"`
}

// shortID is an id of nine letters and digits.
func shortID(m *Mock, answer, call int) string {
	return fmt.Sprintf("%c%07d%d", m.Model[len(m.Model)-1], answer, call)
}

var isShortID = regexp.MustCompile(`^[0-9A-Za-z]{9}$`)

// chunk is an element of a content that is a list.
type chunk struct {
	Type      string      `json:"type"`
	Text      string      `json:"text,omitempty"`
	Thinking  []textChunk `json:"thinking,omitempty"`
	Signature string      `json:"signature,omitempty"`
	Closed    bool        `json:"closed,omitempty"`
}

type textChunk struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// chunks are an answer's.
func (a *MockAnswer) chunks() []chunk {
	list := []chunk{{Type: "thinking", Thinking: []textChunk{{"text", a.Thought}}, Signature: a.Signature, Closed: true}}
	if a.Text != "" {
		list = append(list, chunk{Type: "text", Text: a.Text})
	}
	return list
}

// judgeChunks tells what is wrong with the content of an answer that has come back; own is nil for another model's.
func (m *Mock) judgeChunks(message *chatMessage, own *MockAnswer) string {
	var list []chunk
	isList := json.Unmarshal(message.Content, &list) == nil && len(list) > 0
	switch {
	case isList && own == nil:
		return "content has thoughts of another model"
	case isList && !reflect.DeepEqual(list, own.chunks()):
		return "content was altered"
	case !isList && own != nil && m.Remembers:
		return "the thoughts of an earlier answer are lost"
	}
	return ""
}

func (c *chatMessage) signature() string {
	if len(c.Calls) == 0 || c.Calls[0].Extra == nil {
		return ""
	}
	return c.Calls[0].Extra.Google.Signature
}

func (c *chatMessage) details() (list []string) {
	for _, d := range c.Details {
		list = append(list, d.Type+" "+d.Text+d.Signature+d.Data)
	}
	return list
}

// details are an answer's list: a thought, and an encrypted one.
func (a *MockAnswer) details() []string {
	return []string{"reasoning.text " + a.Thought + a.Signature, "reasoning.encrypted " + a.Signature}
}

func (c *chatMessage) calls() (calls []MockCall) {
	for _, call := range c.Calls {
		calls = append(calls, MockCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
	}
	return calls
}

func chatDialect(name string, rules chatRules) MockDialect {
	return MockDialect{Name: name, Read: rules.read, Stream: rules.stream, Whole: rules.whole}
}

func (r chatRules) read(m *Mock, body []byte) (rounds int, _ string) {
	var request struct {
		Messages      []chatMessage
		StreamOptions *struct{} `json:"stream_options"`
	}
	if wrong := cmp.Or(readJSON(body, &request), r.judgeFields(body)); wrong != "" {
		return 0, wrong
	}
	if r.refusesUsage && request.StreamOptions != nil {
		return 0, "stream_options: extra inputs are not permitted"
	}
	spoke := 0
	for i, message := range request.Messages {
		if message.Role == "user" {
			spoke = i
		}
	}
	answered := 0 // the results up to here are those of a call
	for i, message := range request.Messages {
		if wrong := r.judgeIDs(&message); wrong != "" {
			return 0, fmt.Sprintf("messages[%d]: %s", i, wrong)
		}
		if message.Role == "tool" && i > answered {
			return 0, fmt.Sprintf("messages[%d]: a message of a tool must follow the calls that it responds to", i)
		}
		if len(message.Calls) == 0 {
			if wrong := r.judgeText(m, &message); wrong != "" {
				return 0, fmt.Sprintf("messages[%d]: %s", i, wrong)
			}
			continue
		}
		if wrong := r.judge(m, &message, i > spoke); wrong != "" {
			return 0, fmt.Sprintf("messages[%d]: %s", i, wrong)
		}
		if i > spoke {
			rounds++
		}
		var results []string
		for _, behind := range request.Messages[i+1:] {
			if behind.Role != "tool" {
				break
			}
			results = append(results, behind.ToolCallID)
		}
		if wrong := sameOrder(message.calls(), results); wrong != "" {
			return 0, fmt.Sprintf("messages[%d]: %s", i, wrong)
		}
		answered = i + len(results)
	}
	return rounds, ""
}

// judgeFields finds a field of a message that the vendor does not know.
func (r chatRules) judgeFields(body []byte) string {
	var request struct{ Messages []map[string]any }
	if wrong := readJSON(body, &request); wrong != "" || r.fields == nil {
		return wrong
	}
	for i, message := range request.Messages {
		for name := range message {
			if !slices.Contains(r.fields, name) {
				return fmt.Sprintf("messages[%d]: property %q is unsupported", i, name)
			}
		}
	}
	return ""
}

// thoughtOf is what a message has in the field of thoughts; nil = nothing.
func (r chatRules) thoughtOf(message *chatMessage) *string {
	if r.thought == "reasoning" {
		return message.Reasoning
	}
	return message.Thought
}

// hasThought reports whether the thought of an answer has come back, where the vendor has any.
func (r chatRules) hasThought(message *chatMessage, own *MockAnswer) bool {
	thought := r.thoughtOf(message)
	return r.thought == "" || thought != nil && *thought == own.Thought
}

func (r chatRules) ofAnother(message *chatMessage, m *Mock) bool {
	thought := r.thoughtOf(message)
	return r.thought != "" && thought != nil && strings.Contains(*thought, "Thought") && !strings.Contains(*thought, " of "+m.Model+":")
}

func (r chatRules) judgeIDs(message *chatMessage) string {
	ids := []string{}
	for _, call := range message.Calls {
		ids = append(ids, call.ID)
	}
	if message.Role == "tool" {
		ids = append(ids, message.ToolCallID)
	}
	for _, id := range ids {
		if r.shortIDs && !isShortID.MatchString(id) {
			return fmt.Sprintf("Tool call id was %s but must be a-z, A-Z, 0-9, with a length of 9.", id)
		}
	}
	return ""
}

// judgeText tells what is wrong with an answer that asks for nothing. Only a mock that remembers wants something of it.
func (r chatRules) judgeText(m *Mock, message *chatMessage) string {
	var text string
	if r.chunks && message.Role == "assistant" {
		return m.judgeChunks(message, m.said(message.Content))
	}
	if message.Role != "assistant" || json.Unmarshal(message.Content, &text) != nil || !m.forgotten(text) || !r.replays {
		return ""
	}
	switch own := m.byText(text); {
	case own == nil:
		return "the text of an answer was altered"
	case !r.hasThought(message, own):
		return "the thought of an earlier answer is lost"
	case r.details && !slices.Equal(own.details(), message.details()):
		return "the reasoning_details of an earlier answer are lost"
	}
	return ""
}

// judge tells what is wrong with an answer with calls.
func (r chatRules) judge(m *Mock, message *chatMessage, inTurn bool) string {
	signature, own := message.signature(), m.byCall(message.Calls[0].ID)
	if own != nil {
		if wrong := m.sameCalls(own, message.calls()); wrong != "" {
			return wrong
		}
	}
	inTurn = inTurn || m.Remembers && own != nil && !r.forgets
	switch {
	case own == nil && m.forgotten(message.Calls[0].Function.Arguments):
		return "the call of an earlier answer has lost its id"
	case r.chunks && m.judgeChunks(message, own) != "":
		return m.judgeChunks(message, own)
	case r.details && own != nil && inTurn && !slices.Equal(own.details(), message.details()):
		return "reasoning_details were modified"
	case r.details && own == nil && slices.ContainsFunc(message.details(), func(d string) bool { return !strings.Contains(d, "sig+"+m.Model+"/") }):
		return "reasoning_details of another model"
	case r.signs && signature == "" && inTurn:
		return "function call is missing a thought_signature in functionCall parts"
	case r.signs && own != nil && signature != own.Signature:
		return "thought_signature is not that of the call"
	case r.signs && own == nil && signature != "" && signature != "skip_thought_signature_validator":
		return "corrupted thought signature"
	case own != nil && inTurn && !r.hasThought(message, own):
		return "the reasoning_content in the thinking mode must be passed back to the API"
	case r.wantsThought != nil && !r.wantsThought(message.Thought):
		return "reasoning_content is missing in assistant tool call message"
	case r.ofAnother(message, m):
		return "a thought of another model"
	}
	return ""
}

// stream writes an answer in pieces: the thought first, then the text, then the calls.
func (r chatRules) stream(answer *MockAnswer) string {
	var body strings.Builder
	chunk := func(delta map[string]any, finish any) {
		choice := map[string]any{"index": 0, "delta": delta, "finish_reason": finish}
		fmt.Fprintf(&body, "data: %s\n\n", inJSON(answer.completion("chat.completion.chunk", choice)))
	}
	chunk(map[string]any{"role": "assistant"}, nil)
	r.streamThought(answer, func(delta map[string]any) { chunk(delta, nil) })
	if answer.Text != "" {
		chunk(map[string]any{"content": answer.Text}, nil)
	}
	for i, call := range r.calls(answer) {
		call["index"] = i
		chunk(map[string]any{"tool_calls": []any{call}}, nil)
	}
	chunk(map[string]any{}, answer.finish())
	return body.String() + "data: [DONE]\n\n"
}

func (r chatRules) streamThought(answer *MockAnswer, say func(delta map[string]any)) {
	half := len(answer.Thought) / 3
	pieces := []string{answer.Thought[:half], answer.Thought[half:]}
	switch {
	case r.thought != "":
		for _, piece := range pieces {
			say(map[string]any{r.thought: piece})
		}
	case r.details:
		detail := func(fields map[string]any) { say(map[string]any{"reasoning_details": []any{fields}}) }
		say(map[string]any{"reasoning": pieces[0], "reasoning_details": []any{
			map[string]any{"type": "reasoning.text", "index": 0, "text": pieces[0], "signature": nil, "format": "anthropic-claude-v1"}}})
		detail(map[string]any{"type": "reasoning.text", "index": 0, "text": pieces[1]})
		detail(map[string]any{"type": "reasoning.text", "index": 0, "signature": answer.Signature})
		detail(map[string]any{"type": "reasoning.encrypted", "index": 1, "data": answer.Signature})
	case r.chunks:
		for _, piece := range pieces {
			say(map[string]any{"content": []any{map[string]any{"type": "thinking", "thinking": []any{map[string]any{"type": "text", "text": piece}}}}})
		}
		say(map[string]any{"content": []any{map[string]any{"type": "thinking", "thinking": []any{}, "closed": true, "signature": answer.Signature}}})
	}
}

// whole writes an answer at once.
func (r chatRules) whole(answer *MockAnswer) string {
	message := map[string]any{"role": "assistant", "content": nil}
	if answer.Text != "" {
		message["content"] = answer.Text
	}
	switch {
	case r.thought != "":
		message[r.thought] = answer.Thought
	case r.details:
		message["reasoning"] = answer.Thought
		message["reasoning_details"] = []any{
			map[string]any{"type": "reasoning.text", "index": 0, "text": answer.Thought, "signature": answer.Signature, "format": "anthropic-claude-v1"},
			map[string]any{"type": "reasoning.encrypted", "index": 1, "data": answer.Signature}}
	case r.chunks:
		message["content"] = answer.chunks()
	}
	if calls := r.calls(answer); calls != nil {
		message["tool_calls"] = calls
	}
	completion := answer.completion("chat.completion", map[string]any{"index": 0, "message": message, "finish_reason": answer.finish()})
	completion["usage"] = map[string]any{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
	return inJSON(completion)
}

// calls are an answer's, as the vendor writes them.
func (r chatRules) calls(answer *MockAnswer) (calls []map[string]any) {
	for i, call := range answer.Calls {
		written := map[string]any{"id": call.ID, "type": "function", "function": map[string]any{"name": call.Name, "arguments": call.Arguments}}
		if r.signs && i == 0 {
			written["extra_content"] = map[string]any{"google": map[string]any{"thought_signature": answer.Signature}}
		}
		calls = append(calls, written)
	}
	return calls
}

func (a *MockAnswer) finish() string {
	if len(a.Calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

func (a *MockAnswer) completion(object string, choice map[string]any) map[string]any {
	return map[string]any{"id": fmt.Sprintf("chatcmpl-%d", a.Number), "object": object, "created": 1764000000, "model": a.Model,
		"system_fingerprint": nil, "choices": []any{choice}}
}
