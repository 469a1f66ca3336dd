package llm

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/packages/respjson"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/shared"

	"signoff/internal/domain"
	"signoff/internal/tools"
)

// openAI speaks chat completions, to OpenAI and to whatever else does.
//
// Of the SDK it uses the types and the stream decoder. The SDK's retries, error bodies and accumulator are not used:
// the first would hide waits from the log, the second lose the status of {"error": "text"}, the third merge parallel
// calls that come without an index.
type openAI struct {
	name  string // of the model, in the registry
	model string
	hide  hiding // what a provider says of a failure
	chat  openai.ChatCompletionService
}

var _ provider = (*openAI)(nil)

// newOpenAI builds the chat service alone: openai.NewClient would read keys, addresses and headers of some other
// account from the environment.
func newOpenAI(name string, model Model, c Config) *openAI {
	options := []option.RequestOption{
		option.WithHTTPClient(&http.Client{Transport: guard{next: c.Transport, idle: c.IdleTimeout}}),
		option.WithBaseURL(model.BaseURL + "/"),
		option.WithMaxRetries(0),
		option.WithHeader("Accept", "text/event-stream"),
	}
	if model.APIKey != "" {
		options = append(options, option.WithAPIKey(model.APIKey))
	}
	return &openAI{name: name, model: model.Model, hide: hiding{mask{c.Masker}, model.APIKey}, chat: openai.NewChatCompletionService(options...)}
}

// Stream implements provider.
func (o *openAI) Stream(ctx context.Context, request request, sink sink) (answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream := o.chat.NewStreaming(ctx, o.params(request))
	defer func() { _ = stream.Close() }()
	reader := &openAIReader{sink: sink, split: thinkSplitter{sink: sink}}
	got, err := o.read(ctx, stream, reader)
	got.usage = reader.usage
	return got, err
}

func (o *openAI) read(ctx context.Context, stream *ssestream.Stream[openai.ChatCompletionChunk], reader *openAIReader) (answer, error) {
	for stream.Next() {
		if err := reader.take(stream.Current()); err != nil {
			return answer{}, err
		}
	}
	if err := reader.split.flush(); err != nil {
		return answer{}, err
	}
	return o.end(ctx, reader, stream.Err())
}

// end decides whether the stream was an answer. After a finish reason it was, whatever happened to the connection.
func (o *openAI) end(ctx context.Context, reader *openAIReader, err error) (answer, error) {
	var told *ssestream.StreamError
	switch {
	case reader.finish == "error": // a gateway's way to say that the model behind it broke down
		return answer{}, broken(err, "The provider of model %q broke the answer off.", o.name)
	case reader.finish != "":
		return reader.answer(), nil
	case ctx.Err() != nil:
		return answer{}, ctx.Err()
	case errors.As(err, &told):
		return answer{}, eventFailure(told.Event.Data, openAIStatus, o.name, o.hide)
	case err != nil:
		return answer{}, classify(err, o.name, o.hide)
	default:
		return answer{}, broken(nil, "The answer of model %q ended without saying why.", o.name)
	}
}

// openAIStatus is the status behind an error in the stream; gateways put it into the code. 0 where there is none.
func openAIStatus(code string) int {
	status, err := strconv.Atoi(code)
	if err != nil || status < 400 || status > 599 {
		return 0
	}
	return status
}

// openAIReader turns chunks into text, thoughts and an answer.
type openAIReader struct {
	sink    sink
	split   thinkSplitter
	calls   callAccumulator
	finish  string
	refused bool
	usage   domain.Usage
	taken   int // bytes
}

func (r *openAIReader) take(chunk openai.ChatCompletionChunk) error {
	if chunk.JSON.Usage.Valid() {
		r.usage = openAIUsage(chunk.Usage)
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 { // only one was asked for
			continue
		}
		if err := r.takeDelta(choice.Delta); err != nil {
			return err
		}
		if choice.FinishReason != "" {
			r.finish = choice.FinishReason
		}
	}
	return nil
}

func (r *openAIReader) takeDelta(delta openai.ChatCompletionChunkChoiceDelta) error {
	thought := thoughtOf(delta.JSON.ExtraFields)
	r.taken += len(thought) + len(delta.Content) + len(delta.Refusal)
	for _, call := range delta.ToolCalls {
		cost, err := r.calls.add(pieceOf(call))
		if err != nil {
			return err
		}
		r.taken += cost
	}
	if r.taken > maxAnswerBytes {
		return tooLarge("it is longer than " + strconv.Itoa(maxAnswerBytes>>20) + " MiB")
	}
	if thought != "" {
		if err := r.sink.Thought(thought); err != nil {
			return err
		}
	}
	r.refused = r.refused || delta.Refusal != ""
	return r.split.write(delta.Content + delta.Refusal)
}

// thoughtOf reads the fields that servers send a model's reasoning in; the SDK has no type for them. A server that is
// changing from one to the other sends both, with the same text.
func thoughtOf(extra map[string]respjson.Field) string {
	for _, name := range []string{"reasoning_content", "reasoning"} {
		var text string
		if err := json.Unmarshal([]byte(extra[name].Raw()), &text); err == nil && text != "" {
			return text
		}
	}
	return ""
}

func pieceOf(call openai.ChatCompletionChunkChoiceDeltaToolCall) callPiece {
	piece := callPiece{id: call.ID, name: call.Function.Name, arguments: call.Function.Arguments}
	if call.JSON.Index.Valid() {
		piece.index = &call.Index
	}
	return piece
}

func (r *openAIReader) answer() answer {
	got := answer{calls: r.calls.result()}
	switch {
	case r.finish == "length":
		got.finish = finishLength
	case r.finish == "content_filter" || r.refused:
		got.finish = finishRefusal
	}
	return got
}

// openAIUsage keeps what the provider reported, and nothing else: a field that is absent is unknown.
func openAIUsage(usage openai.CompletionUsage) domain.Usage {
	return domain.Usage{
		InputTokens:      known(usage.PromptTokens, usage.JSON.PromptTokens),
		OutputTokens:     known(usage.CompletionTokens, usage.JSON.CompletionTokens),
		TotalTokens:      known(usage.TotalTokens, usage.JSON.TotalTokens),
		ReasoningTokens:  known(usage.CompletionTokensDetails.ReasoningTokens, usage.CompletionTokensDetails.JSON.ReasoningTokens),
		CacheReadTokens:  known(usage.PromptTokensDetails.CachedTokens, usage.PromptTokensDetails.JSON.CachedTokens),
		CacheWriteTokens: known(usage.PromptTokensDetails.CacheWriteTokens, usage.PromptTokensDetails.JSON.CacheWriteTokens),
	}
}

func known(tokens int64, field respjson.Field) *int64 {
	if !field.Valid() {
		return nil
	}
	return plausible(&tokens)
}

func (o *openAI) params(request request) openai.ChatCompletionNewParams {
	params := openai.ChatCompletionNewParams{
		Model:         o.model,
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)},
		Messages:      []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(request.system)},
	}
	for _, message := range request.messages {
		params.Messages = append(params.Messages, openAIMessage(message))
	}
	for _, definition := range request.tools {
		params.Tools = append(params.Tools, openAITool(definition))
	}
	return params
}

// openAIMessage translates a message. Thoughts stay here: most servers refuse or ignore them.
func openAIMessage(message domain.Message) openai.ChatCompletionMessageParamUnion {
	switch message.Role {
	case domain.RoleTool:
		return openai.ToolMessage(message.Text, message.ToolCallID)
	case domain.RoleAssistant:
		return openAIAssistant(message)
	default:
		return openai.UserMessage(message.Text)
	}
}

func openAIAssistant(message domain.Message) openai.ChatCompletionMessageParamUnion {
	translated := openai.AssistantMessage(message.Text)
	if message.Text == "" && len(message.ToolCalls) > 0 {
		translated.OfAssistant.Content = openai.ChatCompletionAssistantMessageParamContentUnion{}
	}
	for _, call := range message.ToolCalls {
		translated.OfAssistant.ToolCalls = append(translated.OfAssistant.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
				ID: call.ID,
				Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{
					Name:      word(call.Tool),
					Arguments: sentArguments(call.Arguments),
				},
			},
		})
	}
	return translated
}

// sentArguments is always an object: servers that parse the arguments of earlier calls refuse the whole conversation
// for one that a model once wrote badly.
func sentArguments(arguments json.RawMessage) string {
	var object map[string]json.RawMessage
	if json.Unmarshal(arguments, &object) == nil && object != nil {
		return string(arguments)
	}
	wrapped, err := json.Marshal(map[string]json.RawMessage{"invalid": arguments})
	if err != nil { // not JSON at all, which the log cannot hold either
		return "{}"
	}
	return string(wrapped)
}

func openAITool(definition tools.Definition) openai.ChatCompletionToolUnionParam {
	var schema map[string]any
	if err := json.Unmarshal(definition.Schema, &schema); err != nil {
		panic("llm: the schema of the tool " + definition.Name + " is no JSON object: " + err.Error())
	}
	return openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
		Name:        definition.Name,
		Description: param.NewOpt(definition.Description),
		Parameters:  schema,
	})
}
