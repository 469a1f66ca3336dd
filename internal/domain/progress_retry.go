package domain

import "time"

// RetryAt is when a request to a model is repeated, according to the newest events of a log; zero: none is. Unknown events are ignored.
func RetryAt(newest []Event) time.Time {
	var r retrying
	for _, event := range newest {
		if payload, err := event.Payload(); err == nil {
			r.take(payload)
		}
	}
	if r.newest == nil {
		return time.Time{}
	}
	return r.newest.At
}

// retrying follows the request to a model that a turn has come to, and its repetitions.
type retrying struct {
	newest   *ModelRetrying
	switched []ModelSwitched
}

func (r *retrying) take(payload Payload) {
	switch p := payload.(type) {
	case TurnStarted:
		*r = retrying{}
	case ModelRetrying:
		r.newest = &p
	case ModelSwitched:
		r.newest, r.switched = nil, append(r.switched, p)
	case MessageCompleted:
		if !p.Interrupted {
			r.newest = nil
		}
	case ToolCallRequested, TurnEnded:
		r.newest = nil
	case StateChanged:
		if p.To == StatusInterrupted { // whoever resumes it begins with the first model, and counts anew
			*r = retrying{}
		}
	}
}

func (r *retrying) now() *Retrying {
	if r.newest == nil {
		return nil
	}
	return &Retrying{ModelRetrying: *r.newest, Switched: r.switched}
}
