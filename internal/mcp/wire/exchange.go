package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// MaxAnswerBytes bounds what is read of the answer to one request, with the notifications on its way.
const MaxAnswerBytes = 16 << 20

// Exchange watches one request on the wire. The SDK says neither whether a failed request may have reached the server, nor what the answer was
// before it decoded it: numbers beyond float64, the order of a schema's properties and unknown types of results are lost then.
type Exchange struct {
	method string

	mu       sync.Mutex
	id       string // as it stands on the wire
	sent     bool   // the server may have it
	status   int    // HTTP: of the answer
	answer   *answer
	tooLarge bool
	body     bytes.Buffer // HTTP: what has arrived
	isStream bool         // body has events
	left     int
}

// answer is the server's answer to a request: one of both is set.
type answer struct {
	result json.RawMessage
	err    *jsonrpc.Error
}

type exchangeKey struct{}

// Watch returns a context for one request with the method. All that the SDK sends under it passes the exchange.
func Watch(ctx context.Context, method string) (context.Context, *Exchange) {
	x := &Exchange{method: method, left: MaxAnswerBytes}
	return context.WithValue(ctx, exchangeKey{}, x), x
}

// exchangeFor returns the exchange that the request with this method belongs to. The SDK sends the notification that a request is cancelled
// under the context of that request, too.
func exchangeFor(ctx context.Context, method string) *Exchange {
	x, _ := ctx.Value(exchangeKey{}).(*Exchange)
	if x == nil || x.method != method {
		return nil
	}
	return x
}

// departs notes an HTTP request that is about to be sent. After a 401, the SDK signs in and sends the request again: the server has refused the first one.
func (x *Exchange) departs(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.id, x.status = id, 0
}

func (x *Exchange) mark(sent bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sent = sent
}

func (x *Exchange) overflows() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.tooLarge = true
}

func (x *Exchange) answered(response *jsonrpc.Response) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.answer = answerOf(response)
}

// begins notes the beginning of an HTTP answer to the request itself.
func (x *Exchange) begins(status int, isStream bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.status, x.isStream = status, isStream
	x.body.Reset()
}

// goesOn notes that a stream that was cut goes on in another answer. The status of that one says nothing about the request.
func (x *Exchange) goesOn() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.body.WriteString("\n\n")
}

// take keeps a piece of an HTTP answer, and reports false when it is too much.
func (x *Exchange) take(piece []byte) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.left -= len(piece); x.left < 0 {
		x.tooLarge = true
		x.body = bytes.Buffer{}
		return false
	}
	x.body.Write(piece)
	return true
}

// finish reads the answer out of what has arrived.
func (x *Exchange) finish() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.answer == nil && !x.tooLarge && x.body.Len() > 0 {
		x.answer = x.find(x.body.Bytes())
	}
	x.body = bytes.Buffer{}
	x.left = 0
}

func (x *Exchange) find(body []byte) *answer {
	if !x.isStream {
		return x.match(body)
	}
	for event := range bytes.SplitSeq(bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n")), []byte("\n\n")) {
		var data [][]byte
		for line := range bytes.SplitSeq(event, []byte("\n")) {
			if value, is := bytes.CutPrefix(line, []byte("data:")); is {
				data = append(data, bytes.TrimPrefix(value, []byte(" ")))
			}
		}
		if found := x.match(bytes.Join(data, []byte("\n"))); found != nil {
			return found
		}
	}
	return nil
}

// match returns the answer in a message, if the message answers the request.
func (x *Exchange) match(message []byte) *answer {
	var envelope struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	// A server that cannot read a request answers without its id.
	if json.Unmarshal(message, &envelope) != nil || envelope.Method != "" || string(envelope.ID) != x.id && (x.isStream || x.status < 400) {
		return nil
	}
	decoded, err := jsonrpc.DecodeMessage(message)
	response, is := decoded.(*jsonrpc.Response)
	if err != nil || !is {
		return nil
	}
	return answerOf(response)
}

func answerOf(response *jsonrpc.Response) *answer {
	if response.Error == nil {
		return &answer{result: response.Result}
	}
	var coded *jsonrpc.Error
	if !errors.As(response.Error, &coded) {
		coded = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: response.Error.Error()}
	}
	return &answer{err: coded}
}
