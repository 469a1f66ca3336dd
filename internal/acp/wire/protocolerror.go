package wire

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/coder/acp-go-sdk"

	"signoff/internal/domain"
)

// ProtocolError is something on the agent's stdout that was no message, or none that could be handed on.
type ProtocolError struct {
	Kind   ProtocolErrorKind
	Size   int64  // of the line, in bytes
	Sample string // how it begins: at most 512 bytes of valid UTF-8
	ID     string // in JSON, as far as it could be seen
	Method string // the same
	Count  int    // of the errors of this connection, with this one
}

// ProtocolErrorKind says what was wrong with a line.
type ProtocolErrorKind string

const (
	lineIsNoise      ProtocolErrorKind = "noise"         // no JSON, or no JSON-RPC
	lineIsTooLong    ProtocolErrorKind = "tooLong"       // refused: more than lineLimit
	lineIsTooDeep    ProtocolErrorKind = "tooDeep"       // refused: more than domain.MaxDepth levels
	lineIsBroken     ProtocolErrorKind = "broken"        // refused: not quite JSON, but with the id of a request or a call
	lineIsNotUTF8    ProtocolErrorKind = "notUTF8"       // repaired and handed on
	lineIsUnexpected ProtocolErrorKind = "unexpected"    // an answer to nothing that was asked, or a second one
	lineIsOneTooMany ProtocolErrorKind = "tooManyAtOnce" // refused: too many requests are open
)

// refuse tells whoever waits for a message that it cannot be handed on.
func (g *flowControl) refuse(line agentLine, kind ProtocolErrorKind, head lineHead) []byte {
	asks := head.id != nil && head.method != nil
	answers := head.id != nil && head.method == nil && head.answers
	switch {
	case kind == lineIsBroken && !asks && !answers, kind == lineIsTooDeep && head.method == nil && !answers:
		kind = lineIsNoise
	}
	g.reportError(line, kind, head)
	switch {
	case asks:
		// Written here and now: an agent that does not read its refusals is not read either. If the write fails, then
		// whoever writes next is told.
		_ = g.send(refusalLine(head.id, refusal("request", line, kind)))
	case answers:
		return g.answer(line, envelope{id: head.id, failed: refusal("answer", line, kind)})
	}
	return nil
}

// refusal is the error for it.
func refusal(what string, line agentLine, kind ProtocolErrorKind) json.RawMessage {
	refused := acp.RequestError{Code: -32600}
	switch kind {
	case lineIsTooLong:
		refused.Message = fmt.Sprintf("The %s is too large: it has %d bytes, and at most %d are read.",
			what, line.size, lineLimit)
	case lineIsTooDeep:
		refused.Message = fmt.Sprintf("The %s is nested too deep to be shown to a person: at most %d levels are read.",
			what, domain.MaxDepth)
	case lineIsOneTooMany:
		refused.Message = fmt.Sprintf("The %s is one too many: others wait for their answers.", what)
	default:
		refused.Code, refused.Message = -32700, fmt.Sprintf("The %s is not valid JSON.", what)
	}
	body, _ := json.Marshal(refused) // a number and a text: cannot fail
	return body
}

// reportError tells the handler of a line that was no message.
func (g *flowControl) reportError(line agentLine, kind ProtocolErrorKind, head lineHead) {
	g.protocolErrors++
	id := strings.ToValidUTF8(string(head.id), "?")
	d := ProtocolError{Kind: kind, Size: line.size, Sample: line.sample(), ID: id, Count: g.protocolErrors}
	_ = json.Unmarshal(head.method, &d.Method) // there may be none
	g.handler.ProtocolError(d)
}
