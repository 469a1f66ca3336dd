package wire

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/coder/acp-go-sdk"
)

// envelope is one JSON-RPC message, its parts as they were written.
type envelope struct {
	id     json.RawMessage // nil of a notification
	method json.RawMessage // a string with its quotes; nil of an answer
	params json.RawMessage // nil where there are none
	result json.RawMessage
	failed json.RawMessage // the member "error"; nil of anything but a failed answer
}

// readEnvelope reads a line that is JSON; false says that it is no JSON-RPC message.
//
// It is stricter with answers than with the rest. Agents print log lines in JSON, and {"id": 1, "msg": "…"} must not
// answer the first call, as it would in the SDK. A log line that is taken for a notification does no harm.
func readEnvelope(text []byte) (e envelope, ok bool) {
	var members map[string]json.RawMessage // not a struct: that would take "ID" for "id"
	if json.Unmarshal(text, &members) != nil {
		return envelope{}, false
	}
	for name, value := range members {
		if string(value) == "null" && name != "result" {
			delete(members, name)
		}
	}
	e = envelope{members["id"], members["method"], members["params"], members["result"], members["error"]}
	switch {
	case e.id != nil && !isScalar(e.id):
		return envelope{}, false
	case e.method != nil:
		return e, e.method[0] == '"'
	default:
		return e, e.id != nil && (e.result != nil || e.failed != nil || string(members["jsonrpc"]) == `"2.0"`)
	}
}

// idKey is equal for two ids that mean the same one: 1 and 1.0 do, 1 and "1" do not.
func idKey(id json.RawMessage) string {
	var text string
	if json.Unmarshal(id, &text) == nil {
		return strconv.Quote(text)
	}
	number, err := strconv.ParseFloat(string(id), 64)
	if err == nil && number == math.Trunc(number) && math.Abs(number) < 1<<53 {
		return strconv.FormatInt(int64(number), 10)
	}
	return string(id)
}

// requestLine is a message for the SDK to read. The method carries the number of the request in front, 0 for a
// notification: the SDK hands both to one handler, and tells it neither the id nor which of the two it was.
//
// All parts go on as they were written: encoding them again would turn < into \u003c, and a line of 8 MiB into one of
// 40, at which the SDK ends the connection.
func requestLine(serial uint64, e envelope) []byte {
	line := make([]byte, 0, len(e.id)+len(e.method)+len(e.params)+100)
	line = append(line, `{"jsonrpc":"2.0","method":"`...)
	line = strconv.AppendUint(line, serial, 10)
	line = append(append(line, ' '), e.method[1:]...)
	if e.id != nil {
		line = append(append(line, `,"id":`...), e.id...)
	}
	if e.params != nil {
		line = append(append(line, `,"params":`...), e.params...)
	}
	return append(line, "}\n"...)
}

// answerLine is an answer for the SDK to read. The key is the id in the SDK's own spelling.
func answerLine(key string, e envelope) []byte {
	member, value := `,"result":`, e.result
	switch {
	case e.failed != nil:
		member, value = `,"error":`, legibleError(e.failed)
	case value == nil: // JavaScript leaves a result out that is undefined
		value = json.RawMessage("null")
	}
	return slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), []byte(key), []byte(member), value, []byte("}\n"))
}

// legibleError replaces an error that the SDK could not decode. It would drop the whole answer, and the caller would
// wait for ever.
func legibleError(failed json.RawMessage) json.RawMessage {
	if json.Unmarshal(failed, new(acp.RequestError)) == nil {
		return failed
	}
	const start = `{"code":-32603,"message":"The agent's error is not one of JSON-RPC.","data":`
	return slices.Concat([]byte(start), failed, []byte("}"))
}
