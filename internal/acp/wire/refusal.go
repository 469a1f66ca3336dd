package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/coder/acp-go-sdk"

	"signoff/internal/domain"
)

// refuse answers a message that cannot be handed on with an error, where somebody waits for an answer.
func (f *flowControl) refuse(line agentLine, kind ProtocolErrorKind, head lineHead) []byte {
	asks := head.id != nil && head.method != nil
	answers := head.id != nil && head.method == nil && head.answers
	switch {
	case kind == lineIsBroken && !asks && !answers, kind == lineIsTooDeep && head.method == nil && !answers:
		kind = lineIsNoise
	}
	f.reportError(line, kind, head)
	switch {
	case asks:
		// Written here and now: an agent that does not read its refusals is not read either. If the write fails, the
		// next one fails as well.
		_ = f.send(slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), head.id, []byte(`,"error":`), refusal("request", line, kind), []byte("}\n")))
	case answers:
		return f.answer(line, envelope{id: head.id, failed: refusal("answer", line, kind)})
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
func (f *flowControl) reportError(line agentLine, kind ProtocolErrorKind, head lineHead) {
	f.protocolErrors++
	id := strings.ToValidUTF8(string(head.id), "?")
	d := ProtocolError{Kind: kind, Size: line.size, Sample: line.sample(), ID: id, Count: f.protocolErrors}
	_ = json.Unmarshal(head.method, &d.Method) // there may be none
	f.handler.ProtocolError(d)
}
