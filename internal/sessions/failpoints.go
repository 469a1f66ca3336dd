package sessions

import (
	"signoff/internal/domain"
	"signoff/internal/failpoint"
)

// The moments before and after the commit of each event, at which a test kills the server.

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

// boundary is the name of an event among the failpoints. Each status has a name of its own, and all ends have one.
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
