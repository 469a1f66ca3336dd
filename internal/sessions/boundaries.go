package sessions

import (
	"signoff/internal/domain"
	"signoff/internal/failpoint"
)

// The moments around a commit at which a server may die, told apart by what is written.

func (d *draft) passBefore() {
	if failpoint.Enabled {
		for _, payload := range d.payloads {
			failpoint.Hit(failpoint.Before(boundary(payload)))
		}
	}
}

func (d *draft) passAfter() {
	if failpoint.Enabled {
		for _, payload := range d.payloads {
			failpoint.Hit(failpoint.After(boundary(payload)))
		}
	}
}

// boundary is the name of an event among the failpoints: changes of the status are told apart, and ends are not.
func boundary(payload domain.Payload) string {
	switch p := payload.(type) {
	case domain.StateChanged:
		return "execution." + string(p.To)
	case domain.ExecutionEnded:
		return "execution.ended"
	default:
		return string(payload.EventType())
	}
}
