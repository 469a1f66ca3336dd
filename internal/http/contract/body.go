package contract

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"signoff/internal/domain"
)

const (
	// MaxBody bounds a body, in bytes.
	MaxBody = 1 << 20
	// BodyTimeout bounds the time for the whole body.
	BodyTimeout = 10 * time.Second
)

// Body reads the body of a request after its parameters. A missing optional body stays nil.
func (reader *Reader[Request]) Body(w http.ResponseWriter, r *http.Request, request *Request) error {
	o := reader.operation
	if o.body == nil {
		return refuseBody(w, r)
	}
	if o.bodyType == typeAny {
		raw, err := newRaw(w, r)
		reflect.ValueOf(request).Elem().FieldByIndex(reader.body).Set(reflect.ValueOf(raw))
		return err
	}
	data, err := o.readBody(w, r)
	if err != nil || data == nil {
		return err
	}
	if o.bodyType == typeForm {
		if data, err = jsonOfForm(data); err != nil {
			return err
		}
	}
	value, err := ParseJSON(data)
	if err != nil {
		return err
	}
	if err := o.CheckBody(value); err != nil {
		return err
	}
	into := reflect.ValueOf(request).Elem()
	if reader.hash != nil {
		into.FieldByIndex(reader.hash).SetBytes(o.hash(value))
	}
	return undecodable(json.Unmarshal(data, into.FieldByIndex(reader.body).Addr().Interface()))
}

// CheckBody checks JSON that was decoded by [ParseJSON] as the body of the operation, which has one.
func (o *Operation) CheckBody(value any) error {
	if err := o.body.VisitJSON(value, openapi3.MultiErrors(), realTimes); err != nil {
		return invalid("", err)
	}
	return nil
}

// realTimes refuses the 30th of February, which fits the document's pattern.
var realTimes = openapi3.WithStringFormatValidator("date-time", openapi3.NewCallbackValidator(func(text string) error {
	_, err := time.Parse(time.RFC3339, text)
	return err
}))

// readBody returns the bytes of a body, and nil for a missing optional body.
func (o *Operation) readBody(w http.ResponseWriter, r *http.Request) (data []byte, err error) {
	if r.ContentLength != 0 {
		if err := o.checkMedia(r); err != nil {
			return nil, err
		}
		if data, err = readAll(w, r); err != nil {
			return nil, err
		}
	}
	if len(bytes.TrimLeft(data, " \t\r\n")) > 0 {
		return data, nil
	}
	if o.bodyRequired {
		return nil, malformed("The request needs a body.")
	}
	return nil, nil
}

// refuseBody refuses a body that would be ignored.
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

func (o *Operation) checkMedia(r *http.Request) error {
	if err := refuseEncoding(r); err != nil {
		return err
	}
	media, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := parameters["charset"]
	if err != nil || media != o.bodyType || (charset != "" && !strings.EqualFold(charset, "utf-8")) {
		return domain.Errorf(domain.CodeUnsupportedMedia, "The body must be %s in UTF-8.", o.bodyType)
	}
	return nil
}

func refuseEncoding(r *http.Request) error {
	for _, encoding := range r.Header.Values("Content-Encoding") {
		if !strings.EqualFold(strings.TrimSpace(encoding), "identity") {
			return domain.Errorf(domain.CodeUnsupportedMedia, "The body must not be encoded.")
		}
	}
	return nil
}

func readAll(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > MaxBody {
		return nil, tooLarge(r)
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, MaxBody+1))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		return nil, malformed("The body did not arrive within %d seconds.", int(BodyTimeout.Seconds()))
	case err != nil:
		w.Header().Set("Connection", "close")
		return nil, malformed("The body broke off.").With(err)
	case len(data) > MaxBody:
		return nil, tooLarge(r)
	}
	endBodyDeadline(w)
	return data, nil
}

// BeginBodyDeadline bounds how long a body may take to arrive. Call it before all else. The deadline stays if the request is refused: net/http
// reads the rest of a body after the handler has returned, and would wait for it without a limit.
func BeginBodyDeadline(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		http.NewResponseController(w).SetReadDeadline(time.Now().Add(BodyTimeout)) //nolint:errcheck // a recorder has none
	}
}

// endBodyDeadline is called at the end of the body. Later, the deadline would look like a client that disconnected.
func endBodyDeadline(w http.ResponseWriter) {
	http.NewResponseController(w).SetReadDeadline(time.Time{}) //nolint:errcheck // a recorder has none
}

// tooLarge reads a few times the limit, within the body's deadline, before it refuses: a client that is cut off while it still writes sees a
// broken connection instead of the response.
func tooLarge(r *http.Request) error {
	drain(r, 8*MaxBody)
	return domain.Errorf(domain.CodePayloadTooLarge, "The body may have %d bytes.", MaxBody)
}

func drain(r *http.Request, bytes int64) {
	io.CopyN(io.Discard, r.Body, bytes) //nolint:errcheck // the response is the same
}

// hash returns the hash of a body, independent of the order and spacing of its JSON.
func (o *Operation) hash(value any) Hash {
	canonical, err := json.Marshal(value) // sorts names
	if err != nil {
		panic(fmt.Sprintf("contract: cannot encode what was just decoded: %v", err))
	}
	hash := sha256.Sum256(append([]byte(o.id+" "), canonical...))
	return hash[:]
}

// undecodable explains a value that fits the document but not the Go type, such as 5.0 for an integer.
func undecodable(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		return domain.Invalid("/"+strings.ReplaceAll(wrong.Field, ".", "/"), "must be written as a plain whole number in range")
	default:
		return malformed("The request cannot be read.").With(err)
	}
}
