package acp

import (
	"context"
	"errors"
	"time"

	"github.com/coder/acp-go-sdk"

	"signoff/internal/domain"
)

// establish gets a session: the one that is to be taken up, or a new one.
func (a *agent) establish(ctx context.Context) error {
	servers, err := a.mcpServers()
	if err != nil {
		return err
	}
	params := map[string]any{"cwd": a.execution.Request.WorkingDirectory, "mcpServers": servers}
	if a.resuming != "" {
		return a.takeUp(ctx, params)
	}
	answer, err := a.request(ctx, a.launch.sessionTimeout(), "session/new", params)
	if err != nil {
		return err
	}
	if a.session = answer.text("sessionId"); a.session == "" {
		return domain.Errorf(domain.CodeAgentProtocol, "The agent made a session without an id.")
	}
	a.fresh = true
	a.story.name(a.session)
	a.story.established(answer)
	close(a.named)
	return nil
}

// takeUp goes on with a session of an earlier process, by the way that does not tell everything again, where there is
// one.
func (a *agent) takeUp(ctx context.Context, params map[string]any) error {
	switch {
	case a.hello.object("agentCapabilities").object("sessionCapabilities").has("resume"):
		a.continued = "resume"
	case a.hello.object("agentCapabilities").has("loadSession"):
		a.continued = "load"
	default:
		return domain.Errorf(domain.CodeNotResumable, "The agent cannot take up an earlier session.")
	}
	a.session = a.resuming
	a.story.replay(a.session)
	close(a.named)
	params["sessionId"] = a.session
	answer, err := a.requestSession(ctx, "session/"+a.continued, params)
	if err != nil {
		return err
	}
	a.story.established(answer)
	if a.continued == "load" {
		return a.awaitQuiet(ctx)
	}
	return nil
}

// requestSession is a request whose refusal means that there is no such session any more.
func (a *agent) requestSession(ctx context.Context, method string, params any) (object, error) {
	limited, stop := context.WithTimeoutCause(ctx, a.launch.sessionTimeout(), errSlow)
	defer stop()
	answer, err := a.peer.call(limited, method, params)
	var refused *acp.RequestError
	switch {
	case errors.As(err, &refused) && refused.Code != errorAuthRequired:
		return nil, domain.Errorf(domain.CodeNotResumable, "The agent does not take up its session %s: %s (code %d)",
			beginning(a.session, 100), a.wording(refused), refused.Code)
	case err != nil:
		return nil, a.explain(ctx, method, err)
	}
	return readObject(answer), nil
}

const (
	quietPeriod = 200 * time.Millisecond
	quietLimit  = 2 * time.Second
)

// awaitQuiet waits for the end of a replay. It should be the answer, but there is an agent that answers first and then
// tells everything again; without the pause, its tail would look like the next turn.
func (a *agent) awaitQuiet(ctx context.Context) error {
	answered := time.Now()
	for {
		heard := a.story.lastHeard()
		if heard.Before(answered) {
			heard = answered
		}
		wait := min(time.Until(heard.Add(quietPeriod)), time.Until(answered.Add(quietLimit)))
		if wait <= 0 {
			return nil
		}
		pause := time.NewTimer(wait)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return context.Cause(ctx)
		}
	}
}
