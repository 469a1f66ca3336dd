package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/coder/acp-go-sdk"

	"signoff/internal/acp/settings"
	"signoff/internal/acp/wire"
	"signoff/internal/domain"
	"signoff/internal/sandbox"
)

// agent is an external agent: one process, and one session in it.
type agent struct {
	config    Config
	execution domain.Execution
	resuming  string // the agent's session that is to be taken up; empty for a new one
	log       domain.AgentLog

	life context.Context // ends with Close
	stop context.CancelFunc

	translator *translator
	terminals  *terminals
	service    service
	servers    servers
	program    *program
	peer       *wire.Peer

	hello        wire.Object          // the answer to initialize
	session      string               // as the agent calls it
	salt         string               // of the stand-ins for ids that nobody may see
	sessionNamed chan struct{}        // closes when session is known
	continued    string               // how it was taken up: load or resume; empty for a new one
	fresh        bool                 // the session has not been prompted, and knows nothing
	unset        domain.ChosenOptions // of prompts whose turn ended before they were set

	exit    sync.Once // that the process has ended is told once
	watched chan struct{}
}

var (
	_ domain.Agent = (*agent)(nil)
	_ wire.Handler = (*agent)(nil)
)

func newAgent(l Config, opening domain.Opening) *agent {
	life, stop := context.WithCancel(context.Background())
	a := &agent{
		config: l, execution: opening.Execution, resuming: opening.AgentSession, log: opening.Log, life: life, stop: stop,
		translator: newTranslator(life, opening), sessionNamed: make(chan struct{}), salt: randomName(20),
	}
	for _, server := range l.McpServers {
		a.translator.calls.servers = append(a.translator.calls.servers, server.Name)
	}
	a.terminals = newTerminals(a)
	a.servers.tell = func(update domain.AgentMCPServerUpdated) { a.translator.tell(update) }
	a.service.renew(life)
	return a
}

// attach takes the process that was started, and begins to listen to it.
func (a *agent) attach(child *sandbox.Child) {
	var tell func([]byte)
	if a.execution.Request.Debug {
		tell = func(text []byte) {
			a.translator.tell(domain.AgentStderr{Text: strings.ToValidUTF8(string(a.config.Masked(text)), "\uFFFD")})
		}
	}
	a.program = &program{child: child, stderr: newStderr(child.Stderr, tell)}
	a.peer = wire.New(child.Stdin, child.Stdout, a, wire.Options{Tap: a.tap()})
	a.watched = make(chan struct{})
	go a.watch()
}

// Introduction implements [domain.Agent].
func (a *agent) Introduction() domain.Introduction {
	info, can := a.hello.Object("agentInfo"), a.hello.Object("agentCapabilities")
	return domain.Introduction{
		Name: wire.Beginning(info.Text("name"), 200), Version: wire.Beginning(info.Text("version"), 200), AgentSession: a.session,
		Resumable: can.Has("loadSession") || can.Object("sessionCapabilities").Has("resume"),
		Continued: a.continued, Mode: a.translator.setting(settings.CategoryMode), Model: a.translator.setting(settings.CategoryModel),
	}
}

// closeLimit is for what is left when the process is dead.
const closeLimit = time.Second

// Close implements [domain.Agent]. It ends the process, all that it has started, and the commands that it runs through
// us, within five seconds and a little.
func (a *agent) Close() error {
	a.stop()             // first: it frees whoever waits for the host
	a.exit.Do(func() {}) // nobody needs to be told any more
	a.service.end(context.Canceled)
	a.servers.close()
	if a.program == nil {
		return nil
	}
	err := a.program.end()
	a.peer.Close(errClosed)
	within(closeLimit, a.peer.Done())
	within(closeLimit, a.watched)
	within(closeLimit, a.terminals.over())
	within(closeLimit, a.program.stderr.drained)
	return err
}

var errClosed = errors.New("the session is over")

// strayGrace is how long a process may live on when its output has ended.
const strayGrace = time.Second

// watch sees the process end. A process without a connection is of no use; it is killed.
func (a *agent) watch() {
	defer close(a.watched)
	select {
	case <-a.peer.Done():
	case <-a.program.child.Done():
	}
	if !within(strayGrace, a.program.child.Done()) {
		a.program.kill("it had closed its output and did not end")
	}
	<-a.program.child.Done()
	if !a.translator.inTurn() { // otherwise the turn tells
		a.tellExit()
	}
}

// tellExit tells that the process has ended between two turns.
func (a *agent) tellExit() {
	a.exit.Do(func() {
		a.translator.tell(domain.AgentExited{Message: a.program.exitError(a.config.Masked).Message})
	})
}

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
		a.Notification("session/update", bytes.Clone(chunk.Params))
	}
}

// protocolErrorsShown bounds what is told of lines that are no messages. Some agents print a log there.
const protocolErrorsShown = 20

// ProtocolError implements [wire.Handler].
func (a *agent) ProtocolError(d wire.ProtocolError) {
	if d.Count > protocolErrorsShown {
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
	serve := a.serves(method)
	if serve == nil {
		return nil, acp.NewMethodNotFound(method)
	}
	ctx, leave := a.service.enter(ctx)
	defer leave()
	select {
	case <-a.sessionNamed:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	request := wire.ReadObject(params) // as it was sent: what is shown of it is not what is done
	if session := request.Text("sessionId"); session != a.session && (session != "" || method != "elicitation/create") {
		return nil, invalid("The session is unknown here.")
	}
	return serve(ctx, request, params)
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

// invalid refuses a request, and says why.
func invalid(why string) *acp.RequestError { return &acp.RequestError{Code: -32602, Message: why} }
