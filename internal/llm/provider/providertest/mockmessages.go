package providertest

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// MockMessages is a Claude with a budget of thinking: the open round of tools must begin with a thought where it is to think, each thought
// must be as it was, and the results of all calls stand in the message behind them:
// https://platform.claude.com/docs/en/build-with-claude/extended-thinking
var MockMessages = MockDialect{Name: "anthropic", Read: readMessages, Stream: streamMessages, Whole: wholeMessages}

type mockBlock struct {
	Type, Text, Thinking, Signature, Data, ID, Name string
	Input                                           rawText
	ToolUseID                                       string `json:"tool_use_id"`
}

// mockContent is a list of blocks, or a text for one block of it: https://platform.claude.com/docs/en/api/messages
type mockContent []mockBlock

// UnmarshalJSON implements json.Unmarshaler.
func (c *mockContent) UnmarshalJSON(document []byte) error {
	var text string
	if json.Unmarshal(document, &text) == nil {
		*c = mockContent{{Type: "text", Text: text}}
		return nil
	}
	return json.Unmarshal(document, (*[]mockBlock)(c))
}

// rawText is JSON as it stands.
type rawText string

// UnmarshalJSON implements json.Unmarshaler.
func (r *rawText) UnmarshalJSON(document []byte) error {
	*r = rawText(document)
	return nil
}

// thoughts are the answer's, each with a letter for its kind: one that is redacted, one before the text, one behind it.
func (a *MockAnswer) thoughts() []string {
	all := []string{"r " + a.Signature, "t " + a.Signature + " " + a.Thought}
	if a.Text != "" {
		all = append(all, "t late"+a.Signature+" ")
	}
	return all
}

// asMade is the input of a call, with the blanks that the model made if nothing else differs: the vendor reads it as JSON.
func (m *Mock) asMade(block mockBlock) string {
	if own := m.byCall(block.ID); own != nil {
		for _, call := range own.Calls {
			if call.ID == block.ID && sameJSON([]byte(call.Arguments), []byte(block.Input)) {
				return call.Arguments
			}
		}
	}
	return string(block.Input)
}

func readMessages(m *Mock, body []byte) (rounds int, _ string) {
	var request struct {
		Thinking *struct{ Type string }
		Messages []struct {
			Role    string
			Content mockContent
		}
	}
	if wrong := readJSON(body, &request); wrong != "" {
		return 0, wrong
	}
	begins, asked := "", []MockCall(nil) // the first block of the open round, and the calls of the message before
	for i, message := range request.Messages {
		var (
			thoughts []string
			calls    []MockCall
			results  []string
			said     string
			spoke    bool
		)
		for _, block := range message.Content {
			switch block.Type {
			case "redacted_thinking":
				thoughts = append(thoughts, "r "+block.Data)
			case "thinking":
				thoughts = append(thoughts, "t "+block.Signature+" "+block.Thinking)
			case "tool_use":
				calls = append(calls, MockCall{ID: block.ID, Name: block.Name, Arguments: m.asMade(block)})
				said += string(block.Input)
			case "tool_result":
				results = append(results, block.ToolUseID)
			case "text":
				spoke = spoke || message.Role == "user"
				said += block.Text
			}
		}
		if spoke {
			rounds, begins = 0, ""
		}
		if message.Role == "assistant" && m.forgotten(said) && len(thoughts) == 0 {
			return 0, fmt.Sprintf("messages.%d: an earlier answer has lost its thoughts", i)
		}
		if wrong := m.judgeThoughts(thoughts, calls); wrong != "" {
			return 0, fmt.Sprintf("messages.%d: %s", i, wrong)
		}
		if wrong := sameOrder(asked, results); wrong != "" {
			return 0, fmt.Sprintf("messages.%d: %s", i, wrong)
		}
		asked = calls
		if len(calls) == 0 {
			continue
		}
		if rounds++; rounds == 1 {
			begins = message.Content[0].Type
		}
	}
	if len(asked) > 0 {
		return 0, "tool_use ids were found without tool_result blocks immediately after: " + asked[0].ID
	}
	if request.Thinking != nil && rounds > 0 && !strings.HasSuffix(begins, "thinking") {
		return 0, "expected thinking or redacted_thinking, but found " + begins + ": a final assistant message must start with a thinking block"
	}
	return rounds, ""
}

// judgeThoughts tells what is wrong with the thoughts of an answer. Under the answer's own ids they are all there; a log may have lost the
// ids, and the thoughts behind the text with them.
func (m *Mock) judgeThoughts(thoughts []string, calls []MockCall) string {
	var own *MockAnswer
	if len(calls) > 0 {
		own = m.byCall(calls[0].ID)
	}
	if own != nil {
		if wrong := m.sameCalls(own, calls); wrong != "" {
			return wrong
		}
		if strings.Join(thoughts, "|") != strings.Join(own.thoughts(), "|") {
			return "thinking or redacted_thinking blocks in the latest assistant message cannot be modified"
		}
		return ""
	}
	if own := m.byThoughts(thoughts); m.Remembers && own != nil && (len(own.Calls) > 0 || len(own.thoughts()) != len(thoughts)) {
		return "an earlier answer has lost the ids of its calls, or a thought"
	}
	for i, thought := range thoughts {
		for _, answer := range m.answers {
			made := answer.thoughts()
			if i < len(made) && made[i] == thought {
				own = answer
			}
		}
		if own == nil {
			return "invalid signature in thinking block"
		}
	}
	return ""
}

// byThoughts finds the answer that begins with the first of these thoughts.
func (m *Mock) byThoughts(thoughts []string) *MockAnswer {
	for _, answer := range m.answers {
		if len(thoughts) > 0 && answer.thoughts()[0] == thoughts[0] {
			return answer
		}
	}
	return nil
}

// blocks are an answer's, as the vendor writes them.
func (a *MockAnswer) blocks() []map[string]any {
	blocks := []map[string]any{
		{"type": "redacted_thinking", "data": a.Signature},
		{"type": "thinking", "thinking": a.Thought, "signature": a.Signature},
	}
	if a.Text != "" {
		blocks = append(blocks,
			map[string]any{"type": "text", "text": a.Text},
			map[string]any{"type": "thinking", "thinking": "", "signature": "late" + a.Signature})
	}
	for _, call := range a.Calls {
		blocks = append(blocks, map[string]any{"type": "tool_use", "id": call.ID, "name": call.Name, "input": json.RawMessage(call.Arguments)})
	}
	return blocks
}

// pieces are a block as it begins, and what is added to it.
func pieces(block map[string]any) (begins map[string]any, deltas []map[string]any) {
	begins = maps.Clone(block)
	add := func(kind, field string, value any) {
		if value != "" {
			deltas = append(deltas, map[string]any{"type": kind, field: value})
		}
	}
	switch block["type"] {
	case "thinking":
		begins["thinking"], begins["signature"] = "", ""
		add("thinking_delta", "thinking", block["thinking"])
		add("signature_delta", "signature", block["signature"])
	case "text":
		begins["text"] = ""
		add("text_delta", "text", block["text"])
	case "tool_use":
		begins["input"] = struct{}{}
		add("input_json_delta", "partial_json", string(block["input"].(json.RawMessage)))
	}
	return begins, deltas
}

func streamMessages(answer *MockAnswer) string {
	var body strings.Builder
	event := func(kind string, fields map[string]any) {
		fields["type"] = kind
		fmt.Fprintf(&body, "event: %s\ndata: %s\n\n", kind, inJSON(fields))
	}
	begun := answer.message(nil)
	begun["stop_reason"] = nil
	event("message_start", map[string]any{"message": begun})
	for i, block := range answer.blocks() {
		begins, deltas := pieces(block)
		event("content_block_start", map[string]any{"index": i, "content_block": begins})
		for _, delta := range deltas {
			event("content_block_delta", map[string]any{"index": i, "delta": delta})
		}
		event("content_block_stop", map[string]any{"index": i})
	}
	event("message_delta", map[string]any{"delta": map[string]any{"stop_reason": answer.stopReason()}, "usage": map[string]any{"output_tokens": 5}})
	event("message_stop", map[string]any{})
	return body.String()
}

func wholeMessages(answer *MockAnswer) string { return inJSON(answer.message(answer.blocks())) }

// message is https://platform.claude.com/docs/en/api/messages
func (a *MockAnswer) message(blocks []map[string]any) map[string]any {
	content := []any{}
	for _, block := range blocks {
		content = append(content, block)
	}
	return map[string]any{
		"id": fmt.Sprintf("msg_%d", a.Number), "type": "message", "role": "assistant", "model": a.Model, "content": content,
		"stop_reason": a.stopReason(), "stop_sequence": nil, "usage": map[string]any{"input_tokens": 10, "output_tokens": 1},
	}
}

func (a *MockAnswer) stopReason() string {
	if len(a.Calls) > 0 {
		return "tool_use"
	}
	return "end_turn"
}
