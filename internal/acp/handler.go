package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/coder/acp-go-sdk"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// Notification implements [wire.Handler]: one notification after the other.
func (a *agent) Notification(method string, params json.RawMessage) {
	defer a.survive(method, nil)
	shown, err := a.shown(params)
	switch {
	case err != nil:
		a.translator.passOn("malformed", domain.Encode(method+": "+err.Error()))
	case method == "session/update":
		a.translator.update(shown)
	default:
		a.translator.extension(method, shown)
	}
}

// TextChunk implements [wire.Handler]: a plain chunk of text, wherever its place among the notifications is. One that holds a
// secret, or does not belong to what the agent says just now, is taken like any other notification.
func (a *agent) TextChunk(chunk wire.TextChunk) {
	defer a.survive("session/update", nil)
	if a.holdsSecret(chunk.Params) || !a.translator.takeChunk(chunk) {
		a.Notification("session/update", chunk.Params)
	}
}

// protocolErrorsShown bounds the events for lines that are no messages. Some agents print a log there.
const protocolErrorsShown = 20

// ProtocolError implements [wire.Handler].
func (a *agent) ProtocolError(d wire.ProtocolError) {
	if d.Count > protocolErrorsShown || d.Method == "session/update" && a.translator.replaying() { // an old prompt with a large picture is too long for a line
		return
	}
	a.translator.passOn("disturbance", domain.Encode(map[string]any{
		"kind": d.Kind, "bytes": d.Size, "method": d.Method,
		"sample": string(a.config.Masked([]byte(d.Sample))),
	}))
}

// Request implements [wire.Handler]: requests of the agent, each in a goroutine of its own.
func (a *agent) Request(ctx context.Context, method string, params json.RawMessage) (result any, err error) {
	defer a.survive(method, &err)
	request := wire.ReadObject(params) // as it was sent: what is shown of it is not what is done
	serve := a.serves(method)
	if serve == nil {
		if a.hasSession() && request.Has("sessionId") && !a.knowsSession(request.Text("sessionId")) {
			a.reportForeignRequest(method, params)
		}
		return nil, acp.NewMethodNotFound(method)
	}
	ctx, leave := a.service.enter(ctx)
	defer leave()
	select {
	case <-a.sessionNamed:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if session := request.Text("sessionId"); !a.knowsSession(session) && (session != "" || method != "elicitation/create") {
		return a.answerForeignRequest(method, params)
	}
	return serve(ctx, request, params)
}

// hasSession tells whether the agent has named its session.
func (a *agent) hasSession() bool {
	select {
	case <-a.sessionNamed:
		return true
	default:
		return false
	}
}

// knowsSession tells whether a session is the agent's, or that of a subagent that it has announced.
func (a *agent) knowsSession(session string) bool {
	return session == a.session || a.translator.knowsChild(a.shownID(session))
}

// answerForeignRequest answers a request in an unknown session, such as that of a subagent that the agent has not announced. The call cannot be
// attributed, so no person is asked. The agent has its answer at once, and does not wait for ever.
func (a *agent) answerForeignRequest(method string, params json.RawMessage) (any, error) {
	a.reportForeignRequest(method, params)
	switch method {
	case "session/request_permission":
		return permissionCancelled, nil
	case "elicitation/create":
		return elicitationAnswer{Action: "cancel"}, nil
	default:
		return nil, invalid("The session is unknown here.")
	}
}

// reportForeignRequest reports a request about which no person was asked.
func (a *agent) reportForeignRequest(method string, params json.RawMessage) {
	a.translator.reportForeignRequest(method, json.RawMessage(a.config.Masked(params)))
}

func (t *translator) reportForeignRequest(method string, params json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.filter.requests++; t.filter.requests > requestShown {
		return
	}
	if len(params) > malformedBytes || !json.Valid(params) {
		params = domain.Encode(wire.Beginning(string(params), malformedBytes))
	}
	t.pass("foreignSession", domain.Encode(map[string]any{"method": wire.Beginning(method, 100), "params": params}))
}

// survive keeps a bug of ours, which what an agent sends has brought to light, from ending the server and with it all
// the other agents.
func (a *agent) survive(method string, err *error) {
	bug := recover()
	if bug == nil {
		return
	}
	slog.Error("a message of an agent caused a panic", "agent", a.config.Name, "executionId", a.execution.ID,
		"method", method, "panic", fmt.Sprint(bug), "stack", string(debug.Stack()))
	if err != nil {
		*err = fmt.Errorf("acp: panic in %s", method)
	}
}

// serves returns what answers a method; nil for what is unknown, or was not offered to this agent.
func (a *agent) serves(method string) func(ctx context.Context, request wire.Object, raw json.RawMessage) (any, error) {
	reads, writes := a.grants(a.config.Files, domain.ClassRead), a.grants(a.config.Files, domain.ClassWrite)
	runs := a.grants(a.config.Terminals, domain.ClassExecute)
	switch {
	case method == "session/request_permission":
		return a.permission
	case method == "elicitation/create":
		return a.elicitation
	case method == "fs/read_text_file" && reads:
		return a.readTextFile
	case method == "fs/write_text_file" && writes:
		return a.writeTextFile
	case method == "terminal/create" && runs:
		return a.terminals.create
	case method == "terminal/output" && runs:
		return a.terminals.output
	case method == "terminal/wait_for_exit" && runs:
		return a.terminals.wait
	case method == "terminal/kill" && runs:
		return a.terminals.kill
	case method == "terminal/release" && runs:
		return a.terminals.release
	default:
		return nil
	}
}
