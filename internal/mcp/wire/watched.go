package wire

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// watched are the exchanges that wait for an answer on a connection that carries everything in two streams.
type watched struct {
	mu   sync.Mutex
	open map[jsonrpc.ID]*Exchange
}

// departs notes a request that is about to be sent. It returns the exchange of the request; nil: nobody watches it.
func (w *watched) departs(ctx context.Context, message jsonrpc.Message) *Exchange {
	request, is := message.(*jsonrpc.Request)
	if !is || !request.IsCall() {
		return nil
	}
	x := exchangeFor(ctx, request.Method)
	if x == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == nil {
		w.open = map[jsonrpc.ID]*Exchange{}
	}
	w.open[request.ID] = x
	context.AfterFunc(ctx, func() { w.forget(request.ID) })
	return x
}

func (w *watched) forget(id jsonrpc.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, id)
}

func (w *watched) arrived(message jsonrpc.Message) {
	response, is := message.(*jsonrpc.Response)
	if !is {
		return
	}
	w.mu.Lock()
	x := w.open[response.ID]
	delete(w.open, response.ID)
	w.mu.Unlock()
	if x != nil {
		x.answered(response)
	}
}

// tooLarge notes that the connection ends with an answer that nobody can read. If several requests wait, nobody knows whose answer it is.
func (w *watched) tooLarge() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range w.open {
		if len(w.open) == 1 {
			x.overflows()
		}
	}
}
