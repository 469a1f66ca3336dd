package providertest

import (
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
	MockDeepSeek = chatDialect("deepseek", chatRules{thinks: true, wantsThought: func(thought *string) bool { return thought != nil }})
	// MockKimi wants one that is not empty: https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model
	MockKimi = chatDialect("kimi", chatRules{thinks: true, replays: true, wantsThought: func(thought *string) bool { return thought != nil && *thought != "" }})
	// MockGLM wants its thoughts unchanged where they come back: https://docs.z.ai/guides/capabilities/thinking-mode
	MockGLM = chatDialect("glm", chatRules{thinks: true, replays: true, wantsThought: func(*string) bool { return true }})
	// MockOpenRouter wants its list of thoughts back, whole and in its order:
	// https://openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning-blocks
	MockOpenRouter = chatDialect("openrouter", chatRules{details: true, replays: true})
	// MockMistral refuses fields that it does not know, https://docs.mistral.ai/api/, and each id of a call that is not nine letters and digits (400, code
	// 3280). Its thoughts are chunks of the content: https://docs.mistral.ai/capabilities/reasoning/
	MockMistral = MockDialect{Name: "mistral", Read: chatRules{strict: true}.read, Write: chatRules{strict: true}.write, CallID: shortID}
)

type chatRules struct {
	signs        bool
	thinks       bool
	replays      bool // thoughts of answers without calls, too
	strict       bool
	details      bool
	wantsThought func(thought *string) bool // of an answer with calls that another model gave; nil = none
}

type chatMessage struct {
	Role       string
	Content    json.RawMessage
	ToolCallID string                                         `json:"tool_call_id"`
	Thought    *string                                        `json:"reasoning_content"`
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
	Type, Text string
	Thinking   []struct{ Type, Text string }
	Closed     bool
}

// chunks are an answer's.
func (a *MockAnswer) chunks() []chunk {
	list := []chunk{{Type: "thinking", Thinking: []struct{ Type, Text string }{{"text", a.Thought}}, Closed: true}}
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
	return MockDialect{Name: name, Read: rules.read, Write: rules.write}
}

func (r chatRules) read(m *Mock, body []byte) (rounds int, _ string) {
	var request struct {
		Messages      []chatMessage
		StreamOptions *struct{} `json:"stream_options"`
	}
	if wrong := readJSON(body, &request); wrong != "" {
		return 0, wrong
	}
	if r.strict && request.StreamOptions != nil {
		return 0, "stream_options: extra inputs are not permitted"
	}
	spoke := 0
	for i, message := range request.Messages {
		if message.Role == "user" {
			spoke = i
		}
	}
	for i, message := range request.Messages {
		if wrong := r.judgeIDs(&message); wrong != "" {
			return 0, fmt.Sprintf("messages[%d]: %s", i, wrong)
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
	}
	return rounds, ""
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
		if r.strict && !isShortID.MatchString(id) {
			return fmt.Sprintf("Tool call id was %s but must be a-z, A-Z, 0-9, with a length of 9.", id)
		}
	}
	return ""
}

// judgeText tells what is wrong with an answer that asks for nothing. Only a mock that remembers wants something of it.
func (r chatRules) judgeText(m *Mock, message *chatMessage) string {
	var text string
	if r.strict && message.Role == "assistant" {
		return m.judgeChunks(message, m.said(message.Content))
	}
	if message.Role != "assistant" || json.Unmarshal(message.Content, &text) != nil || !m.forgotten(text) || !r.replays {
		return ""
	}
	switch own := m.byText(text); {
	case own == nil:
		return "the text of an answer was altered"
	case r.thinks && (message.Thought == nil || *message.Thought != own.Thought):
		return "the reasoning_content of an earlier answer is lost"
	case r.details && !slices.Equal(own.details(), message.details()):
		return "the reasoning_details of an earlier answer are lost"
	}
	return ""
}

// judge tells what is wrong with an answer with calls.
func (r chatRules) judge(m *Mock, message *chatMessage, inTurn bool) string {
	signature, own := message.signature(), m.byCall(message.Calls[0].ID)
	if own != nil {
		if wrong := own.sameCalls(message.calls()); wrong != "" {
			return wrong
		}
	}
	inTurn = inTurn || m.Remembers && own != nil
	switch {
	case own == nil && m.forgotten(message.Calls[0].Function.Arguments):
		return "the call of an earlier answer has lost its id"
	case r.strict && message.Thought != nil:
		return "reasoning_content: extra inputs are not permitted"
	case r.strict && m.judgeChunks(message, own) != "":
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
	case r.thinks && own != nil && inTurn && (message.Thought == nil || *message.Thought != own.Thought):
		return "the reasoning_content in the thinking mode must be passed back to the API"
	case r.wantsThought != nil && !r.wantsThought(message.Thought):
		return "reasoning_content is missing in assistant tool call message"
	case r.thinks && message.Thought != nil && strings.Contains(*message.Thought, "Thought") && !strings.Contains(*message.Thought, " of "+m.Model+":"):
		return "reasoning_content of another model"
	}
	return ""
}

func (r chatRules) write(answer *MockAnswer) string {
	var body strings.Builder
	chunk := func(delta any, finish string) {
		encoded, err := json.Marshal(delta)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(&body, "data: {\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", encoded, finish)
	}
	if r.thinks {
		half := len(answer.Thought) / 3
		chunk(map[string]any{"reasoning_content": answer.Thought[:half]}, "null")
		chunk(map[string]any{"reasoning_content": answer.Thought[half:]}, "null")
	}
	if r.details {
		detail := func(fields map[string]any) { chunk(map[string]any{"reasoning_details": []any{fields}}, "null") }
		half := len(answer.Thought) / 3
		chunk(map[string]any{"reasoning": answer.Thought[:half], "reasoning_details": []any{
			map[string]any{"type": "reasoning.text", "index": 0, "text": answer.Thought[:half], "signature": nil, "format": "anthropic-claude-v1"}}}, "null")
		detail(map[string]any{"type": "reasoning.text", "index": 0, "text": answer.Thought[half:]})
		detail(map[string]any{"type": "reasoning.text", "index": 0, "signature": answer.Signature})
		detail(map[string]any{"type": "reasoning.encrypted", "index": 1, "data": answer.Signature})
	}
	if r.strict {
		half := len(answer.Thought) / 3
		for _, piece := range []string{answer.Thought[:half], answer.Thought[half:]} {
			chunk(map[string]any{"content": []any{map[string]any{"type": "thinking", "thinking": []any{map[string]any{"type": "text", "text": piece}}}}}, "null")
		}
		chunk(map[string]any{"content": []any{map[string]any{"type": "thinking", "thinking": []any{}, "closed": true}}}, "null")
	}
	if answer.Text != "" {
		chunk(map[string]any{"content": answer.Text}, "null")
	}
	for i, call := range answer.Calls {
		written := map[string]any{"index": i, "id": call.ID, "type": "function", "function": map[string]any{"name": call.Name, "arguments": call.Arguments}}
		if r.signs && i == 0 {
			written["extra_content"] = map[string]any{"google": map[string]any{"thought_signature": answer.Signature}}
		}
		chunk(map[string]any{"tool_calls": []any{written}}, "null")
	}
	chunk(map[string]any{}, `"stop"`)
	return body.String() + "data: [DONE]\n\n"
}
