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
func (f *flowControl) Read(into []byte) (int, error) {
	<-f.opened
	for len(f.rest) == 0 {
		line, err := f.lines.next()
		if err != nil {
			f.end(err)
			return 0, io.EOF
		}
		f.rest = f.route(line)
	}
	n := copy(into, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// end keeps the end from the SDK until it has handed out all that came before. On the end it forgets calls whose answer
// it holds: it waits for the answer and for the end together, and takes the one or the other by chance.
func (f *flowControl) end(err error) {
	if errors.Is(err, io.EOF) {
		err = ErrOutputEnded
	}
	f.close(err)
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.passed > f.handled || f.taken > 0 {
		f.changed.Wait()
	}
}

// route turns a line into what the SDK gets to read of it; nil is nothing.
func (f *flowControl) route(line agentLine) []byte {
	switch {
	case line.tooLong:
		return f.refuse(line, lineIsTooLong, line.head)
	case len(line.text) == 0:
		return nil
	}
	if chunk, is := ReadTextChunk(line.text); is {
		f.show(FromAgent, line.text)
		f.deliver(chunk)
		return nil
	}
	whole := utf8.Valid(line.text)
	text := line.text
	if !whole {
		text = bytes.ToValidUTF8(text, []byte("?")) // not U+FFFD, with which it could grow over the limit
	}
	if domain.TooDeep(text) { // before anything reads it
		return f.refuse(line, lineIsTooDeep, headOf(text))
	}
	e, ok := readEnvelope(text)
	switch {
	case !ok && json.Valid(text):
		f.reportError(line, lineIsNoise, lineHead{})
		return nil
	case !ok:
		return f.refuse(line, lineIsBroken, headOf(text))
	case !whole:
		f.reportError(line, lineIsNotUTF8, lineHead{id: e.id, method: e.method})
	}
	return f.direct(line, e)
}

// direct sends a message its way.
func (f *flowControl) direct(line agentLine, e envelope) []byte {
	f.show(FromAgent, line.text)
	switch {
	case e.method == nil:
		return f.answer(line, e)
	case e.id != nil:
		if !f.register(e) {
			return f.refuse(line, lineIsOneTooMany, lineHead{id: e.id, method: e.method})
		}
		return requestLine(f.serial, e)
	case string(e.method) == `"$/cancel_request"`:
		f.withdraw(line, e)
		return nil
	default:
		return f.notification(e)
	}
}

// notification waits for its place in the queue.
func (f *flowControl) notification(e envelope) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.passed-f.handled >= notificationLimit || f.bytes > notificationBytes {
		f.holding, f.held = true, true
		f.changed.Wait()
	}
	f.holding = false
	f.passed++
	f.bytes += len(e.params)
	return requestLine(0, e)
}

// slowDelivery is the time from which on a chunk counts as one that held the agent up.
const slowDelivery = 100 * time.Millisecond

// deliver hands a chunk to the handler here and now. Its place in the order is behind all notifications that the SDK was
// given, so it waits for them; what comes behind it in the order is not read yet.
func (f *flowControl) deliver(chunk TextChunk) {
	f.mu.Lock()
	for f.passed > f.handled {
		f.holding, f.held = true, true
		f.changed.Wait()
	}
	f.holding, f.delivering = false, true
	f.mu.Unlock()
	begun := time.Now()
	f.handler.TextChunk(chunk)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.delivering = false
	f.held = f.held || time.Since(begun) > slowDelivery
}
