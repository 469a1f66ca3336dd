package acp

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"signoff/internal/acp/settings"
	"signoff/internal/acp/wire"
	"signoff/internal/domain"
	"signoff/internal/sandbox"
	"signoff/internal/sandbox/stdio"
)

// agent is an external agent: one process, and one session in it.
type agent struct {
	config    Config
	execution domain.Execution
	resuming  string // the agent's session that is to be resumed; empty for a new one
	log       domain.AgentLog

	life context.Context // ends with Close
	stop context.CancelFunc

	translator *translator
	terminals  *terminals
	service    service
	servers    servers
	outside    *outside // runs the MCP servers; nil: the agent starts them itself, because it is not isolated
	program    *stdio.Program
	peer       *wire.Peer

	hello        wire.Object          // the answer to initialize
	session      string               // as the agent calls it
	salt         string               // of the stand-ins for ids that nobody may see
	sessionNamed chan struct{}        // closes when session is known
	continued    string               // how it was resumed: load or resume; empty for a new one
	fresh        bool                 // the session has not been prompted, and knows nothing
	unset        domain.ChosenOptions // of prompts whose turn ended before they were set

	exit    sync.Once // the end of the process is reported once
	watched chan struct{}
}

var (
	_ domain.Agent = (*agent)(nil)
	_ wire.Handler = (*agent)(nil)
)

func newAgent(config Config, opening domain.Opening) *agent {
	life, stop := context.WithCancel(context.Background())
	a := &agent{
		config: config, execution: opening.Execution, resuming: opening.AgentSession, log: opening.Log, life: life, stop: stop,
		translator: newTranslator(life, opening), sessionNamed: make(chan struct{}), salt: randomName(20),
	}
	for _, server := range config.MCPServers {
		a.translator.calls.servers = append(a.translator.calls.servers, server.Name)
	}
	a.terminals = &terminals{agent: a, open: map[string]*terminal{}}
	a.servers.tell = func(update domain.AgentMCPServerUpdated) { a.translator.tell(update) }
	if config.Process.Environment.Isolated() {
		a.outside = &outside{
			life: life, start: config.Starter.Start, tell: a.servers.is,
			process: sandbox.Process{Dir: opening.Execution.Request.WorkingDirectory, Env: config.ServerEnv},
		}
	}
	a.service.renew(life)
	return a
}

// attach takes the process that was started, and begins to listen to it.
func (a *agent) attach(child *sandbox.Child) {
	tell := a.stderrTold()
	var tap func(wire.Direction, []byte)
	if a.execution.Request.Debug {
		tap = func(way wire.Direction, raw []byte) {
			a.translator.outside.Trace(domain.Direction(way), a.config.Masked(bytes.Clone(raw)))
		}
	}
	a.program = stdio.Attend(child, "The agent's process", tell)
	a.peer = wire.New(child.Stdin, child.Stdout, a, wire.Options{Tap: tap})
	a.watched = make(chan struct{})
	go a.watch()
}

// stderrTold reports standard errors where somebody looks for a fault; nil: nobody does.
func (a *agent) stderrTold() func([]byte) {
	if !a.execution.Request.Debug {
		return nil
	}
	return func(text []byte) {
		a.translator.tell(domain.AgentStderr{Text: strings.ToValidUTF8(string(a.config.Masked(text)), "\uFFFD")})
	}
}

// Introduction implements [domain.Agent].
func (a *agent) Introduction() domain.Introduction {
	info, can, chosen := a.hello.Object("agentInfo"), a.hello.Object("agentCapabilities"), a.translator.currentSettings()
	return domain.Introduction{
		Name: wire.Beginning(info.Text("name"), 200), Version: wire.Beginning(info.Text("version"), 200), AgentSession: a.session,
		Resumable: can.Has("loadSession") || can.Object("sessionCapabilities").Has("resume"),
		Continued: a.continued, Mode: chosen.Current(settings.CategoryMode), Model: chosen.Current(settings.CategoryModel),
		Isolated: a.config.Process.Environment.Isolated(),
	}
}

// closeLimit is for what is left when the process is dead.
const closeLimit = time.Second

// Close implements [domain.Agent]. It ends the process, all that it has started, and the commands that it runs through
// us, within five seconds and a little.
func (a *agent) Close() error {
	a.stop()             // first: it releases those who wait for the host
	a.exit.Do(func() {}) // nobody needs to be told any more
	a.service.end(context.Canceled)
	a.servers.close()
	if a.program == nil {
		return nil
	}
	err := a.program.End()
	if a.outside != nil {
		err = errors.Join(err, a.outside.close())
	}
	a.peer.Close(errClosed)
	stdio.Within(closeLimit, a.peer.Done())
	stdio.Within(closeLimit, a.watched)
	stdio.Within(closeLimit, a.terminals.over())
	a.program.Drain()
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
	case <-a.program.Done():
	}
	if !stdio.Within(strayGrace, a.program.Done()) {
		a.program.KillBecause("it had closed its output and did not end")
	}
	<-a.program.Done()
	if !a.translator.inTurn() { // otherwise the turn tells
		a.tellExit()
	}
}

// tellExit tells that the process has ended between two turns.
func (a *agent) tellExit() {
	a.exit.Do(func() {
		a.translator.tell(domain.AgentExited{Message: a.program.ExitError(a.config.Masked).Message})
	})
}

// grants tells whether the agent is offered a power of ours.
func (a *agent) grants(offered bool, class domain.Class) bool {
	return offered && a.execution.Request.Capabilities.Of(class) != domain.Deny
}
