package openai

import (
	"encoding/json"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
	"signoff/internal/tools"
)

// params translates a request.
func (c *client) params(request provider.Request) openai.ChatCompletionNewParams {
	params := openai.ChatCompletionNewParams{
		Model:    c.model,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(request.System)},
	}
	if !c.vendor.noUsageOption {
		params.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)}
	}
	if request.Schema != nil {
		params.ResponseFormat = formatOf(request.Schema)
	}
	params.SetExtraFields(c.settingFields(request))
	t := translator{request: request, maker: c.maker, vendor: c.vendor, ids: provider.WireIDs(c.maker, request.Messages, c.vendor.wireID)}
	spoke := -1 // where the user last did
	for i, message := range request.Messages {
		if message.Role == domain.RoleUser {
			spoke = i
		}
	}
	for i, message := range request.Messages {
		if message.Role != domain.RoleTool {
			params.Messages = append(params.Messages, t.showPictures()...)
		}
		params.Messages = append(params.Messages, t.translate(message, i > spoke))
	}
	params.Messages = append(params.Messages, t.showPictures()...)
	for _, definition := range request.Tools {
		params.Tools = append(params.Tools, toolOf(definition))
	}
	return params
}

// translator translates the messages of one conversation.
type translator struct {
	request provider.Request
	maker   provider.Maker
	vendor  vendor
	ids     map[string]string // of calls on the wire, by ours

	pictures []openai.ChatCompletionContentPartUnionParam // of the results of the round, which the user shows behind them
}

func (t *translator) translate(message domain.Message, inTurn bool) openai.ChatCompletionMessageParamUnion {
	switch message.Role {
	case domain.RoleTool:
		return t.result(message)
	case domain.RoleAssistant:
		return t.assistant(message, inTurn)
	default:
		if message.Parts != nil {
			return openai.UserMessage(t.parts(message.Parts))
		}
		return openai.UserMessage(message.Text)
	}
}

// assistant translates an answer. A thought of another model stays here: most servers refuse or ignore it.
func (t *translator) assistant(message domain.Message, inTurn bool) openai.ChatCompletionMessageParamUnion {
	state := t.maker.StateOf(message)
	translated := openai.AssistantMessage(message.Text)
	if message.Text == "" && len(message.ToolCalls) > 0 && !t.vendor.wantsContent {
		translated.OfAssistant.Content = openai.ChatCompletionAssistantMessageParamContentUnion{}
	}
	translated.OfAssistant.SetExtraFields(t.vendor.fieldsOf(state, len(message.ToolCalls) > 0, inTurn))
	for i, call := range message.ToolCalls {
		made := &openai.ChatCompletionMessageFunctionToolCallParam{
			ID: t.ids[call.ID],
			Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{
				Name:      provider.Word(call.Tool),
				Arguments: string(state.Call(call.ID).Arguments(call.Arguments)),
			},
		}
		if extra := t.vendor.extraOf(state.Call(call.ID), inTurn && i == 0); extra != nil {
			made.SetExtraFields(map[string]any{partExtraContent: extra})
		}
		translated.OfAssistant.ToolCalls = append(translated.OfAssistant.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{OfFunction: made})
	}
	return translated
}

// toolOf hands the schema on as it is: the SDK's own type is a map, which would be read and written anew for each request.
func toolOf(definition tools.Definition) openai.ChatCompletionToolUnionParam {
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	return param.Override[openai.ChatCompletionToolUnionParam](struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}{"function", function{definition.Name, definition.Description, definition.Schema}})
}
