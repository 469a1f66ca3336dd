package openai

import (
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// parts translates what the user said with its pictures and files: https://platform.openai.com/docs/api-reference/chat/create
func (t *translator) parts(parts []domain.PromptPart) []openai.ChatCompletionContentPartUnionParam {
	list := make([]openai.ChatCompletionContentPartUnionParam, len(parts))
	for i, part := range parts {
		switch part.Type {
		case domain.PartImage:
			list[i] = openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: t.request.DataURL(part)})
		case domain.PartFile:
			list[i] = openai.FileContentPart(openai.ChatCompletionContentPartFileFileParam{
				Filename: param.NewOpt(provider.FileName(part)), FileData: param.NewOpt(t.request.DataURL(part)),
			})
		default:
			list[i] = openai.TextContentPart(part.Text)
		}
	}
	return list
}

// result translates the result of a call. The content of a tool message is text: its pictures follow from the user, behind all results of the round, because
// anything between them is refused. The text in front of a picture says which call it belongs to.
func (t *translator) result(message domain.Message) openai.ChatCompletionMessageParamUnion {
	id := t.ids[message.ToolCallID]
	if len(message.Parts) == 0 {
		return openai.ToolMessage(message.Text, id)
	}
	pictures := t.parts(message.Parts)
	if !t.vendor.resultPictures {
		t.pictures = append(t.pictures, openai.TextContentPart("The result of the call "+id+" has these pictures:"))
		t.pictures = append(t.pictures, pictures...)
		return openai.ToolMessage(message.Text, id)
	}
	return param.Override[openai.ChatCompletionMessageParamUnion](struct {
		Role       string                                       `json:"role"`
		ToolCallID string                                       `json:"tool_call_id"`
		Content    []openai.ChatCompletionContentPartUnionParam `json:"content"`
	}{"tool", id, append([]openai.ChatCompletionContentPartUnionParam{openai.TextContentPart(message.Text)}, pictures...)})
}

// showPictures is what the user shows of the results before it, if they have pictures.
func (t *translator) showPictures() []openai.ChatCompletionMessageParamUnion {
	if t.pictures == nil {
		return nil
	}
	shown := openai.UserMessage(t.pictures)
	t.pictures = nil
	return []openai.ChatCompletionMessageParamUnion{shown}
}
