package stream

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// DeadlineWriter sets a deadline for each write of a long response, since the server's own deadline is for whole responses. [IsDisconnect] is
// true for its errors.
func DeadlineWriter(w http.ResponseWriter) io.Writer { return deadlineWriter{w} }

type deadlineWriter struct{ http.ResponseWriter }

func (d deadlineWriter) Write(piece []byte) (int, error) {
	err := http.NewResponseController(d.ResponseWriter).SetWriteDeadline(time.Now().Add(FrameTimeout))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, connError{err}
	}
	n, err := d.ResponseWriter.Write(piece)
	if err != nil {
		return n, connError{err}
	}
	return n, nil
}

// IsDisconnect reports whether err is an error of the connection to the client.
func IsDisconnect(err error) bool {
	var lost connError
	return errors.As(err, &lost)
}

// connError is an error of the connection.
type connError struct{ error }

func (c connError) Unwrap() error { return c.error }
