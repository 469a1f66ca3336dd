package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"

	"signoff/internal/domain"
)

// anthropicAPI speaks Anthropic's messages, to Anthropic and to gateways in front of it.
//
// Of the SDK it uses the types and the stream decoder. The SDK's retries are not used, because they would hide waits
// from the log, nor its traces, which would carry the conversation to wherever the environment says.
type anthropicAPI struct {
	name      string // of the model, in the registry
	model     string
	hide      hiding // what a provider says of a failure
	maxOutput int
	thinking  int // tokens; 0 = none
	messages  anthropic.MessageService
}

var _ provider = (*anthropicAPI)(nil)

// newAnthropic builds the message service alone: anthropic.NewClient would read keys, addresses, headers and the
// profiles of some other account from the environment. The traces read it, too, until they are switched off.
func newAnthropic(name string, model Model, c Config) *anthropicAPI {
	options := []option.RequestOption{
		option.WithHTTPClient(&http.Client{Transport: guard{next: c.Transport, idle: c.IdleTimeout}}),
		option.WithBaseURL(strings.TrimSuffix(model.BaseURL, "/v1") + "/"), // the SDK's paths begin with the version
		option.WithMaxRetries(0),
		option.WithoutOpenTelemetry(),
		option.WithOpenTelemetryPropagation(false),
		option.WithHeader("Accept", "text/event-stream"),
	}
	if model.APIKey != "" {
		options = append(options, option.WithAPIKey(model.APIKey))
	}
	return &anthropicAPI{
		name:      name,
		model:     model.Model,
		hide:      hiding{mask{c.Masker}, model.APIKey},
		maxOutput: model.maxOutput(),
		thinking:  model.ThinkingTokens,
		messages:  anthropic.NewMessageService(options...),
	}
}

// Stream implements provider.
func (a *anthropicAPI) Stream(ctx context.Context, request request, sink sink) (answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream := a.messages.NewStreaming(ctx, a.params(request))
	defer func() { _ = stream.Close() }()
	reader := &anthropicReader{sink: sink, thoughts: thoughtReader{model: a.model}}
	got, err := a.read(ctx, stream, reader)
	got.usage = reader.usage.usage()
	return got, err
}

func (a *anthropicAPI) read(ctx context.Context, stream *ssestream.Stream[anthropic.MessageStreamEventUnion], reader *anthropicReader) (answer, error) {
	for stream.Next() {
		if err := reader.take(stream.Current()); err != nil {
			return answer{}, err
		}
	}
	return a.end(ctx, reader, stream.Err())
}

// end decides whether the stream was an answer. After a stop reason it was, whatever happened to the connection.
func (a *anthropicAPI) end(ctx context.Context, reader *anthropicReader, err error) (answer, error) {
	var told *anthropic.Error
	switch {
	case reader.stop != "":
		return reader.answer(a.name)
	case ctx.Err() != nil:
		return answer{}, ctx.Err()
	case errors.As(err, &told):
		return answer{}, eventFailure([]byte(told.RawJSON()), anthropicStatus, a.name, a.hide)
	case err != nil:
		return answer{}, classify(err, a.name, a.hide)
	default:
		return answer{}, broken(nil, "The answer of model %q ended without saying why.", a.name)
	}
}

// anthropicStatus is the status that an error would have had before the stream began; 0 where there is none.
func anthropicStatus(kind string) int {
	switch kind {
	case "invalid_request_error":
		return http.StatusBadRequest
	case "authentication_error":
		return http.StatusUnauthorized
	case "billing_error":
		return http.StatusPaymentRequired
	case "permission_error":
		return http.StatusForbidden
	case "not_found_error":
		return http.StatusNotFound
	case "request_too_large":
		return http.StatusRequestEntityTooLarge
	case "rate_limit_error":
		return http.StatusTooManyRequests
	case "api_error":
		return http.StatusInternalServerError
	case "timeout_error":
		return http.StatusGatewayTimeout
	case "overloaded_error":
		return statusOverloaded
	default:
		return 0
	}
}

// anthropicReader turns events into text, thoughts and an answer.
type anthropicReader struct {
	sink     sink
	thoughts thoughtReader
	calls    callAccumulator
	stop     anthropic.StopReason
	usage    anthropicUsage
	spoken   int // characters of text
	taken    int // bytes
}

func (r *anthropicReader) take(event anthropic.MessageStreamEventUnion) error {
	switch event.Type {
	case "message_start":
		r.usage.take(event.Message.Usage.RawJSON())
	case "content_block_start":
		return r.begin(event.Index, event.ContentBlock)
	case "content_block_delta":
		return r.takeDelta(event.Index, event.Delta)
	case "content_block_stop":
		r.thoughts.end()
	case "message_delta":
		r.usage.take(event.Usage.RawJSON())
		r.stop = cmp.Or(event.Delta.StopReason, r.stop)
	}
	return nil // also an event that is not known: the vendor adds some without a new version
}

func (r *anthropicReader) begin(index int64, block anthropic.ContentBlockStartEventContentBlockUnion) error {
	if err := r.grow(callBytes + len(block.Data) + len(block.Signature)); err != nil { // also of a block that is no call
		return err
	}
	switch block.Type {
	case "text":
		return r.say(block.Text)
	case "thinking":
		r.thoughts.begin(r.spoken, len(r.calls.calls))
		r.thoughts.sign(block.Signature)
		return r.think(block.Thinking)
	case "redacted_thinking":
		r.thoughts.begin(r.spoken, len(r.calls.calls))
		r.thoughts.redacted(block.Data)
	case "tool_use":
		return r.call(callPiece{index: &index, id: block.ID, name: block.Name})
	}
	return nil
}

func (r *anthropicReader) takeDelta(index int64, delta anthropic.MessageStreamEventUnionDelta) error {
	switch delta.Type {
	case "text_delta":
		return r.say(delta.Text)
	case "thinking_delta":
		return r.think(delta.Thinking)
	case "signature_delta":
		r.thoughts.sign(delta.Signature)
		return r.grow(len(delta.Signature))
	case "input_json_delta":
		return r.call(callPiece{index: &index, arguments: delta.PartialJSON})
	}
	return nil
}

func (r *anthropicReader) call(piece callPiece) error {
	cost, err := r.calls.add(piece)
	return cmp.Or(err, r.grow(cost))
}

func (r *anthropicReader) say(text string) error {
	if err := r.grow(len(text)); err != nil || text == "" {
		return err
	}
	if r.spoken == 0 {
		if err := r.handOn(); err != nil {
			return err
		}
	}
	r.spoken += utf8.RuneCountInString(text)
	return r.sink.Text(text)
}

func (r *anthropicReader) think(thought string) error {
	if err := r.grow(len(thought)); err != nil || thought == "" {
		return err
	}
	r.thoughts.write(thought)
	return r.sink.Thought(thought)
}

// handOn gives the sink the state of what was thought since it was given one. That is before the first text, with which
// the thought is closed in the log, and at the end: after every block would be too often, there may be very many.
func (r *anthropicReader) handOn() error {
	if r.thoughts.handed == len(r.thoughts.blocks) {
		return nil
	}
	r.thoughts.handed = len(r.thoughts.blocks)
	return r.sink.Thinking(r.thoughts.encoded())
}

func (r *anthropicReader) grow(bytes int) error {
	r.taken += bytes
	if r.taken > maxAnswerBytes {
		return tooLarge("it is longer than " + strconv.Itoa(maxAnswerBytes>>20) + " MiB")
	}
	return nil
}

// answer reads the stop reason. A pause is for tools that the vendor runs itself, and we ask for none of them.
func (r *anthropicReader) answer(model string) (answer, error) {
	if err := r.handOn(); err != nil {
		return answer{}, err
	}
	got := answer{calls: r.calls.result()}
	switch r.stop {
	case anthropic.StopReasonEndTurn, anthropic.StopReasonToolUse, anthropic.StopReasonStopSequence:
		got.finish = finishStop
	case anthropic.StopReasonMaxTokens, anthropic.StopReasonModelContextWindowExceeded:
		got.finish = finishLength
	case anthropic.StopReasonRefusal:
		got.finish = finishRefusal
	case anthropic.StopReasonPauseTurn:
		return answer{}, broken(nil, "The provider of model %q paused the answer.", model)
	default:
		return answer{}, &failure{shown: domain.Errorf(domain.CodeModelFailed,
			"The answer of model %q ended for a reason that is not known: %s", model, oneLine(string(r.stop)))}
	}
	return got, nil
}

// anthropicUsage is what the provider reported so far; nil is unknown. None of the three kinds of input counts in
// another.
type anthropicUsage struct {
	Fresh      *int64 `json:"input_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
	Output     *int64 `json:"output_tokens"`
	Details    struct {
		Thinking *int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// take reads a report. The one at the end counts from the beginning of the answer, so its figures stand in place of the
// earlier ones.
func (u *anthropicUsage) take(report string) {
	var newer anthropicUsage
	if json.Unmarshal([]byte(report), &newer) != nil { // there is none, or it is nonsense
		return
	}
	u.Fresh = cmp.Or(plausible(newer.Fresh), u.Fresh)
	u.CacheRead = cmp.Or(plausible(newer.CacheRead), u.CacheRead)
	u.CacheWrite = cmp.Or(plausible(newer.CacheWrite), u.CacheWrite)
	u.Output = cmp.Or(plausible(newer.Output), u.Output)
	u.Details.Thinking = cmp.Or(plausible(newer.Details.Thinking), u.Details.Thinking)
}

// usage counts as everywhere in Signoff: the input is all that went in, and what came from the cache or went into it is
// a part of it. Anthropic counts the three apart.
func (u *anthropicUsage) usage() domain.Usage {
	used := domain.Usage{
		OutputTokens:     u.Output,
		ReasoningTokens:  u.Details.Thinking,
		CacheReadTokens:  u.CacheRead,
		CacheWriteTokens: u.CacheWrite,
	}
	if u.Fresh != nil {
		input := *u.Fresh + orZero(u.CacheRead) + orZero(u.CacheWrite)
		used.InputTokens = &input
	}
	if used.InputTokens != nil && used.OutputTokens != nil {
		total := *used.InputTokens + *used.OutputTokens
		used.TotalTokens = &total
	}
	return used
}

func orZero(tokens *int64) int64 {
	if tokens == nil {
		return 0
	}
	return *tokens
}
