package stream

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// Patient writes a long answer under a deadline for each piece. The server's own deadline is for whole answers. Its errors are [Lost].
func Patient(w http.ResponseWriter) io.Writer { return patient{w} }

type patient struct{ http.ResponseWriter }

func (p patient) Write(piece []byte) (int, error) {
	err := http.NewResponseController(p.ResponseWriter).SetWriteDeadline(time.Now().Add(FrameTimeout))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, gone{err}
	}
	n, err := p.ResponseWriter.Write(piece)
	if err != nil {
		return n, gone{err}
	}
	return n, nil
}

// Lost tells whether an error is one of the connection to the client.
func Lost(err error) bool {
	var lost gone
	return errors.As(err, &lost)
}

// gone is an error of the connection.
type gone struct{ error }

func (g gone) Unwrap() error { return g.error }
