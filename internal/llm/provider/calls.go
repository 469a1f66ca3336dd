package provider

import (
	"slices"
	"strings"

	"signoff/internal/domain"
)

// CallPiece is a part of a tool call as it arrives. Only OpenAI itself fills in all of it.
type CallPiece struct {
	Index     *int64 // nil where the server leaves it out
	ID        string
	Name      string
	Arguments string
	State     []Part // what the vendor wants back with the call; a part takes the place of an earlier one of its kind
}

// CallBytes is what a call, or another block of an answer, costs us besides what it says, and pieceBytes a piece of one: many empty
// ones must not be free.
const (
	CallBytes  = 256
	pieceBytes = 64
)

// MaxCalls is how many calls an answer may ask for. The agent refuses those beyond its own, lower limit one by one, so that the model
// learns of it; an answer with more than this is no answer, but a model that repeats itself.
const MaxCalls = 200

// Calls puts the pieces of parallel calls together. The rules for foreign servers come from servers that
// were seen: one leaves the index out, one says index 0 for all calls and tells them apart by id, one makes up a new
// id for every piece, one repeats the name in every piece.
//
// A piece is looked at once, however many there are. What came before it is never read again: a server that writes
// arguments letter by letter, with the name each time, would take the square of their length.
type Calls struct {
	calls []*growingCall
}

type growingCall struct {
	index     *int64
	id        string
	name      string
	arguments strings.Builder
	extent    extent // of the arguments
	state     []Part
}

// Add takes a piece and returns what it costs, in bytes.
func (a *Calls) Add(piece CallPiece) (cost int, err error) {
	cost = pieceBytes + len(piece.ID) + len(piece.Name) + len(piece.Arguments)
	for _, part := range piece.State {
		cost += len(part.JSON)
	}
	call := a.find(piece)
	if call == nil || call.ended(piece) {
		if len(a.calls) == MaxCalls {
			// Worth one more try: the model is asked with chance, and may come out of it.
			return cost, &Error{Retry: true, Once: true, Shown: domain.Errorf(domain.CodeModelFailed,
				"The model's answer was given up: it asks for more than %d tool calls at once.", MaxCalls)}
		}
		call = &growingCall{index: piece.Index, id: piece.ID}
		a.calls = append(a.calls, call)
		cost += CallBytes
	}
	if call.id == "" {
		call.id = piece.ID
	}
	if call.name == "" {
		call.name = piece.Name
	}
	call.arguments.WriteString(piece.Arguments)
	call.extent.read(piece.Arguments)
	for _, part := range piece.State {
		call.state = append(slices.DeleteFunc(call.state, func(p Part) bool { return p.Kind == part.Kind }), part)
	}
	return cost, nil
}

// Len is how many calls have begun.
func (a *Calls) Len() int { return len(a.calls) }

// find returns the newest call that the piece may belong to. There are at most [MaxCalls] to look at.
func (a *Calls) find(piece CallPiece) *growingCall {
	for _, call := range slices.Backward(a.calls) {
		switch {
		case piece.Index != nil && call.index != nil:
			if *piece.Index == *call.index {
				return call
			}
		case piece.ID != "" && call.id != "":
			if piece.ID == call.id {
				return call
			}
		}
	}
	if piece.Index != nil || len(a.calls) == 0 {
		return nil
	}
	return a.calls[len(a.calls)-1]
}

// ended tells whether the piece begins another call although it looks like a part of this one: it has a name and,
// where both have one, another id, and this call's arguments are whole or have not begun.
func (c *growingCall) ended(piece CallPiece) bool {
	if piece.Name == "" || c.name == "" || (piece.ID != "" && piece.ID == c.id) {
		return false
	}
	if piece.ID == "" && piece.Index != nil { // the index says that it is the same call, and nothing contradicts
		return false
	}
	return c.arguments.Len() == 0 || c.extent.whole()
}

// Result is the calls, in the order in which they began.
func (a *Calls) Result() []Call {
	var calls []Call
	for _, call := range a.calls {
		calls = append(calls, Call{ID: call.id, Name: call.name, Arguments: call.arguments.String(), State: call.state})
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
