package sessions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"signoff/internal/domain"
	"signoff/internal/failpoint"
)

// agent is the agent of the execution: how it is opened, introduced, prompted and closed.
type agent struct {
	core
	recorder *recorder
	calls    *openCalls
	blocks   *blocks
	rules    *rules
	turn     *turnRun
	inbox    *inbox

	checkpointing *checkpointing

	open    domain.Agent // nil if its process is gone, or was not needed yet
	opening *opening     // of an agent that the creation has begun to open
	exited  bool         // its process has ended by itself, or the agent broke down: the next prompt starts it again
	loading string       // the agent session that is loaded when the agent is opened
	fresh   bool         // the agent was just opened and remembers nothing of earlier turns
}

// beginOpening opens the agent in a goroutine of its own: it may be a process that takes its time.
func (a *agent) beginOpening() *opening {
	ctx, cancel := context.WithCancelCause(context.Background())
	o := &opening{cancel: cancel, done: make(chan struct{})}
	execution := *a.execution // as it stands: an agent that is opened again goes on counting where the last one stopped
	execution.Status, execution.Turn, execution.Rounds, execution.Usage = a.progress.Status, a.progress.Turn.Number, a.progress.Turn.Rounds, a.progress.Usage
	with := domain.Opening{Execution: execution, Host: a.host(), AgentSession: a.loading, Log: a.log(), Options: a.progress.Options}
	go func() {
		defer close(o.done)
		defer func() {
			if r := recover(); r != nil {
				o.err = fmt.Errorf("sessions: opening the agent panicked: %v", r)
			}
		}()
		failpoint.Hit(failpoint.BeforeAgentOpen)
		o.agent, o.err = a.engine.open(ctx, with)
		failpoint.Hit(failpoint.AfterAgentOpen)
	}()
	return o
}

// opening is an agent on its way. agent and err are set when done closes.
type opening struct {
	cancel context.CancelCauseFunc
	done   chan struct{}
	agent  domain.Agent
	err    error
}

// stop ends the opening, if it has not ended, and returns the agent if there is one all the same.
func (o *opening) stop() domain.Agent {
	o.cancel(errOver)
	<-o.done
	return o.agent
}

// soon tells whether the agent was opened at once, and without an error.
func (o *opening) soon() bool {
	wait := time.NewTimer(atOnce)
	defer wait.Stop()
	select {
	case <-o.done:
		return o.err == nil
	case <-wait.C:
		return false
	}
}

// atOnce is how long a creation waits for the agent that it opens. Our own agent needs a fraction of it.
const atOnce = 5 * time.Millisecond

// reopens is the agent session that the next process loads. A session that was never prompted has nothing to load, and many agents do not store it.
func (a *agent) reopens() string {
	if a.progress.Turn.Number == 0 {
		return a.execution.Request.ResumeSession
	}
	return a.recorder.agentSession
}

// introduce writes which agent answers from here on.
func (a *agent) introduce(change *changeSet) {
	agent := a.open.Introduction()
	started := domain.AgentStarted{
		Source: a.execution.Request.Source, Sandbox: a.engine.sandbox.Name(), Name: agent.Name, Version: agent.Version,
		AgentSession: agent.AgentSession, Resumable: agent.Resumable, Continued: agent.Continued,
		Mode: agent.Mode, Model: agent.Model,
	}
	if a.external() {
		started.Sandbox, a.environment.holdsAgent = a.agentConfinedBy(agent.Isolated), agent.Isolated // it runs its commands itself
	}
	if agent.Resumable {
		a.recorder.agentSession = agent.AgentSession
	}
	a.fresh = agent.Continued == ""
	change.emit(started)
}

// prompt lets the agent run in a goroutine of its own. The end of the turn comes through the inbox, like everything that the agent
// says. The end of the lease reaches the agent also while the session waits for a database that does not answer.
func (a *agent) prompt() error {
	prompt := domain.Prompt{
		Turn: a.progress.Turn.Number, Edits: a.progress.Turn.Edits, Rounds: a.progress.Turn.Rounds, Text: a.promptText(), Parts: a.promptParts(),
		Options: a.progress.Turn.Set, Retrying: a.progress.Retrying(),
	}
	if a.turn.continued != nil {
		prompt.Text, prompt.Parts = a.turn.continued.Text, a.continuedParts()
	}
	if !a.external() || a.fresh {
		var err error
		if prompt.History, err = a.history(); err != nil {
			return err
		}
		if transcript := a.recorder.transcript; transcript != nil {
			prompt.Compacted = transcript.Compacted()
		}
	}
	a.fresh, a.recorder.transcript = false, nil
	ctx, stop := context.WithCancelCause(a.claim.lease)
	a.turn.stop, a.turn.gone = stop, make(chan struct{})
	agent, inbox, gone, h := a.open, a.inbox, a.turn.gone, a.host()
	if a.external() {
		if portion, shared := a.engine.ledger.Share(h.holder); shared {
			h.share = newShare(portion, a.progress.Usage)
		}
	}
	go func() {
		result := &turnResult{}
		defer func() {
			if r := recover(); r != nil {
				result.err = fmt.Errorf("sessions: agent panicked: %v", r)
			}
			close(gone)
			_ = inbox.put(item{done: result}) // refused only if the session has ended
		}()
		failpoint.Hit(failpoint.BeforeAgentPrompt)
		result.stop, result.err = h.promptBetweenCheckpoints(ctx, func() (domain.StopReason, error) {
			return h.promptWithShare(ctx, func(ctx context.Context) (domain.StopReason, error) { return agent.Prompt(ctx, h, prompt) })
		})
		failpoint.Hit(failpoint.AfterAgentPrompt)
	}()
	return nil
}

func (a *agent) host() *host {
	a.checkpointing.open()
	return &host{
		inbox: a.inbox, execution: a.execution, epoch: a.claim.epoch, lease: a.engine.dispatch.HoldsLease, environment: a.environment, viewed: a.viewedFiles(), guide: a.engine.guide, sandbox: a.engine.sandbox, store: a.engine.store,
		vault: a.engine.vault, masker: a.engine.masker, runbook: a.blocks.runbook(), policy: a.rules.policy,
		ledger: a.engine.ledger, holder: a.holder(), shares: a.progress.SharesFolder, keeper: a.checkpointing.keeper, noCheckpoints: a.checkpointing.unavailable(),
	}
}

// history is the conversation so far: the messages that the client brought, and those of the log.
func (a *agent) history() ([]domain.Message, error) {
	history := a.execution.Request.Brought()
	if a.recorder.transcript == nil && a.progress.Turn.Number == 1 && !a.fromQueue(1) && a.turn.continued == nil {
		return history, nil
	}
	if a.recorder.transcript == nil {
		if err := a.recorder.readTranscript(); err != nil {
			return nil, err
		}
	}
	if err := a.recallStates(); err != nil {
		return nil, err
	}
	return append(history, a.recorder.transcript.Messages()...), nil
}

// recallStates gives the answers of the transcript what their model wants back of them. An external agent keeps such things itself.
func (a *agent) recallStates() error {
	if a.external() {
		return nil
	}
	ctx, cancel := a.claim.reading()
	defer cancel()
	states, err := a.engine.store.AnswerStates(ctx, a.execution.ID)
	if err != nil {
		return err
	}
	a.recorder.transcript.Recall(states)
	return nil
}

// continuation is the message for an agent whose turn goes on.
func (a *agent) continuation(mode domain.ResumeMode) *domain.TurnContinued {
	continued := &domain.TurnContinued{Turn: a.progress.Turn.Number, Mode: mode, Text: a.promptText()}
	switch {
	case mode == domain.ResumeRetry: // the request is repeated as it was
		continued.Text = ""
	case mode == domain.ResumeFresh:
	case a.progress.Turn.Heard:
		continued.Text = goOn
	default: // the agent may have heard the prompt, or not
		continued.Text = goOn + " This was the prompt:\n\n> " + strings.ReplaceAll(a.promptText(), "\n", "\n> ")
	}
	return continued
}

// continuedParts are the parts of the message of [agent.continuation]: with the files of the prompt, unless the agent has these.
func (a *agent) continuedParts() []domain.PromptPart {
	continued, parts := a.turn.continued, a.promptParts()
	files := domain.FileParts(parts)
	switch {
	case continued.Mode == domain.ResumeFresh:
		return parts
	case continued.Text == goOn || len(files) == 0:
		return nil
	case continued.Text == "":
		return files
	}
	return append([]domain.PromptPart{{Type: domain.PartText, Text: continued.Text}}, files...)
}

const goOn = "The process in which you were working was stopped in the middle of your turn and has been started again. " +
	"A step that you had begun may have been done in part or in full: find out what has been done before you repeat " +
	"anything, and then go on with the task."

// providerFailed tells whether the turn has ended because its model could not be asked. A turn that was stopped has ended for that
// reason instead.
func (a *agent) providerFailed() bool {
	return !a.external() && !a.turn.stopped() && errors.Is(a.turn.result.err, domain.ErrProviderUnavailable)
}

// budgetSpent tells whether the turn has ended because the daily budget of the tenant is spent.
func (a *agent) budgetSpent() bool {
	return !a.turn.stopped() && errors.Is(a.turn.result.err, domain.ErrBudgetSpent)
}

// brokeDown tells whether an external agent has ended its turn with an error that nobody here has caused, so that the next prompt
// starts it again. An agent that lives and cannot load its session keeps its process: without it, the conversation would be lost.
func (a *agent) brokeDown() bool {
	if !a.calls.unaccounted() || a.turn.result.err == nil || domain.CodeOf(a.turn.result.err) == domain.CodeInvalid {
		return false // the agent only refuses the prompt's content
	}
	return a.recorder.agentSession != "" || domain.CodeOf(a.turn.result.err) == domain.CodeAgentExited
}

// close ends the agent, or its opening. It returns when the agent is gone.
func (a *agent) close() {
	defer a.environment.close()
	if a.opening != nil {
		a.open, a.opening = a.opening.stop(), nil
	}
	if a.open == nil {
		return
	}
	failpoint.Hit(failpoint.BeforeAgentClose)
	if err := a.open.Close(); err != nil {
		slog.Warn("agent did not close cleanly", "execution", a.execution.ID, "error", err)
	}
	failpoint.Hit(failpoint.AfterAgentClose)
	a.open, a.exited = nil, false
}

// log reads the log of the agent's session: of the executions that had the session before, and of this one.
func (a *agent) log() domain.AgentLog {
	logs, execution := a.engine.store, *a.execution
	return func(ctx context.Context, take func(domain.Request, domain.Event)) error {
		chain := []domain.Execution{execution}
		for earlier := execution; earlier.Request.ResumeSession != "" && len(chain) < longestChain; {
			var err error
			earlier, err = logs.Execution(ctx, execution.Tenant, earlier.Request.ResumeFrom)
			if domain.CodeOf(err) == domain.CodeNotFound {
				break // it was deleted, and what it said cannot be recognised
			}
			if err != nil {
				return err
			}
			chain = append(chain, earlier)
		}
		for _, of := range slices.Backward(chain) {
			err := eachEvent(ctx, logs, of.ID, func(event domain.Event) error {
				take(of.Request, event)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// longestChain is how many executions with one agent session are read.
const longestChain = 100
