package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"time"
	"unicode/utf8"

	"signoff/internal/domain"
)

const (
	// notificationLimit is how many notifications may wait for the handler, and notificationBytes how large they may
	// be together. Behind that the agent waits. The SDK would end the connection at 1024.
	notificationLimit = 256
	notificationBytes = 32 << 20
)

// Read gives the SDK one message after the other, when its time has come.
func (g *flowControl) Read(into []byte) (int, error) {
	<-g.opened
	for len(g.rest) == 0 {
		line, err := g.lines.next()
		if err != nil {
			g.end(err)
			return 0, io.EOF
		}
		g.rest = g.route(line)
	}
	n := copy(into, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

// end keeps the end from the SDK until it has handed out all that came before. On the end it forgets calls whose answer
// it holds: it waits for the answer and for the end together, and takes the one or the other by chance.
func (g *flowControl) end(err error) {
	if errors.Is(err, io.EOF) {
		err = ErrOutputEnded
	}
	g.close(err)
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.passed > g.handled || g.taken > 0 {
		g.changed.Wait()
	}
}

// route turns a line into what the SDK gets to read of it; nil is nothing.
func (g *flowControl) route(line agentLine) []byte {
	switch {
	case line.tooLong:
		return g.refuse(line, lineIsTooLong, line.head)
	case len(line.text) == 0:
		return nil
	}
	if chunk, is := ReadTextChunk(line.text); is {
		g.show(FromAgent, line.text)
		g.deliver(chunk)
		return nil
	}
	whole := utf8.Valid(line.text)
	text := line.text
	if !whole {
		text = bytes.ToValidUTF8(text, []byte("?")) // not U+FFFD, with which it could grow over the limit
	}
	if domain.TooDeep(text) { // before anything reads it
		return g.refuse(line, lineIsTooDeep, headOf(text))
	}
	e, ok := readEnvelope(text)
	switch {
	case !ok && json.Valid(text):
		g.reportError(line, lineIsNoise, lineHead{})
		return nil
	case !ok:
		return g.refuse(line, lineIsBroken, headOf(text))
	case !whole:
		g.reportError(line, lineIsNotUTF8, lineHead{id: e.id, method: e.method})
	}
	return g.direct(line, e)
}

// direct sends a message its way.
func (g *flowControl) direct(line agentLine, e envelope) []byte {
	g.show(FromAgent, line.text)
	switch {
	case e.method == nil:
		return g.answer(line, e)
	case e.id != nil:
		return g.request(line, e)
	case string(e.method) == `"$/cancel_request"`:
		g.withdraw(line, e)
		return nil
	default:
		return g.notification(e)
	}
}

// notification waits for its place in the queue.
func (g *flowControl) notification(e envelope) []byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.passed-g.handled >= notificationLimit || g.bytes > notificationBytes {
		g.holding, g.held = true, true
		g.changed.Wait()
	}
	g.holding = false
	g.passed++
	g.bytes += len(e.params)
	return requestLine(0, e)
}

// slowDelivery is the time from which on a chunk counts as one that held the agent up.
const slowDelivery = 100 * time.Millisecond

// deliver hands a chunk to the handler here and now. Its place in the order is behind all notifications that the SDK was
// given, so it waits for them; what comes behind it in the order is not read yet.
func (g *flowControl) deliver(chunk TextChunk) {
	g.mu.Lock()
	for g.passed > g.handled {
		g.holding, g.held = true, true
		g.changed.Wait()
	}
	g.holding, g.delivering = false, true
	g.mu.Unlock()
	begun := time.Now()
	g.handler.TextChunk(chunk)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.delivering = false
	g.held = g.held || time.Since(begun) > slowDelivery
}
