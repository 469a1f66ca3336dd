package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/coder/acp-go-sdk"
)

// ErrGone says that a call has no answer, and will not get one.
var ErrGone = errors.New("the agent is gone")

// Handler takes what the agent sends by itself.
type Handler interface {
	// Notification is called for one notification after the other, in the order of the wire. While it runs the next ones
	// wait, and behind notificationLimit of them the agent does. It must return: the end of the connection waits for it.
	// A call that is made inside it cannot return before it does.
	Notification(method string, params json.RawMessage)

	// TextChunk is Notification for a notification that is a plain chunk of text. Its place among the others is the one on the
	// wire. While it runs nothing is read. The parameters of the chunk are only lent.
	TextChunk(chunk TextChunk)

	// Request answers one request, in a goroutine of its own, after all notifications that came before it are handled.
	// The context ends when the agent withdraws the request and when the connection ends. An error that is a
	// *acp.RequestError goes out as it is; of any other one the agent learns only that there was one.
	Request(ctx context.Context, method string, params json.RawMessage) (any, error)

	// ProtocolError tells of a line that was no message, as soon as it was read. Nothing is read until it returns.
	ProtocolError(d ProtocolError)
}

// Options of a peer; the zero value is fine.
type Options struct {
	// WriteTimeout is how long the agent may read nothing of what is written; 0 is ten seconds.
	WriteTimeout time.Duration

	// Tap is shown every message of both directions as on the wire, without the end of the line; nil is nobody. The
	// bytes are only lent, and both directions may be shown at once.
	Tap func(way Direction, raw []byte)
}

// Direction is where a message goes.
type Direction string

const (
	ToAgent   Direction = "toAgent"
	FromAgent Direction = "fromAgent"
)

// Peer speaks JSON-RPC with the agent behind a pair of pipes. Over the SDK's connection, which numbers the calls and
// hands answers out, it puts a flow control that keeps the order, the limits and the end.
//
// A message that cannot be handed on never ends the connection. That ends when the agent's output does, when the agent
// stops reading, or by Close; then no goroutine of it is left, as soon as Notification and Request have returned.
type Peer struct {
	conn *acp.Connection
	flow *flowControl
	read *readActivity
}

// New begins to read at once. The peer closes stdout only when it gives the agent up, stdin never.
func New(stdin DeadlineWriter, stdout io.ReadCloser, h Handler, options Options) *Peer {
	if options.WriteTimeout == 0 {
		options.WriteTimeout = 10 * time.Second
	}
	read := newReadActivity(stdout)
	flow := newFlowControl(&agentStdin{to: stdin, timeout: options.WriteTimeout}, read, h, options.Tap)
	conn := acp.NewConnection(flow.handle, flow, flow)
	// The SDK logs what it cannot read, whole. Its goroutines run already, and would read the logger while it is being
	// set; so it is let in only now.
	conn.SetLogger(slog.New(slog.DiscardHandler))
	close(flow.opened)
	return &Peer{conn: conn, flow: flow, read: read}
}

// Call asks the agent. Its error is a *acp.RequestError where the agent answered with one, errGone where it cannot
// answer any more, and the context's cause where that ended.
//
// When the context ends the SDK sends $/cancel_request for the call, and nothing else: session/cancel comes only from
// its typed Prompt. The connection lives on, and the answer that the agent owes in spite of it is passed over.
func (p *Peer) Call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	encoded, err := encodeParams(params)
	if err != nil {
		return nil, err
	}
	call := &pendingCall{outcome: make(chan Answer, 1)}
	go p.ask(ctx, call, method, encoded) // apart, since a write does not end with a context
	select {
	case outcome := <-call.outcome:
		return outcome.Result, outcome.Err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (p *Peer) ask(ctx context.Context, call *pendingCall, method string, params any) {
	select {
	case p.flow.entry <- call:
	case <-ctx.Done():
		return
	}
	result, err := acp.SendRequest[json.RawMessage](p.conn, ctx, method, params)
	p.flow.leave(ctx, call, result, err)
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

// enter learns the id of a call. The SDK keeps it to itself until it writes the call; so one call at a time stands in
// the entry.
func (g *flowControl) enter(id json.RawMessage) {
	call := <-g.entry
	g.mu.Lock()
	defer g.mu.Unlock()
	call.key = idKey(id)
	g.calls[call.key] = call
}

// answer goes to the SDK if a call waits for it. There it waits until all notifications ahead are handled.
func (g *flowControl) answer(line agentLine, e envelope) []byte {
	key := idKey(e.id)
	g.mu.Lock()
	call := g.calls[key]
	delete(g.calls, key)
	wanted := call != nil && !call.over
	if wanted {
		call.answered = true
		g.taken++
	}
	g.mu.Unlock()
	switch {
	case wanted:
		return answerLine(key, e)
	case call == nil:
		g.reportError(line, lineIsUnexpected, lineHead{id: e.id})
	}
	return nil
}

// leave hands the outcome of a call out.
func (g *flowControl) leave(ctx context.Context, call *pendingCall, result json.RawMessage, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case err == nil:
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case !call.answered: // the SDK's own errors look like the agent's
		err = g.gone()
	}
	call.outcome <- Answer{result, err}
	call.over = true
	if call.answered {
		g.taken--
		g.changed.Broadcast()
	}
}

// Notify tells the agent something. It returns when that is written.
func (p *Peer) Notify(ctx context.Context, method string, params any) error {
	encoded, err := encodeParams(params)
	if err != nil {
		return err
	}
	written := make(chan error, 1)
	go func() { written <- p.conn.SendNotification(ctx, method, encoded) }()
	select {
	case err = <-written:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return p.flow.gone()
	}
}

// AwaitAnswers waits until the agent's requests have their answers on the wire, at most for so long. A handler that has
// returned has given its answer to the connection, which writes it a moment later.
func (p *Peer) AwaitAnswers(grace time.Duration) {
	for end := time.Now().Add(grace); p.flow.owes() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// encodeParams encodes here what the SDK would encode too, but whose failure it would report like one of the agent.
func encodeParams(params any) (any, error) {
	if params == nil {
		return nil, nil
	}
	encoded, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("encode parameters: %w", err)
	}
	return json.RawMessage(encoded), nil
}

// Close ends the connection, for instance when a descendant of the agent holds its output open.
func (p *Peer) Close(reason error) { p.flow.giveUp(reason) }

// Done is closed when the connection has ended, and all answers that had arrived are handed out.
func (p *Peer) Done() <-chan struct{} { return p.conn.Done() }

// Cause says why the connection ended or, before that, why nothing can be written any more; nil if neither is so.
func (p *Peer) Cause() error { return p.flow.reason() }

func (g *flowControl) reason() error {
	if g.ctx.Err() != nil {
		return context.Cause(g.ctx)
	}
	return g.stdin.failure()
}

func (g *flowControl) gone() error { return fmt.Errorf("%w: %w", ErrGone, g.reason()) }

// LastRead is when the agent was last read from. While the handler holds the agent up, nothing is read.
func (p *Peer) LastRead() time.Time { return p.read.last() }

// readActivity remembers when something was read.
type readActivity struct {
	io.ReadCloser
	begin time.Time
	since atomic.Int64 // the duration until the last read
}

func newReadActivity(of io.ReadCloser) *readActivity {
	return &readActivity{ReadCloser: of, begin: time.Now()}
}

// Read implements io.Reader.
func (a *readActivity) Read(into []byte) (int, error) {
	n, err := a.ReadCloser.Read(into)
	if n > 0 {
		a.since.Store(int64(time.Since(a.begin)))
	}
	return n, err
}

func (a *readActivity) last() time.Time { return a.begin.Add(time.Duration(a.since.Load())) }
