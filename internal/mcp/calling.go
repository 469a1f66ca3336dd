package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"signoff/internal/domain"
	"signoff/internal/failpoint"
	"signoff/internal/mcp/wire"
)

const (
	maxReturns = 4 // of a request that the server hands back without a question, because it is busy
	busyPause  = time.Second
)

// Call sends one request to a tool, once: no layer below sends it a second time. The list of the very connection that runs the call is read before,
// and the definition compared. Errors are [*domain.Error]:
//
//   - [domain.CodeDefinitionChanged]: the tool is another one than was allowed. Nothing was sent.
//   - [domain.CodeMCPServerUnavailable]: the server cannot be used. Nothing was sent.
//   - [domain.CodeNotStarted]: the request did not reach the server.
//   - [domain.CodeToolFailed]: the server refused the request, or its answer is of no use.
//   - [domain.CodeOutcomeUnknown]: the server may have done it.
func (s *Session) Call(ctx context.Context, call Call) (Answer, error) {
	l, err := s.link(call.Server)
	if err != nil {
		return Answer{}, err
	}
	input, err := inputOf(call)
	if err != nil {
		return Answer{}, err
	}
	c, tool, err := l.prepared(ctx, call)
	if err != nil {
		return Answer{}, notCalled(ctx, call, err)
	}
	if call.Repeat != nil && c.revision() < revisionStateless {
		return Answer{}, domain.Errorf(domain.CodeToolFailed, "The MCP server %q cannot go on with the call: it speaks the revision %s of the protocol now.", call.Server, c.revision())
	}
	raw, err := c.call(ctx, call, input)
	if err != nil {
		return Answer{}, s.callFailed(ctx, l, c, call, err)
	}
	l.works()
	return s.answer(raw, tool, c.revision())
}

// prepared returns the connection that will run a call, and the tool as it is there at this moment.
func (l *link) prepared(ctx context.Context, call Call) (*connection, Tool, error) {
	c, listed, err := l.asked(ctx)
	if err != nil {
		return nil, Tool{}, err
	}
	l.compare(listed)
	tool, known := listed.find(call.Tool)
	switch {
	case !known:
		return nil, Tool{}, domain.Errorf(domain.CodeDefinitionChanged, "The MCP server %q has no tool %s any more.", call.Server, wire.Quote(call.Tool))
	case tool.Definition != call.Definition:
		return nil, Tool{}, domain.Errorf(domain.CodeDefinitionChanged, "The MCP server %q has changed the definition of the tool %s since the call was allowed.",
			call.Server, wire.Quote(call.Tool))
	}
	return c, tool, nil
}

// notCalled is the error of a call of which nothing was sent.
func notCalled(ctx context.Context, call Call, err error) error {
	if ctx.Err() != nil {
		return domain.Errorf(domain.CodeNotStarted, "The call of the MCP server %q was ended before it was sent.", call.Server).With(context.Cause(ctx))
	}
	return err
}

// callFailed is the error of a call that was about to be sent.
func (s *Session) callFailed(ctx context.Context, l *link, c *connection, call Call, err error) error {
	var failed *wire.Error
	if !errors.As(err, &failed) {
		return err
	}
	text := s.manager.config.Mask(failed.Text)
	switch failed.Outcome {
	case wire.Unsent:
		return domain.Errorf(domain.CodeNotStarted, "The call did not reach the MCP server %q: it %s.", call.Server, text).With(err)
	case wire.Refused:
		if page, is := pageOf(failed); is {
			return domain.Errorf(domain.CodeToolFailed, "The MCP server %q refused the call: a person has to open a page of the host %s first, which is %s. The call can be made again then.",
				call.Server, page.Host, page.URL).With(err)
		}
		return domain.Errorf(domain.CodeToolFailed, "The MCP server %q refused the call: it %s.", call.Server, text).With(err)
	case wire.Unread:
		return domain.Errorf(domain.CodeToolFailed, "The MCP server %q has run the call, and its result cannot be used: it %s.", call.Server, text).With(err)
	case wire.Unknown:
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	} else if hasEnded(failed) && c.hasExited() {
		ending := s.why(c.program.Failure())
		l.ended(ending)
		text += ": " + ending
	}
	return domain.Errorf(domain.CodeOutcomeUnknown, "The call may have had its effect: the MCP server %q was sent it, and %s.", call.Server, text).With(err)
}

// openCall is a call that has been sent and not answered.
type openCall struct {
	call  Call
	token string // of its progress
	clock *clock
	ended context.Context
	news  chan Progress // the latest, at most one
}

// call sends the request, and again where the server hands it back because it is busy: it has run nothing then.
func (c *connection) call(ctx context.Context, call Call, input input) (json.RawMessage, error) {
	clock := newClock(ctx, callTimeout(c.server))
	defer clock.stop()
	open := &openCall{call: call, clock: clock, ended: clock.ctx, news: make(chan Progress, 1)}
	stop := open.reportProgress()
	defer stop()
	c.begin(open)
	defer c.finish(open)
	params := &sdk.CallToolParams{Name: call.Tool, Arguments: argumentsOf(call), InputResponses: input.responses, RequestState: input.state}
	for returns := 0; ; returns++ {
		raw, err := c.send(clock.ctx, "tools/call", func(ctx context.Context) error {
			params.Meta = nil
			params.SetProgressToken(open.token)
			failpoint.Hit(failpoint.BeforeMCPCall)
			_, err := c.session.CallTool(ctx, params)
			failpoint.Hit(failpoint.AfterMCPCall)
			return err
		})
		if err != nil {
			return nil, err
		}
		state, busy := handedBack(raw)
		if !busy {
			return raw, nil
		}
		if returns == maxReturns || len(state) > maxStateBytes {
			return nil, &wire.Error{Outcome: wire.Refused, Text: "is too busy"}
		}
		params.RequestState = state
		if !pause(clock.ctx, busyPause<<returns) {
			return nil, &wire.Error{Outcome: wire.Refused, Text: "was too busy, and was not waited for", Cause: context.Cause(clock.ctx)}
		}
	}
}

// handedBack reports whether a result asks for nothing but to come again later.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/mrtr#load-shedding
func handedBack(raw json.RawMessage) (state string, busy bool) {
	var result struct {
		Type     string                     `json:"resultType"`
		Requests map[string]json.RawMessage `json:"inputRequests"`
		State    string                     `json:"requestState"`
	}
	err := json.Unmarshal(raw, &result)
	return result.State, err == nil && result.Type == resultInputRequired && len(result.Requests) == 0
}

func pause(ctx context.Context, wait time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(wait):
		return true
	}
}

func argumentsOf(call Call) json.RawMessage {
	if len(call.Arguments) == 0 {
		return json.RawMessage("{}")
	}
	return call.Arguments
}

func (c *connection) begin(open *openCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tokens++
	open.token = fmt.Sprintf("call-%d", c.tokens)
	c.calls = append(c.calls, open)
}

func (c *connection) finish(open *openCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, other := range c.calls {
		if other == open {
			c.calls = append(c.calls[:i:i], c.calls[i+1:]...)
			return
		}
	}
}

// progress is called by the SDK for each notification of progress. It does not wait: the SDK would pile up what comes meanwhile.
func (c *connection) progress(_ context.Context, notification *sdk.ProgressNotificationClientRequest) {
	token, _ := notification.Params.ProgressToken.(string)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, open := range c.calls {
		if open.token == token {
			open.advance(Progress{notification.Params.Progress, notification.Params.Total, wire.Line(notification.Params.Message, wire.MaxMessageBytes)})
		}
	}
}

// advance replaces what nobody has taken yet: only the latest progress counts.
func (o *openCall) advance(p Progress) {
	select {
	case <-o.news:
	default:
	}
	o.news <- p // only one goroutine writes, under the lock of the connection
}

// reportProgress passes the progress on, until the returned function is called, which waits for the last report to end.
func (o *openCall) reportProgress() (stop func()) {
	if o.call.Progress == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var reports sync.WaitGroup
	reports.Go(func() {
		for {
			select {
			case p := <-o.news:
				o.call.Progress(p)
			case <-ctx.Done():
				select { // the last one counts, however soon the call has ended after it
				case p := <-o.news:
					o.call.Progress(p)
				default:
				}
				return
			}
		}
	})
	return func() { cancel(); reports.Wait() }
}

// clock ends the context of a call when its time is over. The time stands still while somebody is asked.
type clock struct {
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	timer  *time.Timer
	began  time.Time
	left   time.Duration
	halted int
}

func newClock(ctx context.Context, limit time.Duration) *clock {
	c := &clock{left: limit, began: time.Now()}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.timer = time.AfterFunc(limit, func() { c.cancel(wire.ErrTimeout) })
	return c
}

func (c *clock) halt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.halted++; c.halted == 1 && c.timer.Stop() {
		c.left -= time.Since(c.began)
	}
}

func (c *clock) goOn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.halted--; c.halted == 0 && c.ctx.Err() == nil {
		c.began = time.Now()
		c.timer.Reset(c.left)
	}
}

func (c *clock) stop() {
	c.timer.Stop()
	c.cancel(nil)
}
