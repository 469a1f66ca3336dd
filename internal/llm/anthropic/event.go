package anthropic

import (
	"bytes"
	"cmp"

	"github.com/tidwall/gjson"

	"signoff/internal/llm/provider"
)

// feed is an answer on its way, event by event.
type feed struct{ events *provider.EventReader }

// event is what we read of an event; which of it there is depends on the kind.
type event struct {
	kind  string
	index int64 // of the block that it is about
	part  part
	usage string // JSON
}

// part is how a block of an answer begins, or what is added to it, or, at the end, to the answer.
type part struct {
	kind                      string
	text, thinking, signature string
	data, id, name            string // of a block that begins
	partial, stop             string // of what is added
	category, explanation     string // of a refusal
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
			return readEvent(read), err
		}
	}
}

func readEvent(read gjson.Result) event {
	told := provider.Field(read, "delta")
	if block := provider.Field(read, "content_block"); block.Exists() {
		told = block
	}
	field := func(name string) string { return provider.Field(told, name).String() }
	details := provider.Field(told, "stop_details")
	return event{
		kind:  provider.Field(read, "type").String(),
		index: provider.Field(read, "index").Int(),
		part: part{
			kind: field("type"), text: field("text"), thinking: field("thinking"), signature: field("signature"),
			data: field("data"), id: field("id"), name: field("name"), partial: field("partial_json"), stop: field("stop_reason"),
			category: provider.Field(details, "category").Str, explanation: provider.Field(details, "explanation").Str,
		},
		usage: cmp.Or(provider.Field(read, "usage").Raw, provider.Field(provider.Field(read, "message"), "usage").Raw),
	}
}
