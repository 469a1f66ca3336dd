package sessions

import (
	"signoff/internal/domain"
)

// The log of an execution has a length that its driver keeps: whoever reads, folds or removes it can rely on that. The driver counts what is in
// the log, whoever wrote it, and what it is about to add.

// closingEvents is how much of the length is kept for what an end needs beside what is open: the prompts that wait, and are discarded, the
// end of the turn, changes of the status. A call needs its decision, the rest of its output, its start and its outcome; a text its rest and its end.
const (
	closingEvents     = 500
	closingCallEvents = 5
	closingTextEvents = 2
)

// measure holds the length of the log, with what is drafted, against its limit, and tells whether the agent may add to it.
func (b *budget) measure(change *changeSet) (room bool) {
	limit := int64(b.recorder.engine.maxEvents)
	length := b.recorder.length + int64(len(change.events))
	usable := limit - closingEvents - closingCallEvents*int64(len(b.progress.Calls)) - closingTextEvents*int64(len(b.progress.Texts))
	change.warn("events", float64(length), float64(usable)) // of a short log, four fifths of the limit are never reached
	if length < usable {
		return true
	}
	b.overdraw("The log of the execution has reached its limit of %d events.", limit)
	return false
}

// closes tells whether an item ends what is open, or has no event of its own: that is taken also when the log is full.
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
