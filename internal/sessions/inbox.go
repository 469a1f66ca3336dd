package sessions

import (
	"context"
	"strings"
	"sync"

	"signoff/internal/domain"
)

const (
	// inboxBytes is how much an agent may be ahead of the database before Emit makes it wait.
	inboxBytes = 4 << 20
	// deltaBytes bounds one event: longer runs of text become several.
	deltaBytes = 64 << 10
	// itemBytes is what an item counts beside its text, so that a flood of tiny facts is bounded too.
	itemBytes = 256
)

// inbox is what the agent has said and the session has not yet taken. The slice is the truth, the channels are bells.
type inbox struct {
	mu     sync.Mutex
	items  []item
	bytes  int
	closed error // why nothing is taken any more

	bell chan struct{} // for the session: there is something
	room chan struct{} // for agents: there may be room again
}

// item is one thing that an agent said; exactly one field is set.
type item struct {
	payload domain.Payload
	delta   *delta
	ask     *ask
	done    *turnResult
}

// delta is text that still grows: all that one message, thought or tool output has said since the session last looked.
type delta struct {
	kind domain.EventType
	id   string
	text strings.Builder
}

// ask is a waiting Authorize.
type ask struct {
	call  domain.ToolCall
	reply chan domain.Grant // one slot: the answer never waits for the asker
}

// turnResult is how Prompt returned.
type turnResult struct {
	stop domain.StopReason
	err  error
}

func newInbox() *inbox {
	return &inbox{bell: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// say puts a payload in, as text that grows where it is a delta. It waits while the inbox is full.
func (b *inbox) say(ctx context.Context, payload domain.Payload) error {
	for {
		full, err := b.trySay(payload)
		if err != nil || !full {
			return err
		}
		select {
		case <-b.room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (b *inbox) trySay(payload domain.Payload) (full bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed != nil {
		return false, b.closed
	}
	if b.bytes >= inboxBytes {
		return true, nil
	}
	kind, id, text := growing(payload)
	b.bytes += len(text)
	if id == "" {
		b.bytes += itemBytes
		b.items = append(b.items, item{payload: payload})
	} else {
		b.grow(kind, id, text)
	}
	ring(b.bell)
	return false, nil
}

// grow appends to the last item where it is the same text, so that a burst costs its bytes and not its count.
func (b *inbox) grow(kind domain.EventType, id, text string) {
	if n := len(b.items); n > 0 {
		last := b.items[n-1].delta
		if last != nil && last.kind == kind && last.id == id && last.text.Len()+len(text) <= deltaBytes {
			last.text.WriteString(text)
			return
		}
	}
	d := &delta{kind: kind, id: id}
	d.text.WriteString(text)
	b.bytes += itemBytes
	b.items = append(b.items, item{delta: d})
}

// growing tells whether a payload is a piece of text, and of which.
func growing(payload domain.Payload) (kind domain.EventType, id, text string) {
	switch p := payload.(type) {
	case domain.MessageDelta:
		return p.EventType(), p.MessageID, p.Text
	case domain.ThoughtDelta:
		return p.EventType(), p.MessageID, p.Text
	case domain.ToolCallUpdated:
		return p.EventType(), p.ToolCallID, p.Output
	default:
		return "", "", ""
	}
}

// put puts in what must never wait: a question or the end of the turn.
func (b *inbox) put(i item) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed != nil {
		return b.closed
	}
	b.items = append(b.items, i)
	ring(b.bell)
	return nil
}

// take empties the inbox.
func (b *inbox) take() []item {
	b.mu.Lock()
	defer b.mu.Unlock()
	items := b.items
	b.items, b.bytes = nil, 0
	if b.closed == nil {
		ring(b.room)
	}
	return items
}

// close refuses everything from now on. Agents that wait for room are woken one after the other.
func (b *inbox) close(why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed == nil {
		b.closed = why
		close(b.room)
	}
}

// ring is a bell: it never waits, and two rings before anybody looks are one.
func ring(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}
