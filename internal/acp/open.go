package acp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"time"

	"signoff/internal/domain"
	"signoff/internal/sandbox"
	"signoff/internal/secrets"
)

// launch is how one agent is started and spoken to; the registry makes it from its row.
type launch struct {
	name          string // in the registry
	process       sandbox.Process
	starter       starter
	selections    []selection  // of options, to be set before the first prompt; the others stay as the agent has them
	offered       func(Offers) // hears what a new session offers; nil: nobody wants to know
	judge         judge        // of each value before it is set
	files         bool         // the agent may use our reading and writing of files, as far as the execution may
	terminals     bool         // the same for commands
	mcpServers    []mcpServer
	withheld      []string            // names of servers that the request wants and its capabilities deny
	meta          json.RawMessage     // sent as _meta when a session begins or is taken up
	admissions    []string            // methods to sign in by where the agent wants that first; it has their keys
	silentAfter   time.Duration       // 0 is 30 s
	startTimeout  time.Duration       // for the first answer; 0 is 30 s. A session may take twice as long
	mask          func([]byte) []byte // hides the agent's own secrets in what is kept and shown; nil: there are none
	masker        *secrets.Masker     // and this one the server's
	clientVersion string
}

// judge refuses a value of an option that the agent may not have, such as a mode in which it acts without asking.
type judge func(wanted selection, option offer, found domain.AgentChoice) error

// starter starts processes: *sandbox.Sandbox.
type starter interface {
	Start(ctx context.Context, process sandbox.Process) (*sandbox.Child, error)
}

func (l launch) helloTimeout() time.Duration   { return cmp.Or(l.startTimeout, 30*time.Second) }
func (l launch) sessionTimeout() time.Duration { return 2 * l.helloTimeout() }
func (l launch) silence() time.Duration        { return cmp.Or(l.silentAfter, 30*time.Second) }

// masked hides the secrets that the agent was given, and then the server's: an agent that runs as the server's own user
// may come across a file that holds them.
func (l launch) masked(text []byte) []byte {
	if l.mask != nil {
		text = l.mask(text)
	}
	if l.masker != nil {
		text = l.masker.Mask(text)
	}
	return text
}

// open starts the agent's process, gets a session of it and sets the options that were selected. When it fails, nothing of
// the process is left.
func open(ctx context.Context, l launch, opening domain.Opening) (domain.Agent, error) {
	a := newAgent(l, opening)
	if err := a.start(ctx); err != nil {
		if a.program != nil && (ctx.Err() != nil || domain.CodeOf(err) == domain.CodeAgentTimedOut) {
			a.program.kill("it was not ready in time") // one that hangs would only be waited for
		}
		_ = a.Close() // the reason is told already, and says more
		return nil, err
	}
	return a, nil
}

func (a *agent) start(ctx context.Context) error {
	child, err := a.launch.starter.Start(ctx, a.launch.process)
	if err != nil {
		return err
	}
	a.attach(child)
	if err := a.initialize(ctx); err != nil {
		return err
	}
	if err := a.establish(ctx); err != nil {
		return err
	}
	if a.fresh && a.launch.offered != nil {
		a.launch.offered(Offers{Options: a.story.listed(), Version: a.Introduction().Version, At: time.Now().UTC()})
	}
	if err := a.configure(ctx); err != nil {
		return err
	}
	a.story.live()
	a.tellServers()
	return nil
}

// request asks the agent something that it has to answer soon.
func (a *agent) request(ctx context.Context, limit time.Duration, method string, params any) (object, error) {
	limited, stop := context.WithTimeoutCause(ctx, limit, errSlow)
	defer stop()
	answer, err := a.peer.call(limited, method, params)
	if err != nil {
		return nil, a.explain(ctx, method, err)
	}
	return readObject(answer), nil
}

// protocolVersion is the version that is spoken here.
const protocolVersion = 1

// initialize introduces both sides.
func (a *agent) initialize(ctx context.Context) error {
	hello, err := a.request(ctx, a.launch.helloTimeout(), "initialize", map[string]any{
		"protocolVersion":    protocolVersion,
		"clientInfo":         map[string]string{"name": "signoff", "title": "Signoff", "version": a.launch.clientVersion},
		"clientCapabilities": a.powers(),
	})
	if err != nil {
		return a.unstartable(err)
	}
	a.hello = hello
	if version := hello.number("protocolVersion"); version == nil || *version != protocolVersion {
		return domain.Errorf(domain.CodeAgentProtocol, "The agent speaks version %s of the protocol, and Signoff version %d.",
			beginning(cmp.Or(string(hello["protocolVersion"]), "(none)"), 50), protocolVersion)
	}
	return nil
}

// unstartable calls it by its name when a launcher, such as env or npx, has not found the program.
func (a *agent) unstartable(err error) error {
	if domain.CodeOf(err) != domain.CodeAgentExited || !a.program.gone() {
		return err
	}
	if code := a.program.child.Exit().Code; code != 126 && code != 127 {
		return err
	}
	return domain.Errorf(domain.CodeAgentUnavailable, "The agent's program cannot be run. %s", domain.FailureOf(err).Message)
}

// powers is what the agent may ask us for. Nothing is advertised that would be refused anyway.
func (a *agent) powers() map[string]any {
	powers := map[string]any{
		"fs":          map[string]bool{"readTextFile": a.grants(a.launch.files, domain.ClassRead), "writeTextFile": a.grants(a.launch.files, domain.ClassWrite)},
		"terminal":    a.grants(a.launch.terminals, domain.ClassExecute),
		"elicitation": map[string]any{"form": struct{}{}},
	}
	return powers
}

// grants tells whether the agent is offered a power of ours.
func (a *agent) grants(offered bool, class domain.Class) bool {
	return offered && a.execution.Request.Capabilities.Of(class) != domain.Deny
}

// tap shows what goes over the wire to the debug feed, where that is on.
func (a *agent) tap() func(wireDirection, []byte) {
	if !a.execution.Request.Debug {
		return nil
	}
	return func(way wireDirection, raw []byte) {
		a.story.outside.Trace(domain.Direction(way), a.launch.masked(bytes.Clone(raw)))
	}
}
