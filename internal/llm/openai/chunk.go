package openai

import (
	"bytes"
	"cmp"

	"github.com/tidwall/gjson"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// feed is an answer on its way, chunk by chunk.
type feed struct{ events *provider.EventReader }

// chunk is what we read of a chunk.
type chunk struct{ choices, usage, failure gjson.Result }

// delta is what a choice adds to the answer, and how the answer ends.
type delta struct {
	index                       int64
	content, refusal            string
	reasoningContent, reasoning string
	calls                       gjson.Result
	finish                      string
}

// next returns the next chunk; provider.ErrEnded where the stream has ended, and a *provider.ReportedError where the provider reports one. What
// else is in a chunk with an error is not looked at.
func (f feed) next() (chunk, error) {
	event, err := f.events.Next()
	if err != nil {
		return chunk{}, err
	}
	if bytes.HasPrefix(event.Data, []byte("[DONE]")) {
		return chunk{}, provider.ErrEnded
	}
	read, err := provider.Document(event.Data)
	if err != nil {
		return chunk{}, err
	}
	var next chunk
	provider.Fields(read, next.take)
	if next.failure.Type != gjson.Null {
		return chunk{}, &provider.ReportedError{Data: bytes.Clone(event.Data)}
	}
	return next, nil
}

func (c *chunk) take(name string, value gjson.Result) {
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

func readDelta(choice gjson.Result) (read delta) {
	provider.Fields(choice, func(name string, value gjson.Result) {
		switch name {
		case "index":
			read.index = value.Int()
		case "delta":
			provider.Fields(value, read.take)
		case "finish_reason":
			read.finish = value.String()
		}
	})
	return read
}

func (d *delta) take(name string, value gjson.Result) {
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
func (d *delta) thought() string { return cmp.Or(d.reasoningContent, d.reasoning) }

func readPiece(call gjson.Result) (piece provider.CallPiece) {
	provider.Fields(call, func(name string, value gjson.Result) {
		switch name {
		case "index":
			piece.Index = provider.Integer(value)
		case "id":
			piece.ID = value.String()
		case "function":
			provider.Fields(value, func(name string, value gjson.Result) {
				switch name {
				case "name":
					piece.Name = value.String()
				case "arguments":
					piece.Arguments = value.String()
				}
			})
		}
	})
	return piece
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
