package harness

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
)

// Object is a JSON object that somebody writes down.
type Object = map[string]any

// With is an object with the fields of others; where several have one, the last counts.
func With(object Object, changes ...Object) Object {
	changed := Object{}
	for _, fields := range append([]Object{object}, changes...) {
		for name, value := range fields {
			changed[name] = value
		}
	}
	return changed
}

// Client speaks the public API. Any number of goroutines may use it.
type Client struct {
	Base      string            // http://127.0.0.1:…
	Token     string            // empty: none is sent
	Transport http.RoundTripper // nil: [http.DefaultTransport]
}

// Send sends a request and leaves the body of the answer to the caller. A body that is a string is sent as it stands, any other value as JSON;
// headers are names and values in turn, and go before those that every request has.
func (c Client) Send(ctx context.Context, method, path string, body any, headers ...string) (*http.Response, error) {
	request, err := c.request(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return cmp.Or(c.Transport, http.DefaultTransport).RoundTrip(request)
}

func (c Client) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	var content io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		content = bytes.NewReader([]byte(b))
	default:
		encoded, err := json.Marshal(b)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.Base+path, content)
	if err != nil {
		return nil, err
	}
	if c.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.Token)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return request, nil
}

// Ready tells whether a server says that it is.
func (c Client) Ready(ctx context.Context) bool {
	response, err := c.Send(ctx, http.MethodGet, "/readyz", nil)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK
}
