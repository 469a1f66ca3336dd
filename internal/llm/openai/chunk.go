package openai

import (
	"bytes"
	"encoding/json"

	"github.com/tidwall/gjson"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// feed is an answer on its way, chunk by chunk.
type feed struct{ events *provider.EventReader }

// delta is what a choice adds to the answer, and how the answer ends.
type delta struct {
	index                     int64
	content, refusal, thought string
	field                     string // that the thought came in
	calls, details, list      gjson.Result
	thinks                    bool // the content is said to be a thought; the tags are in it
	finish                    string
	filter                    gjson.Result // what a content filter has found
}

// next returns the next chunk; provider.ErrEnded where the stream has ended, and a *provider.ReportedError where the provider reports one. What
// else is in a chunk with an error is not looked at.
func (f feed) next() (chunk gjson.Result, err error) {
	event, err := f.events.Next()
	if err != nil {
		return chunk, err
	}
	if bytes.HasPrefix(event.Data, []byte("[DONE]")) {
		return chunk, provider.ErrEnded
	}
	chunk, err = provider.Document(event.Data)
	if provider.Field(chunk, "error").Type != gjson.Null {
		return chunk, &provider.ReportedError{Data: bytes.Clone(event.Data)}
	}
	return chunk, err
}

// readDelta finds the thought in one of two fields. A server that is changing from one to the other sends both, with the same text.
func readDelta(choice gjson.Result) delta {
	said := provider.Field(choice, "delta")
	field := partReasoningContent
	if provider.Field(said, field).Str == "" {
		field = partReasoning
	}
	content := provider.Field(said, "content")
	list := gjson.Result{}
	if content.IsArray() {
		content, list = list, content
	}
	return delta{
		index:   provider.Field(choice, "index").Int(),
		content: content.String(),
		list:    list,
		refusal: provider.Field(said, "refusal").String(),
		thought: provider.Field(said, field).Str,
		field:   field,
		calls:   provider.Field(said, "tool_calls"),
		details: provider.Field(said, partReasoningDetails),
		thinks:  provider.Field(said, partExtraContent).Get("google.thought").Type == gjson.True,
		finish:  provider.Field(choice, "finish_reason").String(),
		filter:  provider.Field(choice, "content_filter_results"),
	}
}

func readPiece(call gjson.Result) provider.CallPiece {
	function := provider.Field(call, "function")
	var state []provider.Part
	if extra := provider.Field(call, partExtraContent); extra.IsObject() {
		state = []provider.Part{{Kind: partExtraContent, JSON: json.RawMessage(extra.Raw)}}
	}
	return provider.CallPiece{
		State:     state,
		Index:     provider.Integer(provider.Field(call, "index")),
		ID:        provider.Field(call, "id").String(),
		Name:      provider.Field(function, "name").String(),
		Arguments: provider.Field(function, "arguments").String(),
	}
}

// readUsage keeps what the provider reported, and nothing else: a field that is absent is unknown.
func readUsage(report gjson.Result) domain.Usage {
	figure := func(path string) *int64 { return provider.Plausible(provider.Integer(report.Get(path))) }
	return domain.Usage{
		InputTokens:      figure("prompt_tokens"),
		OutputTokens:     figure("completion_tokens"),
		TotalTokens:      figure("total_tokens"),
		ReasoningTokens:  figure("completion_tokens_details.reasoning_tokens"),
		CacheReadTokens:  figure("prompt_tokens_details.cached_tokens"),
		CacheWriteTokens: figure("prompt_tokens_details.cache_write_tokens"),
	}
}
