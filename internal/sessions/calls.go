package sessions

import (
	"time"

	"signoff/internal/approvals"
	"signoff/internal/domain"
)

// nobody will answer: the call was judged before, or the turn is over.
var nobody = reply{
	grant:  domain.Grant{Message: "This call was judged before, or comes too late."},
	answer: domain.Answer{Status: domain.ApprovalCancelled},
}

// ask opens an approval. The session counts it as open before anybody can see it, so an answer that comes at once
// finds its waiter.
func (s *Session) ask(change *changeSet, c *call, hash string, judgement approvals.Judgement) {
	question := c.ask.Question
	question.Call = c.ToolCall
	approval := approvals.New(*s.execution, question, hash, judgement, s.approvalTimeout(), time.Now())
	if s.recorder.hides(c.Action.Command) { // a rule would show the secret, and mean another command
		approval.RememberOptions = approval.RememberOptions[:1]
	}
	s.put(change, c, approval)
}

// put writes a question down.
func (s *Session) put(change *changeSet, c *call, approval domain.Approval) {
	c.vacate()
	approval.Isolation = s.isolation(c, approval.Kind)
	c.approval = &approval
	s.calls.deriveStatus(change)
	change.asked = append(change.asked, approval)
	requested := approvals.Requested(approval)
	requested.Sandbox = s.confines(c)
	change.emit(requested)
}

// approvalTimeout is how long a question stays open; 0 is for ever.
func (s *Session) approvalTimeout() time.Duration {
	return time.Duration(s.execution.Request.ApprovalTimeoutSeconds) * time.Second
}

// confines is the sandbox of a command that we run; everybody who looks at it sees whether there are walls.
func (s *Session) confines(c *call) string {
	if c.Class == domain.ClassExecute && c.ask != nil && c.ask.ours() && !c.ask.client {
		return s.engine.sandbox.Name()
	}
	return ""
}

// isolation is what would confine the call, for a person to see; nil where it runs no program.
func (s *Session) isolation(c *call, kind domain.ApprovalKind) *domain.Isolation {
	name := s.confines(c)
	switch {
	case kind == domain.ApprovalAgentPermission, name == unconfined: // an agent runs what it asks about itself
		return &domain.Isolation{Name: domain.IsolationNone}
	case name == "":
		return nil
	default:
		return &domain.Isolation{Name: name}
	}
}

// start lets a call run, once its start is in the log; a command waits for its place before that. One that an external agent has begun before it asked has no
// second start.
func (s *Session) start(change *changeSet, c *call, started domain.ToolCallStarted, answer domain.Answer) {
	started.Version = c.Version
	if c.ask.client {
		s.hand(change, c, started)
		return
	}
	if s.delay(change, c, started, answer) {
		return
	}
	if !c.running() {
		started.Sandbox = s.confines(c)
		change.emit(started)
	}
	c.approval, c.refusal = nil, nil
	change.reply(c, reply{grant: domain.Grant{
		Allowed: true, Arguments: started.Arguments, Approved: started.AllowedBy == string(approvals.ByDecision),
	}, answer: answer})
}

// refuse gives a call its outcome without running it; the model reads the failure's message as the result.
func (s *Session) refuse(change *changeSet, c *call, outcome domain.Outcome, failure domain.Failure) {
	answer := domain.Answer{Status: refusedAs[outcome]}
	if c.ask != nil && answer.Status != domain.ApprovalCancelled {
		answer.OptionID = approvals.RefusingOption(approvals.Options(c.ask.Options))
	}
	s.refuseWith(change, c, outcome, failure, answer)
}

// refusedAs is what an external agent is told in place of an outcome.
var refusedAs = map[domain.Outcome]domain.ApprovalStatus{
	domain.OutcomeDenied: domain.ApprovalDenied, domain.OutcomeFailed: domain.ApprovalDenied, domain.OutcomeExpired: domain.ApprovalExpired,
	domain.OutcomeCancelled: domain.ApprovalCancelled, domain.OutcomeUnknown: domain.ApprovalCancelled,
}

// refuseWith ends a call that does not run. Some external agents say that a call has begun and ask only then: what
// becomes of such a one is theirs to say, but where they say that it failed, or say nothing, it was refused.
func (s *Session) refuseWith(change *changeSet, c *call, outcome domain.Outcome, failure domain.Failure, answer domain.Answer) {
	if c.lost() { // that it did not run again says nothing of the first time
		outcome, failure = domain.OutcomeUnknown, approvals.NotRepeated(failure)
	}
	if answer.Status == domain.ApprovalDenied || answer.Status == domain.ApprovalExpired {
		s.turn.reaches(turnDenied)
	}
	answer.Message = failure.Message
	if c.running() && c.ask != nil && !c.ask.ours() {
		c.refusal = &refusal{outcome, failure}
		change.reply(c, reply{answer: answer})
		return
	}
	s.calls.endOutput(change, c)
	change.advanced = true
	change.complete(c, domain.ToolCallCompleted{ToolCallID: c.ID, Outcome: outcome, Output: failure.Message, Error: &failure})
	s.calls.forget(c)
	change.reply(c, reply{grant: domain.Grant{Message: failure.Message}, answer: answer})
}

// hand leaves a call that may run to the client. Such a call is judged like any other; what starts is that the client is asked. Its answer is
// a row, like a decision, and so neither the question nor the answer is lost with a process. Whoever asked for it goes on waiting.
func (s *Session) hand(change *changeSet, c *call, started domain.ToolCallStarted) {
	waiting := domain.ClientCall{
		Execution: s.execution.ID, ToolCallID: c.ID, Tool: c.Tool, Arguments: s.engine.masker.JSON(started.Arguments),
		State: domain.ClientCallWaiting, Asked: time.Now().UTC().Truncate(time.Microsecond),
	}
	if seconds := s.execution.Request.ApprovalTimeoutSeconds; seconds > 0 {
		expires := waiting.Asked.Add(time.Duration(seconds) * time.Second)
		waiting.Expires = &expires
	}
	started.Awaits, started.ExpiresAt = domain.AwaitsClient, waiting.Expires
	change.emit(started)
	change.handed = append(change.handed, waiting)
	c.approval, c.client = nil, &waiting
}

// delay has a command wait for a slot, and tells whether it must. From here on it needs no answer any more.
func (s *Session) delay(change *changeSet, c *call, started domain.ToolCallStarted, answer domain.Answer) bool {
	if s.confines(c) == "" || c.running() {
		return false
	}
	if c.slot == nil {
		id := c.ID
		c.slot = s.engine.commands.request(s.execution.Tenant, s.execution.ID, func() {
			_ = s.inbox.put(item{slotGiven: id}) // refused only where the session is over, which gives the slot back
		})
	}
	if c.slot.isGiven() {
		return false
	}
	c.approval, c.delayed = nil, &delayed{started, answer}
	change.emit(domain.ToolCallQueued{ToolCallID: c.ID})
	return true
}
