package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/tidwall/gjson"

	"signoff/internal/domain"
	"signoff/internal/tools"
)

// openAI speaks chat completions, to OpenAI and to whatever else does.
//
// Of the SDK it uses the types of a request, and has it sent. The SDK's retries, error bodies, accumulator and stream
// decoder are not used: the first would hide waits from the log, the second lose the status of {"error": "text"}, the third
// merge parallel calls that come without an index, the fourth cost more than all the rest of the way; see eventReader.
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
	reader := &openAIReader{sink: sink, split: thinkSplitter{sink: sink}}
	body, err := o.send(ctx, request)
	if err != nil {
		return o.end(ctx, reader, err)
	}
	defer func() { _ = body.Close() }()
	got, err := o.read(ctx, openAIFeed{newEventReader(body)}, reader)
	got.usage = reader.usage
	return got, err
}

// send returns the stream as it comes: the SDK's own reader is not given it.
func (o *openAI) send(ctx context.Context, request request) (io.ReadCloser, error) {
	var response *http.Response
	sent := o.chat.NewStreaming(ctx, o.params(request), option.WithResponseBodyInto(&response))
	if err := sent.Err(); err != nil {
		return nil, err
	}
	return response.Body, nil
}

func (o *openAI) read(ctx context.Context, feed openAIFeed, reader *openAIReader) (answer, error) {
	for {
		chunk, ended := feed.next()
		if ended != nil {
			return o.end(ctx, reader, ended)
		}
		if err := reader.take(chunk); err != nil {
			return answer{}, err
		}
	}
}

// end decides whether the stream was an answer. After a finish reason it was, whatever happened to the connection.
func (o *openAI) end(ctx context.Context, reader *openAIReader, err error) (answer, error) {
	if err := reader.split.flush(); err != nil {
		return answer{}, err
	}
	var told *toldError
	switch {
	case reader.finish == "error": // a gateway's way to say that the model behind it broke down
		return answer{}, broken(err, "The provider of model %q broke the answer off.", o.name)
	case reader.finish != "":
		return reader.answer(), nil
	case ctx.Err() != nil:
		return answer{}, ctx.Err()
	case errors.As(err, &told):
		return answer{}, eventFailure(told.data, openAIStatus, o.name, o.hide)
	case errors.Is(err, errEnded):
		return answer{}, broken(nil, "The answer of model %q ended without saying why.", o.name)
	default:
		return answer{}, classify(err, o.name, o.hide)
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

func (r *openAIReader) take(chunk openAIChunk) error {
	if chunk.usage.Type != gjson.Null {
		r.usage = readOpenAIUsage(chunk.usage)
	}
	return elements(chunk.choices, func(choice gjson.Result) error {
		delta := readOpenAIDelta(choice)
		if delta.index != 0 { // only one was asked for
			return nil
		}
		r.finish = cmp.Or(delta.finish, r.finish)
		return r.takeDelta(&delta)
	})
}

func (r *openAIReader) takeDelta(delta *openAIDelta) error {
	thought := delta.thought()
	r.taken += len(thought) + len(delta.content) + len(delta.refusal)
	if err := elements(delta.calls, r.takeCall); err != nil {
		return err
	}
	if r.taken > maxAnswerBytes {
		return tooLarge("it is longer than " + strconv.Itoa(maxAnswerBytes>>20) + " MiB")
	}
	if thought != "" {
		if err := r.sink.Thought(thought); err != nil {
			return err
		}
	}
	r.refused = r.refused || delta.refusal != ""
	return r.split.write(delta.content + delta.refusal)
}

func (r *openAIReader) takeCall(call gjson.Result) error {
	if !call.IsObject() && call.Type != gjson.Null {
		return nil
	}
	cost, err := r.calls.add(readOpenAIPiece(call))
	r.taken += cost
	return err
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

// openAITool hands the schema on as it is: the SDK's own type is a map, which would be read and written anew for each request.
func openAITool(definition tools.Definition) openai.ChatCompletionToolUnionParam {
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
