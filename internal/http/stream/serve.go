package stream

import (
	"errors"
	"net/http"
	"time"
)

// Serve runs until the terminal event, until the client disconnects or stops reading, or until the server drains. The end of a stream does not
// end the execution, and the client may resume. Serve reports whether the client disconnected before the end. A quiet stream
// continues after Serve has returned, see hijack.go.
func (t *Stream) Serve(w http.ResponseWriter) (abandoned bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would hold frames back
	if t.canHijack {
		w.Header().Set("Connection", "close") // or the client sends its next request on a hijacked connection
	}
	w.WriteHeader(http.StatusOK)
	if t.request.HeadOnly {
		t.Close()
		return false
	}
	t.out = responseWriter{http.NewResponseController(w), w}
	t.addRetryHint()
	t.lastWrite = time.Now()
	err := t.run()
	if errors.Is(err, errQuiet) {
		if t.hijack(w) {
			return false
		}
		err = t.run()
	}
	t.Close()
	return t.isAbandoned(err)
}

// responseWriter writes through net/http.
type responseWriter struct {
	*http.ResponseController
	w http.ResponseWriter
}

func (r responseWriter) send(data []byte) error {
	if _, err := r.w.Write(data); err != nil {
		return err
	}
	return r.Flush()
}
