package registry

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"signoff/internal/acp"
	"signoff/internal/acp/settings"
	"signoff/internal/domain"
)

const (
	offersPatience = 10 * time.Second // of somebody who looks at an agent
	offersHold     = 10 * time.Minute // while the program's file is the same: who signs in elsewhere may be offered other models
	noOffersHold   = time.Minute
)

// AgentDetails are what may be shown of one agent.
type AgentDetails struct {
	AgentInfo
	Offers  *settings.Offers // of the last probe or execution, also where that is a while ago; nil: not known
	Probing bool             // a probe is under way
	Failure *domain.Failure  // of the last probe; nil: it went well, or there was none
}

// Agent shows one agent; false: there is none of this name. With probe, its program is started where the offers that are
// known do not hold any more; they are waited for, ten seconds at most. Whoever may not start agents may not probe them.
func (r *Registry) Agent(ctx context.Context, name string, probe bool) (details AgentDetails, known bool) {
	agent := r.agents[canonical(name)]
	if agent == nil {
		return details, false
	}
	ctx, cancel := context.WithTimeout(ctx, offersPatience)
	defer cancel()
	versions, stop := context.WithTimeout(ctx, patience)
	defer stop()
	details.AgentInfo = r.info(versions, agent)
	program := r.findProgram(agent.Command)
	if program == "" {
		return details, true
	}
	p, of := r.offers[agent.name], identify(program)
	if _, holds := p.last(of); probe && !holds && r.config.Starter != nil {
		select {
		case <-p.ask(r.probing.Go, of, func() (offered, time.Duration) { return r.findOffers(agent, of) }):
		case <-ctx.Done():
		}
	}
	last, _ := p.last(of)
	details.Offers, details.Failure, details.Probing = last.offers, last.failure, p.underWay()
	return details, true
}

// knownOffers are those that still hold; nil: they are not known.
func (r *Registry) knownOffers(agent *agent) *settings.Offers {
	last, holds := r.offers[agent.name].last(identify(r.findProgram(agent.Command)))
	if !holds || last.failure != nil {
		return nil
	}
	return last.offers
}

// findOffers probes an agent. Offers that were known stay where that fails.
func (r *Registry) findOffers(agent *agent, of identity) (offered, time.Duration) {
	offers, err := r.probe(agent)
	if err == nil {
		return offered{offers: offers}, offersHold
	}
	last, _ := r.offers[agent.name].last(of)
	failure := domain.FailureOf(err)
	last.failure = &failure
	return last, noOffersHold
}

// probe starts the agent as for an execution that may do nothing, in a folder that is thrown away, and asks it nothing but a
// new session. It takes as long as the agent may take to start, and when it returns, nothing of the process is left.
func (r *Registry) probe(agent *agent) (offers *settings.Offers, err error) {
	ctx, cancel := context.WithTimeoutCause(r.ctx, agent.StartTimeout, domain.Errorf(domain.CodeAgentTimedOut,
		"The agent has not made a session within %.0f seconds.", agent.StartTimeout.Seconds()))
	defer cancel()
	folder, err := os.MkdirTemp("", "signoff-probe-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		return nil, err
	}
	request := domain.Request{
		Source: domain.Source{Type: domain.SourceACP, Command: agent.name}, WorkingDirectory: folder,
		Capabilities: domain.Capabilities{Read: domain.Deny, Write: domain.Deny, Execute: domain.Deny, Network: domain.Deny, MCP: domain.Deny},
	}
	l, err := r.launch(agent, domain.Execution{Request: request})
	if err != nil {
		return nil, err
	}
	l.Offered = func(found settings.Offers) { offers = &found }
	opened, err := acp.Open(ctx, l, domain.Opening{Execution: domain.Execution{ID: "probe", Request: request}, Host: nobody{}})
	if err != nil {
		return nil, err
	}
	if err := opened.Close(); err != nil {
		slog.Error("an agent that was probed cannot be ended", "agent", agent.name, "error", err)
	}
	return offers, nil
}

// nobody hears what an agent says while it is probed. Nobody answers, and nothing is granted: a method that is not here
// panics, and the agent gets an error for an answer.
type nobody struct{ domain.Host }

func (nobody) Emit(context.Context, ...domain.Payload) error { return nil }
func (nobody) Trace(domain.Direction, []byte)                {}

func (nobody) Ask(context.Context, domain.Question) (domain.Answer, error) {
	return domain.Answer{Status: domain.ApprovalCancelled}, nil
}
