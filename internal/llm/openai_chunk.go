package llm

import (
	"bytes"
	"cmp"

	"github.com/tidwall/gjson"

	"signoff/internal/domain"
)

// openAIFeed is an answer on its way, chunk by chunk.
type openAIFeed struct{ events *eventReader }

// openAIChunk is what we read of a chunk.
type openAIChunk struct{ choices, usage, failure gjson.Result }

// openAIDelta is what a choice adds to the answer, and how the answer ends.
type openAIDelta struct {
	index                       int64
	content, refusal            string
	reasoningContent, reasoning string
	calls                       gjson.Result
	finish                      string
}

// next returns the next chunk; errEnded where the stream has ended, and a *toldError where the provider reports one. What
// else is in a chunk with an error is not looked at.
func (f openAIFeed) next() (openAIChunk, error) {
	event, err := f.events.next()
	if err != nil {
		return openAIChunk{}, err
	}
	if bytes.HasPrefix(event.data, []byte("[DONE]")) {
		return openAIChunk{}, errEnded
	}
	read, err := document(event.data)
	if err != nil {
		return openAIChunk{}, err
	}
	var chunk openAIChunk
	fields(read, chunk.take)
	if chunk.failure.Type != gjson.Null {
		return openAIChunk{}, &toldError{data: bytes.Clone(event.data)}
	}
	return chunk, nil
}

func (c *openAIChunk) take(name string, value gjson.Result) {
	switch name {
	case "choices":
		c.choices = value
	case "usage":
		if value.IsObject() { // some servers say "" or 0 where they have nothing to tell: that takes nothing back
			c.usage = value
		}
	case "error":
		c.failure = value
	}
}

func readOpenAIDelta(choice gjson.Result) (delta openAIDelta) {
	fields(choice, func(name string, value gjson.Result) {
		switch name {
		case "index":
			delta.index = value.Int()
		case "delta":
			fields(value, delta.take)
		case "finish_reason":
			delta.finish = value.String()
		}
	})
	return delta
}

func (d *openAIDelta) take(name string, value gjson.Result) {
	switch name {
	case "content":
		d.content = value.String()
	case "refusal":
		d.refusal = value.String()
	case "reasoning_content":
		d.reasoningContent = value.Str
	case "reasoning":
		d.reasoning = value.Str
	case "tool_calls":
		d.calls = value
	}
}

// thought is in one of two fields. A server that is changing from one to the other sends both, with the same text.
func (d *openAIDelta) thought() string { return cmp.Or(d.reasoningContent, d.reasoning) }

func readOpenAIPiece(call gjson.Result) (piece callPiece) {
	fields(call, func(name string, value gjson.Result) {
		switch name {
		case "index":
			piece.index = integer(value)
		case "id":
			piece.id = value.String()
		case "function":
			fields(value, func(name string, value gjson.Result) {
				switch name {
				case "name":
					piece.name = value.String()
				case "arguments":
					piece.arguments = value.String()
				}
			})
		}
	})
	return piece
}

// readOpenAIUsage keeps what the provider reported, and nothing else: a field that is absent is unknown.
func readOpenAIUsage(report gjson.Result) domain.Usage {
	figure := func(path string) *int64 { return plausible(integer(report.Get(path))) }
	return domain.Usage{
		InputTokens:      figure("prompt_tokens"),
		OutputTokens:     figure("completion_tokens"),
		TotalTokens:      figure("total_tokens"),
		ReasoningTokens:  figure("completion_tokens_details.reasoning_tokens"),
		CacheReadTokens:  figure("prompt_tokens_details.cached_tokens"),
		CacheWriteTokens: figure("prompt_tokens_details.cache_write_tokens"),
	}
}
