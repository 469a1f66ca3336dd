package sessions

import (
	"maps"
	"slices"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/domain"
	"signoff/internal/failpoint"
)

// How answers arrive, and how questions end that got none.

// decisions reads the approvals again and acts on those that are not pending any more.
func (s *Session) decisions() (*draft, error) {
	d := &draft{}
	s.judgePostponed(d)
	if err := s.clientAnswers(d); err != nil {
		return nil, err
	}
	if !s.anyCall(func(c *call) bool { return c.approval != nil }) {
		s.rules.behind = false
		s.derive(d) // a judgement that took a while may have let a call run
		return d, nil
	}
	if err := s.answerByRules(); err != nil {
		return nil, err
	}
	s.rules.behind = false
	ctx, cancel := s.reading()
	defer cancel()
	rows, err := s.deps.store.ApprovalsOf(ctx, s.execution.ID)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		c, open := s.calls[row.Call.ID]
		switch {
		case !open || c.approval == nil || c.approval.ID != row.ID || row.Status == domain.ApprovalPending:
		case c.ask == nil: // taken up, and our own agent has not come back to it yet
			c.approval, s.decided[c.ID] = nil, row
		default:
			s.settle(d, c, row)
		}
	}
	s.derive(d)
	return d, nil
}

// settle acts on a decided approval, with the row as the store holds it: what the agent asked for is not looked at
// again.
func (s *Session) settle(d *draft, c *call, row domain.Approval) {
	failpoint.Hit(failpoint.BeforeDecision)
	c.approval = nil
	if row.Kind == domain.ApprovalUnknownOutcome {
		s.resolve(d, c, row)
		return
	}
	if !c.lost() || row.Status == domain.ApprovalApproved { // who lets a call rest has not let it run the first time
		c.came = decidedBy(row)
	}
	switch {
	case c.ask.ours() && outdated(row, c):
		s.judge(d, c)
		return
	case row.Status != domain.ApprovalApproved:
		s.turnDown(d, c, row)
		return
	}
	arguments, err := approvals.Granted(row)
	if err != nil {
		s.refuse(d, c, domain.OutcomeFailed, domain.FailureOf(err))
		return
	}
	if row.Decision.Arguments != nil {
		c.edited(arguments)
	}
	c.Arguments = arguments
	s.start(d, c, domain.ToolCallStarted{
		ToolCallID: c.ID, Arguments: arguments, ApprovalID: row.ID, AllowedBy: c.came.DecidedBy, RuleID: c.came.RuleID,
	}, domain.Answer{Status: row.Status, OptionID: row.Decision.OptionID, Content: row.Decision.Answer})
}

// turnDown refuses a call as its approval ended. A person may have named the option that says no.
func (s *Session) turnDown(d *draft, c *call, row domain.Approval) {
	outcome, failure := approvals.Refusal(row)
	if row.Decision == nil {
		s.refuse(d, c, outcome, failure)
		return
	}
	s.refuseWith(d, c, outcome, failure, domain.Answer{Status: row.Status, OptionID: row.Decision.OptionID})
}

// nextExpiry rings when the first open approval expires; never where none does.
func (s *Session) nextExpiry() (<-chan time.Time, func() bool) {
	first := s.firstExpiry()
	if first == nil {
		return nil, func() bool { return false }
	}
	timer := time.NewTimer(time.Until(*first))
	return timer.C, timer.Stop
}

// firstExpiry is when the first open question expires; nil: never.
func (s *Session) firstExpiry() (first *time.Time) {
	for _, c := range s.calls {
		if expires := c.expires(); expires != nil && (first == nil || expires.Before(*first)) {
			first = expires
		}
	}
	return first
}

// resolve acts on what somebody has found out about a lost call. To run it again is another question: it is judged as if it were
// asked for anew, and never allowed without a person.
func (s *Session) resolve(d *draft, c *call, row domain.Approval) {
	if row.Decision != nil && row.Decision.Resolution == domain.ResolutionRetry {
		c.retry, d.advanced = row.Decision, true
		s.judge(d, c)
		return
	}
	s.refuse(d, c, domain.OutcomeUnknown, approvals.ReportedOutcome(row))
}

// judgePostponed judges what waits since the rules could not be read, and what took a while to judge.
func (s *Session) judgePostponed(d *draft) {
	for _, id := range slices.Sorted(maps.Keys(s.calls)) {
		if c := s.calls[id]; c != nil && c.unjudged && c.ask != nil {
			s.judge(d, c)
		}
	}
}

// clientAnswers acts on the calls that do not wait for the client any more. One that our agent has not come back to since a
// restart is left until it does: the answer is what it comes back for.
func (s *Session) clientAnswers(d *draft) error {
	if err := s.readClientCalls(); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(s.calls)) {
		if c := s.calls[id]; c.client != nil && c.ask != nil && !c.awaitsClient() {
			s.answered(d, c)
			s.derive(d)
		}
	}
	return nil
}

// readClientCalls brings the picture of the client's calls up to date. When they are to be ended again, this server knows better
// than the row where its clock is ahead.
func (s *Session) readClientCalls() error {
	var ids []string
	for id, c := range s.calls {
		if c.client != nil {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := s.reading()
	defer cancel()
	rows, err := s.deps.store.ClientCalls(ctx, s.execution.ID, ids...)
	if err != nil {
		return err
	}
	for _, row := range rows {
		c := s.calls[row.ToolCallID]
		if again := c.client.Expires; again != nil && row.Expires != nil && again.After(*row.Expires) {
			row.Expires = again
		}
		c.client = &row
	}
	return nil
}

// answered gives a call the outcome that its client has brought about.
func (s *Session) answered(d *draft, c *call) {
	done := c.clientOutcome()
	s.endOutput(d, c)
	d.advanced = true
	s.complete(d, c, done)
	s.endCall(c)
	s.reply(d, c, reply{grant: domain.Grant{Message: done.Output}})
}
