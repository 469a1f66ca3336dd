package sessions

import (
	"encoding/json"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/audit"
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
	failpoint.Hit(failpoint.SessionSettling)
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

// outdated tells whether a question about one of our own calls was about what the tool did before this server was updated: it
// was approved, or it was withdrawn when somebody tried to, see [approvals.Service.Decide].
func outdated(row domain.Approval, c *call) bool {
	return row.Status == domain.ApprovalCancelled || (row.Status == domain.ApprovalApproved && row.Call.Version != c.Version)
}

// edited forgets what the call would have done: with the decider's arguments it does something else, which the record
// must not call by the old name.
func (c *call) edited(arguments json.RawMessage) {
	c.Summary = "With arguments that the decider wrote: " + string(arguments)
	c.Action = domain.Action{}
}

// decidedBy tells who ended a question, for the record.
func decidedBy(row domain.Approval) audit.Provenance {
	came := audit.Provenance{
		DecidedBy: string(approvals.ByServer), Hash: row.ArgumentsHash, Channel: audit.BySession,
		AskedBy: row.AskedBy, AskedReason: row.Reason,
	}
	switch {
	case row.Status == domain.ApprovalExpired:
		came.DecidedBy = string(approvals.ByExpiry)
	case row.Decision == nil:
	case row.Decision.ByRule():
		came.DecidedBy, came.RuleID, came.Actor = string(approvals.ByRule), row.Decision.RuleID, &row.Decision.By
	default:
		came.DecidedBy, came.Reason, came.Actor = string(approvals.ByDecision), row.Decision.Reason, &row.Decision.By
		came.RuleID = row.Decision.RuleID
	}
	if row.Decision != nil && row.Decision.ArgumentsHash != "" {
		came.Hash = row.Decision.ArgumentsHash
	}
	return came
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

// expires is until when the call's question may be answered, a person's or the client's; nil where it may be at any time.
func (c *call) expires() *time.Time {
	switch {
	case c.approval != nil:
		return c.approval.Expires
	case c.awaitsClient():
		return c.client.Expires
	default:
		return nil
	}
}

// clockSkew is how long the session waits when its own clock is ahead of the database's, which alone decides.
const clockSkew = 200 * time.Millisecond

// expire ends the approvals whose time is over, each in a change of its own: one that was answered at the last moment
// must not keep the others open. What became of them is then read like any other decision.
func (s *Session) expire() state {
	now := time.Now()
	for _, c := range s.calls {
		if expires := c.expires(); expires == nil || expires.After(now) {
			continue
		}
		end := s.expireOne
		if c.approval == nil {
			end = s.expireClient
		}
		if err := end(c); err != nil {
			return s.abandon(err)
		}
		failpoint.Hit(failpoint.SessionExpired)
	}
	return s.sync
}

func (s *Session) expireOne(c *call) error {
	resolution, event := approvals.EndUndecided(*c.approval, domain.ApprovalExpired)
	d := &draft{}
	s.emit(d, event)
	change := d.change(s)
	change.Update, change.Resolve = nil, append(change.Resolve, resolution)
	again := time.Now().Add(clockSkew) // should it still be pending by the database's clock
	c.approval.Expires = &again
	failpoint.Hit(failpoint.SessionBeforeExpiry)
	return s.endWaiting(change)
}
