package contract

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"signoff/internal/domain"
)

const (
	// maxRaw bounds a body of bytes.
	maxRaw = domain.MaxFileSize
	// rawTimeout bounds the time for a whole body of bytes, from when its handler begins to read.
	rawTimeout = 2 * time.Minute

	responseTime = time.Minute // to store the file and answer
)

// Raw is a body of bytes. The handler reads it, so that it can find room in memory first. An error of Read is for the client.
type Raw struct {
	Size int64 // as the client says; -1: it does not

	w     http.ResponseWriter
	r     *http.Request
	read  int64
	begun bool
}

func newRaw(w http.ResponseWriter, r *http.Request) (*Raw, error) {
	if err := refuseEncoding(r); err != nil {
		return nil, err
	}
	raw := &Raw{Size: r.ContentLength, w: w, r: r}
	if raw.Size > maxRaw {
		raw.begin()
		return nil, raw.tooLarge()
	}
	return raw, nil
}

// Read implements [io.Reader].
func (raw *Raw) Read(into []byte) (int, error) {
	raw.begin()
	n, err := raw.r.Body.Read(into)
	raw.read += int64(n)
	switch {
	case raw.read > maxRaw:
		return n, raw.tooLarge()
	case errors.Is(err, io.EOF):
		endBodyDeadline(raw.w)
		return n, io.EOF
	case errors.Is(err, os.ErrDeadlineExceeded):
		raw.w.Header().Set("Connection", "close")
		return n, malformed("The body did not arrive within %d seconds.", int(rawTimeout.Seconds()))
	case err != nil:
		raw.w.Header().Set("Connection", "close")
		return n, malformed("The body broke off.").With(err)
	}
	return n, nil
}

// begin gives a large body more time than others have.
func (raw *Raw) begin() {
	if !raw.begun {
		raw.begun = true
		connection, until := http.NewResponseController(raw.w), time.Now().Add(rawTimeout)
		connection.SetReadDeadline(until)                    //nolint:errcheck // a recorder has none
		connection.SetWriteDeadline(until.Add(responseTime)) //nolint:errcheck // that of the server counts from the headers on
	}
}

// tooLarge reads on for a while, so that the client sees the response, as [tooLarge] does.
func (raw *Raw) tooLarge() error {
	drain(raw.r, 3*maxRaw)
	raw.w.Header().Set("Connection", "close")
	return domain.Errorf(domain.CodePayloadTooLarge, "A file has at most %d bytes.", maxRaw)
}
