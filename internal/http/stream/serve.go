package stream

import (
	"errors"
	"net/http"
	"time"
)

// Serve runs until the terminal event, until the client goes away or stops reading, or until the server drains. Only the
// first has anything to do with the execution; after the others it goes on, and the client may resume. It tells whether the client went away
// before the end. A stream that has become quiet goes on after Serve has returned, see takeover.go.
func (t *Stream) Serve(w http.ResponseWriter) (abandoned bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would hold frames back
	if t.mayMove {
		w.Header().Set("Connection", "close") // or the client sends its next request into the end of a connection that was taken over
	}
	w.WriteHeader(http.StatusOK)
	if t.request.HeadOnly {
		t.Close()
		return false
	}
	t.line = reply{http.NewResponseController(w), w}
	t.hint()
	t.spoke = time.Now()
	err := t.run()
	if errors.Is(err, errQuiet) {
		if t.takeOver(w) {
			return false
		}
		err = t.run()
	}
	t.Close()
	return t.lost(err)
}

// reply is the line through net/http.
type reply struct {
	*http.ResponseController
	w http.ResponseWriter
}

func (r reply) send(data []byte) error {
	if _, err := r.w.Write(data); err != nil {
		return err
	}
	return r.Flush()
}
