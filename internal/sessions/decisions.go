package sessions

import (
	"maps"
	"slices"

	"signoff/internal/approvals"
	"signoff/internal/domain"
	"signoff/internal/failpoint"
)

// How answers arrive, and how questions end that got none.

// decisions reads the approvals again and acts on those that are not pending any more.
func (s *Session) decisions() (*changeSet, error) {
	change := s.recorder.begin()
	s.judgePostponed(change)
	if err := s.clientAnswers(change); err != nil {
		return nil, err
	}
	if !s.calls.any(func(c *call) bool { return c.approval != nil }) {
		s.rules.behind = false
		s.calls.deriveStatus(change) // a judgement that took a while may have let a call run
		return change, nil
	}
	if err := s.answerByRules(); err != nil {
		return nil, err
	}
	s.rules.behind = false
	ctx, cancel := s.claim.reading()
	defer cancel()
	rows, err := s.engine.store.ApprovalsOf(ctx, s.execution.ID)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		c, open := s.calls.open[row.Call.ID]
		switch {
		case !open || c.approval == nil || c.approval.ID != row.ID || row.Status == domain.ApprovalPending:
		case c.ask == nil: // taken up, and our own agent has not come back to it yet
			c.approval, s.decided[c.ID] = nil, row
		default:
			s.settle(change, c, row)
		}
	}
	s.calls.deriveStatus(change)
	return change, nil
}

// settle acts on a decided approval, with the row as the store holds it: what the agent asked for is not looked at
// again.
func (s *Session) settle(change *changeSet, c *call, row domain.Approval) {
	failpoint.Hit(failpoint.BeforeDecision)
	c.approval = nil
	if row.Kind == domain.ApprovalUnknownOutcome {
		s.resolve(change, c, row)
		return
	}
	if !c.lost() || row.Status == domain.ApprovalApproved { // who lets a call rest has not let it run the first time
		c.came = decidedBy(row)
	}
	switch {
	case c.ask.ours() && outdated(row, c):
		s.judge(change, c)
		return
	case row.Status != domain.ApprovalApproved:
		s.turnDown(change, c, row)
		return
	}
	arguments, err := approvals.Granted(row)
	if err != nil {
		s.refuse(change, c, domain.OutcomeFailed, domain.FailureOf(err))
		return
	}
	if row.Decision.Arguments != nil {
		c.edited(arguments)
	}
	c.Arguments = arguments
	s.start(change, c, domain.ToolCallStarted{
		ToolCallID: c.ID, Arguments: arguments, ApprovalID: row.ID, AllowedBy: c.came.DecidedBy, RuleID: c.came.RuleID,
	}, domain.Answer{Status: row.Status, OptionID: row.Decision.OptionID, Content: row.Decision.Answer})
}

// turnDown refuses a call as its approval ended. A person may have named the option that says no.
func (s *Session) turnDown(change *changeSet, c *call, row domain.Approval) {
	outcome, failure := approvals.Refusal(row)
	if row.Decision == nil {
		s.refuse(change, c, outcome, failure)
		return
	}
	s.refuseWith(change, c, outcome, failure, domain.Answer{Status: row.Status, OptionID: row.Decision.OptionID})
}

// resolve acts on what somebody has found out about a lost call. To run it again is another question: it is judged as if it were
// asked for anew, and never allowed without a person.
func (s *Session) resolve(change *changeSet, c *call, row domain.Approval) {
	if row.Decision != nil && row.Decision.Resolution == domain.ResolutionRetry {
		c.retry, change.advanced = row.Decision, true
		s.judge(change, c)
		return
	}
	s.refuse(change, c, domain.OutcomeUnknown, approvals.ReportedOutcome(row))
}

// judgePostponed judges what waits since the rules could not be read, and what took a while to judge.
func (s *Session) judgePostponed(change *changeSet) {
	for _, id := range slices.Sorted(maps.Keys(s.calls.open)) {
		if c := s.calls.open[id]; c != nil && c.unjudged && c.ask != nil {
			s.judge(change, c)
		}
	}
}

// clientAnswers acts on the calls that do not wait for the client any more. One that our agent has not come back to since a
// restart is left until it does: the answer is what it comes back for.
func (s *Session) clientAnswers(change *changeSet) error {
	if err := s.readClientCalls(); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(s.calls.open)) {
		if c := s.calls.open[id]; c.client != nil && c.ask != nil && !c.awaitsClient() {
			s.answered(change, c)
			s.calls.deriveStatus(change)
		}
	}
	return nil
}

// readClientCalls brings the picture of the client's calls up to date. When they are to be ended again, this server knows better
// than the row where its clock is ahead.
func (s *Session) readClientCalls() error {
	var ids []string
	for id, c := range s.calls.open {
		if c.client != nil {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := s.claim.reading()
	defer cancel()
	rows, err := s.engine.store.ClientCalls(ctx, s.execution.ID, ids...)
	if err != nil {
		return err
	}
	for _, row := range rows {
		c := s.calls.open[row.ToolCallID]
		if again := c.client.Expires; again != nil && row.Expires != nil && again.After(*row.Expires) {
			row.Expires = again
		}
		c.client = &row
	}
	return nil
}

// answered gives a call the outcome that its client has brought about.
func (s *Session) answered(change *changeSet, c *call) {
	done := c.clientOutcome()
	s.calls.endOutput(change, c)
	change.advanced = true
	change.complete(c, done)
	s.calls.forget(c)
	change.reply(c, reply{grant: domain.Grant{Message: done.Output}})
}
