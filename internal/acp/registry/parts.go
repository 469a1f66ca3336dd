package registry

import (
	"context"

	"signoff/internal/acp/settings"
	"signoff/internal/domain"
)

// CheckParts is [domain.CodeInvalid] for a picture or file of a prompt that the agent has not declared to take. An agent declares that only when it is
// started, so an agent whose declaration is not known is probed, within ten seconds. One that cannot be started is [domain.CodeAgentUnavailable], and
// one that takes longer [domain.CodeOverloaded].
func (r *Registry) CheckParts(ctx context.Context, source domain.Source, pointer string, parts []domain.PromptPart) error {
	agent := r.agents[canonical(source.Command)]
	if agent == nil || (settings.Takes{}).Check("", "", parts) == nil {
		return nil // the execution is of a server with another registry; or any agent takes these
	}
	last, holds := r.offers[agent.name].last(identify(r.findProgram(agent.Command)))
	if last.offers != nil && (holds || last.offers.Takes.Check("", "", parts) == nil) { // the same program hardly takes less than before; if it does, the turn fails
		return last.offers.Takes.Check(agent.name, pointer, parts)
	}
	found, _ := r.Agent(ctx, agent.name, true)
	switch {
	case found.Offers != nil:
		return found.Offers.Takes.Check(agent.name, pointer, parts)
	case found.Failure != nil:
		return domain.At(pointer, domain.Errorf(domain.CodeAgentUnavailable,
			"The agent %s cannot be started, so it is not known which files it takes. %s", agent.name, found.Failure.Message))
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return domain.Errorf(domain.CodeOverloaded, "The agent %s has not said yet which files it takes; try again.", agent.name)
	}
}
