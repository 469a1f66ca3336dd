package sessions

import (
	"signoff/internal/domain"
)

// The log of an execution has a maximal length, so that reading, applying and removing it is bounded. The driver keeps it: it
// counts the events of the log, whoever wrote them, and those that it is about to add.

// closingEvents is the part of the length that is reserved for the end: for the prompts that wait and are discarded, the end of
// the turn, and changes of the status. A call needs its decision, the rest of its output, its start and its outcome; a text its
// rest and its end.
const (
	closingEvents     = 500
	closingCallEvents = 5
	closingTextEvents = 2
)

// measure compares the length of the log, with the change, with its limit, and tells whether the agent may add to it.
func (b *budget) measure(change *changeSet) (room bool) {
	limit := int64(b.engine.maxEvents)
	length := b.recorder.length + int64(len(change.events))
	usable := limit - closingEvents - closingCallEvents*int64(len(b.progress.Calls)) - closingTextEvents*int64(len(b.progress.Texts))
	change.warn("events", float64(length), float64(usable)) // in a short log, usable is less than four fifths of the limit
	if length < usable {
		return true
	}
	b.overdraw("The log of the execution has reached its limit of %d events.", limit)
	return false
}

// closes tells whether an item ends something open, or has no event of its own: such an item is taken also if the log is full.
func (i item) closes() bool {
	switch i.payload.(type) {
	case nil:
		return i.delta == nil
	case domain.MessageCompleted, domain.ThoughtCompleted, domain.ToolCallStarted, domain.ToolCallCompleted:
		return true
	default:
		return false
	}
}
