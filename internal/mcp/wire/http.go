package wire

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"signoff/internal/domain"
)

// HTTP is the HTTP connection to one server: it adds the operator's headers, ends its requests when it is cut, and shows the requests to their exchanges.
type HTTP struct {
	reach   reach
	headers map[string]string
	next    *http.Transport
	life    context.Context // ends the requests that are still open
	end     context.CancelFunc
	status  atomic.Int64 // of the last answer that was an error
	refusal atomic.Pointer[domain.Error]
}

// NewHTTP returns a connection to the address, with headers for it alone.
func NewHTTP(address string, headers map[string]string) *HTTP {
	h := &HTTP{reach: reachOf(address), headers: headers}
	h.next = h.reach.transport()
	h.life, h.end = context.WithCancel(context.Background())
	return h
}

// Client returns the client that the SDK speaks to the server with.
func (h *HTTP) Client() *http.Client {
	return &http.Client{Transport: h, CheckRedirect: func(request *http.Request, via []*http.Request) error {
		if exchangeFor(request.Context(), "tools/call") != nil && !h.reach.sameOrigin(request.URL) {
			return http.ErrUseLastResponse // a person has approved that this server gets the arguments, and no other
		}
		return h.remember(h.reach.redirect(request, via))
	}}
}

// Cut ends all that is still open.
func (h *HTTP) Cut() {
	h.end()
	h.next.CloseIdleConnections()
}

// Status returns the status of the last answer that was an error; 0: there was none.
func (h *HTTP) Status() int { return int(h.status.Load()) }

// Refusal returns why an address was not connected to, the last time that one was not; nil: all were. The SDK may forget it behind a later error.
func (h *HTTP) Refusal() *domain.Error { return h.refusal.Load() }

func (h *HTTP) remember(err error) error {
	var refusal *domain.Error
	if errors.As(err, &refusal) {
		h.refusal.Store(refusal)
	}
	return err
}

// RoundTrip implements [http.RoundTripper].
func (h *HTTP) RoundTrip(request *http.Request) (*http.Response, error) {
	redirected := request.Response != nil
	if !redirected && !h.reach.sameOrigin(request.URL) { // an endpoint that the SSE transport was given
		return nil, h.remember(domain.Errorf(domain.CodeDestinationBlocked, "The MCP server wants its messages at another origin than its own."))
	}
	ctx, cancel := context.WithCancel(request.Context())
	stop := context.AfterFunc(h.life, cancel)
	release := func() { stop(); cancel() }
	x := h.exchange(request)
	if x != nil && request.Method == http.MethodPost {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { x.mark(true) }})
	}
	request = request.Clone(ctx)
	if !redirected {
		for name, value := range h.headers {
			request.Header.Set(name, value)
		}
	}
	response, err := h.next.RoundTrip(request)
	if err != nil {
		release()
		return nil, h.remember(err)
	}
	if response.StatusCode >= http.StatusBadRequest {
		h.status.Store(int64(response.StatusCode))
	}
	body := &watchedBody{ReadCloser: response.Body, release: release, exchange: x, left: MaxAnswerBytes, endless: request.Method == http.MethodGet}
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
func (h *HTTP) exchange(request *http.Request) *Exchange {
	if request.Method == http.MethodGet { // a stream goes on where it was cut
		x, _ := request.Context().Value(exchangeKey{}).(*Exchange)
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

// watchedBody is the body of an answer.
type watchedBody struct {
	io.ReadCloser
	release  func()
	exchange *Exchange // nil: nobody watches
	left     int64     // of a body that nobody watches
	endless  bool      // a stream for notifications; the SDK bounds each
}

func (b *watchedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	switch {
	case b.exchange != nil:
		if !b.exchange.take(into[:n]) {
			return 0, ErrTooLarge
		}
	case !b.endless:
		if b.left -= int64(n); b.left < 0 {
			return 0, ErrTooLarge
		}
	}
	return n, err
}

func (b *watchedBody) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}
