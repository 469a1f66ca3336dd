package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
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

// ErrOutputEnded is the cause of an end that the agent made, by closing its output or by ending.
var ErrOutputEnded = errors.New("the agent's output has ended")

// flowControl stands between the agent's pipes and the SDK, in both directions. To the SDK it is the reader and the writer.
//
// All that comes in passes through Read, on the SDK's one goroutine that receives. So what Read does has an order, and
// while Read waits the agent waits. Plain chunks of text end here: Read hands them to the handler itself. Of the SDK (connection.go of v0.13.5) it relies on this:
//
//   - It calls Read only when it is done with all whole lines that it has.
//   - It handles notifications one after the other, and each request in a goroutine of its own.
//   - It hands an answer out only after it has handled the notifications that it had read before.
//   - It writes a message in one Write, a call in the goroutine that called.
type flowControl struct {
	lines   *lineReader
	stdout  io.Closer
	stdin   *agentStdin
	handler Handler
	tap     func(way Direction, raw []byte)
	opened  chan struct{} // the SDK may read
	entry   chan *pendingCall

	ctx  context.Context // ends with the connection
	stop context.CancelCauseFunc

	// Of the goroutine that reads.
	rest           []byte // of the message that the SDK is reading
	serial         uint64 // of the last request
	protocolErrors int

	mu         sync.Mutex
	changed    *sync.Cond
	holding    bool   // Read waits for the handler
	delivering bool   // Read runs the handler, with a chunk
	held       bool   // one of the two held the agent up since wasHeld was asked
	passed     uint64 // notifications given to the SDK
	handled    uint64 // notifications that the handler is done with
	bytes      int    // of the notifications between the two
	requests   map[uint64]*agentRequest
	open       int // requests of the agent whose answer is not written
	asking     int // bytes of those that the handler has
	calls      map[string]*pendingCall
	taken      int // calls whose answer was given to the SDK, and that have not returned
}

func newFlowControl(stdin *agentStdin, stdout io.ReadCloser, handler Handler, tap func(Direction, []byte)) *flowControl {
	g := &flowControl{
		lines: newLineReader(stdout), stdout: stdout, stdin: stdin, handler: handler, tap: tap,
		opened: make(chan struct{}), entry: make(chan *pendingCall, 1),
		requests: map[uint64]*agentRequest{}, calls: map[string]*pendingCall{},
	}
	g.changed = sync.NewCond(&g.mu)
	g.ctx, g.stop = context.WithCancelCause(context.Background())
	stdin.held, stdin.tap = g.wasHeld, func(message []byte) { g.show(ToAgent, bytes.TrimSuffix(message, []byte("\n"))) }
	return g
}

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

// close ends what waits for the agent. The first reason stays.
func (g *flowControl) close(reason error) {
	g.stop(reason)
	_ = g.stdin.fail(reason)
}

// giveUp ends the connection from our side. The agent gets an error where it writes, and whatever of it was read
// already is still handed out.
func (g *flowControl) giveUp(reason error) {
	g.close(reason)
	_ = g.stdout.Close() // the end that Read gets by it is all that is wanted
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

// Write sends what the SDK writes: one whole message at a time.
func (g *flowControl) Write(message []byte) (int, error) {
	head := headOf(message)
	if head.id != nil && head.method != nil { // a call
		g.enter(head.id)
	}
	err := g.send(message)
	if head.method == nil { // an answer; its id may be longer than what a head keeps
		g.mu.Lock()
		g.open--
		g.mu.Unlock()
	}
	if err != nil {
		return 0, err
	}
	return len(message), nil
}

func (g *flowControl) send(message []byte) error {
	err := g.stdin.write(message)
	if errors.Is(err, ErrNotReading) {
		g.giveUp(err)
	}
	return err
}

func (g *flowControl) show(way Direction, raw []byte) {
	if g.tap != nil {
		g.tap(way, raw)
	}
}

// wasHeld says whether the agent had to wait for the handler since this was asked before.
func (g *flowControl) wasHeld() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	held := g.held || g.delivering
	g.held = g.holding
	return held
}

// owes tells whether a request of the agent has no answer on the wire.
func (g *flowControl) owes() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open > 0
}
