package wire

import (
	"context"
	"encoding/json"
)

// answer goes to the SDK if a call waits for it. There it waits until all notifications ahead are handled.
func (f *flowControl) answer(line agentLine, e envelope) []byte {
	key := idKey(e.id)
	f.mu.Lock()
	call := f.calls[key]
	delete(f.calls, key)
	wanted := call != nil && !call.over
	if wanted {
		call.answered = true
		f.taken++
	}
	f.mu.Unlock()
	switch {
	case wanted:
		return answerLine(key, e)
	case call == nil:
		f.reportError(line, lineIsUnexpected, lineHead{id: e.id})
	}
	return nil
}

// leave hands the outcome of a call out.
func (f *flowControl) leave(ctx context.Context, call *pendingCall, result json.RawMessage, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err == nil:
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case !call.answered: // the SDK's own errors look like the agent's
		err = f.gone()
	}
	call.outcome <- Answer{result, err}
	call.over = true
	if call.answered {
		f.taken--
		f.changed.Broadcast()
	}
}

// Write sends what the SDK writes: one whole message at a time.
func (f *flowControl) Write(message []byte) (int, error) {
	head := headOf(message)
	if head.id != nil && head.method != nil { // a call, whose id the SDK keeps to itself until here; so one call at a time stands in the entry
		call := <-f.entry
		f.mu.Lock()
		call.key = idKey(head.id)
		f.calls[call.key] = call
		f.mu.Unlock()
	}
	err := f.send(message)
	if head.method == nil { // an answer; its id may be longer than what a head keeps
		f.mu.Lock()
		f.open--
		f.mu.Unlock()
	}
	if err != nil {
		return 0, err
	}
	return len(message), nil
}
