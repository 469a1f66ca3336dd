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
func params(model string, request provider.Request) openai.ChatCompletionNewParams {
	params := openai.ChatCompletionNewParams{
		Model:         model,
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)},
		Messages:      []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(request.System)},
	}
	for _, message := range request.Messages {
		params.Messages = append(params.Messages, translate(message))
	}
	for _, definition := range request.Tools {
		params.Tools = append(params.Tools, toolOf(definition))
	}
	return params
}

// translate translates a message. Thoughts stay here: most servers refuse or ignore them.
func translate(message domain.Message) openai.ChatCompletionMessageParamUnion {
	switch message.Role {
	case domain.RoleTool:
		return openai.ToolMessage(message.Text, message.ToolCallID)
	case domain.RoleAssistant:
		return assistant(message)
	default:
		return openai.UserMessage(message.Text)
	}
}

func assistant(message domain.Message) openai.ChatCompletionMessageParamUnion {
	translated := openai.AssistantMessage(message.Text)
	if message.Text == "" && len(message.ToolCalls) > 0 {
		translated.OfAssistant.Content = openai.ChatCompletionAssistantMessageParamContentUnion{}
	}
	for _, call := range message.ToolCalls {
		translated.OfAssistant.ToolCalls = append(translated.OfAssistant.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
				ID: call.ID,
				Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{
					Name:      provider.Word(call.Tool),
					Arguments: string(provider.ObjectArguments(call.Arguments)),
				},
			},
		})
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
