package llm

import (
	"encoding/json"
	"strings"
)

// callPiece is a part of a tool call as it arrives. Only OpenAI itself fills in all of it.
type callPiece struct {
	index     *int64 // nil where the server leaves it out
	id        string
	name      string
	arguments string
}

// callAccumulator puts the pieces of parallel calls together. The rules for foreign servers come from servers that
// were seen: one leaves the index out, one says index 0 for all calls and tells them apart by id, one makes up a new
// id for every piece, one repeats the name in every piece.
type callAccumulator struct {
	calls []*growingCall
}

type growingCall struct {
	index     *int64
	id        string
	name      string
	arguments strings.Builder
}

func (a *callAccumulator) add(piece callPiece) {
	call := a.find(piece)
	if call == nil || call.ended(piece) {
		call = &growingCall{index: piece.index, id: piece.id}
		a.calls = append(a.calls, call)
	}
	if call.id == "" {
		call.id = piece.id
	}
	if call.name == "" {
		call.name = piece.name
	}
	call.arguments.WriteString(piece.arguments)
}

// find returns the newest call that the piece may belong to.
func (a *callAccumulator) find(piece callPiece) *growingCall {
	for i := len(a.calls) - 1; i >= 0; i-- {
		call := a.calls[i]
		switch {
		case piece.index != nil && call.index != nil:
			if *piece.index == *call.index {
				return call
			}
		case piece.id != "" && call.id != "":
			if piece.id == call.id {
				return call
			}
		}
	}
	if piece.index != nil || len(a.calls) == 0 {
		return nil
	}
	return a.calls[len(a.calls)-1]
}

// ended tells whether the piece begins another call although it looks like a part of this one: it has a name and,
// where both have one, another id, and this call's arguments are whole or have not begun.
func (c *growingCall) ended(piece callPiece) bool {
	if piece.name == "" || c.name == "" || (piece.id != "" && piece.id == c.id) {
		return false
	}
	if piece.id == "" && piece.index != nil { // the index says that it is the same call, and nothing contradicts
		return false
	}
	written := c.arguments.String()
	return written == "" || json.Valid([]byte(written))
}

func (a *callAccumulator) result() []modelCall {
	var calls []modelCall
	for _, call := range a.calls {
		calls = append(calls, modelCall{name: call.name, arguments: call.arguments.String()})
	}
	return calls
}
