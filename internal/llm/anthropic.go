package llm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"signoff/internal/domain"
)

// anthropicAPI speaks Anthropic's messages, to Anthropic and to gateways in front of it. A request is a few types of our own and one
// POST: an SDK would add retries that hide waits from the log, traces, a decoder that is not used, and a fifth to the time of a first build.
type anthropicAPI struct {
	name      string // of the model, in the registry
	model     string
	hide      hiding // what a provider says of a failure
	maxOutput int
	thinking  int // tokens; 0 = none
	address   string
	header    http.Header // of every request; it is not changed
	client    *http.Client
}

var _ provider = (*anthropicAPI)(nil)

func newAnthropic(name string, model Model, c Config) *anthropicAPI {
	header := anthropicHeader(model.APIKey)
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "text/event-stream")
	return &anthropicAPI{
		name:      name,
		model:     model.Model,
		hide:      hiding{mask{c.Masker}, model.APIKey},
		maxOutput: model.maxOutput(),
		thinking:  model.ThinkingTokens,
		address:   strings.TrimSuffix(model.BaseURL, "/v1") + "/v1/messages", // the vendor's own tools have the address without the version
		header:    header,
		client:    &http.Client{Transport: guard{next: c.Transport, idle: c.IdleTimeout}},
	}
}

// anthropicVersion is the one of the API, without which it answers nobody.
const anthropicVersion = "2023-06-01"

// userAgent says who asks, as it does to every other server.
const userAgent = "signoff"

// anthropicHeader says who asks, and for which version of the API. The key stands in its own header, so a redirect to another host
// would carry it along; guard follows none.
func anthropicHeader(key string) http.Header {
	header := http.Header{"User-Agent": {userAgent}, "Anthropic-Version": {anthropicVersion}}
	if key != "" {
		header.Set("X-Api-Key", key)
	}
	return header
}

// Stream implements provider.
func (a *anthropicAPI) Stream(ctx context.Context, request request, sink sink) (answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	question, err := a.body(request)
	if err != nil {
		return answer{}, failureOf(err)
	}
	reader := &anthropicReader{sink: sink, thoughts: thoughtReader{model: a.model}}
	stream, err := a.send(ctx, question)
	if err != nil {
		return a.end(ctx, reader, err)
	}
	defer func() { _ = stream.Close() }()
	got, err := a.read(ctx, anthropicFeed{newEventReader(stream)}, reader)
	got.usage = reader.usage.usage()
	return got, err
}

// send returns the stream that answers the request. Any other answer is an error, by guard.
func (a *anthropicAPI) send(ctx context.Context, body []byte) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header = a.header.Clone()
	response, err := a.client.Do(request)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

func (a *anthropicAPI) read(ctx context.Context, feed anthropicFeed, reader *anthropicReader) (answer, error) {
	for {
		event, ended := feed.next()
		if ended != nil {
			return a.end(ctx, reader, ended)
		}
		if err := reader.take(&event); err != nil {
			return answer{}, err
		}
	}
}

// end decides whether the stream was an answer. After a stop reason it was, whatever happened to the connection.
func (a *anthropicAPI) end(ctx context.Context, reader *anthropicReader, err error) (answer, error) {
	var told *toldError
	switch {
	case reader.stop != "":
		return reader.answer(a.name)
	case ctx.Err() != nil:
		return answer{}, ctx.Err()
	case errors.As(err, &told):
		return answer{}, eventFailure(told.data, anthropicStatus, a.name, a.hide)
	case errors.Is(err, errEnded):
		return answer{}, broken(nil, "The answer of model %q ended without saying why.", a.name)
	default:
		return answer{}, classify(err, a.name, a.hide)
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
	stop     string
	usage    anthropicUsage
	spoken   int // characters of text
	taken    int // bytes
}

func (r *anthropicReader) take(event *anthropicEvent) error {
	switch event.kind {
	case "message_start":
		r.usage.take(event.usage)
	case "content_block_start":
		return r.begin(event.index, &event.block)
	case "content_block_delta":
		return r.takeDelta(event.index, &event.delta)
	case "content_block_stop":
		r.thoughts.end()
	case "message_delta":
		r.usage.take(event.usage)
		r.stop = cmp.Or(event.delta.stop, r.stop)
	}
	return nil // also an event that is not known: the vendor adds some without a new version
}

func (r *anthropicReader) begin(index int64, block *anthropicOpening) error {
	if err := r.grow(callBytes + len(block.data) + len(block.signature)); err != nil { // also of a block that is no call
		return err
	}
	switch block.kind {
	case "text":
		return r.say(block.text)
	case "thinking":
		r.thoughts.begin(r.spoken, len(r.calls.calls))
		r.thoughts.sign(block.signature)
		return r.think(block.thinking)
	case "redacted_thinking":
		r.thoughts.begin(r.spoken, len(r.calls.calls))
		r.thoughts.redacted(block.data)
	case "tool_use":
		return r.call(callPiece{index: new(index), id: block.id, name: block.name})
	}
	return nil
}

func (r *anthropicReader) takeDelta(index int64, delta *anthropicDelta) error {
	switch delta.kind {
	case "text_delta":
		return r.say(delta.text)
	case "thinking_delta":
		return r.think(delta.thinking)
	case "signature_delta":
		r.thoughts.sign(delta.signature)
		return r.grow(len(delta.signature))
	case "input_json_delta":
		return r.call(callPiece{index: new(index), arguments: delta.partial})
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
	case "end_turn", "tool_use", "stop_sequence":
		got.finish = finishStop
	case "max_tokens", "model_context_window_exceeded":
		got.finish = finishLength
	case "refusal":
		got.finish = finishRefusal
	case "pause_turn":
		return answer{}, broken(nil, "The provider of model %q paused the answer.", model)
	default:
		return answer{}, &failure{shown: domain.Errorf(domain.CodeModelFailed,
			"The answer of model %q ended for a reason that is not known: %s", model, oneLine(r.stop))}
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
