package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/coder/acp-go-sdk"
)

const (
	// notificationLimit is how many notifications may wait for the handler, and notificationBytes how large they may
	// be together. Behind that the agent waits. The SDK would end the connection at 1024.
	notificationLimit = 256
	notificationBytes = 32 << 20

	// requestLimit is how many requests of the agent may be without an answer, and requestBytes how large those may be
	// together that are not answered. What comes on top is refused, not delayed: behind it may stand the answer, or the
	// withdrawal, that those requests wait for.
	requestLimit = 256
	requestBytes = 32 << 20
)

var (
	errWithdrawn  = errors.New("the agent withdrew its request")
	errOutputOver = errors.New("the agent's output has ended")
)

// A disturbance is something on the agent's stdout that was no message, or none that could be handed on.
type disturbance struct {
	kind   disturbanceKind
	size   int64           // of the line, in bytes
	sample string          // how it begins: at most 512 bytes of valid UTF-8
	id     json.RawMessage // as far as they could be seen
	method string
	count  int // of the disturbances of this connection, with this one
}

type disturbanceKind string

const (
	lineIsNoise      disturbanceKind = "noise"         // no JSON, or no JSON-RPC
	lineIsTooLong    disturbanceKind = "tooLong"       // refused: more than lineLimit
	lineIsBroken     disturbanceKind = "broken"        // refused: not quite JSON, but with the id of a request or a call
	lineIsNotUTF8    disturbanceKind = "notUTF8"       // repaired and handed on
	lineIsUnexpected disturbanceKind = "unexpected"    // an answer to nothing that was asked, or a second one
	lineIsOneTooMany disturbanceKind = "tooManyAtOnce" // refused: too many requests are open
)

// gate stands between the agent's pipes and the SDK, in both directions. To the SDK it is the reader and the writer.
//
// All that comes in passes through Read, on the SDK's one goroutine that receives. So what Read does has an order, and
// while Read waits the agent waits.
type gate struct {
	lines   *lineReader
	stdout  io.Closer
	stdin   *agentStdin
	handler peerHandler
	tap     func(way wireDirection, raw []byte)
	opened  chan struct{} // the SDK may read
	entry   chan *pendingCall

	ctx  context.Context // ends with the connection
	stop context.CancelCauseFunc

	// Of the goroutine that reads.
	rest         []byte // of the message that the SDK is reading
	serial       uint64 // of the last request
	disturbances int

	mu       sync.Mutex
	changed  *sync.Cond
	holding  bool   // Read waits for the handler
	passed   uint64 // notifications given to the SDK
	handled  uint64 // notifications that the handler is done with
	bytes    int    // of the notifications between the two
	requests map[uint64]*agentRequest
	waiting  []*agentRequest // for notifications ahead of them, in the order of the wire
	open     int             // requests of the agent whose answer is not written
	asking   int             // bytes of those that the handler has
	calls    map[string]*pendingCall
	taken    int // calls whose answer was given to the SDK, and that have not returned
}

// agentRequest is a request of the agent on its way to the handler.
type agentRequest struct {
	key    string
	behind uint64        // as many notifications have to be handled first
	ready  chan struct{} // they are
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// pendingCall is a call of ours.
type pendingCall struct {
	key      string
	answered bool
	outcome  chan callOutcome
}

type callOutcome struct {
	result json.RawMessage
	err    error
}

func newGate(stdin *agentStdin, stdout io.ReadCloser, handler peerHandler, tap func(wireDirection, []byte)) *gate {
	g := &gate{
		lines: newLineReader(stdout), stdout: stdout, stdin: stdin, handler: handler, tap: tap,
		opened: make(chan struct{}), entry: make(chan *pendingCall, 1),
		requests: map[uint64]*agentRequest{}, calls: map[string]*pendingCall{},
	}
	g.changed = sync.NewCond(&g.mu)
	g.ctx, g.stop = context.WithCancelCause(context.Background())
	stdin.held = g.isHolding
	return g
}

// Read gives the SDK one message after the other, when its time has come.
func (g *gate) Read(into []byte) (int, error) {
	<-g.opened
	for len(g.rest) == 0 {
		line, err := g.lines.next()
		if err != nil {
			g.end(err)
			return 0, io.EOF
		}
		g.rest = g.admit(line)
	}
	n := copy(into, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

// end keeps the end from the SDK until it has handed out all that came before. On the end it forgets calls whose answer
// it holds: it waits for the answer and for the end together, and takes the one or the other by chance.
func (g *gate) end(err error) {
	if errors.Is(err, io.EOF) {
		err = errOutputOver
	}
	g.close(err)
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.passed > g.handled || g.taken > 0 {
		g.changed.Wait()
	}
}

// close ends what waits for the agent. The first reason stays.
func (g *gate) close(reason error) {
	g.stop(reason)
	_ = g.stdin.fail(reason)
}

// giveUp ends the connection from our side. The agent gets an error where it writes, and whatever of it was read
// already is still handed out.
func (g *gate) giveUp(reason error) {
	g.close(reason)
	_ = g.stdout.Close() // the end that Read gets by it is all that is wanted
}

// admit turns a line into what the SDK gets to read of it; nil is nothing.
func (g *gate) admit(line agentLine) []byte {
	switch {
	case line.tooLong:
		return g.refuse(line, lineIsTooLong, line.head)
	case len(line.text) == 0:
		return nil
	}
	whole := utf8.Valid(line.text)
	text := line.text
	if !whole {
		text = bytes.ToValidUTF8(text, []byte("?")) // not U+FFFD, with which it could grow over the limit
	}
	e, ok := readEnvelope(text)
	switch {
	case !ok && json.Valid(text):
		g.disturb(line, lineIsNoise, lineHead{})
		return nil
	case !ok:
		return g.refuse(line, lineIsBroken, headOf(text))
	case !whole:
		g.disturb(line, lineIsNotUTF8, lineHead{id: e.id, method: e.method})
	}
	return g.direct(line, e)
}

// direct sends a message its way.
func (g *gate) direct(line agentLine, e envelope) []byte {
	g.show(fromAgent, line.text)
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
func (g *gate) notification(e envelope) []byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holding = true
	for g.passed-g.handled >= notificationLimit || g.bytes > notificationBytes {
		g.changed.Wait()
	}
	g.holding = false
	g.passed++
	g.bytes += len(e.params)
	return requestLine(0, e)
}

// request goes to the SDK at once, which gives it a goroutine; that waits until all notifications ahead are handled.
// Reading does not: what comes behind the request may be what ends it.
func (g *gate) request(line agentLine, e envelope) []byte {
	if !g.register(e) {
		return g.refuse(line, lineIsOneTooMany, lineHead{id: e.id, method: e.method})
	}
	return requestLine(g.serial, e)
}

func (g *gate) register(e envelope) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open >= requestLimit || g.asking > requestBytes {
		return false
	}
	g.open++
	g.asking += len(e.params)
	g.serial++
	request := &agentRequest{key: idKey(e.id), behind: g.passed, ready: make(chan struct{})}
	request.ctx, request.cancel = context.WithCancelCause(g.ctx)
	g.requests[g.serial] = request
	g.waiting = append(g.waiting, request)
	g.release()
	return true
}

// release lets the requests go whose notifications are handled.
func (g *gate) release() {
	for len(g.waiting) > 0 && g.waiting[0].behind <= g.handled {
		close(g.waiting[0].ready)
		g.waiting = g.waiting[1:]
	}
}

// withdraw ends the context of one request. The SDK would do it too, but it forgets a request that has the id of one
// that has just been answered.
func (g *gate) withdraw(line agentLine, e envelope) {
	var params struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(e.params, &params) != nil || !isScalar(params.RequestID) {
		g.disturb(line, lineIsNoise, lineHead{method: e.method})
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	key, newest := idKey(params.RequestID), uint64(0)
	for serial, request := range g.requests {
		if request.key == key {
			newest = max(newest, serial)
		}
	}
	if newest > 0 {
		g.requests[newest].cancel(errWithdrawn)
	}
}

// answer goes to the SDK if a call waits for it. There it waits until all notifications ahead are handled.
func (g *gate) answer(line agentLine, e envelope) []byte {
	key := idKey(e.id)
	g.mu.Lock()
	call := g.calls[key]
	if call != nil {
		delete(g.calls, key)
		call.answered = true
		g.taken++
	}
	g.mu.Unlock()
	if call == nil {
		g.disturb(line, lineIsUnexpected, lineHead{id: e.id})
		return nil
	}
	return answerLine(key, e)
}

// refuse tells whoever waits for a message that it cannot be handed on.
func (g *gate) refuse(line agentLine, kind disturbanceKind, head lineHead) []byte {
	asks := head.id != nil && head.method != nil
	answers := head.id != nil && head.method == nil && head.answers
	if kind == lineIsBroken && !asks && !answers {
		kind = lineIsNoise
	}
	g.disturb(line, kind, head)
	switch {
	case asks:
		// Written here and now: an agent that does not read its refusals is not read either. If the write fails, then
		// whoever writes next is told.
		_ = g.send(refusalLine(head.id, refusal("request", line, kind)))
	case answers:
		return g.answer(line, envelope{id: head.id, failed: refusal("answer", line, kind)})
	}
	return nil
}

// refusal is the error for it.
func refusal(what string, line agentLine, kind disturbanceKind) json.RawMessage {
	refused := acp.RequestError{Code: -32600}
	switch kind {
	case lineIsTooLong:
		refused.Message = fmt.Sprintf("The %s is too large: it has %d bytes, and at most %d are read.", what, line.size, lineLimit)
	case lineIsOneTooMany:
		refused.Message = fmt.Sprintf("The %s is one too many: others wait for their answers.", what)
	default:
		refused.Code, refused.Message = -32700, fmt.Sprintf("The %s is not valid JSON.", what)
	}
	body, _ := json.Marshal(refused) // a number and a text: cannot fail
	return body
}

// disturb tells the handler of a line that was no message.
func (g *gate) disturb(line agentLine, kind disturbanceKind, head lineHead) {
	g.disturbances++
	d := disturbance{kind: kind, size: line.size, sample: line.sample(), id: head.id, count: g.disturbances}
	_ = json.Unmarshal(head.method, &d.method) // there may be none
	g.handler.disturbed(d)
}

// handle is the SDK's handler, for notifications on its one goroutine for them, for requests on one each.
func (g *gate) handle(_ context.Context, marked string, params json.RawMessage) (any, *acp.RequestError) {
	mark, method, _ := strings.Cut(marked, " ")
	if mark == "0" {
		g.handler.notified(method, params)
		g.done(len(params))
		return nil, nil
	}
	serial, _ := strconv.ParseUint(mark, 10, 64) // of requestLine
	result, err := g.serve(serial, method, params)
	if err != nil {
		return nil, err
	}
	return result, nil
}

// done counts a notification as handled.
func (g *gate) done(size int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.handled++
	g.bytes -= size
	g.release()
	g.changed.Broadcast()
}

// serve answers one request.
func (g *gate) serve(serial uint64, method string, params json.RawMessage) (json.RawMessage, *acp.RequestError) {
	g.mu.Lock()
	request := g.requests[serial]
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.requests, serial)
		g.asking -= len(params)
		request.cancel(nil)
	}()
	select {
	case <-request.ready:
	case <-request.ctx.Done(): // nobody has heard of it yet, and nobody needs to
		return nil, answerError(request.ctx, context.Canceled)
	}
	result, err := g.handler.asked(request.ctx, method, params)
	if err != nil {
		return nil, answerError(request.ctx, err)
	}
	encoded, err := json.Marshal(result)
	if err != nil {
		return nil, answerError(request.ctx, err)
	}
	return encoded, nil
}

// answerError is what the agent is told of an error: what was meant for it, and nothing of any other one.
func answerError(ctx context.Context, err error) *acp.RequestError {
	var meant *acp.RequestError
	withdrawn := errors.Is(context.Cause(ctx), errWithdrawn)
	switch {
	case errors.As(err, &meant):
		if _, unspeakable := json.Marshal(meant); unspeakable == nil { // otherwise the SDK would send no answer at all
			return meant
		}
	case withdrawn && (errors.Is(err, context.Canceled) || errors.Is(err, errWithdrawn)):
		return acp.NewRequestCancelled(nil)
	}
	return acp.NewInternalError(nil)
}

// Write sends what the SDK writes: one whole message at a time.
func (g *gate) Write(message []byte) (int, error) {
	head := headOf(message)
	if head.id != nil && head.method != nil {
		g.enter(head.id)
	}
	err := g.send(message)
	if head.id != nil && head.method == nil {
		g.mu.Lock()
		g.open--
		g.mu.Unlock()
	}
	if err != nil {
		return 0, err
	}
	return len(message), nil
}

func (g *gate) send(message []byte) error {
	g.show(toAgent, bytes.TrimSuffix(message, []byte("\n")))
	err := g.stdin.write(message)
	if errors.Is(err, errNotReading) {
		g.giveUp(err)
	}
	return err
}

func (g *gate) show(way wireDirection, raw []byte) {
	if g.tap != nil {
		g.tap(way, raw)
	}
}

func (g *gate) isHolding() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.holding
}
