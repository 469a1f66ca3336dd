package acp

import (
	"cmp"
	"context"
	"io"
	"slices"
	"time"

	"signoff/internal/acp/relay"
	"signoff/internal/acp/settings"
	"signoff/internal/acp/wire"
	"signoff/internal/domain"
	"signoff/internal/mcp"
)

// Open starts the agent's process, gets a session of it and sets the options that were selected. When it fails, nothing of
// the process is left.
func Open(ctx context.Context, l Config, opening domain.Opening) (domain.Agent, error) {
	a := newAgent(l, opening)
	if err := a.start(ctx); err != nil {
		if a.program != nil && (ctx.Err() != nil || domain.CodeOf(err) == domain.CodeAgentTimedOut) {
			a.program.KillBecause("it was not ready in time") // one that hangs would only be waited for
		}
		_ = a.Close() // err says more
		return nil, err
	}
	return a, nil
}

func (a *agent) start(ctx context.Context) error {
	process := a.config.Process
	if a.outside != nil && slices.ContainsFunc(a.config.MCPServers, mcp.Endpoint.IsProgram) {
		a.outside.stderr = a.stderrTold()
		process.Serve = map[string]func(io.ReadWriteCloser){relay.Place: a.outside.serve}
	}
	child, err := a.config.Starter.Start(ctx, process)
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
		a.config.Offered(settings.Offers{
			Options: a.translator.currentSettings().List(), Takes: a.takes(), Version: a.Introduction().Version, At: time.Now().UTC(),
		})
	}
	if err := a.choose(ctx, a.config.Selections); err != nil {
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
	if domain.CodeOf(err) != domain.CodeAgentExited || !a.program.Gone() {
		return err
	}
	if code := a.program.Exit().Code; code != 126 && code != 127 {
		return err
	}
	return domain.Errorf(domain.CodeAgentUnavailable, "The agent's program cannot be run. %s", domain.FailureOf(err).Message)
}

// clientCapabilities is what the agent may ask us for. Nothing is advertised that would be refused anyway.
func (a *agent) clientCapabilities() map[string]any {
	return map[string]any{
		"fs":          map[string]bool{"readTextFile": a.grants(a.config.Files, domain.ClassRead), "writeTextFile": a.grants(a.config.Files, domain.ClassWrite)},
		"terminal":    a.grants(a.config.Terminals, domain.ClassExecute),
		"elicitation": map[string]any{"form": struct{}{}},
		"subagents":   struct{}{},
	}
}
