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

// register lets a request go to the SDK at once, which gives it a goroutine; that waits until all notifications ahead are handled.
// Reading does not: what comes behind the request may be what ends it.
func (f *flowControl) register(e envelope) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open >= requestLimit || f.asking > requestBytes {
		return false
	}
	f.open++
	f.asking += len(e.params)
	f.serial++
	request := &agentRequest{key: idKey(e.id), behind: f.passed, ready: make(chan struct{})}
	request.ctx, request.cancel = context.WithCancelCause(f.ctx)
	f.requests[f.serial] = request
	f.release()
	return true
}

// release lets the requests go whose notifications are handled.
func (f *flowControl) release() {
	for _, request := range f.requests {
		if !request.released && request.behind <= f.handled {
			request.released = true
			close(request.ready)
		}
	}
}

// withdraw ends the context of one request. The SDK would do it too, but it forgets a request that has the id of one
// that has just been answered.
func (f *flowControl) withdraw(line agentLine, e envelope) {
	var params struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(e.params, &params) != nil || !isScalar(params.RequestID) {
		f.reportError(line, lineIsNoise, lineHead{method: e.method})
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	key, newest := idKey(params.RequestID), uint64(0)
	for serial, request := range f.requests {
		if request.key == key {
			newest = max(newest, serial)
		}
	}
	if newest > 0 {
		f.requests[newest].cancel(ErrWithdrawn)
	}
}

// handle is the SDK's handler, for notifications on its one goroutine for them, for requests on one each.
func (f *flowControl) handle(_ context.Context, marked string, params json.RawMessage) (any, *acp.RequestError) {
	mark, method, _ := strings.Cut(marked, " ")
	if mark == "0" {
		f.handler.Notification(method, params)
		f.done(len(params))
		return nil, nil
	}
	serial, _ := strconv.ParseUint(mark, 10, 64) // of requestLine
	result, err := f.serve(serial, method, params)
	if err != nil {
		return nil, err
	}
	return result, nil
}

// done counts a notification as handled.
func (f *flowControl) done(size int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.handled++
	f.bytes -= size
	f.release()
	f.changed.Broadcast()
}

// serve answers one request.
func (f *flowControl) serve(serial uint64, method string, params json.RawMessage) (json.RawMessage, *acp.RequestError) {
	f.mu.Lock()
	request := f.requests[serial]
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.requests, serial)
		f.asking -= len(params)
		request.cancel(nil)
	}()
	select {
	case <-request.ready:
	case <-request.ctx.Done(): // nobody has heard of it yet, and nobody needs to
		return nil, answerError(request.ctx, context.Canceled)
	}
	result, err := f.handler.Request(request.ctx, method, params)
	if err != nil {
		return nil, answerError(request.ctx, err)
	}
	encoded, err := json.Marshal(result)
	if err != nil {
		return nil, answerError(request.ctx, err)
	}
	return encoded, nil
}

// answerError is the error for the agent: one that was meant for it as it is, and of any other nothing.
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
