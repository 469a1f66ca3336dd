package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"signoff/internal/domain"
)

// Error is why a request has no result.
type Error struct {
	Outcome Outcome
	Text    string // a sentence without its subject, which is "it": the server
	Cause   error  // for the log; nil: there is none
}

// Outcome is how far a failed request got at the server.
type Outcome int

const (
	Unsent  Outcome = iota // the server never got the request
	Refused                // the server answered that it does not do it
	Unread                 // the server answered, and the answer is of no use
	Unknown                // the server may have done it
)

func (e *Error) Error() string { return "wire: it " + e.Text }

func (e *Error) Unwrap() error { return e.Cause }

// Causes of the end of a request's context.
var (
	ErrTimeout = errors.New("wire: the time of the request is over")
	ErrLost    = errors.New("wire: the connection was lost")
	ErrClosed  = errors.New("wire: the connection was closed")
)

// Result returns the result of a request that the SDK has returned from, as it came. An error is an [*Error]; err is that of the SDK. The SDK's own reading of
// the result counts for nothing.
func (x *Exchange) Result(ctx context.Context, err error) (json.RawMessage, error) {
	x.finish()
	x.mu.Lock()
	defer x.mu.Unlock()
	var blocked *domain.Error
	switch {
	case x.answer != nil && x.answer.err != nil:
		return nil, &Error{Refused, "answered with the error " + Quote(x.answer.err.Message), x.answer.err}
	case x.answer != nil && domain.TooDeep(x.answer.result):
		return nil, &Error{Unread, fmt.Sprintf("answered with JSON of more than %d levels", domain.MaxDepth), nil}
	case x.answer != nil:
		return x.answer.result, nil
	case x.tooLarge:
		return nil, &Error{Unread, fmt.Sprintf("answered with more than %d MiB", MaxAnswerBytes>>20), err}
	case errors.As(err, &blocked):
		return nil, &Error{x.orUnsent(Refused), "could not be asked: " + blocked.Message, err}
	case x.status >= 300 && x.status < 400 && err != nil:
		return nil, &Error{Refused, "wants the call sent to another host, and calls are not", err}
	case x.status >= 400 && x.status < 500 && err != nil:
		return nil, &Error{Refused, fmt.Sprintf("answered with HTTP status %d", x.status), err}
	case !x.sent && ctx.Err() != nil:
		return nil, &Error{Unsent, reason(ctx), context.Cause(ctx)}
	case !x.sent:
		return nil, &Error{Unsent, "cannot be reached", err}
	case ctx.Err() != nil:
		return nil, &Error{Unknown, reason(ctx), context.Cause(ctx)}
	case x.status >= 500:
		return nil, &Error{Unknown, fmt.Sprintf("answered with HTTP status %d", x.status), err}
	case errors.Is(err, ErrTooLarge):
		return nil, &Error{Unknown, fmt.Sprintf("sent more than %d MiB at once", MaxAnswerBytes>>20), err}
	case errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, io.EOF):
		return nil, &Error{Unknown, "ended the connection", err}
	default:
		return nil, &Error{Unknown, "gave no answer that can be read", err}
	}
}

func (x *Exchange) orUnsent(otherwise Outcome) Outcome {
	if !x.sent {
		return Unsent
	}
	return otherwise
}

// reason says why a request has ended before its answer.
func reason(ctx context.Context) string {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, ErrLost), errors.Is(cause, ErrClosed):
		return "ended the connection"
	case errors.Is(cause, ErrTimeout), errors.Is(cause, context.DeadlineExceeded):
		return "did not answer in time"
	default:
		return "was not waited for any longer"
	}
}
