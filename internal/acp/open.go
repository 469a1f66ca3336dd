package acp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"time"

	"signoff/internal/acp/settings"
	"signoff/internal/acp/wire"
	"signoff/internal/domain"
	"signoff/internal/mcp"
	"signoff/internal/sandbox"
	"signoff/internal/secrets"
)

// Config is how one agent is started and spoken to; the registry makes it from what the operator says of the agent.
type Config struct {
	Name          string // in the registry
	Process       sandbox.Process
	Starter       Starter
	Selections    []settings.Selection  // of options, to be set before the first prompt; the others stay as the agent has them
	Offered       func(settings.Offers) // hears what a new session offers; nil: nobody wants to know
	Judge         Judge                 // of each value before it is set
	Files         bool                  // the agent may use our reading and writing of files, as far as the execution may
	Terminals     bool                  // the same for commands
	McpServers    []mcp.Endpoint
	Withheld      []string            // names of servers that the request wants and its capabilities deny
	Meta          json.RawMessage     // sent as _meta when a session begins or is taken up
	AuthMethods   []string            // methods to sign in by where the agent wants that first; it has their keys
	SilentAfter   time.Duration       // 0 is 30 s
	StartTimeout  time.Duration       // for the first answer; 0 is 30 s. A session may take twice as long
	Mask          func([]byte) []byte // hides the agent's own secrets in what is kept and shown; nil: there are none
	Masker        *secrets.Masker     // and this one the server's
	ClientVersion string
}

// Judge refuses a value of an option that the agent may not have, such as a mode in which it acts without asking.
type Judge func(wanted settings.Selection, option settings.Option, found domain.AgentChoice) error

// Starter starts processes: *sandbox.Sandbox.
type Starter interface {
	Start(ctx context.Context, process sandbox.Process) (*sandbox.Child, error)
}

func (l Config) helloTimeout() time.Duration   { return cmp.Or(l.StartTimeout, 30*time.Second) }
func (l Config) sessionTimeout() time.Duration { return 2 * l.helloTimeout() }
func (l Config) silence() time.Duration        { return cmp.Or(l.SilentAfter, 30*time.Second) }

// Masked hides the secrets that the agent was given, and then the server's: an agent that runs as the server's own user
// may come across a file that holds them.
func (l Config) Masked(text []byte) []byte {
	if l.Mask != nil {
		text = l.Mask(text)
	}
	if l.Masker != nil {
		text = l.Masker.Mask(text)
	}
	return text
}

// Open starts the agent's process, gets a session of it and sets the options that were selected. When it fails, nothing of
// the process is left.
func Open(ctx context.Context, l Config, opening domain.Opening) (domain.Agent, error) {
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
	child, err := a.config.Starter.Start(ctx, a.config.Process)
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
	if a.fresh && a.config.Offered != nil {
		a.config.Offered(settings.Offers{Options: a.translator.listed(), Version: a.Introduction().Version, At: time.Now().UTC()})
	}
	if err := a.configure(ctx); err != nil {
		return err
	}
	a.translator.goLive()
	a.tellServers()
	return nil
}

// request asks the agent something that it has to answer soon.
func (a *agent) request(ctx context.Context, limit time.Duration, method string, params any) (wire.Object, error) {
	limited, stop := context.WithTimeoutCause(ctx, limit, errSlow)
	defer stop()
	answer, err := a.peer.Call(limited, method, params)
	if err != nil {
		return nil, a.explain(ctx, method, err)
	}
	return wire.ReadObject(answer), nil
}

// protocolVersion is the version that is spoken here.
const protocolVersion = 1

// initialize introduces both sides.
func (a *agent) initialize(ctx context.Context) error {
	hello, err := a.request(ctx, a.config.helloTimeout(), "initialize", map[string]any{
		"protocolVersion":    protocolVersion,
		"clientInfo":         map[string]string{"name": "signoff", "title": "Signoff", "version": a.config.ClientVersion},
		"clientCapabilities": a.clientCapabilities(),
	})
	if err != nil {
		return a.unstartable(err)
	}
	a.hello = hello
	if version := hello.Number("protocolVersion"); version == nil || *version != protocolVersion {
		return domain.Errorf(domain.CodeAgentProtocol, "The agent speaks version %s of the protocol, and Signoff version %d.",
			wire.Beginning(cmp.Or(string(hello["protocolVersion"]), "(none)"), 50), protocolVersion)
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

// clientCapabilities is what the agent may ask us for. Nothing is advertised that would be refused anyway.
func (a *agent) clientCapabilities() map[string]any {
	powers := map[string]any{
		"fs":          map[string]bool{"readTextFile": a.grants(a.config.Files, domain.ClassRead), "writeTextFile": a.grants(a.config.Files, domain.ClassWrite)},
		"terminal":    a.grants(a.config.Terminals, domain.ClassExecute),
		"elicitation": map[string]any{"form": struct{}{}},
	}
	return powers
}

// grants tells whether the agent is offered a power of ours.
func (a *agent) grants(offered bool, class domain.Class) bool {
	return offered && a.execution.Request.Capabilities.Of(class) != domain.Deny
}

// tap shows what goes over the wire to the debug feed, where that is on.
func (a *agent) tap() func(wire.Direction, []byte) {
	if !a.execution.Request.Debug {
		return nil
	}
	return func(way wire.Direction, raw []byte) {
		a.translator.outside.Trace(domain.Direction(way), a.config.Masked(bytes.Clone(raw)))
	}
}
