package sessions

import (
	"cmp"

	"signoff/internal/domain"
)

// begin introduces the agent that was just opened, and starts the turn or continues it.
func (s *Session) begin() state {
	if s.awaitsPrompt() && len(s.control.requests.Prompts) == 0 {
		return s.awaitPrompt()
	}
	change := s.recorder.begin()
	s.agent.introduce(change)
	if !s.progress.Turn.Open {
		s.startTurn(change)
	} else if s.turn.continued != nil {
		change.emit(*s.turn.continued)
	}
	return s.enter(change)
}

// awaitPrompt rests with an agent that is open and was not prompted yet. The change is refused if the first prompt comes in the same moment.
func (s *Session) awaitPrompt() state {
	err := s.recorder.attempt(func() *changeSet {
		change := s.recorder.begin()
		s.agent.introduce(change)
		change.to(domain.StatusIdle, "")
		return change
	})
	switch {
	case err == nil:
		s.recorder.transcript = nil // nobody needs it before the first prompt
		return s.readControl
	case domain.CodeOf(err) == domain.CodeStale && s.control.read() == nil && len(s.control.requests.Prompts) > 0:
		return s.begin
	default:
		return s.abandon(err)
	}
}

// advance starts the next turn with the open agent, or opens the agent again if its process is gone.
func (s *Session) advance() state {
	if s.engine.isDraining() {
		return s.handOff // the next driver takes the prompt
	}
	if s.agent.exited {
		s.agent.close()
	}
	change := s.recorder.begin()
	if s.agent.open != nil {
		s.startTurn(change)
		return s.enter(change)
	}
	change.to(domain.StatusInitializing, "")
	if s.progress.Turn.Number > 0 && s.external() && s.recorder.agentSession == "" { // it would answer without the earlier conversation
		return s.interrupt(change, processGone(cannotLoad))
	}
	if err := s.recorder.commit(change); err != nil {
		return s.abandon(err)
	}
	s.agent.loading = s.agent.reopens()
	return s.initializing
}

// startTurn takes the next prompt. Everything that the agent has said between the turns ends here.
func (s *Session) startTurn(change *changeSet) {
	for _, key := range s.recorder.masking.keys() {
		s.texts.release(change, key)
	}
	s.texts.close(change, true) // between turns only the next turn ends a message
	s.calls.close(change)
	started := domain.TurnStarted{Turn: s.progress.Turn.Number + 1, Note: s.progress.Checkpoint.Note}
	if started.Turn == 1 {
		started.SharesFolderWith = s.neighbours()
	}
	switch {
	case !s.fromQueue(started.Turn):
	case len(s.control.requests.Prompts) == 0:
		s.delegates.startTurn(change, &started)
	default:
		next := s.control.requests.Prompts[0]
		s.control.requests.Prompts = s.control.requests.Prompts[1:]
		started.PromptID, started.Text, started.Parts, change.started = next.ID, next.Text, next.Parts, next.ID
		started.Options = next.Options
		if next.Edit != nil {
			started.Edits = next.Edit.Generation
			s.blocks.document = cmp.Or(next.Edit.Document, s.blocks.document)
		}
	}
	s.beginTurn(change, started)
}

// beginTurn begins a turn. The agent gets the outcome of the blocks that the turn before has handed in.
func (s *Session) beginTurn(change *changeSet, started domain.TurnStarted) {
	s.blocks.closeSubmitted(change, started.Edits)
	for _, c := range s.calls.open {
		s.calls.forget(c)
	}
	s.forgetTurn()
	change.emit(started)
	s.checkpointing.reportUnavailable(change)
	change.advanced = started.Turn > 1 // this is progress, whatever restarts there were
}

// forgetTurn drops the state of the turn that is over.
func (s *Session) forgetTurn() {
	clear(s.recorder.masking.streams)
	for _, c := range s.calls.open {
		if c.generation() == 0 {
			s.calls.forget(c)
		}
	}
	clear(s.permissions.decided)
	if s.turn.stop != nil {
		s.turn.stop(errOver) // otherwise the lease would keep the context of every turn
	}
	*s.turn, s.recorder.transcript = turnRun{}, nil
}

// enter writes the beginning of a turn and prompts the agent.
func (s *Session) enter(change *changeSet) state {
	change.to(domain.StatusWaiting, "")
	change.report(domain.DelegateUpdated{ExecutionID: s.execution.ID, Status: domain.StatusWaiting, Turn: s.progress.Turn.Number}, false)
	s.calls.deriveStatus(change) // an approval of an earlier driver may be open
	s.budget.settle(change)
	if err := s.recorder.commit(change); err != nil {
		return s.abandon(err)
	}
	return s.promptAgent()
}

// promptAgent prompts the agent of a turn whose beginning is in the log.
func (s *Session) promptAgent() state {
	if s.budget.spent != nil {
		return s.stopSpending
	}
	if err := s.agent.prompt(); err != nil {
		return s.abandon(err)
	}
	return s.readControl
}

// afterTurn continues after the agent has ended its turn: with the next prompt, with waiting for one, or with the end of the
// execution. A request to cancel that came meanwhile goes first: some agents end a cancelled turn like any other, and some with an
// error.
func (s *Session) afterTurn() state {
	if s.turn.notPrompted() {
		return s.reopen
	}
	if s.control.readNew() != nil && s.recorder.held != nil { // the database is away, and the last words wait for it: a request to cancel that it has taken before goes first
		if err := s.recorder.writeHeld(); err != nil {
			return s.abandon(err)
		}
		_ = s.control.readNew() // a request that still cannot be read does not count: the turn has ended, and the store refuses an end that would lose a prompt
	}
	if s.control.requests.Cancel != nil {
		return s.end(s.control.cancellation())
	}
	if s.agent.providerFailed() {
		return s.interruptTurnOf(domain.CauseProvider, domain.FailureOf(s.turn.result.err))
	}
	if s.agent.budgetSpent() {
		return s.interruptSpent()
	}
	if s.budget.refuses(s.turn.result.err) {
		return s.fail(*s.budget.spent)
	}
	_ = s.delegates.read() // an older reading is good enough: later changes of the children wake this execution
	end := s.ending()
	s.budget.unmeasured()
	awaits := s.awaitsChildren(end)
	if wrong := s.recorder.unfit(end); wrong != "" && len(s.control.requests.Prompts) == 0 && !awaits {
		switch {
		case s.progress.Turn.Repair < maxRepairs && end.stop == domain.StopEndTurn && s.budget.spent == nil && s.engine.isDraining():
			return s.release() // the next driver asks again
		case s.progress.Turn.Repair < maxRepairs && end.stop == domain.StopEndTurn && s.budget.spent == nil:
			return s.repair(end.stop, wrong)
		}
		end = misfit(end.stop)
	}
	switch {
	case !s.goesOn(end):
		return s.end(end)
	case s.budget.spent != nil && !s.blocks.keeps() && (s.execution.Request.KeepOpen || len(s.control.requests.Prompts) > 0):
		return s.end(*s.budget.spent) // nothing is left for another turn
	case len(s.control.requests.Prompts) > 0:
		return s.endTurn(end, domain.StatusWaiting)
	case awaits:
		return s.endTurn(end, domain.StatusIdle)
	case s.execution.Request.KeepOpen && s.control.requests.Close == nil:
		return s.endTurn(end, domain.StatusIdle)
	default:
		return s.end(end)
	}
}

// awaitsChildren tells whether the execution continues after a turn with this end, because its children are not done.
func (s *Session) awaitsChildren(end outcome) bool {
	if end.status != domain.StatusCompleted || s.budget.spent != nil || s.control.requests.Close != nil {
		return false
	}
	return s.delegates.pending()
}

// reopen starts the agent's process again in the middle of its turn; the turn's clock goes on.
func (s *Session) reopen() state {
	s.turn.reaches(turnReopened)
	s.turn.stop(errOver)
	s.turn.stop, s.turn.result = nil, nil
	s.agent.close()
	change := s.recorder.begin()
	change.to(domain.StatusInitializing, domain.ReasonAgentExited)
	if err := s.recorder.commit(change); err != nil {
		return s.abandon(err)
	}
	s.agent.loading = s.recorder.agentSession
	return s.initializing
}

// ending is the end of the turn, as an outcome of the execution.
func (s *Session) ending() outcome {
	switch {
	case s.turn.stage == turnSuperseded:
		return outcome{status: domain.StatusCompleted, finish: domain.FinishCancelled, stop: domain.StopCancelled}
	case s.turn.result.err != nil && !s.turn.result.limited():
		return failed(domain.FailureOf(s.turn.result.err))
	case s.turn.result.err != nil:
		return stopped(s.turn.result.stop).because(domain.FailureOf(s.turn.result.err))
	case s.blocks.generates() && s.turn.result.stop == domain.StopEndTurn && !s.blocks.submitted():
		return failed(domain.Failure{Code: domain.CodeGenerationFailed, Message: "The model has not handed in any blocks."})
	case s.turn.result.stop == domain.StopCancelled && s.turn.stage == turnDenied: // some agents end so after a denied call
		return outcome{status: domain.StatusCompleted, finish: domain.FinishEndTurn, stop: domain.StopCancelled}
	default:
		return stopped(s.turn.result.stop)
	}
}

// goesOn tells whether another turn makes sense after such an end. A conversation that stays open survives every end of a turn: a
// limit, a refusal, and an agent that broke down, since the next prompt may work.
func (s *Session) goesOn(end outcome) bool {
	if s.blocks.generates() {
		return s.blocks.keeps()
	}
	return end.status == domain.StatusCompleted || s.execution.Request.KeepOpen
}

// endTurn ends the turn, and not the execution. The change is refused if a prompt comes in the same moment: then that prompt is
// next.
func (s *Session) endTurn(end outcome, next domain.Status) state {
	if err := s.endOpen(); err != nil {
		return s.abandon(err)
	}
	broke := s.agent.brokeDown()
	if err := s.recorder.attempt(func() *changeSet {
		change := s.closeTurn(end)
		if s.progress.Status == domain.StatusInitializing || s.progress.Status == domain.StatusInterrupted { // the agent could not be opened, or was not to continue
			change.to(domain.StatusWaiting, "")
		}
		change.resumed = s.control.requests.Resume != nil
		change.to(next, "")
		if next == domain.StatusIdle {
			s.delegates.endTurn(change)
		}
		switch {
		case next != domain.StatusIdle:
			change.keepResult(domain.StatusIdle, end)
		case !s.delegates.pending(): // otherwise it has a further turn
			change.reportRest(next, end, false)
		}
		return change
	}); err != nil {
		if domain.CodeOf(err) != domain.CodeStale || s.control.read() != nil {
			return s.abandon(err)
		}
		switch { // the reason of the refusal
		case s.clients.dropAnswered():
			return s.endTurn(end, next)
		case next == domain.StatusIdle && len(s.control.requests.Prompts) > 0 && s.turn.result != nil:
			return s.afterTurn
		default:
			return s.abandon(err)
		}
	}
	s.agent.exited = s.agent.exited || broke
	s.control.requests.Resume = nil
	s.forgetTurn()
	if next != domain.StatusIdle {
		return s.advance
	}
	return s.readControl
}

// endOpen prepares the end of a turn, in changes of its own: it releases the rests of texts, and withdraws the open questions.
func (s *Session) endOpen() error {
	if err := s.texts.releaseAll(); err != nil {
		return err
	}
	return s.permissions.withdrawAll()
}

// closeTurn makes the change that ends the turn, with everything in it that is open.
func (s *Session) closeTurn(end outcome) *changeSet {
	change := s.recorder.begin()
	change.advanced, change.at = true, s.recorder.clock.set() // the time of the turn is over
	s.texts.close(change, false)
	s.calls.close(change)
	change.emit(domain.TurnEnded{
		Turn: s.progress.Turn.Number, Usage: s.progress.Usage.Since(s.progress.Turn.Before), StopReason: cmp.Or(end.stop, domain.StopError), Error: end.failure,
	})
	return change
}

// idle: the turn is over, and there is no next prompt.
func (s *Session) idle() state {
	if s.agent.exited {
		s.agent.close()
	}
	switch {
	case s.engine.isDraining():
		return s.handOff
	case len(s.control.requests.Prompts) > 0:
		return s.advance
	case s.control.requests.Close != nil:
		return s.end(outcome{status: domain.StatusCompleted, finish: domain.FinishEndTurn})
	case s.delegates.returned():
		return s.advance
	case s.delegates.anyChild(live):
		return s.rest(0, nil)
	case len(s.progress.Delegates) > 0 && !s.execution.Request.KeepOpen: // its children have no results for it
		return s.end(outcome{status: domain.StatusCompleted, finish: domain.FinishEndTurn})
	}
	return s.rest(s.execution.Request.IdleTimeoutSeconds, func() state {
		return s.end(outcome{status: domain.StatusCompleted, finish: domain.FinishExpired})
	})
}
