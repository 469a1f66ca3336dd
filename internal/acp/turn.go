package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
	"signoff/internal/sandbox/stdio"
)

const (
	cancelGrace  = 3 * time.Second        // for the agent to end its turn
	cancelAgain  = time.Second            // a cancel that overtook its prompt is lost; it is sent once more
	answersGrace = 300 * time.Millisecond // for our answers to what it has asked
)

// Prompt implements [domain.Agent]. The prompt's call to the agent is never cut off by ctx: the agent gets a cancel,
// and Prompt waits for its answer: an agent that answers keeps working, and knows what it has done.
// An agent that was lost before fails with [domain.ErrNotPrompted]; without that, the prompt may have reached it.
func (a *agent) Prompt(ctx context.Context, host domain.Host, prompt domain.Prompt) (domain.StopReason, error) {
	if strings.TrimSpace(prompt.Text) == "" && domain.FileParts(prompt.Parts) == nil {
		return "", domain.Invalid("/prompt", "An empty prompt says nothing to an agent.")
	}
	if err := a.takes().Check(a.config.Name, "/prompt", prompt.Parts); err != nil { // the registry was told something else
		return "", err
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if a.lost() { // nothing of the prompt is written yet
		return "", a.program.ExitError(a.config.Masked).With(domain.ErrNotPrompted)
	}
	a.service.renew(a.life)
	a.translator.begin(host, prompt)
	stop, answered, err := a.promptAgent(ctx, host, prompt)
	if domain.CodeOf(err) == domain.CodeAgentExited {
		a.exit.Do(func() {}) // the turn's failure says so
	}
	a.tellMissing()
	a.translator.endReplay(answered && ctx.Err() == nil)
	a.translator.end(!answered)
	if a.lost() {
		a.tellExit()
	}
	return stop, err
}

// promptAgent has the agent take the prompt and its options, and tells whether it has answered the prompt.
func (a *agent) promptAgent(ctx context.Context, host domain.Host, prompt domain.Prompt) (stop domain.StopReason, answered bool, err error) {
	if err := a.takeOptions(ctx, prompt.Options); err != nil {
		var failure *domain.Error
		if errors.As(err, &failure) && failure.Code == domain.CodeAgentExited {
			err = failure.With(domain.ErrNotPrompted)
		}
		return "", false, err
	}
	params, err := a.promptParams(ctx, host, prompt)
	if err != nil {
		return "", false, err
	}
	answer := a.turn(ctx, params)
	stop, err = a.outcome(ctx, answer)
	return stop, answer.Err == nil, err
}

// lost tells whether the process is dead, or of no use any more.
func (a *agent) lost() bool {
	return a.program.Gone() || a.program.WasKilled() || a.peer.Cause() != nil
}

// turn asks the agent and waits for its answer, also where ctx ends.
func (a *agent) turn(ctx context.Context, params json.RawMessage) wire.Answer {
	a.fresh = false
	answers := make(chan wire.Answer, 1)
	go func() {
		result, err := a.peer.Call(context.WithoutCancel(ctx), "session/prompt", params)
		answers <- wire.Answer{Result: result, Err: err}
	}()
	silence := newSilence(cmp.Or(a.config.SilentAfter, 30*time.Second), a.peer.LastRead, a.service.owes, a.translator.silent)
	defer silence.timer.Stop()
	for {
		select {
		case answer := <-answers:
			return answer
		case <-ctx.Done():
			return a.cancel(answers)
		case <-silence.timer.C: // it is time to look
			silence.look()
		}
	}
}

// outcome is how the turn ended: first whether we have cancelled it, then what the agent says, then that it failed. What
// an agent says of a cancelled turn cannot be relied on: it may be an ordinary end, or an error.
func (a *agent) outcome(ctx context.Context, answer wire.Answer) (domain.StopReason, error) {
	if answer.Err == nil {
		a.translator.result(answer.Result)
	}
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case answer.Err != nil:
		return "", a.explain(ctx, "the prompt", answer.Err)
	default:
		return stopReason(answer.Result)
	}
}

// stopReason is the agent's word in ours.
func stopReason(result json.RawMessage) (domain.StopReason, error) {
	switch word := wire.ReadObject(result).Text("stopReason"); word {
	case "end_turn":
		return domain.StopEndTurn, nil
	case "max_tokens":
		return domain.StopMaxTokens, nil
	case "max_turn_requests":
		return domain.StopMaxIterations, nil
	case "refusal":
		return domain.StopRefusal, nil
	case "cancelled":
		return domain.StopCancelled, nil
	case "":
		return "", domain.Errorf(domain.CodeAgentProtocol, "The agent ended its turn without saying why.")
	default:
		return "", domain.Errorf(domain.CodeAgentProtocol,
			"The agent ended its turn for a reason that is unknown here: %q.", wire.Beginning(word, 100))
	}
}

// cancel ends the turn: it answers all requests of the agent, sends the cancel, and kills the agent if that does not answer in
// time. Until then, the agent may go on sending updates.
func (a *agent) cancel(answers <-chan wire.Answer) wire.Answer {
	a.service.end(errTurnCancelled)
	a.service.settle(answersGrace)
	a.peer.AwaitAnswers(answersGrace)
	children := a.translator.cancellableSessions()
	limited, stop := context.WithTimeout(context.Background(), cancelGrace)
	defer stop()
	again := time.NewTicker(cancelAgain)
	defer again.Stop()
	for {
		for _, session := range append([]string{a.session}, children...) {
			_ = a.peer.Notify(limited, "session/cancel", map[string]any{"sessionId": session}) // who does not read is killed
		}
		select {
		case answer := <-answers:
			return answer
		case <-again.C:
		case <-limited.Done():
			a.program.KillBecause("it did not stop when its turn was cancelled")
			stdio.Within(stdio.ExitGrace, a.program.Done())
			return wire.Answer{Err: context.DeadlineExceeded}
		}
	}
}
