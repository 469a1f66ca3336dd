package anthropic

import (
	"bytes"

	"github.com/tidwall/gjson"

	"signoff/internal/llm/provider"
)

// feed is an answer on its way, event by event.
type feed struct{ events *provider.EventReader }

// event is what we read of an event; which of it there is depends on the kind.
type event struct {
	kind  string
	index int64   // of the block that it is about
	block opening // that begins
	delta delta
	usage string // JSON
}

// opening is how a block of an answer begins.
type opening struct {
	kind                            string
	text, thinking, signature, data string
	id, name                        string
}

// delta is what is added to a block, or, at the end, to the answer.
type delta struct {
	kind                               string
	text, thinking, signature, partial string
	stop                               string
}

// next returns the next event that says something; provider.ErrEnded where the stream has ended, and a *provider.ReportedError where the provider
// reports one.
func (f feed) next() (next event, err error) {
	for {
		came, err := f.events.Next()
		if err != nil {
			return next, err
		}
		switch string(came.Name) {
		case "", "ping":
		case "error":
			return next, &provider.ReportedError{Data: bytes.Clone(came.Data)}
		default:
			read, err := provider.Document(came.Data)
			provider.Fields(read, next.take)
			return next, err
		}
	}
}

func (e *event) take(name string, value gjson.Result) {
	switch name {
	case "type":
		e.kind = value.String()
	case "index":
		e.index = value.Int()
	case "content_block":
		provider.Fields(value, e.block.take)
	case "delta":
		provider.Fields(value, e.delta.take)
	case "message":
		e.usage = value.Get("usage").Raw
	case "usage":
		e.usage = value.Raw
	}
}

func (b *opening) take(name string, value gjson.Result) {
	switch name {
	case "type":
		b.kind = value.String()
	case "text":
		b.text = value.String()
	case "thinking":
		b.thinking = value.String()
	case "signature":
		b.signature = value.String()
	case "data":
		b.data = value.String()
	case "id":
		b.id = value.String()
	case "name":
		b.name = value.String()
	}
}

func (d *delta) take(name string, value gjson.Result) {
	switch name {
	case "type":
		d.kind = value.String()
	case "text":
		d.text = value.String()
	case "thinking":
		d.thinking = value.String()
	case "signature":
		d.signature = value.String()
	case "partial_json":
		d.partial = value.String()
	case "stop_reason":
		d.stop = value.String()
	}
}
