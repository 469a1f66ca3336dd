package mcp

import (
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"signoff/internal/domain"
)

// wire is the HTTP connection to one server: it adds the operator's headers, lets every request end with the connection, and shows the requests to
// their exchanges.
type wire struct {
	reach   reach
	headers map[string]string
	life    context.Context // ends the requests that are still open
	next    http.RoundTripper
	status  *atomic.Int32 // of the last answer that was an error
}

// client returns the client that the SDK speaks to the server with.
func (w wire) client() *http.Client {
	return &http.Client{Transport: w, CheckRedirect: w.reach.redirect}
}

func (w wire) RoundTrip(request *http.Request) (*http.Response, error) {
	redirected := request.Response != nil
	if !redirected && !w.reach.sameOrigin(request.URL) { // an endpoint that the SSE transport was given
		return nil, domain.Errorf(domain.CodeDestinationBlocked, "The MCP server wants its messages at another origin than its own.")
	}
	ctx, cancel := context.WithCancel(request.Context())
	stop := context.AfterFunc(w.life, cancel)
	release := func() { stop(); cancel() }
	x := w.exchange(request)
	if x != nil && request.Method == http.MethodPost {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { x.mark(true) }})
	}
	request = request.Clone(ctx)
	if !redirected {
		for name, value := range w.headers {
			request.Header.Set(name, value)
		}
	}
	response, err := w.next.RoundTrip(request)
	if err != nil {
		release()
		return nil, err
	}
	if response.StatusCode >= http.StatusBadRequest {
		w.status.Store(int32(response.StatusCode))
	}
	body := &wireBody{ReadCloser: response.Body, release: release, exchange: x, left: maxAnswerBytes, endless: request.Method == http.MethodGet}
	switch {
	case x != nil && request.Method == http.MethodGet:
		x.goesOn()
	case x != nil:
		mediaType, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
		x.begins(response.StatusCode, mediaType == "text/event-stream")
	}
	response.Body = body
	return response, nil
}

// exchange returns the exchange that the request belongs to; nil: nobody watches it.
func (w wire) exchange(request *http.Request) *exchange {
	if request.Method == http.MethodGet { // a stream goes on where it was cut
		x, _ := request.Context().Value(exchangeKey{}).(*exchange)
		return x
	}
	if request.GetBody == nil {
		return nil
	}
	var message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	body, err := request.GetBody()
	if err != nil || json.NewDecoder(body).Decode(&message) != nil {
		return nil
	}
	x := exchangeFor(request.Context(), message.Method)
	if x != nil {
		x.departs(string(message.ID))
	}
	return x
}

// wireBody is the body of an answer.
type wireBody struct {
	io.ReadCloser
	release  func()
	exchange *exchange // nil: nobody watches
	left     int64     // of a body that nobody watches
	endless  bool      // a stream for notifications; the SDK bounds each
}

func (b *wireBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	switch {
	case b.exchange != nil:
		if !b.exchange.take(into[:n]) {
			return 0, errTooLarge
		}
	case !b.endless:
		if b.left -= int64(n); b.left < 0 {
			return 0, errTooLarge
		}
	}
	return n, err
}

func (b *wireBody) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}
