package acp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/coder/acp-go-sdk"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// establish gets a session: the one that is to be resumed, or a new one.
func (a *agent) establish(ctx context.Context) error {
	servers, err := a.handOver()
	if err != nil {
		return err
	}
	params := map[string]any{"cwd": a.execution.Request.WorkingDirectory, "mcpServers": servers}
	if len(a.config.Meta) > 0 {
		params["_meta"] = a.config.Meta
	}
	if a.resuming != "" {
		return a.resumeSession(ctx, params)
	}
	answer, err := a.requestSession(ctx, "session/new", params)
	if err != nil {
		return a.explain(ctx, "session/new", err)
	}
	if a.session = answer.Text("sessionId"); a.session == "" {
		return domain.Errorf(domain.CodeAgentProtocol, "The agent made a session without an id.")
	}
	a.fresh = true
	a.translator.nameSession(a.shownID(a.session))
	a.translator.established(a.withoutSecrets(answer))
	close(a.sessionNamed)
	return nil
}

// resumeSession goes on with a session of an earlier process, by the way that does not tell everything again, where there is
// one.
func (a *agent) resumeSession(ctx context.Context, params map[string]any) error {
	switch {
	case a.hello.Object("agentCapabilities").Object("sessionCapabilities").Has("resume"):
		a.continued = "resume"
	case a.hello.Object("agentCapabilities").Has("loadSession"):
		a.continued = "load"
	default:
		return domain.Errorf(domain.CodeNotResumable, "The agent cannot resume an earlier session.")
	}
	a.session = a.resuming
	var told *replay
	if a.continued == "load" && a.log != nil {
		var err error
		if told, err = readReplay(ctx, a.log); err != nil {
			return err
		}
	}
	a.translator.beginReplay(a.shownID(a.session), told)
	close(a.sessionNamed)
	params["sessionId"] = a.session
	answer, err := a.requestSession(ctx, "session/"+a.continued, params)
	var refused *acp.RequestError
	switch {
	case errors.As(err, &refused) && refused.Code != errorAuthRequired: // the session is not there any more
		return domain.Errorf(domain.CodeNotResumable, "The agent does not resume its session %s: %s (code %d)",
			wire.Beginning(a.session, 100), a.wording(refused), refused.Code)
	case err != nil:
		return a.explain(ctx, "session/"+a.continued, err)
	}
	a.translator.established(a.withoutSecrets(answer))
	if a.continued == "load" {
		return a.awaitQuiet(ctx)
	}
	return nil
}

// requestSession asks for a session. An agent that requires authentication is asked again after it.
func (a *agent) requestSession(ctx context.Context, method string, params any) (wire.Object, error) {
	answer, err := a.callFor(ctx, method, params)
	var refused *acp.RequestError
	if errors.As(err, &refused) && refused.Code == errorAuthRequired && a.signedIn(ctx) {
		answer, err = a.callFor(ctx, method, params)
	}
	return wire.ReadObject(answer), err
}

func (a *agent) callFor(ctx context.Context, method string, params any) (json.RawMessage, error) {
	limited, stop := context.WithTimeoutCause(ctx, a.config.sessionTimeout(), errSlow)
	defer stop()
	return a.peer.Call(limited, method, params)
}

// signedIn signs in by the first method that the agent offers and has a key for. A method that wants a terminal, or
// might open a browser, is never among them. Where it fails, the refusal before it says more.
func (a *agent) signedIn(ctx context.Context) bool {
	for _, method := range a.config.AuthMethods {
		offered := slices.ContainsFunc(a.hello.Objects("authMethods"), func(way wire.Object) bool {
			return way.Text("id") == method && way.Text("type") != "terminal"
		})
		if offered {
			_, err := a.callFor(ctx, "authenticate", map[string]string{"methodId": method})
			return err == nil
		}
	}
	return false
}

const (
	quietPeriod = 200 * time.Millisecond
	quietLimit  = 2 * time.Second
)

// awaitQuiet waits for the end of a replay. It should be the answer, but there is an agent that answers first and then
// tells everything again. What comes later than this is recognised by the log; the pause is for what is not in there,
// such as the commands that are available.
func (a *agent) awaitQuiet(ctx context.Context) error {
	if a.log != nil && a.translator.toldAll() {
		return nil
	}
	answered := time.Now()
	for {
		heard := a.translator.lastHeard()
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
