package acp

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/coder/acp-go-sdk"

	"signoff/internal/domain"
)

// A disturbance is something on the agent's stdout that was no message, or none that could be handed on.
type disturbance struct {
	kind   disturbanceKind
	size   int64  // of the line, in bytes
	sample string // how it begins: at most 512 bytes of valid UTF-8
	id     string // in JSON, as far as it could be seen
	method string // the same
	count  int    // of the disturbances of this connection, with this one
}

type disturbanceKind string

const (
	lineIsNoise      disturbanceKind = "noise"         // no JSON, or no JSON-RPC
	lineIsTooLong    disturbanceKind = "tooLong"       // refused: more than lineLimit
	lineIsTooDeep    disturbanceKind = "tooDeep"       // refused: more than domain.MaxDepth levels
	lineIsBroken     disturbanceKind = "broken"        // refused: not quite JSON, but with the id of a request or a call
	lineIsNotUTF8    disturbanceKind = "notUTF8"       // repaired and handed on
	lineIsUnexpected disturbanceKind = "unexpected"    // an answer to nothing that was asked, or a second one
	lineIsOneTooMany disturbanceKind = "tooManyAtOnce" // refused: too many requests are open
)

// refuse tells whoever waits for a message that it cannot be handed on.
func (g *gate) refuse(line agentLine, kind disturbanceKind, head lineHead) []byte {
	asks := head.id != nil && head.method != nil
	answers := head.id != nil && head.method == nil && head.answers
	switch {
	case kind == lineIsBroken && !asks && !answers, kind == lineIsTooDeep && head.method == nil && !answers:
		kind = lineIsNoise
	}
	g.disturb(line, kind, head)
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
func refusal(what string, line agentLine, kind disturbanceKind) json.RawMessage {
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

// disturb tells the handler of a line that was no message.
func (g *gate) disturb(line agentLine, kind disturbanceKind, head lineHead) {
	g.disturbances++
	id := strings.ToValidUTF8(string(head.id), "?")
	d := disturbance{kind: kind, size: line.size, sample: line.sample(), id: id, count: g.disturbances}
	_ = json.Unmarshal(head.method, &d.method) // there may be none
	g.handler.disturbed(d)
}
