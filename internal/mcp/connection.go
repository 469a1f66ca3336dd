package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"signoff/internal/domain"
)

// Revisions of the protocol.
const (
	revisionStateless = "2026-07-28" // the first one without sessions, whose questions are answered by a repeated request
	revisionLegacy    = "2025-11-25" // the last one that begins with initialize
)

const (
	graceOfClose = 2 * time.Second // for what is said to a server that is left
	maxQuestions = 8               // of one connection at a time; a server that asks more is not answered
)

// connection is a live connection to one server.
type connection struct {
	name    string
	server  Server
	session *sdk.ClientSession
	stdio   *stdio                  // nil: an address
	end     context.CancelCauseFunc // of life
	life    context.Context         // ends with the connection, and ends its requests
	cut     func()                  // ends what is still open over HTTP
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
	changed     func() // the server says that its tools have changed
}

// dial connects, and leaves nothing behind when it fails. A program that ends when it is asked for its revisions is started once more, and greeted as
// the older revisions do it: some take any other first request for a crime.
func (d dialling) dial(ctx context.Context) (*connection, error) {
	c, err := d.attempt(ctx, "")
	var dead errDiscoverKilled
	if errors.As(err, &dead) {
		c, err = d.attempt(ctx, revisionLegacy)
	}
	return c, err
}

type errDiscoverKilled struct{ error }

func (d dialling) attempt(ctx context.Context, revision string) (*connection, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout(d.server), errLate)
	defer cancel()
	life, end := context.WithCancelCause(context.Background())
	c := &connection{name: d.name, server: d.server, end: end, life: life, cut: func() {}, done: make(chan struct{})}
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
	c.end(errLost)
	close(c.done)
}

var errLate = errors.New("it did not answer in time")

var errLost = errors.New("the connection was lost")

// notConnected cleans up, and says why there is no connection.
func (c *connection) notConnected(ctx context.Context, err error, discovering *discovery) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	c.end(err)
	exited := c.stdio != nil && c.stdio.hasExited()
	if c.session != nil {
		c.close()
	} else if c.stdio != nil {
		_ = c.stdio.Close()
	}
	c.cut()
	if exited {
		err = cmp.Or(c.stdio.program.Failure(), err)
	}
	if exited && discovering.failed && ctx.Err() == nil {
		return errDiscoverKilled{err}
	}
	return err
}

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
		d.failed = errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe)
		return result, err
	}
}

func (d dialling) transport(ctx context.Context, c *connection) (sdk.Transport, error) {
	if d.server.URL == "" {
		program, err := d.programs.Start(ctx, d.name, d.server, d.use)
		if err != nil {
			return nil, err
		}
		c.stdio = newStdio(program)
		return c.stdio, nil
	}
	reach := reachOf(d.server)
	connections := reach.transport()
	open, end := context.WithCancel(context.Background())
	c.cut = func() { end(); connections.CloseIdleConnections() }
	client := wire{reach: reach, headers: d.headers, life: open, next: connections}.client()
	if d.server.Transport == TransportSSE {
		return &legacyTransport{sdk.SSEClientTransport{Endpoint: d.server.URL, HTTPClient: client, MaxEventSize: maxAnswerBytes}}, nil
	}
	transport := &sdk.StreamableClientTransport{Endpoint: d.server.URL, HTTPClient: client, MaxEventSize: maxAnswerBytes}
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
		return line(info.Version, maxNameBytes)
	}
	return ""
}

// close returns when nothing is left of the connection: after five seconds at most, as [Program] does. Open requests fail.
func (c *connection) close() {
	c.end(errClosed)
	if c.stdio != nil {
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
	c.cut()
	<-closed
	<-c.done
}

var errClosed = errors.New("the connection was closed")

// send sends one request and returns the result as it came. do sends it by the SDK, whose own reading of the result counts for nothing.
func (c *connection) send(ctx context.Context, method string, do func(context.Context) error) (json.RawMessage, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.life, func() { cancel(context.Cause(c.life)) })()
	watched, x := watch(ctx, method)
	err := do(watched)
	x.finish()
	return x.outcome(ctx, err)
}

// requestError is why a request has no result.
type requestError struct {
	fate  fate
	text  string // ends a sentence: "it …"
	cause error
}

// fate is what a failed request has come to at the server.
type fate int

const (
	unsent  fate = iota // it never had it
	refused             // it answered that it does not do it
	unread              // it answered, and the answer is of no use
	unknown             // it may have done it
)

func (e *requestError) Error() string { return "mcp: it " + e.text }
func (e *requestError) Unwrap() error { return e.cause }

// outcome returns the result of a request that the SDK has returned from.
func (x *exchange) outcome(ctx context.Context, err error) (json.RawMessage, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var blocked *domain.Error
	switch {
	case x.answer != nil && x.answer.err != nil:
		return nil, &requestError{refused, "answered with the error " + serverText(x.answer.err.Message), x.answer.err}
	case x.answer != nil && domain.TooDeep(x.answer.result):
		return nil, &requestError{unread, fmt.Sprintf("answered with JSON of more than %d levels", domain.MaxDepth), nil}
	case x.answer != nil:
		return x.answer.result, nil
	case x.tooLarge:
		return nil, &requestError{unread, fmt.Sprintf("answered with more than %d MiB", maxAnswerBytes>>20), err}
	case errors.As(err, &blocked):
		return nil, &requestError{x.orUnsent(refused), "could not be asked: " + blocked.Message, err}
	case x.status >= 400 && x.status < 500 && err != nil:
		return nil, &requestError{refused, fmt.Sprintf("answered with HTTP status %d", x.status), err}
	case !x.sent && ctx.Err() != nil:
		return nil, &requestError{unsent, reason(ctx), context.Cause(ctx)}
	case !x.sent:
		return nil, &requestError{unsent, "cannot be reached", err}
	case ctx.Err() != nil:
		return nil, &requestError{unknown, reason(ctx), context.Cause(ctx)}
	case x.status >= 500:
		return nil, &requestError{unknown, fmt.Sprintf("answered with HTTP status %d", x.status), err}
	case errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, io.EOF):
		return nil, &requestError{unknown, "ended the connection", err}
	default:
		return nil, &requestError{unknown, "gave no answer that can be read", err}
	}
}

func (x *exchange) orUnsent(otherwise fate) fate {
	if !x.sent {
		return unsent
	}
	return otherwise
}

// reason says why a request has ended before its answer.
func reason(ctx context.Context) string {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errLost), errors.Is(cause, errClosed):
		return "ended the connection"
	case errors.Is(cause, errTimeout), errors.Is(cause, context.DeadlineExceeded):
		return "did not answer in time"
	default:
		return "was not waited for any longer"
	}
}

var errTimeout = errors.New("mcp: the time of the request is over")

// serverText is text of a server's in a sentence of ours.
func serverText(text string) string { return fmt.Sprintf("%q", line(text, maxMessageBytes)) }

const (
	maxNameBytes    = 200
	maxMessageBytes = 1000
)

// line is a server's text as one short line.
func line(text string, limit int) string {
	text = strings.Join(strings.Fields(harmless(text)), " ")
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return text
}

// harmless is text without characters that a person does not see, or that a terminal obeys.
func harmless(text string) string {
	parts := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\t")
	for i, part := range parts {
		parts[i] = domain.ShowUnseen(strings.ToValidUTF8(part, "\uFFFD"))
	}
	return strings.Join(parts, "\t")
}

// wireCode returns the code of a JSON-RPC error; 0: it is none.
func wireCode(err error) int64 {
	var coded *jsonrpc.Error
	if errors.As(err, &coded) {
		return coded.Code
	}
	return 0
}

func startTimeout(server Server) time.Duration {
	return cmp.Or(server.StartTimeout, DefaultStartTimeout)
}

// plain is an error without a code in words: of those that say nothing of what is inside.
func plain(err error) string {
	var name *net.DNSError
	switch {
	case errors.As(err, &name):
		return "the name of its host cannot be resolved"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "its host refuses the connection"
	case errors.Is(err, errTooLarge):
		return fmt.Sprintf("it sent more than %d MiB at once", maxAnswerBytes>>20)
	case errors.Is(err, errTimeout), errors.Is(err, errLate), errors.Is(err, context.DeadlineExceeded):
		return "it did not answer in time"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrClosedPipe), errors.Is(err, sdk.ErrConnectionClosed), errors.Is(err, errLost):
		return "it ended the connection"
	case wireCode(err) != 0:
		return "it answered with an error"
	}
	return "it does not speak the protocol"
}

func callTimeout(server Server) time.Duration { return cmp.Or(server.CallTimeout, DefaultCallTimeout) }

// isLost reports whether a failed request has shown that its connection is of no use any more.
func isLost(err error) bool {
	var failed *requestError
	if !errors.As(err, &failed) {
		return false
	}
	return failed.fate == unsent || failed.fate == unknown || errors.Is(err, sdk.ErrSessionMissing)
}
