package llm

import (
	"encoding/json"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"signoff/internal/domain"
	"signoff/internal/tools"
)

// params translates a request. Two marks tell the vendor what to keep in its cache: all up to the system prompt, the
// tools included, which never changes, and all up to the newest message, which the next round begins with.
func (a *anthropicAPI) params(request request) anthropic.MessageNewParams {
	params := anthropic.MessageNewParams{
		Model:     a.model,
		MaxTokens: int64(a.maxOutput),
		Messages:  a.conversation(request.messages),
		Thinking:  a.thinkingMode(request.messages),
	}
	if visible(request.system) {
		params.System = []anthropic.TextBlockParam{{
			Text:         request.system,
			CacheControl: anthropic.NewCacheControlEphemeralParam(),
		}}
	}
	for _, definition := range request.tools {
		params.Tools = append(params.Tools, anthropicTool(definition))
	}
	return params
}

func anthropicTool(definition tools.Definition) anthropic.ToolUnionParam {
	return param.Override[anthropic.ToolUnionParam](struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	}{definition.Name, definition.Description, definition.Schema})
}

// conversation translates the messages. Users and assistants take turns, and the user begins: neighbours of one side
// become one message, which also brings all results of an answer into one, as the vendor wants them.
func (a *anthropicAPI) conversation(messages []domain.Message) []anthropic.MessageParam {
	var turns []anthropic.MessageParam
	for _, message := range messages {
		role, blocks := a.translate(message)
		switch last := len(turns) - 1; {
		case len(blocks) == 0: // an empty message is refused
		case last >= 0 && turns[last].Role == role:
			turns[last].Content = append(turns[last].Content, blocks...)
		case last < 0 && role == anthropic.MessageParamRoleAssistant:
			turns = []anthropic.MessageParam{
				anthropic.NewUserMessage(anthropic.NewTextBlock("(The conversation began before this.)")),
				anthropic.NewAssistantMessage(blocks...),
			}
		default:
			turns = append(turns, anthropic.MessageParam{Role: role, Content: blocks})
		}
	}
	markNewest(turns)
	return turns
}

// markNewest has the conversation kept in the vendor's cache. A thought cannot carry the mark, and never ends one.
func markNewest(turns []anthropic.MessageParam) {
	if len(turns) == 0 {
		return
	}
	blocks := turns[len(turns)-1].Content
	if mark := blocks[len(blocks)-1].GetCacheControl(); mark != nil {
		*mark = anthropic.NewCacheControlEphemeralParam()
	}
}

func (a *anthropicAPI) translate(message domain.Message) (anthropic.MessageParamRole, []anthropic.ContentBlockParamUnion) {
	switch message.Role {
	case domain.RoleAssistant:
		return anthropic.MessageParamRoleAssistant, a.said(message)
	case domain.RoleTool:
		return anthropic.MessageParamRoleUser, []anthropic.ContentBlockParamUnion{anthropicResult(message)}
	default:
		return anthropic.MessageParamRoleUser, textBlocks(message.Text)
	}
}

// textBlocks is a block, or none: the vendor refuses a conversation for one text that shows nothing.
func textBlocks(text string) []anthropic.ContentBlockParamUnion {
	if !visible(text) {
		return nil
	}
	return []anthropic.ContentBlockParamUnion{anthropic.NewTextBlock(text)}
}

func visible(text string) bool { return strings.TrimSpace(text) != "" }

func anthropicResult(message domain.Message) anthropic.ContentBlockParamUnion {
	result := &anthropic.ToolResultBlockParam{ToolUseID: word(message.ToolCallID)}
	if visible(message.Text) {
		result.Content = []anthropic.ToolResultBlockParamContentUnion{{OfText: &anthropic.TextBlockParam{Text: message.Text}}}
	}
	return anthropic.ContentBlockParamUnion{OfToolResult: result}
}

// said is an answer of the model, with its thoughts where they were.
func (a *anthropicAPI) said(message domain.Message) []anthropic.ContentBlockParamUnion {
	rest := saidRest{text: []rune(message.Text), calls: message.ToolCalls}
	for _, thought := range a.thoughts(message) {
		rest.upTo(thought)
		rest.blocks = append(rest.blocks, thought.param())
	}
	rest.speak(len(rest.text))
	rest.call(len(rest.calls))
	return rest.blocks
}

// saidRest is what of an answer is not among the blocks yet.
type saidRest struct {
	text          []rune
	calls         []domain.ToolCall
	spoken, asked int // that are
	blocks        []anthropic.ContentBlockParamUnion
}

// upTo takes what was before the thought. Where masking has changed the length of the text, a sentence is cut elsewhere
// than it was, which nobody minds.
func (r *saidRest) upTo(thought thinkingBlock) {
	r.speak(thought.AfterText - r.spoken)
	r.call(thought.AfterCalls - r.asked)
}

func (r *saidRest) speak(characters int) {
	n := min(max(characters, 0), len(r.text))
	r.blocks = append(r.blocks, textBlocks(string(r.text[:n]))...)
	r.text, r.spoken = r.text[n:], r.spoken+n
}

func (r *saidRest) call(count int) {
	n := min(max(count, 0), len(r.calls))
	for _, call := range r.calls[:n] {
		arguments := json.RawMessage(sentArguments(call.Arguments))
		r.blocks = append(r.blocks, anthropic.NewToolUseBlock(word(call.ID), arguments, word(call.Tool)))
	}
	r.calls, r.asked = r.calls[n:], r.asked+n
}
