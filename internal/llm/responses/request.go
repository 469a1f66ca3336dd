package responses

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/tidwall/gjson"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// encode translates a request. Results of parallel calls stand behind all of them and in their order, which is how a [provider.Request]
// has them.
func (c *client) encode(request provider.Request) ([]byte, error) {
	question := body{
		Model: c.model, Stream: true, Include: []string{encrypted},
		Instructions: request.System, CacheKey: request.CacheKey, Input: []json.RawMessage{},
		MaxOutputTokens: request.Settings.MaxOutputTokens, Temperature: request.Settings.Temperature,
	}
	switch effort := request.Settings.Effort; effort {
	case "":
	case domain.EffortNone:
		question.Reasoning = &reasoning{Effort: effort}
	default:
		question.Reasoning = &reasoning{Effort: effort, Summary: "auto"}
	}
	if len(request.Tools) > 0 {
		question.ParallelToolCalls = request.Settings.ParallelToolCalls
	}
	if request.Schema != nil {
		question.Text = &text{Format: format{Type: "json_schema", Name: "answer", Strict: true, Schema: request.Schema}}
	}
	ids := provider.WireIDs(c.maker, request.Messages, provider.Word)
	for _, said := range request.Messages {
		question.Input = append(question.Input, c.items(request, said, ids)...)
	}
	for _, definition := range request.Tools {
		question.Tools = append(question.Tools, tool{
			Type: "function", Name: definition.Name, Description: definition.Description, Parameters: definition.Schema,
		})
	}
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(question); err != nil {
		return nil, fmt.Errorf("responses: the request cannot be written: %w", err)
	}
	return c.entry.AddFields(encoded.Bytes()), nil
}

func (c *client) items(request provider.Request, said domain.Message, ids map[string]string) []json.RawMessage {
	switch said.Role {
	case domain.RoleTool:
		return []json.RawMessage{domain.Encode(result{Type: "function_call_output", CallID: ids[said.ToolCallID], Output: resultContent(request, said)})}
	case domain.RoleAssistant:
		if own := ownItems(c.maker.StateOf(said), said.ToolCalls, ids); own != nil {
			return own
		}
		return foreignItems(said, ids)
	default:
		if said.Parts != nil {
			return []json.RawMessage{domain.Encode(message{Role: "user", Content: content(request, said.Parts)})}
		}
		return []json.RawMessage{domain.Encode(message{Role: "user", Content: said.Text})}
	}
}

// content are parts of a prompt: https://platform.openai.com/docs/guides/images-vision and https://platform.openai.com/docs/guides/pdf-files
func content(request provider.Request, parts []domain.PromptPart) []contentPart {
	list := make([]contentPart, len(parts))
	for i, part := range parts {
		switch part.Type {
		case domain.PartImage:
			list[i] = contentPart{Type: "input_image", ImageURL: request.DataURL(part), Detail: "auto"}
		case domain.PartFile:
			list[i] = contentPart{Type: "input_file", Filename: provider.FileName(part), FileData: request.DataURL(part)}
		default:
			list[i] = contentPart{Type: "input_text", Text: part.Text}
		}
	}
	return list
}

// resultContent is a text, or a list with the pictures: https://platform.openai.com/docs/guides/function-calling#formatting-results
func resultContent(request provider.Request, said domain.Message) any {
	if said.Parts == nil {
		return said.Text
	}
	return append([]contentPart{{Type: "input_text", Text: said.Text}}, content(request, said.Parts)...)
}

// partItem is an item of an answer, whatever its type. The answer's items are one whole: an item of reasoning is refused without the one
// behind it, and that one without its reasoning.
const partItem = "responses.item"

// ownItems returns the items of an answer as this model made them; nil where there are none, or others than the calls that the
// conversation has.
func ownItems(state provider.State, calls []domain.ToolCall, ids map[string]string) (items []json.RawMessage) {
	made := 0
	for _, part := range state.Parts {
		if part.Kind != partItem {
			continue
		}
		items = append(items, part.JSON)
		item := gjson.ParseBytes(part.JSON)
		if item.Get("type").Str != "function_call" {
			continue
		}
		if made == len(calls) || item.Get("call_id").Str != ids[calls[made].ID] {
			return nil
		}
		made++
	}
	if made != len(calls) {
		return nil
	}
	return items
}

// foreignItems is an answer without reasoning. It has no ids of items: those would have the vendor look for what it never stored.
func foreignItems(said domain.Message, ids map[string]string) (items []json.RawMessage) {
	if said.Text != "" {
		items = append(items, domain.Encode(message{Role: "assistant", Content: said.Text}))
	}
	for _, made := range said.ToolCalls {
		items = append(items, domain.Encode(call{
			Type: "function_call", CallID: ids[made.ID], Name: provider.Word(made.Tool), Arguments: string(provider.ObjectArguments(made.Arguments)),
		}))
	}
	return items
}
