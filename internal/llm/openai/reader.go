package openai

import (
	"cmp"

	"github.com/tidwall/gjson"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// reader turns chunks into text, thoughts and an answer.
type reader struct {
	sink    provider.Sink
	split   thinkSplitter
	calls   provider.Calls
	thought thoughtState
	content contentList
	finish  string
	filter  []string // the categories of a content filter, as far as it names any
	refused bool
	usage   domain.Usage

	thoughtsApart bool // they are in the total of the usage alone
	size          provider.Size
}

func (r *reader) take(chunk gjson.Result) error {
	if usage := provider.Field(chunk, "usage"); usage.IsObject() { // some servers say "" or 0 where they have nothing to tell: that takes nothing back
		if r.usage = readUsage(usage); r.thoughtsApart {
			r.usage = withThoughts(r.usage)
		}
	}
	return provider.Elements(provider.Field(chunk, "choices"), func(choice gjson.Result) error {
		read := readDelta(choice)
		if read.index != 0 { // only one was asked for
			return nil
		}
		r.finish = cmp.Or(read.finish, r.finish)
		if found := provider.FilterCategories(read.filter); found != nil {
			r.filter = found // a stream may name them in each chunk, without an end
		}
		return r.takeDelta(&read)
	})
}

func (r *reader) takeDelta(read *delta) error {
	if err := provider.Elements(read.calls, r.takeCall); err != nil {
		return err
	}
	if err := provider.Elements(read.details, r.thought.addDetail); err != nil {
		return err
	}
	if err := r.size.Grow(len(read.details.Raw) + len(read.list.Raw) + len(read.thought) + len(read.content) + len(read.refusal)); err != nil {
		return err
	}
	r.thought.add(read.field, read.thought)
	if read.thought != "" {
		if err := r.sink.Thought(read.thought); err != nil {
			return err
		}
	}
	if err := provider.Elements(read.list, r.takeContent); err != nil {
		return err
	}
	r.content.addPlain(read.content)
	r.refused = r.refused || read.refusal != ""
	if read.thinks {
		r.split.announce()
	}
	return r.split.write(read.content + read.refusal)
}

func (r *reader) takeCall(call gjson.Result) error {
	if !call.IsObject() && call.Type != gjson.Null {
		return nil
	}
	cost, err := r.calls.Add(readPiece(call))
	return cmp.Or(err, r.size.Grow(cost))
}
