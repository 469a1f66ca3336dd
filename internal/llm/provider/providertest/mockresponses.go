package providertest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// MockResponses wants the items of each of its answers in their order, reasoning before what follows from it, and the results behind all
// calls: https://platform.openai.com/docs/guides/reasoning and https://platform.openai.com/docs/guides/function-calling
var MockResponses = MockDialect{Name: "openai-responses", Read: readItems, Stream: streamItems, Whole: wholeItems}

type mockItem struct {
	ID, Type, Role, Name, Arguments string
	CallID                          string `json:"call_id"`
	Content                         json.RawMessage
	Encrypted                       string `json:"encrypted_content"`
}

// items are an answer's, as the vendor writes them.
func (a *MockAnswer) items() (items []json.RawMessage) {
	add := func(item any) {
		encoded, err := json.Marshal(item)
		if err != nil {
			panic(err)
		}
		items = append(items, encoded)
	}
	add(map[string]any{"id": fmt.Sprintf("rs_%d", a.Number), "type": "reasoning", "encrypted_content": a.Signature, "summary": []any{
		map[string]any{"type": "summary_text", "text": a.Thought}}})
	if a.Text != "" {
		add(map[string]any{"id": fmt.Sprintf("msg_%d", a.Number), "type": "message", "role": "assistant", "status": "completed", "content": []any{
			map[string]any{"type": "output_text", "text": a.Text, "annotations": []any{}}}})
	}
	for i, call := range a.Calls {
		add(map[string]any{"id": fmt.Sprintf("fc_%d_%d", a.Number, i), "type": "function_call", "status": "completed",
			"call_id": call.ID, "name": call.Name, "arguments": call.Arguments})
	}
	return items
}

func readItems(m *Mock, body []byte) (rounds int, _ string) {
	var request struct {
		Input   []json.RawMessage
		Store   *bool
		Include []string
	}
	if wrong := readJSON(body, &request); wrong != "" {
		return 0, wrong
	}
	if request.Store == nil || *request.Store || !slices.Contains(request.Include, "reasoning.encrypted_content") {
		return 0, "this organization stores nothing"
	}
	var calls []MockCall // since the last result
	for at := 0; at < len(request.Input); at++ {
		var item mockItem
		if wrong := readJSON(request.Input[at], &item); wrong != "" {
			return 0, wrong
		}
		switch {
		case item.Type == "reasoning":
			own := m.bySignature(item.Encrypted)
			if own == nil {
				return 0, "the encrypted content could not be verified"
			}
			for i, made := range own.items() {
				if at+i >= len(request.Input) || !m.sameItem(request.Input[at+i], made) {
					return 0, fmt.Sprintf("item %s of type reasoning was provided without its required following item", item.ID)
				}
			}
			calls = append(calls, own.Calls...)
			at += len(own.items()) - 1
		case item.ID != "":
			return 0, fmt.Sprintf("item %s of type %s was provided without its required reasoning item", item.ID, item.Type)
		case item.Role != "user" && item.Type != "function_call_output" && m.forgotten(string(request.Input[at])):
			return 0, "an earlier answer has lost its items"
		case item.Type == "function_call":
			calls = append(calls, MockCall{ID: item.CallID})
		case item.Type == "function_call_output":
			var results []string
			for _, behind := range request.Input[at:] {
				var result mockItem
				if readJSON(behind, &result) != "" || result.Type != "function_call_output" {
					break
				}
				results = append(results, result.CallID)
			}
			if wrong := sameOrder(calls, results); wrong != "" {
				return 0, wrong
			}
			at, calls, rounds = at+len(results)-1, nil, rounds+1
		case item.Role == "user":
			rounds = 0
		}
	}
	if len(calls) > 0 {
		return 0, "no tool output found for function call " + calls[0].ID
	}
	return rounds, ""
}

// sameItem compares an item with the one that was made. The vendor gave it an id, which a client may leave out, and knows its reasoning by what is encrypted.
func (m *Mock) sameItem(item, made json.RawMessage) bool {
	if !m.ByValue {
		return sameJSON(item, made)
	}
	var one, other mockItem
	if readJSON(item, &one) != "" || readJSON(made, &other) != "" {
		return false
	}
	same := one.Type == other.Type || one.Type == "" && one.Role == other.Role // a message needs no type
	return same && one.Encrypted == other.Encrypted && one.text() == other.text() &&
		m.sameCall(MockCall{one.CallID, one.Name, one.Arguments}, MockCall{other.CallID, other.Name, other.Arguments})
}

// text is what a message says.
func (i mockItem) text() (said string) {
	var parts []struct{ Text string }
	if json.Unmarshal(i.Content, &said) == nil || json.Unmarshal(i.Content, &parts) != nil {
		return said
	}
	for _, part := range parts {
		said += part.Text
	}
	return said
}

// sameJSON compares values: how a client writes them, with "<" escaped or not, is its own affair.
func sameJSON(a, b json.RawMessage) bool {
	var one, other any
	return json.Unmarshal(a, &one) == nil && json.Unmarshal(b, &other) == nil && reflect.DeepEqual(one, other)
}

func streamItems(answer *MockAnswer) string {
	var body strings.Builder
	number := 0
	event := func(kind string, fields map[string]any) {
		fields["type"], fields["sequence_number"] = kind, number
		number++
		fmt.Fprintf(&body, "event: %s\ndata: %s\n\n", kind, inJSON(fields))
	}
	event("response.created", map[string]any{"response": answer.response("in_progress", []json.RawMessage{})})
	for i, item := range answer.items() {
		var read mockItem
		if wrong := readJSON(item, &read); wrong != "" {
			panic(wrong)
		}
		piece := func(kind string, fields map[string]any) {
			fields["output_index"], fields["item_id"] = i, read.ID
			event(kind, fields)
		}
		event("response.output_item.added", map[string]any{"output_index": i, "item": begun(read)})
		switch read.Type {
		case "reasoning":
			piece("response.reasoning_summary_part.added", map[string]any{"summary_index": 0, "part": map[string]any{"type": "summary_text", "text": ""}})
			piece("response.reasoning_summary_text.delta", map[string]any{"summary_index": 0, "delta": answer.Thought})
		case "message":
			piece("response.content_part.added", map[string]any{"content_index": 0, "part": map[string]any{"type": "output_text", "text": "", "annotations": []any{}}})
			piece("response.output_text.delta", map[string]any{"content_index": 0, "delta": answer.Text})
		default:
			piece("response.function_call_arguments.delta", map[string]any{"delta": read.Arguments})
		}
		event("response.output_item.done", map[string]any{"output_index": i, "item": item})
	}
	event("response.completed", map[string]any{"response": answer.response("completed", answer.items())})
	return body.String()
}

// begun is an item as it is announced, with nothing in it yet. Its encrypted content is whole only where the item is done.
func begun(item mockItem) map[string]any {
	switch item.Type {
	case "reasoning":
		return map[string]any{"id": item.ID, "type": item.Type, "summary": []any{}, "encrypted_content": "half of it"}
	case "message":
		return map[string]any{"id": item.ID, "type": item.Type, "role": item.Role, "status": "in_progress", "content": []any{}}
	}
	return map[string]any{"id": item.ID, "type": item.Type, "status": "in_progress", "call_id": item.CallID, "name": item.Name, "arguments": ""}
}

func wholeItems(answer *MockAnswer) string {
	return inJSON(answer.response("completed", answer.items()))
}

// response is https://platform.openai.com/docs/api-reference/responses/object
func (a *MockAnswer) response(status string, output []json.RawMessage) map[string]any {
	return map[string]any{
		"id": fmt.Sprintf("resp_%d", a.Number), "object": "response", "created_at": 1764000000, "model": a.Model, "status": status, "output": output,
		"error": nil, "incomplete_details": nil, "instructions": nil, "metadata": map[string]any{}, "parallel_tool_calls": true, "tool_choice": "auto",
		"tools": []any{}, "store": false, "usage": nil,
	}
}
