package sessions

import (
	"encoding/json"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/audit"
	"signoff/internal/domain"
)

// call is a tool call without an outcome.
type call struct {
	domain.ToolCall                    // as it was asked about last
	of              *domain.Progress   // the session's
	ask             *ask               // the agent waits for an answer
	unjudged        bool               // the policy has not said yet what becomes of it
	judging         *judging           // it is being judged; nil otherwise
	judgedBy        []string           // ids of the rules that it was judged by last
	came            audit.Provenance   // who or what let it run, or did not
	approval        *domain.Approval   // a person is asked
	slot            *slot              // of a command that runs, or waits for it
	delayed         *delayed           // the start of a command that waits for its slot
	client          *domain.ClientCall // the client runs it
	refusal         *refusal           // of a call that an external agent began before it asked
	retry           *domain.Decision   // of a lost one: who wants it tried again
}

// refusal is the outcome of a call that was refused, should its agent not say that it has succeeded all the same.
type refusal struct {
	outcome domain.Outcome
	failure domain.Failure
}

// delayed is a start that waits for a slot.
type delayed struct {
	started domain.ToolCallStarted
	answer  domain.Answer
}

// logged is what the log tells of the call; the zero value where it has its outcome.
func (c *call) logged() domain.OpenCall {
	if open := c.of.Calls[c.ID]; open != nil {
		return *open
	}
	return domain.OpenCall{}
}

// running tells whether the call has started.
func (c *call) running() bool { return c.logged().Running }

// outcomeUnknown tells whether its server stopped while it ran, and it has not started again.
func (c *call) outcomeUnknown() bool { return c.logged().Lost }

// generation is the one that it has handed in; 0: none.
func (c *call) generation() int { return c.logged().Generation }

// runsHere tells whether the server or its agent is at work on the call.
func (c *call) runsHere() bool { return c.running() && !c.awaitsClient() }

// awaitsClient tells whether only the client can bring the call any further.
func (c *call) awaitsClient() bool {
	return c.client != nil && c.client.State == domain.ClientCallWaiting
}

// awaitsSlot tells whether the call is allowed, and only a slot is missing.
func (c *call) awaitsSlot() bool { return c.delayed != nil }

// waits tells whether a person or the client is to answer.
func (c *call) waits() bool { return c.approval != nil || c.awaitsClient() }

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

// releaseSlot gives back the slot of a call that does not run, or not any more.
func (c *call) releaseSlot() {
	c.slot.release()
	c.slot, c.delayed = nil, nil
}

// edited forgets what the call would have done: with the decider's arguments it does something else, which the record
// must not call by the old name.
func (c *call) edited(arguments json.RawMessage) {
	c.Summary = "With arguments that the decider wrote: " + string(arguments)
	c.Action = domain.Action{}
}

// retryDecision is the wish to have a lost call tried again, as far as it is known.
func (c *call) retryDecision() domain.Decision {
	if c.retry == nil {
		return domain.Decision{}
	}
	return *c.retry
}

// clientOutcome is what became of a call that does not wait any more.
func (c *call) clientOutcome() domain.ToolCallCompleted {
	done := domain.ToolCallCompleted{ToolCallID: c.ID, Outcome: domain.OutcomeSucceeded}
	fail := func(outcome domain.Outcome, code domain.Code, message string) {
		done.Outcome, done.Output, done.Error = outcome, message, &domain.Failure{Code: code, Message: message}
	}
	switch answer := c.client.Answer; {
	case c.client.State == domain.ClientCallExpired:
		fail(domain.OutcomeExpired, domain.CodeClientTimedOut, "The client did not answer this call in time.")
	case answer == nil:
		fail(domain.OutcomeCancelled, domain.CodeCancelled, "The turn ended before the client answered this call.")
	case answer.Error != "":
		fail(domain.OutcomeFailed, domain.CodeClientFailed, answer.Error)
	default:
		done.Output = answer.Output
	}
	return done
}

// answerable tells whether a rule can answer the call's question at all: what one answers in words, or has to look up, none can.
func (c *call) answerable() bool {
	return c.approval.Kind != domain.ApprovalQuestion && c.approval.Kind != domain.ApprovalUnknownOutcome
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

// recalled is how a call came to run as far as the log tells; the approvals may tell more.
func recalled(open domain.OpenCall) audit.Provenance {
	came := audit.Provenance{DecidedBy: open.AllowedBy, RuleID: open.RuleID, Channel: audit.BySession}
	switch came.DecidedBy {
	case "":
		came.DecidedBy = string(approvals.ByServer)
	case string(approvals.ByAgent):
		came.Channel = audit.ByAgent
	}
	return came
}

// outdated tells whether a question about one of our own calls was about what the tool did before this server was updated: it
// was approved, or it was withdrawn when somebody tried to, see [approvals.Service.Decide].
func outdated(row domain.Approval, c *call) bool {
	return row.Status == domain.ApprovalCancelled || (row.Status == domain.ApprovalApproved && row.Call.Version != c.Version)
}

// confinedBy is the name of the sandbox that confines the call where it is a command that we run; empty otherwise. Everybody who looks at
// the call sees it.
func (c *call) confinedBy(sandbox Sandbox) string {
	if c.Class == domain.ClassExecute && c.ask != nil && c.ask.ours() && !c.ask.client {
		return sandbox.Name()
	}
	return ""
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
