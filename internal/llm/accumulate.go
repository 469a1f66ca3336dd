package llm

import (
	"slices"
	"strings"

	"signoff/internal/domain"
)

// callPiece is a part of a tool call as it arrives. Only OpenAI itself fills in all of it.
type callPiece struct {
	index     *int64 // nil where the server leaves it out
	id        string
	name      string
	arguments string
}

// callBytes is what a call costs us besides what it says, and pieceBytes a piece of one: many empty ones must not be free.
const (
	callBytes  = 256
	pieceBytes = 64
)

// mostCalls is how many calls an answer may ask for. Those beyond [maxCalls] are refused one by one, so that the model
// learns of it; an answer with more than this is no answer, but a model that repeats itself.
const mostCalls = 200

// callAccumulator puts the pieces of parallel calls together. The rules for foreign servers come from servers that
// were seen: one leaves the index out, one says index 0 for all calls and tells them apart by id, one makes up a new
// id for every piece, one repeats the name in every piece.
//
// A piece is looked at once, however many there are. What came before it is never read again: a server that writes
// arguments letter by letter, with the name each time, would take the square of their length.
type callAccumulator struct {
	calls []*growingCall
}

type growingCall struct {
	index     *int64
	id        string
	name      string
	arguments strings.Builder
	extent    extent // of the arguments
}

// add takes a piece and returns what it costs, in bytes.
func (a *callAccumulator) add(piece callPiece) (cost int, err error) {
	cost = pieceBytes + len(piece.id) + len(piece.name) + len(piece.arguments)
	call := a.find(piece)
	if call == nil || call.ended(piece) {
		if len(a.calls) == mostCalls {
			return cost, tooManyCalls()
		}
		call = &growingCall{index: piece.index, id: piece.id}
		a.calls = append(a.calls, call)
		cost += callBytes
	}
	if call.id == "" {
		call.id = piece.id
	}
	if call.name == "" {
		call.name = piece.name
	}
	call.arguments.WriteString(piece.arguments)
	call.extent.read(piece.arguments)
	return cost, nil
}

// tooManyCalls is worth one more try: the model is asked with chance, and may come out of it.
func tooManyCalls() *failure {
	return &failure{retry: true, once: true, shown: domain.Errorf(domain.CodeModelFailed,
		"The model's answer was given up: it asks for more than %d tool calls at once.", mostCalls)}
}

// find returns the newest call that the piece may belong to. There are at most [mostCalls] to look at.
func (a *callAccumulator) find(piece callPiece) *growingCall {
	for _, call := range slices.Backward(a.calls) {
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
	return c.arguments.Len() == 0 || c.extent.whole()
}

func (a *callAccumulator) result() []modelCall {
	var calls []modelCall
	for _, call := range a.calls {
		calls = append(calls, modelCall{name: call.name, arguments: call.arguments.String()})
	}
	return calls
}

// extent tells where a JSON object or list ends, from its brackets alone. Whether what is between them is JSON, others
// look at.
type extent struct {
	depth                   int
	begun, quoted, escaping bool
}

func (e *extent) read(text string) {
	for i := range len(text) {
		e.step(text[i])
	}
}

func (e *extent) step(c byte) {
	switch {
	case e.escaping:
		e.escaping = false
	case e.quoted:
		e.escaping, e.quoted = c == '\\', c != '"'
	case c == '"':
		e.quoted = true
	case c == '{' || c == '[':
		e.depth, e.begun = e.depth+1, true
	case c == '}' || c == ']':
		e.depth--
	}
}

// whole tells that all brackets are closed.
func (e *extent) whole() bool { return e.begun && e.depth <= 0 && !e.quoted }
