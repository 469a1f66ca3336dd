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

// Options of a peer; the zero value is fine.
type Options struct {
	// WriteTimeout is how long the agent may read nothing of what is written; 0 is ten seconds.
	WriteTimeout time.Duration

	// Tap is shown every message of both directions as on the wire, without the end of the line; nil is nobody. The
	// bytes are only lent, and both directions may be shown at once.
	Tap func(way Direction, raw []byte)
}

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
	read := &readActivity{ReadCloser: stdout, begin: time.Now()}
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
	switch params := params.(type) {
	case nil:
		return nil, nil
	case json.RawMessage: // of a prompt with files it would be a copy of many megabytes
		return params, nil
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

// LastRead is when the agent was last read from. While the handler holds the agent up, nothing is read.
func (p *Peer) LastRead() time.Time { return p.read.begin.Add(time.Duration(p.read.since.Load())) }

// readActivity remembers when something was read.
type readActivity struct {
	io.ReadCloser
	begin time.Time
	since atomic.Int64 // the duration until the last read
}

// Read implements io.Reader.
func (a *readActivity) Read(into []byte) (int, error) {
	n, err := a.ReadCloser.Read(into)
	if n > 0 {
		a.since.Store(int64(time.Since(a.begin)))
	}
	return n, err
}
