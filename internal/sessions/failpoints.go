package sessions

import (
	"signoff/internal/domain"
	"signoff/internal/failpoint"
)

// The moments around a commit at which a server may die, told apart by what is written.

func (change *changeSet) passBefore() {
	if failpoint.Enabled {
		for _, event := range change.events {
			failpoint.Hit(failpoint.Before(boundary(event)))
		}
	}
}

func (change *changeSet) passAfter() {
	if failpoint.Enabled {
		for _, event := range change.events {
			failpoint.Hit(failpoint.After(boundary(event)))
		}
	}
}

// boundary is the name of an event among the failpoints: changes of the status are told apart, and ends are not.
func boundary(event domain.Event) string {
	if event.Type.Terminal() {
		return "execution.ended"
	}
	if payload, err := event.Payload(); err == nil {
		if changed, is := payload.(domain.StateChanged); is {
			return "execution." + string(changed.To)
		}
	}
	return string(event.Type)
}
