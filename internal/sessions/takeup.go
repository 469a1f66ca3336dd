package sessions

import (
	"context"
	"slices"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/failpoint"
)

// takeUp is the first state of an execution that an earlier driver left. What it left open is closed as what it is:
// a message that broke off is interrupted, and what became of a call that may have run is asked or unknown.
func (s *Session) takeUp() state {
	failpoint.Hit(failpoint.BeforeRecovery)
	if broken, err := s.remember(); err != nil {
		if broken {
			return s.finish(failed(domain.FailureOf(err)))
		}
		return s.abandon(err) // it is claimed again in a while
	}
	if s.onlyWaits() {
		return s.waitOn
	}
	s.engine.dispatch.Recovered(s)
	failpoint.Hit(failpoint.AfterRecovery)
	switch {
	case s.control.requests.Cancel != nil:
		return s.finish(s.control.cancellation())
	case s.progress.Status == domain.StatusIdle || s.progress.Status == domain.StatusInterrupted:
		return s.rested
	}
	if s.progress.Turn.Number == 0 { // its first driver may have left before it looked
		return s.settling(s.goOnWithTurn)
	}
	return s.goOnWithTurn
}

// rested goes on with an execution that has no process, and needs none before somebody wants something of it. It can get no further
// until then, so no recovery of it is in vain.
func (s *Session) rested() state {
	s.recorder.transcript = nil // nobody needs it before somebody prompts
	if s.execution.Recovery > 0 {
		change := s.recorder.begin()
		change.advanced = true
		if err := s.recorder.commit(change); err != nil {
			return s.abandon(err)
		}
	}
	return s.sync
}

// goOnWithTurn closes what broke off, and takes the turn up again where that is safe.
func (s *Session) goOnWithTurn() state {
	change := s.recorder.begin()
	why := s.obstacle()
	if why == nil || s.progress.Status == domain.StatusQueued {
		change.to(domain.StatusInitializing, s.takenUpAs())
	}
	s.texts.close(change, false)
	s.permissions.closeLost(change)
	change.advanced = false // closing what is broken is no progress
	if why != nil {
		return s.interrupt(change, *why)
	}
	if err := s.recorder.commit(change); err != nil {
		return s.abandon(err)
	}
	if s.progress.Turn.Number > 0 {
		s.agent.loading = s.recorder.agentSession
	}
	if s.recorder.external() && s.progress.Turn.Open {
		s.turn.continued = s.continuation(domain.ResumeLoad)
	}
	return s.initializing
}

// takenUpAs is the reason that the log gives for the beginning of another driver.
func (s *Session) takenUpAs() string {
	switch {
	case s.progress.Status == domain.StatusQueued && s.progress.Turn.Number == 0:
		return "" // it was to begin here
	case s.execution.Recovery > 0:
		return "recovered"
	default: // it was parked, or handed over
		return "takenUp"
	}
}

// obstacle is why the execution cannot simply go on; nil where it can.
func (s *Session) obstacle() *interruption {
	if reason := s.processLost(); reason != "" {
		why := processGone(reason)
		return &why
	}
	if s.exhausted() {
		return s.notRecovered()
	}
	return nil
}

// processLost is why a turn of an external agent cannot simply go on. Our own agent asks before it repeats a call; an
// external one is asked nothing by anybody, so a person is. One that had not said a word may have heard its prompt all
// the same, and have done half of it: some agents act unasked, and tell of it later.
func (s *Session) processLost() string {
	if !s.recorder.external() || !s.progress.Turn.Open {
		return ""
	}
	if s.recorder.agentSession == "" {
		return "The agent's process was lost in the middle of its turn. " + cannotLoad
	}
	if s.calls.any(func(c *call) bool { return c.running() }) {
		return "The agent's process was lost while a call was running, which may have run in part or in full."
	}
	return ""
}

const cannotLoad = "The agent cannot take up a session of an earlier process."

// remember reads the log of an execution that is taken up, and the rows beside it. A log that is broken, and not only out of reach, will
// be the next time, too.
func (s *Session) remember() (broken bool, err error) {
	if broken, err = s.recorder.replay(domain.NewTranscript()); err != nil {
		return broken, err
	}
	s.calls.attach()
	ctx, cancel := s.claim.reading()
	defer cancel()
	if s.control.requests, err = s.engine.store.ControlRequests(ctx, s.execution.ID); err != nil {
		return false, err
	}
	if err := s.clients.read(); err != nil {
		return false, err
	}
	if s.blocks.document, err = s.engine.store.EditedDocument(ctx, s.execution.ID); err != nil {
		return false, err
	}
	rows, err := s.engine.store.ApprovalsOf(ctx, s.execution.ID)
	if err != nil {
		return false, err
	}
	for _, row := range rows {
		s.permissions.recall(row)
	}
	return false, nil
}

// history is what the agent starts from: what the client brought along, and what is in the log.
func (s *Session) history() ([]domain.Message, error) {
	var history []domain.Message
	for _, m := range slices.Concat(s.execution.Request.Context, s.execution.Request.Messages) {
		history = append(history, domain.Message{Role: m.Role, Text: m.Content})
	}
	if prompt := s.execution.Request.Prompt; strings.TrimSpace(prompt) != "" {
		history = append(history, domain.Message{Role: domain.RoleUser, Text: prompt})
	}
	if s.recorder.transcript == nil && s.progress.Turn.Number == 1 && s.turn.continued == nil {
		return history, nil
	}
	if s.recorder.transcript == nil {
		if err := s.recorder.readTranscript(); err != nil {
			return nil, err
		}
	}
	return append(history, s.recorder.transcript.Messages()...), nil
}

// agentLog reads what was logged of the agent's session: by the executions that it was taken over from, and by this one.
func (s *Session) agentLog() domain.AgentLog {
	logs, execution := s.engine.store, *s.execution
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
