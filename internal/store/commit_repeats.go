package store

import (
	"errors"

	"signoff/internal/domain"
)

// An answer and an acceptance may be repeated. The repetition brings its events and records again, and they must not be written twice. So it is
// left out like a refused change, but without an error.

// errDone says of a change that all of it was done before.
var errDone = domain.Errorf(domain.CodeInternal, "the change has been made before")

// done is the refusal of such a change, with the head for the result that its writer gets.
type done struct {
	error
	head takenHead
}

// readRepeats walks the live changes, and those whose execution has ended: a repeated request gets more than that error.
func (b *batch) readRepeats(yield func(int, *Change) bool) {
	for _, i := range b.order {
		why := b.results[i].Err
		if (why == nil || errors.Is(why, errNotDriven)) && !yield(i, &b.changes[i]) {
			return
		}
	}
}

// judge refuses a change if there is a reason. The head is the current one.
func (b *batch) judge(i int, head takenHead, why error) {
	if errors.Is(why, errDone) {
		if b.written[i] { // numbers that nothing gets
			head.lastSeq -= int64(len(b.changes[i].Events))
		}
		why = done{errDone, head}
	}
	if why != nil {
		b.refuse(i, why)
	}
}

// acceptRepeats turns repeated requests into successes, after everything is written.
func (b *batch) acceptRepeats() {
	for i, result := range b.results {
		if before, ok := errors.AsType[done](result.Err); ok {
			b.results[i] = Result{LastSeq: before.head.lastSeq, Tenant: domain.TenantID(before.head.tenant), Repeated: true}
		}
	}
}
