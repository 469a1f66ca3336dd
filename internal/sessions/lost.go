package sessions

import (
	"slices"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/domain"
)

// Calls of our own agent that were running when their server stopped. What such a call has done, nobody knows who has not looked; so
// a person is asked, and the agent waits for it as for any other approval. Run again it is only by a new approval.

// consequential are the classes of calls that leave something behind. Of one that only reads the agent is told at once, and may
// read again.
var consequential = []domain.Class{domain.ClassWrite, domain.ClassExecute, domain.ClassNetwork, domain.ClassMCP}

// inquires tells whether somebody is to be asked what became of a call. An external agent is not there any more to wait for that,
// and of an unattended execution there is nobody to be asked.
func (s *Session) inquires(c *call) bool {
	return !s.external() && !s.execution.Request.Unattended && slices.Contains(consequential, c.Class)
}

// inquire asks what became of a call, and tells whether it could. From that event on the call is not running, in the log and here: the
// next driver finds the same question.
func (s *Session) inquire(d *draft, c *call) bool {
	hash, err := approvals.Hash(c.ToolCall, s.execution.Request.WorkingDirectory)
	if err != nil {
		return false
	}
	s.put(d, c, approvals.AskOutcome(s.execution, c.ToolCall, hash, c.logged().Since, s.approvalTimeout(), time.Now()))
	return true
}

// wished is the wish to have a lost call tried again, as far as it is known.
func (c *call) wished() domain.Decision {
	if c.retry == nil {
		return domain.Decision{}
	}
	return *c.retry
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

// unrepeated is the outcome of a lost call that the agent gives up: it cannot know what the first time has done.
func unrepeated(p domain.ToolCallCompleted) domain.ToolCallCompleted {
	why := domain.Failure{Code: domain.CodeToolFailed, Message: p.Output}
	if p.Error != nil {
		why = *p.Error
	}
	failure := approvals.NotRepeated(why)
	p.Outcome, p.Output, p.ModelOutput, p.Error = domain.OutcomeUnknown, failure.Message, "", &failure
	return p
}
