package wire

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/coder/acp-go-sdk"
)

const (
	// requestLimit is how many requests of the agent may be without an answer, and requestBytes how large those may be
	// together that are not answered. What comes on top is refused, not delayed: behind it may stand the answer, or the
	// withdrawal, that those requests wait for.
	requestLimit = 256
	requestBytes = 32 << 20
)

// ErrWithdrawn is the cause of the end of a request's context.
var ErrWithdrawn = errors.New("the agent withdrew its request")

// request goes to the SDK at once, which gives it a goroutine; that waits until all notifications ahead are handled.
// Reading does not: what comes behind the request may be what ends it.
func (g *flowControl) request(line agentLine, e envelope) []byte {
	if !g.register(e) {
		return g.refuse(line, lineIsOneTooMany, lineHead{id: e.id, method: e.method})
	}
	return requestLine(g.serial, e)
}

func (g *flowControl) register(e envelope) bool {
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
	g.release()
	return true
}

// release lets the requests go whose notifications are handled.
func (g *flowControl) release() {
	for _, request := range g.requests {
		if !request.released && request.behind <= g.handled {
			request.released = true
			close(request.ready)
		}
	}
}

// withdraw ends the context of one request. The SDK would do it too, but it forgets a request that has the id of one
// that has just been answered.
func (g *flowControl) withdraw(line agentLine, e envelope) {
	var params struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(e.params, &params) != nil || !isScalar(params.RequestID) {
		g.reportError(line, lineIsNoise, lineHead{method: e.method})
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
		g.requests[newest].cancel(ErrWithdrawn)
	}
}

// handle is the SDK's handler, for notifications on its one goroutine for them, for requests on one each.
func (g *flowControl) handle(_ context.Context, marked string, params json.RawMessage) (any, *acp.RequestError) {
	mark, method, _ := strings.Cut(marked, " ")
	if mark == "0" {
		g.handler.Notification(method, params)
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
func (g *flowControl) done(size int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.handled++
	g.bytes -= size
	g.release()
	g.changed.Broadcast()
}

// serve answers one request.
func (g *flowControl) serve(serial uint64, method string, params json.RawMessage) (json.RawMessage, *acp.RequestError) {
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
	result, err := g.handler.Request(request.ctx, method, params)
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
	withdrawn := errors.Is(context.Cause(ctx), ErrWithdrawn)
	switch {
	case errors.As(err, &meant):
		if _, unspeakable := json.Marshal(meant); unspeakable == nil { // otherwise the SDK would send no answer at all
			return meant
		}
	case withdrawn && (errors.Is(err, context.Canceled) || errors.Is(err, ErrWithdrawn)):
		return acp.NewRequestCancelled(nil)
	}
	return acp.NewInternalError(nil)
}
