package wire

import (
	"context"
	"encoding/json"
)

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
