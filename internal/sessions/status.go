package sessions

import (
	"signoff/internal/domain"
)

// to changes the status of a live execution.
func (change *changeSet) to(status domain.Status, reason string) {
	change.transition(domain.StateChanged{To: status, Reason: reason})
}

// transition is the only place where the status of a live execution changes, by itself or through [changeSet.to].
func (change *changeSet) transition(changed domain.StateChanged) {
	if change.recorder.progress.Status == changed.To {
		return
	}
	if !change.recorder.progress.Status.CanBecome(changed.To) {
		panic("sessions: no transition from " + string(change.recorder.progress.Status) + " to " + string(changed.To))
	}
	changed.From = change.recorder.progress.Status
	change.emit(changed)
}
