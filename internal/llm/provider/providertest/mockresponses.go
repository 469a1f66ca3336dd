package providertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// MockResponses wants the items of each of its answers in their order, reasoning before what follows from it, and the results behind all
// calls: https://platform.openai.com/docs/guides/reasoning and https://platform.openai.com/docs/guides/function-calling
var MockResponses = MockDialect{Name: "openai-responses", Read: readItems, Write: writeItems}

type mockItem struct {
	ID, Type, Role, Name, Arguments string
	CallID                          string `json:"call_id"`
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
				if at+i >= len(request.Input) || !sameJSON(request.Input[at+i], made) {
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

func sameJSON(a, b json.RawMessage) bool {
	var one, other bytes.Buffer
	return json.Compact(&one, a) == nil && json.Compact(&other, b) == nil && bytes.Equal(one.Bytes(), other.Bytes())
}

func writeItems(answer *MockAnswer) string {
	var body strings.Builder
	event := func(kind, fields string) {
		fmt.Fprintf(&body, "event: %s\ndata: {\"type\":%q,%s}\n\n", kind, kind, fields)
	}
	for i, item := range answer.items() {
		var read mockItem
		if wrong := readJSON(item, &read); wrong != "" {
			panic(wrong)
		}
		added := item
		if read.Type == "function_call" {
			added = fmt.Appendf(nil, `{"id":%q,"type":"function_call","call_id":%q,"name":%q,"arguments":""}`, read.ID, read.CallID, read.Name)
		}
		event("response.output_item.added", fmt.Sprintf(`"output_index":%d,"item":%s`, i, added))
		switch read.Type {
		case "reasoning":
			event("response.reasoning_summary_text.delta", fmt.Sprintf(`"output_index":%d,"delta":%s`, i, InJSON(answer.Thought)))
		case "message":
			event("response.output_text.delta", fmt.Sprintf(`"output_index":%d,"delta":%s`, i, InJSON(answer.Text)))
		default:
			event("response.function_call_arguments.delta", fmt.Sprintf(`"output_index":%d,"delta":%s`, i, InJSON(read.Arguments)))
		}
		event("response.output_item.done", fmt.Sprintf(`"output_index":%d,"item":%s`, i, item))
	}
	event("response.completed", `"response":{"status":"completed"}`)
	return body.String()
}
