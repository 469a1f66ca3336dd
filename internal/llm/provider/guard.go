package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"
)

// MaxErrorBytes is how much is read of a response that is an error.
const MaxErrorBytes = 64 << 10

// HTTPClient is the way to the vendor's API, for an SDK or for net/http. Its response is always a stream of events; anything else is an
// error that [Failures] reads. It does not read the environment and follows no redirect.
func (s Setup) HTTPClient() *http.Client {
	return &http.Client{Transport: guard{next: s.Transport, idle: s.IdleTimeout}}
}

// guard stands between an SDK and the network, and does there what SDKs leave to chance: it keeps the status of every
// error whatever its body looks like, follows no redirect with the key in its hand, and bounds the silence. How much a
// server sends is bounded where it is read; see [EventReader] and [Size].
type guard struct {
	next http.RoundTripper
	idle time.Duration // between two bytes, the first included
}

// RoundTrip implements http.RoundTripper. Its response is always a stream of events; anything else is a *statusError.
func (g guard) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(request.Context())
	silence := time.AfterFunc(g.idle, func() { cancel(errIdle) })
	response, err := g.next.RoundTrip(request.WithContext(ctx))
	silence.Stop()
	if err != nil {
		defer cancel(nil)
		return nil, causeOf(ctx, err)
	}
	reportLimits(ctx, response.Header)
	response.Body = &guardedBody{ctx: ctx, cancel: cancel, body: response.Body, silence: silence, idle: g.idle}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode == http.StatusOK && kind != "application/json" && kind != "text/html" {
		return response, nil
	}
	defer func() { _ = response.Body.Close() }()
	return nil, readStatusError(response)
}

// readStatusError reads what the provider says of the error. A 200 that is no stream counts as a bad gateway, and is asked
// for again as one: a portal's login page, a proxy that says "please wait", or a server that does not know how to stream.
func readStatusError(response *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(response.Body, MaxErrorBytes))
	if errors.Is(err, context.Canceled) || errors.Is(err, errIdle) {
		return err
	}
	told := &statusError{status: response.StatusCode, header: response.Header, plain: !json.Valid(body)}
	told.message, told.code, told.reasons = errorText(body)
	switch {
	case told.message != "" || response.StatusCode >= 300:
	case told.plain && bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")):
		told.message = "it did not send a stream of events, but a page: a proxy or a login may stand before it"
	default:
		told.message = "it did not send a stream of events"
	}
	return told
}

// guardedBody reads a stream that does not fall silent.
type guardedBody struct {
	ctx     context.Context //nolint:containedctx // of the request whose body this is; Read has no other way to it
	cancel  context.CancelCauseFunc
	body    io.ReadCloser
	silence *time.Timer
	idle    time.Duration
}

// Read counts the silence only while it waits: a reader that is slow itself must not be taken for a silent provider.
func (b *guardedBody) Read(p []byte) (int, error) {
	b.silence.Reset(b.idle)
	n, err := b.body.Read(p)
	b.silence.Stop()
	if err != nil && !errors.Is(err, io.EOF) {
		err = causeOf(b.ctx, err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *guardedBody) Close() error {
	b.silence.Stop()
	b.cancel(nil)
	return b.body.Close()
}

// causeOf tells silence from other errors: to the network code both are a cancelled context.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errIdle) {
		return cause
	}
	return err
}
