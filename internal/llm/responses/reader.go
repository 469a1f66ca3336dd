package responses

import (
	"cmp"
	"encoding/json"

	"github.com/tidwall/gjson"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// reader turns events into text, thoughts and an answer. The sink gets no state on the way: half an answer's items are refused.
// https://platform.openai.com/docs/api-reference/responses-streaming
type reader struct {
	model  string // its name in the registry
	sink   provider.Sink
	calls  provider.Calls
	items  []provider.Part // that are done
	finish string          // completed, or why it is incomplete
	refuse bool
	usage  domain.Usage
	size   provider.Size
}

// take reads an event. One that is not known says nothing: the vendor adds some without a new version.
func (r *reader) take(event gjson.Result) error {
	text := func(name string) string { return provider.Field(event, name).String() }
	switch text("type") {
	case "response.output_text.delta":
		return r.say(text("delta"))
	case "response.refusal.delta":
		r.refuse = true
		return r.say(text("delta"))
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return r.think(text("delta"))
	case "response.output_item.added":
		return r.begin(event)
	case "response.function_call_arguments.delta":
		return r.call(provider.CallPiece{Index: provider.Integer(provider.Field(event, "output_index")), Arguments: text("delta")})
	case "response.output_item.done":
		return r.keep(provider.Field(event, "item"))
	case "response.completed":
		r.finish = "completed"
	case "response.incomplete":
		r.finish = cmp.Or(event.Get("response.incomplete_details.reason").String(), "incomplete")
	case "response.failed":
		return &provider.ReportedError{Data: []byte(provider.Field(event, "response").Raw)}
	case "error":
		return &provider.ReportedError{Data: []byte(event.Raw)}
	default:
		if provider.Field(event, "error").IsObject() { // a gateway's own
			return &provider.ReportedError{Data: []byte(event.Raw)}
		}
	}
	if usage := event.Get("response.usage"); usage.IsObject() {
		r.usage = readUsage(usage)
	}
	return nil
}

func (r *reader) begin(event gjson.Result) error {
	item := provider.Field(event, "item")
	if provider.Field(item, "type").Str != "function_call" {
		return r.size.Grow(provider.CallBytes)
	}
	return r.call(provider.CallPiece{
		Index: provider.Integer(provider.Field(event, "output_index")),
		ID:    provider.Field(item, "call_id").String(),
		Name:  provider.Field(item, "name").String(),
	})
}

// keep remembers an item that is done: only then is its encrypted reasoning whole.
func (r *reader) keep(item gjson.Result) error {
	if !item.IsObject() {
		return nil
	}
	r.items = append(r.items, provider.Part{Kind: partItem, JSON: json.RawMessage(item.Raw)})
	return r.size.Grow(len(item.Raw))
}

func (r *reader) call(piece provider.CallPiece) error {
	cost, err := r.calls.Add(piece)
	return cmp.Or(err, r.size.Grow(cost))
}

func (r *reader) say(text string) error {
	if err := r.size.Grow(len(text)); err != nil || text == "" {
		return err
	}
	return r.sink.Text(text)
}

func (r *reader) think(thought string) error {
	if err := r.size.Grow(len(thought)); err != nil || thought == "" {
		return err
	}
	return r.sink.Thought(thought)
}

// answer reads how the answer ended.
func (r *reader) answer(failures provider.Failures) (provider.Answer, error) {
	got := provider.Answer{Calls: r.calls.Result(), State: r.items}
	switch {
	case r.finish == "max_output_tokens":
		got.Finish = provider.FinishLength
	case r.finish == "content_filter":
		return provider.Answer{}, failures.Filtered()
	case r.refuse:
		got.Finish = provider.FinishRefusal
	case r.finish != "completed":
		return provider.Answer{}, provider.Broken(nil, "The provider of model %q left the answer incomplete: %s.", r.model, provider.OneLine(r.finish, 100))
	}
	return got, nil
}

// readUsage keeps what the vendor reported; the cache is a part of the input, and the reasoning of the output.
func readUsage(report gjson.Result) domain.Usage {
	figure := func(path string) *int64 { return provider.Plausible(provider.Integer(report.Get(path))) }
	return domain.Usage{
		InputTokens:      figure("input_tokens"),
		OutputTokens:     figure("output_tokens"),
		TotalTokens:      figure("total_tokens"),
		ReasoningTokens:  figure("output_tokens_details.reasoning_tokens"),
		CacheReadTokens:  figure("input_tokens_details.cached_tokens"),
		CacheWriteTokens: figure("input_tokens_details.cache_write_tokens"),
	}
}
