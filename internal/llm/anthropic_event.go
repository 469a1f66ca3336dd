package llm

import (
	"bytes"

	"github.com/tidwall/gjson"
)

// anthropicFeed is an answer on its way, event by event.
type anthropicFeed struct{ events *eventReader }

// anthropicEvent is what we read of an event; which of it there is depends on the kind.
type anthropicEvent struct {
	kind  string
	index int64            // of the block that it is about
	block anthropicOpening // that begins
	delta anthropicDelta
	usage string // JSON
}

// anthropicOpening is how a block of an answer begins.
type anthropicOpening struct {
	kind                            string
	text, thinking, signature, data string
	id, name                        string
}

// anthropicDelta is what is added to a block, or, at the end, to the answer.
type anthropicDelta struct {
	kind                               string
	text, thinking, signature, partial string
	stop                               string
}

// next returns the next event that says something; errEnded where the stream has ended, and a *toldError where the provider
// reports one.
func (f anthropicFeed) next() (next anthropicEvent, err error) {
	for {
		event, err := f.events.next()
		if err != nil {
			return next, err
		}
		switch string(event.name) {
		case "", "ping":
		case "error":
			return next, &toldError{data: bytes.Clone(event.data)}
		default:
			read, err := document(event.data)
			fields(read, next.take)
			return next, err
		}
	}
}

func (e *anthropicEvent) take(name string, value gjson.Result) {
	switch name {
	case "type":
		e.kind = value.String()
	case "index":
		e.index = value.Int()
	case "content_block":
		fields(value, e.block.take)
	case "delta":
		fields(value, e.delta.take)
	case "message":
		e.usage = value.Get("usage").Raw
	case "usage":
		e.usage = value.Raw
	}
}

func (b *anthropicOpening) take(name string, value gjson.Result) {
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

func (d *anthropicDelta) take(name string, value gjson.Result) {
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
