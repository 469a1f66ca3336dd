package wire

import (
	"encoding/json"
	"testing"

	"github.com/coder/acp-go-sdk"
)

// sdkMessage is how the SDK decodes a line.
type sdkMessage struct {
	JSONRPC string            `json:"jsonrpc"`
	ID      *json.RawMessage  `json:"id,omitempty"`
	Method  string            `json:"method,omitempty"`
	Params  json.RawMessage   `json:"params,omitempty"`
	Result  json.RawMessage   `json:"result,omitempty"`
	Error   *acp.RequestError `json:"error,omitempty"`
}

// Each text beside the line that the SDK reads of it, where request 7 is the next, and call 1 is open.
var envelopeCases = []struct{ text, line string }{
	{`{"jsonrpc":"2.0","method":"m"}`, `{"jsonrpc":"2.0","method":"0 m"}`},
	{`{"method":"7 m","params":{"a":"<\u003c"}}`, `{"jsonrpc":"2.0","method":"0 7 m","params":{"a":"<\u003c"}}`},
	{`{"id":null,"method":"m","params":null}`, `{"jsonrpc":"2.0","method":"0 m"}`},
	{`{"id":"x","method":"m","params":[1]}`, `{"jsonrpc":"2.0","method":"7 m","id":"x","params":[1]}`},
	{`{"id":1,"result":{"a":1}}`, `{"jsonrpc":"2.0","id":1,"result":{"a":1}}`},
	{`{"id":1.0,"result":null}`, `{"jsonrpc":"2.0","id":1,"result":null}`},
	{`{"id":1,"jsonrpc":"2.0"}`, `{"jsonrpc":"2.0","id":1,"result":null}`},
	{`{"id":1,"result":null,"error":{"code":-1,"message":"m","data":[1]}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m","data":[1]}}`},
	{`{"id":1,"error":"text"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"The agent's error is not one of JSON-RPC.","data":"text"}}`},
	{`{"id":1,"error":{"code":"E1"}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"The agent's error is not one of JSON-RPC.","data":{"code":"E1"}}}`},

	{`{"level":30,"id":1,"msg":"a log line"}`, ``},
	{`{"ID":1,"result":2}`, ``},
	{`{"id":1,"method":5}`, ``},
	{`{"id":[1],"method":"m"}`, ``},
	{`{"id":true,"result":1}`, ``},
	{`{"id":null,"error":{"code":-32700,"message":"Parse error"}}`, ``},
	{`[{"id":1,"result":1}]`, ``},
	{`null`, ``},
	{`7`, ``},
	{`Listening on stdio`, ``},
	{`{"method":`, ``},
}

func TestEnvelopes(t *testing.T) {
	for _, c := range envelopeCases {
		e, ok := readEnvelope([]byte(c.text))
		var line []byte
		switch {
		case !ok:
		case e.method == nil:
			line = answerLine(idKey(e.id), e)
		case e.id == nil:
			line = requestLine(0, e)
		default:
			line = requestLine(7, e)
		}
		want := c.line
		if want != "" {
			want += "\n"
		}
		if string(line) != want {
			t.Errorf("%s became %s want %s", c.text, line, want)
		}
	}
}

func TestIDKeys(t *testing.T) {
	for _, same := range [][2]string{{`1`, `1.0`}, {`1`, `10e-1`}, {`"é"`, `"\u00e9"`}, {`0`, `-0`}} {
		if idKey(json.RawMessage(same[0])) != idKey(json.RawMessage(same[1])) {
			t.Errorf("%s and %s differ", same[0], same[1])
		}
	}
	for _, other := range [][2]string{{`1`, `"1"`}, {`1`, `1.5`}, {`9007199254740993`, `9007199254740992`}, {`1e999`, `2e999`}} {
		if idKey(json.RawMessage(other[0])) == idKey(json.RawMessage(other[1])) {
			t.Errorf("%s and %s are the same", other[0], other[1])
		}
	}
}
