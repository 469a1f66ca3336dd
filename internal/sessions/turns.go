package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"signoff/internal/domain"
	"signoff/internal/failpoint"
)

// begin introduces the agent that was just opened, and starts the turn, or goes on with the one that was cut off.
func (s *session) begin() state {
	d := &draft{}
	s.introduce(d)
	if !s.inTurn {
		s.startTurn(d)
	} else if s.continued != nil {
		d.add(*s.continued)
	}
	return s.enter(d)
}

// advance starts the next turn with the agent that is there, or opens it again where its process is gone.
func (s *session) advance() state {
	if s.isDraining() {
		return s.handOver // its prompt is the next driver's
	}
	if s.exited {
		s.closeAgent()
	}
	d := &draft{}
	if s.agent != nil {
		s.startTurn(d)
		return s.enter(d)
	}
	s.to(d, domain.StatusInitializing, "")
	if s.external() && s.agentSession == "" { // it would answer, and know nothing of what was said before
		return s.interrupt(d, processGone(cannotLoad))
	}
	if err := s.commit(d); err != nil {
		return s.abandon(err)
	}
	s.loading = s.agentSession
	return s.initializing
}

// introduce tells who answers from here on.
func (s *session) introduce(d *draft) {
	agent := s.agent.Introduction()
	started := domain.AgentStarted{
		Source: s.execution.Request.Source, Sandbox: s.sandbox.Name(), Name: agent.Name, Version: agent.Version,
		AgentSession: agent.AgentSession, Resumable: agent.Resumable, Continued: agent.Continued,
		Mode: agent.Mode, Model: agent.Model,
	}
	if s.external() {
		started.Sandbox = unconfined // it runs its commands itself
	}
	if agent.Resumable {
		s.agentSession = agent.AgentSession
	}
	s.fresh = agent.Continued == ""
	d.add(started)
}

// unconfined is the name of a sandbox without walls.
const unconfined = "off"

// startTurn takes the next prompt. What the agent has said between the turns ends here.
func (s *session) startTurn(d *draft) {
	for _, text := range s.texts {
		text.whole = true // between turns nobody else says where a message ends
	}
	s.closeTexts(d)
	s.closeCalls(d)
	started := domain.TurnStarted{Turn: s.turn + 1}
	if started.Turn > 1 {
		next := s.wishes.Prompts[0]
		s.wishes.Prompts = s.wishes.Prompts[1:]
		started.PromptID, started.Text, d.started = next.ID, next.Text, next.ID
		started.Options = next.Options
		if next.Edit != nil {
			started.Edits = next.Edit.Generation
			s.blocks.document = cmp.Or(next.Edit.Document, s.blocks.document)
		}
	}
	s.beginTurn(d, started)
}

// beginTurn opens a turn. The agent hears what came of the blocks that the one before has handed in.
func (s *session) beginTurn(d *draft, started domain.TurnStarted) {
	s.blocks.edits = started.Edits
	s.closeSubmitted(d)
	for _, c := range s.calls {
		s.endCall(c)
	}
	s.forgetTurn()
	if started.Turn > 1 {
		s.promptText = started.Text
	}
	s.turn, s.repairs, s.setting = started.Turn, started.Repair, started.Options
	s.inTurn, s.said, s.began = true, spoken{}, s.usage
	s.clock = newClock(s.execution.Request.TimeoutSeconds, 0)
	d.progress = s.turn > 1 // it has come further than any restart in between
	d.add(started)
}

// forgetTurn lets go of what belonged to the turn that is over.
func (s *session) forgetTurn() {
	clear(s.texts)
	clear(s.whole)
	for _, c := range s.calls {
		if c.generation == 0 {
			s.endCall(c)
		}
	}
	clear(s.results)
	clear(s.decided)
	if s.stop != nil {
		s.stop(errOver) // its context would otherwise hang on to the lease, one for each turn
	}
	s.rounds, s.round, s.flowing, s.retryAt = 0, "", false, time.Time{}
	s.stop, s.result, s.continued, s.resumed = nil, nil, nil, nil
	s.closing, s.interrupting, s.toldNo, s.reopened, s.inTurn = false, false, false, false, false
}

// enter writes the beginning of a turn and lets the agent run.
func (s *session) enter(d *draft) state {
	s.to(d, domain.StatusWaiting, "")
	s.derive(d) // an approval of an earlier driver may be open
	s.settleAccounts(d)
	if err := s.commit(d); err != nil {
		return s.abandon(err)
	}
	return s.goOn()
}

// goOn lets the agent of a turn run whose beginning is in the log.
func (s *session) goOn() state {
	if s.spent != nil {
		return s.stopSpending
	}
	if err := s.prompt(); err != nil {
		return s.abandon(err)
	}
	return s.sync
}

// prompt lets the agent run in a goroutine of its own; how it ends comes through the inbox like all that it says. The
// end of the lease reaches the agent also while the session itself waits for a database that does not answer.
func (s *session) prompt() error {
	prompt := domain.Prompt{Turn: s.turn, Edits: s.blocks.edits, Rounds: s.rounds, Text: s.promptText, Options: s.setting}
	if s.continued != nil {
		prompt.Text = s.continued.Text
	}
	if !s.external() || s.fresh {
		var err error
		if prompt.History, err = s.history(); err != nil {
			return err
		}
	}
	if s.resumed != nil {
		prompt.Retrying = s.resumed.Retrying
	}
	s.fresh = false
	ctx, stop := context.WithCancelCause(s.lease)
	s.stop, s.gone = stop, make(chan struct{})
	agent, inbox, gone, h := s.agent, s.inbox, s.gone, s.host()
	go func() {
		result := &turnResult{}
		defer func() {
			if r := recover(); r != nil {
				result.err = fmt.Errorf("sessions: agent panicked: %v", r)
			}
			close(gone)
			_ = inbox.put(item{done: result}) // refused only where the session has left
		}()
		failpoint.Hit(failpoint.AgentPrompted)
		result.stop, result.err = agent.Prompt(ctx, h, prompt)
		failpoint.Hit(failpoint.AgentReturned)
	}()
	return nil
}

func (s *session) host() *host {
	return &host{
		inbox: s.inbox, execution: &s.execution, epoch: s.epoch, lease: &s.leases, workspace: s.workspace, sandbox: s.sandbox, store: s.store,
		vault: s.vault, masker: s.masker, runbook: s.runbook(), policy: s.policy,
	}
}

// conclude goes on after the agent has ended its turn: with the next prompt, with waiting for one, or to the end of the
// execution. A wish to cancel that came meanwhile goes first: some agents call a cancel an ordinary end, and some an
// error.
func (s *session) conclude() state {
	if s.unheard() {
		return s.reopen
	}
	_ = s.heed() // what cannot be read is not known, and the turn has ended; the store refuses to lose a prompt
	if s.wishes.Cancel != nil {
		return s.finish(s.cancellation())
	}
	if s.providerFailed() {
		return s.interruptTurnOf(domain.CauseProvider, domain.FailureOf(s.result.err))
	}
	end := s.ending()
	s.unmeasured()
	if wrong := s.unfit(end); wrong != "" && len(s.wishes.Prompts) == 0 {
		switch {
		case s.repairs < maxRepairs && end.stop == domain.StopEndTurn && s.spent == nil && s.isDraining():
			return s.giveBack() // the next driver asks again
		case s.repairs < maxRepairs && end.stop == domain.StopEndTurn && s.spent == nil:
			return s.repair(end.stop, wrong)
		}
		end = misfit(end.stop)
	}
	switch {
	case !s.goesOn(end):
		return s.finish(end)
	case s.spent != nil && !s.keepsBlocks() && (s.execution.Request.KeepOpen || len(s.wishes.Prompts) > 0):
		return s.finish(*s.spent) // nothing is left for another turn
	case len(s.wishes.Prompts) > 0:
		return s.endTurn(end, domain.StatusWaiting)
	case s.execution.Request.KeepOpen && s.wishes.Close == nil:
		return s.endTurn(end, domain.StatusIdle)
	default:
		return s.finish(end)
	}
}

// unheard tells whether the agent's process was gone before it was prompted, so that nothing is done twice where the next
// one gets the same. It may end between two turns, and the prompt may be faster than the news of it.
func (s *session) unheard() bool {
	return errors.Is(s.result.err, domain.ErrNotPrompted) && !s.reopened && !s.closing
}

// reopen starts the agent's process again in the middle of its turn, whose clock goes on where it was.
func (s *session) reopen() state {
	s.reopened = true
	s.clock.pause()
	s.stop(errOver)
	s.stop, s.result = nil, nil
	s.closeAgent()
	d := &draft{}
	s.to(d, domain.StatusInitializing, "the agent had exited")
	if err := s.commit(d); err != nil {
		return s.abandon(err)
	}
	s.loading = s.agentSession
	return s.initializing
}

// ending is how the turn ended, as an outcome of the execution.
func (s *session) ending() outcome {
	switch {
	case s.interrupting:
		return outcome{status: domain.StatusCompleted, finish: domain.FinishCancelled, stop: domain.StopCancelled}
	case s.result.err != nil:
		return failed(domain.FailureOf(s.result.err))
	case s.generates() && s.result.stop == domain.StopEndTurn && !s.submitted():
		return withoutBlocks()
	case s.result.stop == domain.StopCancelled && s.toldNo: // what some agents call the end after a no
		return outcome{status: domain.StatusCompleted, finish: domain.FinishEndTurn, stop: domain.StopCancelled}
	default:
		return stopped(s.result.stop)
	}
}

// goesOn tells whether a further turn makes sense after such an end. A conversation that stays open survives every end of
// a turn: a limit, a refusal, and an agent that broke down, since the next prompt may find it well again.
func (s *session) goesOn(end outcome) bool {
	if s.generates() {
		return s.keepsBlocks()
	}
	return end.status == domain.StatusCompleted || s.execution.Request.KeepOpen
}

// brokeDown tells whether an external agent has ended its turn with an error that nobody here has caused, and the next
// prompt is to start it again. One that lives and cannot take up its session keeps its process, with which the
// conversation would be lost.
func (s *session) brokeDown() bool {
	if !s.unaccounted() || s.result.err == nil || domain.CodeOf(s.result.err) == domain.CodeInvalid {
		return false // it only does not take what the prompt wants
	}
	return s.agentSession != "" || domain.CodeOf(s.result.err) == domain.CodeAgentExited
}

// endTurn closes the turn, and nothing but the turn. It is refused where a prompt came in at the same moment: then that
// is what comes next.
func (s *session) endTurn(end outcome, next domain.Status) state {
	d, err := s.closeTurn(end)
	if err != nil {
		return s.abandon(err)
	}
	before := s.status
	if s.status == domain.StatusInitializing || s.status == domain.StatusInterrupted { // the agent could not be opened, or was not to go on
		s.to(d, domain.StatusWaiting, "")
	}
	d.resumed = s.wishes.Resume != nil
	s.to(d, next, "")
	if err := s.commit(d); err != nil {
		s.status = before
		if domain.CodeOf(err) != domain.CodeStale || s.reread() != nil {
			return s.abandon(err)
		}
		switch { // what has refused it?
		case s.dropAnswered():
			return s.endTurn(end, next)
		case next == domain.StatusIdle && len(s.wishes.Prompts) > 0 && s.result != nil:
			return s.conclude
		default:
			return s.abandon(err)
		}
	}
	s.exited = s.exited || s.brokeDown()
	s.wishes.Resume = nil
	s.forgetTurn()
	if next != domain.StatusIdle {
		return s.advance
	}
	s.since = time.Now()
	return s.sync
}

// closeTurn drafts the end of the turn, with all in it that was still open. What was held back of its texts is told, and what people were
// asked is withdrawn, before that.
func (s *session) closeTurn(end outcome) (*draft, error) {
	if err := s.releaseAll(); err != nil {
		return nil, err
	}
	if err := s.withdrawAll(); err != nil {
		return nil, err
	}
	d := &draft{progress: true}
	s.closeTexts(d)
	s.closeCalls(d)
	s.options, s.setting = s.options.After(s.setting, end.failure), nil
	d.add(domain.TurnEnded{
		Turn: s.turn, Usage: s.usage.Since(s.began), StopReason: cmp.Or(end.stop, domain.StopError), Error: end.failure,
	})
	return d, nil
}

// idle: the turn is over, and the next prompt has not come.
func (s *session) idle() state {
	if s.exited {
		s.closeAgent()
	}
	switch {
	case s.isDraining():
		return s.handOver
	case len(s.wishes.Prompts) > 0:
		return s.advance
	case s.wishes.Close != nil:
		return s.finish(outcome{status: domain.StatusCompleted, finish: domain.FinishEndTurn})
	}
	return s.rest(s.execution.Request.IdleTimeoutSeconds, func() state {
		return s.finish(outcome{status: domain.StatusCompleted, finish: domain.FinishExpired})
	})
}

// continuation is what the agent is told when its turn goes on.
func (s *session) continuation(mode domain.ResumeMode) *domain.TurnContinued {
	continued := &domain.TurnContinued{Turn: s.turn, Mode: mode, Text: s.promptText}
	switch {
	case mode == domain.ResumeRetry: // the request is repeated as it was
		continued.Text = ""
	case mode == domain.ResumeFresh:
	case s.resumed == nil || s.resumed.Active:
		continued.Text = goOn
	default: // it may have heard the prompt, or not
		continued.Text = goOn + " This was the prompt:\n\n> " + strings.ReplaceAll(s.promptText, "\n", "\n> ")
	}
	return continued
}

const goOn = "The process in which you were working was stopped in the middle of your turn and has been started again. " +
	"A step that you had begun may have been done in part or in full: find out what has been done before you repeat " +
	"anything, and then go on with the task."

// rest waits while no turn runs, for at most so many seconds since it began to; 0 is for ever.
func (s *session) rest(seconds int, over state) state {
	var deadline <-chan time.Time
	if seconds > 0 {
		timer := time.NewTimer(time.Until(s.since.Add(time.Duration(seconds) * time.Second)))
		defer timer.Stop()
		deadline = timer.C
	}
	return s.await(nil, deadline, over)
}
