package mcp

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"signoff/internal/mcp/wire"
)

// Revisions of the protocol.
const (
	revisionStateless = "2026-07-28" // the first one without sessions, whose questions are answered by a repeated request
	revisionLegacy    = "2025-11-25" // the last one that begins with initialize
)

// maxNameBytes bounds the names and titles that a server gives things.
const maxNameBytes = 200

const (
	graceOfClose = 2 * time.Second // for what is said to a server that is left
	graceOfExit  = time.Second     // between the end of a program's streams and its own
	// maxResumptions of a stream without an event in between. A proxy cuts an idle stream once a minute, and the SDK gives up the whole connection after
	// the last one, with the calls that are open on it.
	maxResumptions = 100

	maxOpenQuestions = 8 // of one connection; a server that asks more is not answered
)

// connection is a live connection to one server.
type connection struct {
	name    string
	server  Server
	session *sdk.ClientSession
	program Program                 // nil: an address
	stdio   *wire.Stdio             // of program
	http    *wire.HTTP              // nil: a program
	end     context.CancelCauseFunc // of life
	life    context.Context         // ends with the connection, and ends its requests
	done    chan struct{}           // closed when the SDK has given up the connection

	mu        sync.Mutex
	calls     []*openCall // in the order of their beginning
	questions int
	tokens    int
}

// dialling is what a connection is made with.
type dialling struct {
	name        string
	server      Server
	use         Use
	programs    Programs
	headers     map[string]string
	credentials Credentials
	version     string // of Signoff
	revision    string // that the server is known to speak; empty: it is asked
	changed     func() // the server says that its tools have changed
}

// dial connects, and leaves nothing behind when it fails. A program that ends when it is asked for its revisions is started once more, and greeted as
// the older revisions do it: some end at any other first request.
func (d dialling) dial(ctx context.Context) (*connection, error) {
	c, err := d.attempt(ctx, d.revision)
	var dead discoverKilledError
	if errors.As(err, &dead) {
		c, err = d.attempt(ctx, revisionLegacy)
	}
	return c, err
}

type discoverKilledError struct{ error }

func (d dialling) attempt(ctx context.Context, revision string) (*connection, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout(d.server), wire.ErrTimeout)
	defer cancel()
	life, end := context.WithCancelCause(context.Background())
	c := &connection{name: d.name, server: d.server, end: end, life: life, done: make(chan struct{})}
	stop := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	transport, err := d.transport(ctx, c)
	if err != nil {
		end(err)
		return nil, err
	}
	discovering := &discovery{within: startTimeout(d.server) / 2}
	c.session, err = d.client(c, discovering).Connect(life, transport, &sdk.ClientSessionOptions{ProtocolVersion: revision})
	if c.session != nil {
		go c.watch()
	}
	if err == nil && !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, c.notConnected(ctx, err, discovering)
	}
	return c, nil
}

// watch waits for the end of the connection.
func (c *connection) watch() {
	_ = c.session.Wait()
	c.end(wire.ErrLost)
	close(c.done)
}

// notConnected cleans up, and says why there is no connection.
func (c *connection) notConnected(ctx context.Context, err error, discovering *discovery) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	exited := ctx.Err() == nil && hasEnded(err) && c.hasExited()
	c.end(err)
	if c.session != nil {
		c.close()
	}
	if c.program != nil {
		_ = c.stdio.Close()
	} else {
		c.http.Cut()
	}
	if c.program == nil && errors.Is(err, sdk.ErrConnectionClosed) { // by the SDK, which could not read the answer
		err = fmt.Errorf("mcp: no answer of the protocol: %v", err) //nolint:errorlint // what it wraps says that the server has ended the connection
	}
	switch {
	case c.http == nil || ctx.Err() != nil:
	case c.http.Refusal() != nil:
		err = c.http.Refusal()
	case c.http.Status() != 0:
		err = statusError{c.http.Status(), err}
	}
	if exited {
		err = cmp.Or(c.program.Failure(), err)
	}
	if exited && discovering.failed {
		return discoverKilledError{err}
	}
	return err
}

// hasEnded reports whether a request has failed because the other side has ended the connection.
func hasEnded(err error) bool {
	return errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, wire.ErrLost)
}

// hasExited reports whether the program has ended by itself. Its streams end first, so it is given a moment.
func (c *connection) hasExited() bool {
	if c.program == nil {
		return false
	}
	select {
	case <-c.program.Done():
		return true
	case <-time.After(graceOfExit):
		return false
	}
}

// statusError is the failure of a connection whose last answer over HTTP was an error.
type statusError struct {
	status int
	error
}

func (e statusError) Unwrap() error { return e.error }

// discovery bounds the first request of a connection: programs of older revisions may ignore it.
type discovery struct {
	within time.Duration
	failed bool // and no answer was the reason
}

func (d *discovery) middleware(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, request sdk.Request) (sdk.Result, error) {
		if method != "server/discover" {
			return next(ctx, method, request)
		}
		ctx, cancel := context.WithTimeout(ctx, d.within)
		defer cancel()
		result, err := next(ctx, method, request)
		d.failed = hasEnded(err)
		return result, err
	}
}

func (d dialling) transport(ctx context.Context, c *connection) (sdk.Transport, error) {
	if d.server.URL == "" {
		program, err := d.programs.Start(ctx, d.name, d.server, d.use)
		if err != nil {
			return nil, err
		}
		c.program, c.stdio = program, wire.NewStdio(program)
		return c.stdio, nil
	}
	c.http = wire.NewHTTP(d.server.URL, d.headers)
	client := c.http.Client()
	if d.server.Transport == TransportSSE {
		return wire.NewSSE(d.server.URL, client), nil
	}
	transport := &sdk.StreamableClientTransport{Endpoint: d.server.URL, HTTPClient: client, MaxEventSize: wire.MaxAnswerBytes, MaxRetries: maxResumptions}
	if d.credentials != nil {
		handler, err := d.credentials.Handler(d.use.Tenant, d.name, d.server)
		if err != nil {
			return nil, err
		}
		transport.OAuthHandler = handler
	}
	return transport, nil
}

// client returns the SDK's client for the connection. It declares what a person can answer, and nothing else: roots, sampling and logging are
// deprecated. https://modelcontextprotocol.io/specification/2026-07-28/basic/lifecycle#capabilities
func (d dialling) client(c *connection, discovering *discovery) *sdk.Client {
	client := sdk.NewClient(&sdk.Implementation{Name: "signoff", Title: "Signoff", Version: d.version}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{
			Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{},
		}},
		// The SDK would ask inside the call, and forget the question with the process.
		MultiRoundTrip:              &sdk.MultiRoundTripOptions{Disabled: true},
		ElicitationHandler:          c.elicit,
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { d.changed() },
		ProgressNotificationHandler: c.progress,
	})
	client.AddSendingMiddleware(discovering.middleware, uncached)
	client.AddReceivingMiddleware(rootless)
	return client
}

// rootless refuses the request for roots, which the SDK answers with an empty list, whatever is declared: a server may take that for "no folder is
// off limits". https://modelcontextprotocol.io/specification/2025-11-25/client/roots#error-handling
func rootless(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, request sdk.Request) (sdk.Result, error) {
		if method == "roots/list" {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "Roots not supported"}
		}
		return next(ctx, method, request)
	}
}

// uncached takes the time to live out of lists, because the SDK would answer the list before a call from its memory.
func uncached(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, request sdk.Request) (sdk.Result, error) {
		result, err := next(ctx, method, request)
		switch list := result.(type) {
		case *sdk.ListToolsResult:
			list.TTLMs = 0
		case *sdk.ListResourcesResult:
			list.TTLMs = 0
		case *sdk.ListResourceTemplatesResult:
			list.TTLMs = 0
		case *sdk.ListPromptsResult:
			list.TTLMs = 0
		case *sdk.ReadResourceResult:
			list.TTLMs = 0
		}
		return result, err
	}
}

// isAlive reports whether requests can be sent.
func (c *connection) isAlive() bool { return c.life.Err() == nil }

// revision is the revision of the protocol that both speak.
func (c *connection) revision() string { return c.session.InitializeResult().ProtocolVersion }

// version is the server's own.
func (c *connection) version() string {
	if info := c.session.InitializeResult().ServerInfo; info != nil {
		return wire.Line(info.Version, maxNameBytes)
	}
	return ""
}

// close returns when nothing is left of the connection: after five seconds at most, as [Program] does. Open requests fail.
func (c *connection) close() {
	c.end(wire.ErrClosed)
	if c.program != nil {
		_ = c.stdio.Close()
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = c.session.Close()
	}()
	select {
	case <-closed:
	case <-time.After(graceOfClose):
	}
	if c.http != nil {
		c.http.Cut()
	}
	<-closed
	<-c.done
}

// send sends one request and returns the result as it came. do sends it by the SDK, whose own reading of the result counts for nothing.
func (c *connection) send(ctx context.Context, method string, do func(context.Context) error) (json.RawMessage, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.life, func() { cancel(context.Cause(c.life)) })()
	watched, x := wire.Watch(ctx, method)
	result, err := x.Result(ctx, do(watched))
	if c.program != nil && hasEnded(err) {
		c.end(wire.ErrLost) // at once: whoever asks next is to see it
	}
	return result, err
}

func startTimeout(server Server) time.Duration {
	return cmp.Or(server.StartTimeout, DefaultStartTimeout)
}

// plain is an error without a code in words: of those that say nothing of what is inside.
func plain(err error) string {
	var (
		name        *net.DNSError
		certificate *tls.CertificateVerificationError
		network     *net.OpError
		status      statusError
		coded       *jsonrpc.Error
	)
	switch {
	case errors.As(err, &status) && status.status == http.StatusUnauthorized:
		return "it wants credentials (HTTP status 401)"
	case errors.As(err, &status):
		return fmt.Sprintf("it answered with HTTP status %d", status.status)
	case errors.As(err, &certificate):
		return "its certificate is not valid"
	case errors.As(err, &name):
		return "the name of its host cannot be resolved"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "its host refuses the connection"
	case errors.Is(err, wire.ErrTooLarge):
		return fmt.Sprintf("it sent more than %d MiB at once", wire.MaxAnswerBytes>>20)
	case errors.Is(err, wire.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		return "it did not answer in time"
	case hasEnded(err):
		return "it ended the connection"
	case errors.As(err, &network):
		return "its host cannot be reached"
	case errors.As(err, &coded):
		return "it answered with the error " + wire.Quote(coded.Message)
	}
	return "it does not speak the protocol"
}

func callTimeout(server Server) time.Duration { return cmp.Or(server.CallTimeout, DefaultCallTimeout) }

// isLost reports whether a failed request has shown that its connection is of no use any more.
func isLost(err error) bool {
	var failed *wire.Error
	if !errors.As(err, &failed) {
		return false
	}
	return failed.Outcome == wire.Unsent || failed.Outcome == wire.Unknown || errors.Is(err, sdk.ErrSessionMissing)
}
