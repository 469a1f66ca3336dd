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
	return !s.recorder.external() && !s.execution.Request.Unattended && slices.Contains(consequential, c.Class)
}

// inquire asks what became of a call, and tells whether it could. From that event on the call is not running, in the log and here: the
// next driver finds the same question.
func (s *Session) inquire(change *changeSet, c *call) bool {
	hash, err := approvals.Hash(c.ToolCall, s.execution.Request.WorkingDirectory)
	if err != nil {
		return false
	}
	s.put(change, c, approvals.AskOutcome(*s.execution, c.ToolCall, hash, c.logged().Since, s.approvalTimeout(), time.Now()))
	return true
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
