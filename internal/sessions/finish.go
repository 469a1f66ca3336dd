package sessions

import (
	"log/slog"
	"maps"
	"slices"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/failpoint"
	"signoff/internal/store"
)

func (s *Session) cancellation() outcome {
	return outcome{status: domain.StatusCancelled, finish: domain.FinishCancelled, stop: domain.StopCancelled, wish: s.control.requests.Cancel}
}

// silence stops the turn and takes what the agent still says, until it has returned or its grace is over. A partial
// answer is kept that way, and a call that was ended half-way can tell how.
func (s *Session) silence(why error) error {
	if s.turn.stop == nil || s.turn.result != nil {
		return nil
	}
	s.turn.stopping()
	s.turn.stop(why)
	grace := time.NewTimer(StopGrace)
	defer grace.Stop()
	for s.turn.result == nil {
		select {
		case <-s.inbox.bell:
			if err := s.takeIn(); err != nil {
				return err
			}
		case <-grace.C:
			slog.Error("agent did not return after its turn was stopped", "execution", s.execution.ID)
			return nil
		}
	}
	return nil
}

// finish writes the terminal event, after everything that was still open has been closed, in one commit. An approval
// that was decided or a prompt that came in the same instant makes the change fail; then it is looked at again.
func (s *Session) finish(end outcome) state {
	if err := s.releaseAll(); err != nil {
		return s.abandon(err)
	}
	for {
		judged, err := s.judged(end)
		if err == nil {
			err = s.attempt(func() *draft { return s.terminal(judged) })
		}
		if err == nil {
			return nil
		}
		queued := len(s.control.requests.Prompts)
		if domain.CodeOf(err) != domain.CodeStale || s.reread() != nil {
			return s.abandon(err)
		}
		decided := s.dropDecided() || s.dropAnswered() || s.acceptedMeanwhile()
		prompted := len(s.control.requests.Prompts) > queued
		switch {
		case prompted && end.status == domain.StatusCompleted && s.progress.Turn.Open:
			return s.conclude
		case prompted && end.status == domain.StatusCompleted:
			return s.idle
		case !prompted && !decided:
			return s.abandon(err)
		}
	}
}

// judged is an end in the light of what was accepted and of what was asked for: blocks that somebody has taken are a good end,
// whatever else was wanted since, and an answer that does not fit its schema is none.
func (s *Session) judged(end outcome) (outcome, error) {
	if s.keepsBlocks() {
		if err := s.readAcceptance(); err != nil {
			return end, err
		}
		if s.blocks.accepted {
			return outcome{status: domain.StatusCompleted, finish: domain.FinishEndTurn, stop: end.stop}, nil
		}
	}
	if s.execution.Request.OutputSchema == nil || end.status != domain.StatusCompleted {
		return end, nil
	}
	value, wrong := s.structured()
	if wrong != "" {
		return misfit(end.stop), nil
	}
	end.structured = value
	return end, nil
}

// acceptedMeanwhile tells whether the blocks were accepted while the end was written.
func (s *Session) acceptedMeanwhile() bool {
	before := s.blocks.accepted
	return s.keepsBlocks() && s.readAcceptance() == nil && s.blocks.accepted && !before
}

// giveUp ends a turn that cannot be gone on with, and with it the execution. Blocks that were handed in before stay for somebody to
// accept; only an agent that has not returned must not be left behind an execution that rests.
func (s *Session) giveUp(end outcome) state {
	switch {
	case !s.keepsBlocks() || (s.turn.stop != nil && s.turn.result == nil):
		return s.finish(end)
	case s.progress.Turn.Open:
		return s.endTurn(end, domain.StatusIdle)
	case len(s.control.requests.Prompts) == 0:
		return s.finish(end)
	}
	d := &draft{}
	if s.progress.Status != domain.StatusWaiting {
		s.to(d, domain.StatusWaiting, "")
	}
	s.startTurn(d)
	if err := s.commit(d); err != nil {
		return s.abandon(err)
	}
	return s.endTurn(end, domain.StatusIdle)
}

// terminal drafts the end.
func (s *Session) terminal(end outcome) *draft {
	if !s.progress.Status.CanBecome(end.status) {
		panic("sessions: no end as " + string(end.status) + " from " + string(s.progress.Status))
	}
	if end.failure != nil { // it may quote what a provider or an agent said; the row is shown like the event
		end.failure = &domain.Failure{Code: end.failure.Code, Message: s.deps.masker.MaskString(end.failure.Message)}
	}
	d := &draft{advanced: true}
	s.closeTexts(d, false)
	s.closeCalls(d)
	s.closeSubmitted(d, s.progress.Turn.Edits)
	if s.progress.Turn.Open && end.stop != "" {
		s.emit(d, domain.TurnEnded{Turn: s.progress.Turn.Number, StopReason: end.stop, Usage: s.progress.Usage.Since(s.progress.Turn.Before)})
	}
	for _, prompt := range s.control.requests.Prompts {
		d.dropped = append(d.dropped, prompt.ID)
		s.emit(d, domain.PromptDiscarded{PromptID: prompt.ID})
	}
	output := s.output(end)
	event := domain.ExecutionEnded{
		Status: end.status, FinishReason: end.finish, DurationSeconds: output.DurationSeconds, Usage: s.progress.Usage, Error: end.failure,
		Output: output.Shortened(),
	}
	if end.wish != nil {
		event.Reason, event.CancelledBy = end.wish.Reason, &end.wish.By
	}
	s.emit(d, event)
	d.audit = append(d.audit, s.endRecord(end))
	d.ended, d.output = &event, &output
	return d
}

// output is what has come of the execution, with the calls that end with it.
func (s *Session) output(end outcome) domain.Output {
	success := end.status == domain.StatusCompleted
	text, cut := s.progress.Said.Last(success)
	return domain.Output{
		Text: text, Truncated: cut, Success: success, FinishReason: end.finish,
		DurationSeconds: domain.Seconds(time.Since(s.execution.Created)), Error: end.failure, TokenUsage: s.progress.Usage,
		Structured: end.structured, ToolCallsExecuted: append([]domain.ExecutedToolCall{}, s.progress.Executed...), // none is an empty list
	}
}

// endRecord puts the end on record.
func (s *Session) endRecord(end outcome) domain.AuditRecord {
	record := domain.AuditRecord{
		Action: "execution.ended", Execution: s.execution.ID, RunbookID: s.execution.Request.RunbookID,
		Subject: string(s.execution.ID), Channel: audit.BySession, Outcome: string(end.status), Reason: string(end.finish),
	}
	if end.failure != nil {
		record.Summary = end.failure.Message
	}
	if end.wish != nil {
		record.Actor = &end.wish.By
	}
	return record
}

// closeCalls gives every open call its outcome and withdraws what people were asked.
func (s *Session) closeCalls(d *draft) {
	for _, id := range slices.Sorted(maps.Keys(s.calls)) {
		c := s.calls[id]
		switch {
		case c.generation() > 0:
			continue // it outlives its turn
		case c.awaitsClient():
			d.closing = append(d.closing, store.ClientClosing{
				ToolCallID: id, To: domain.ClientCallCancelled,
			})
		case c.approval != nil:
			s.retract(d, *c.approval)
		}
		if !c.lost() && (c.approval != nil || !c.running()) {
			c.came.DecidedBy, c.came.RuleID, c.came.Reason = string(approvals.ByServer), "", ""
		}
		s.complete(d, c, s.lastOutcome(c))
	}
}

// closeSubmitted ends the call that has handed in blocks: what came of them is known now. The turn changes the generation edits; 0: none.
func (s *Session) closeSubmitted(d *draft, edits int) {
	for _, id := range slices.Sorted(maps.Keys(s.calls)) {
		if c := s.calls[id]; c.generation() > 0 {
			s.complete(d, c, s.submittedOutcome(c, edits))
		}
	}
}

// lastOutcome is the outcome of a call that the end of the execution overtakes. Only where the agent has not returned can
// the call still be running.
func (s *Session) lastOutcome(c *call) domain.ToolCallCompleted {
	outcome, failure := domain.OutcomeCancelled, domain.Failure{Code: domain.CodeCancelled, Message: "The turn ended before this call ran."}
	switch {
	case c.client != nil:
		return c.clientOutcome()
	case c.refusal != nil:
		outcome, failure = c.refusal.outcome, c.refusal.failure
	case c.running() && (s.unaccounted() || !s.progress.Turn.Open):
		outcome = domain.OutcomeUnknown
		failure = domain.Failure{Code: domain.CodeOutcomeUnknown, Message: leftOpen}
	case c.running() && s.turn.result == nil:
		outcome = domain.OutcomeUnknown
		failure = approvals.OutcomeUnknown()
	case c.running():
		failure.Message = "The turn ended while this call was running; it was stopped."
	case c.lost():
		outcome, failure = domain.OutcomeUnknown, approvals.OutcomeUnknown()
	}
	return domain.ToolCallCompleted{ToolCallID: c.ID, Outcome: outcome, Output: failure.Message, Error: &failure}
}

const leftOpen = "The agent ended its turn without saying what became of this call: it may have run, in part or in full."

// unaccounted tells whether an external agent has ended its turn by itself, so that a call which it left open was not
// stopped by anybody.
func (s *Session) unaccounted() bool {
	return s.external() && s.turn.result != nil && !s.turn.stopped()
}

// dropDecided forgets approvals that were decided while the end was written. It tells whether there were any: if
// not, the change was refused for another reason.
func (s *Session) dropDecided() bool {
	ctx, cancel := s.reading()
	defer cancel()
	rows, err := s.deps.store.ApprovalsOf(ctx, s.execution.ID)
	if err != nil {
		return false
	}
	dropped := false
	for _, row := range rows {
		c, open := s.calls[row.Call.ID]
		if open && c.approval != nil && c.approval.ID == row.ID && row.Status != domain.ApprovalPending {
			c.approval, dropped = nil, true
		}
	}
	return dropped
}

// dropAnswered notes the answers of the client that came while the end was written, and tells whether there were any.
func (s *Session) dropAnswered() bool {
	waiting := func() (n int) {
		for _, c := range s.calls {
			if c.awaitsClient() {
				n++
			}
		}
		return n
	}
	before := waiting()
	return before > 0 && s.readClientCalls() == nil && waiting() < before
}

// handOver lets go of the execution for a server that shuts down. A call that runs may come to its end first; no new
// one begins. Nothing is booked as failed: the log stays as it is, and whoever claims the execution goes on from it.
func (s *Session) handOver() state {
	failpoint.Hit(failpoint.BeforeHandOff)
	s.turn.reaches(turnHandsOver)
	deadline := time.NewTimer(s.deps.drainGrace)
	defer deadline.Stop()
	for s.turn.result == nil && s.anyCall((*call).runsHere) {
		select {
		case <-s.inbox.bell:
			if err := s.takeIn(); err != nil {
				return s.abandon(err)
			}
			continue
		case <-deadline.C:
		case <-s.claim.lease.Done():
		}
		break
	}
	if err := s.silence(errDrain); err != nil {
		return s.abandon(err)
	}
	if err := s.releaseAll(); err != nil {
		return s.abandon(err)
	}
	if s.cameToItsEnd() {
		return s.conclude
	}
	return s.giveBack()
}

// giveBack lets go of the execution as it stands.
func (s *Session) giveBack() state {
	if err := s.tellHeld(); err != nil {
		return s.abandon(err)
	}
	failpoint.Hit(failpoint.BeforeSessionRelease)
	s.claim.released = true
	return nil
}
