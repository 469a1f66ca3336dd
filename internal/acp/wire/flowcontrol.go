package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
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
	f := &flowControl{
		lines: newLineReader(stdout), stdout: stdout, stdin: stdin, handler: handler, tap: tap,
		opened: make(chan struct{}), entry: make(chan *pendingCall, 1),
		requests: map[uint64]*agentRequest{}, calls: map[string]*pendingCall{},
	}
	f.changed = sync.NewCond(&f.mu)
	f.ctx, f.stop = context.WithCancelCause(context.Background())
	stdin.held, stdin.tap = f.wasHeld, func(message []byte) { f.show(ToAgent, bytes.TrimSuffix(message, []byte("\n"))) }
	return f
}

// close ends what waits for the agent. The first reason stays.
func (f *flowControl) close(reason error) {
	f.stop(reason)
	_ = f.stdin.fail(reason)
}

// giveUp ends the connection from our side. The agent gets an error where it writes, and whatever of it was read
// already is still handed out.
func (f *flowControl) giveUp(reason error) {
	f.close(reason)
	_ = f.stdout.Close() // the end that Read gets by it is all that is wanted
}

func (f *flowControl) send(message []byte) error {
	err := f.stdin.write(message)
	if errors.Is(err, ErrNotReading) {
		f.giveUp(err)
	}
	return err
}

func (f *flowControl) show(way Direction, raw []byte) {
	if f.tap != nil {
		f.tap(way, raw)
	}
}

// wasHeld says whether the agent had to wait for the handler since this was asked before.
func (f *flowControl) wasHeld() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	held := f.held || f.delivering
	f.held = f.holding
	return held
}

// owes tells whether a request of the agent has no answer on the wire.
func (f *flowControl) owes() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open > 0
}

// pendingCall is a call of ours.
type pendingCall struct {
	key      string
	answered bool // the SDK has the answer
	over     bool // the caller has gone, and the answer may still come
	outcome  chan Answer
}

// Answer is what came of a call: a result or an error.
type Answer struct {
	Result json.RawMessage
	Err    error
}

func (f *flowControl) reason() error {
	if f.ctx.Err() != nil {
		return context.Cause(f.ctx)
	}
	return f.stdin.failure()
}

func (f *flowControl) gone() error { return fmt.Errorf("%w: %w", ErrGone, f.reason()) }

// agentRequest is a request of the agent on its way to the handler.
type agentRequest struct {
	key    string
	ctx    context.Context
	cancel context.CancelCauseFunc

	behind   uint64        // as many notifications have to be handled first
	ready    chan struct{} // closed when they are
	released bool          // it is closed
}
