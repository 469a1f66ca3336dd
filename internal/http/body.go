package http

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"signoff/internal/domain"
)

const (
	maxBody     = 1 << 20
	bodyTimeout = 10 * time.Second // for the whole body, however slowly it drips
)

// checkBody reads the body as the operation wants it, checks it against the document and puts it back for the
// generated code, which then finds nothing to object to.
func checkBody(w http.ResponseWriter, r *http.Request, o *operation) error {
	if o.body == nil {
		return refuseBody(w, r)
	}
	if r.ContentLength == 0 {
		return emptyBody(r, o)
	}
	if err := checkMedia(r, o); err != nil {
		return err
	}
	data, err := readBody(w, r)
	if err != nil {
		return err
	}
	if len(bytes.TrimLeft(data, " \t\r\n")) == 0 {
		return emptyBody(r, o)
	}
	parse := parseJSON
	if o.form {
		parse = parseForm
	}
	value, err := parse(data)
	if err != nil {
		return err
	}
	if err := o.body.VisitJSON(value, openapi3.MultiErrors(), realTimes); err != nil {
		return invalid("", err)
	}
	infoOf(r.Context()).bodyHash = hashBody(o, value)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	return nil
}

// realTimes refuses the 30th of February, which looks like a time to the document's pattern.
var realTimes = openapi3.WithStringFormatValidator("date-time", openapi3.NewCallbackValidator(func(text string) error {
	_, err := time.Parse(time.RFC3339, text)
	return err
}))

// emptyBody passes where a body is optional. The generated code reads io.EOF as no body.
func emptyBody(r *http.Request, o *operation) error {
	if o.bodyRequired {
		return malformed("The request needs a body.")
	}
	r.Body, r.ContentLength = http.NoBody, 0
	return nil
}

// refuseBody keeps to the rule that nothing is silently ignored.
func refuseBody(w http.ResponseWriter, r *http.Request) error {
	if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	if r.ContentLength < 0 { // chunked, perhaps without a chunk
		var one [1]byte
		if n, err := io.ReadFull(r.Body, one[:]); n == 0 && errors.Is(err, io.EOF) {
			endBodyDeadline(w)
			return nil
		}
	}
	w.Header().Set("Connection", "close")
	return malformed("This request takes no body.")
}

func checkMedia(r *http.Request, o *operation) error {
	wanted := typeJSON
	if o.form {
		wanted = typeForm
	}
	for _, encoding := range r.Header.Values("Content-Encoding") {
		if !strings.EqualFold(strings.TrimSpace(encoding), "identity") {
			return domain.Errorf(domain.CodeUnsupportedMedia, "The body must not be encoded.")
		}
	}
	media, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := parameters["charset"]
	if err != nil || media != wanted || (charset != "" && !strings.EqualFold(charset, "utf-8")) {
		return domain.Errorf(domain.CodeUnsupportedMedia, "The body must be %s in UTF-8.", wanted)
	}
	return nil
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > maxBody {
		return nil, tooLarge(r)
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		return nil, malformed("The body did not arrive within %d seconds.", int(bodyTimeout.Seconds()))
	case err != nil:
		w.Header().Set("Connection", "close")
		return nil, malformed("The body broke off.").With(err)
	case len(data) > maxBody:
		return nil, tooLarge(r)
	}
	endBodyDeadline(w)
	return data, nil
}

// beginBodyDeadline bounds how long a body may take to arrive. It is set before anything looks at the request, and
// stays where the request is refused: net/http reads what is left of a body after the handler has returned, and would
// wait for it as long as the client likes.
func beginBodyDeadline(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)) //nolint:errcheck // a recorder has none
	}
}

// endBodyDeadline is called when the body has been read to its end. Left set, the deadline would later look like a
// client that went away.
func endBodyDeadline(w http.ResponseWriter) {
	http.NewResponseController(w).SetReadDeadline(time.Time{}) //nolint:errcheck // a recorder has none
}

// tooLarge takes in a few times of what is allowed, within the body's deadline, before it refuses: a client that is cut
// off while it still writes sees a broken connection instead of the answer.
func tooLarge(r *http.Request) error {
	io.CopyN(io.Discard, r.Body, 8*maxBody) //nolint:errcheck // the answer is the same
	return domain.Errorf(domain.CodePayloadTooLarge, "The body may have %d bytes.", maxBody)
}

// hashBody names what a request asks for, however its JSON was written: for idempotency keys.
func hashBody(o *operation, value any) []byte {
	canonical, err := json.Marshal(value) // sorts names
	if err != nil {
		panic(fmt.Sprintf("http: cannot encode what was just decoded: %v", err))
	}
	hash := sha256.Sum256(append([]byte(o.id+" "), canonical...))
	return hash[:]
}

// undecodable explains what the generated code could not decode although it fits the document, such as 5.0 for an
// integer. Anything else that it reports was refused before.
func undecodable(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return domain.Invalid("/"+strings.ReplaceAll(wrong.Field, ".", "/"), "must be written as a plain whole number in range")
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return malformed("The request cannot be read.").With(err)
}
