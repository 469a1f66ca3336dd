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
	domain.ToolCall                    // as the agent asked about it last
	of              *domain.Progress   // the session's
	ask             *ask               // nil: the agent does not wait for an answer
	unjudged        bool               // the policy has not judged it yet
	judging         *judging           // the judgement that is under way; nil: none
	judgedBy        []string           // what its last judgement depends on: ids of rules, and the pin
	pin             *domain.MCPPin     // of the tool of an MCP server, as it was last read; nil: there is none
	came            audit.Provenance   // who or what let it run, or refused it
	editor          *domain.Actor      // who has changed its arguments; nil: nobody, or it is in the log
	approval        *domain.Approval   // the question to a person; nil: none
	slot            *slot              // of a command that runs, or waits for it
	delayed         *delayed           // the start of a command that waits for its slot
	client          *domain.ClientCall // of a call that the client runs
	refusal         *refusal           // of a call that an external agent began before it asked
	retry           *domain.Decision   // of a call of unknown outcome: the decision to try it again
	undelivered     bool               // its message may not have reached the child yet
	repeat          json.RawMessage    // of a paused call: what its request is repeated with
}

// refusal is the outcome of a refused call, unless its agent reports that it has succeeded all the same.
type refusal struct {
	outcome domain.Outcome
	failure domain.Failure
}

// delayed is a start that waits for a slot.
type delayed struct {
	started domain.ToolCallStarted
	answer  domain.Answer
}

// logged is the call as the log has it; the zero value if it has its outcome.
func (c *call) logged() domain.OpenCall {
	if open := c.of.Calls[c.ID]; open != nil {
		return *open
	}
	return domain.OpenCall{}
}

// running tells whether the call has started.
func (c *call) running() bool { return c.logged().Running }

// outcomeUnknown tells whether its server stopped while the call ran, and it has not started again.
func (c *call) outcomeUnknown() bool { return c.logged().Lost }

// paused tells whether the call has started, and does not run until the answer to a question of its MCP server starts it again.
func (c *call) paused() bool { return c.logged().Paused }

// inquires tells whether the MCP server of the call asks.
func (c *call) inquires() bool { return c.paused() || c.ask != nil && c.ask.inquires }

// generation is the number of the blocks that it has handed in; 0: none.
func (c *call) generation() int { return c.logged().Generation }

// runsHere tells whether the server or its agent is at work on the call.
func (c *call) runsHere() bool { return c.running() && !c.awaitsClient() && !c.awaitsDelegate() }

// awaitsDelegate tells whether the call waits for children.
func (c *call) awaitsDelegate() bool {
	open := c.logged()
	return open.Running && open.Awaits == domain.AwaitsDelegate
}

// awaitsClient tells whether only the client can bring the call any further.
func (c *call) awaitsClient() bool {
	return c.client != nil && c.client.State == domain.ClientCallWaiting
}

// awaitsSlot tells whether the call is allowed, and waits only for a slot.
func (c *call) awaitsSlot() bool { return c.delayed != nil }

// waits tells whether a person, the client or a child has to answer.
func (c *call) waits() bool { return c.approval != nil || c.awaitsClient() || c.awaitsDelegate() }

// expires is the time at which the question to a person or to the client expires; nil: never, or there is no question.
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

// releaseSlot releases the slot of a call that does not run, or has ended.
func (c *call) releaseSlot() {
	c.slot.release()
	c.slot, c.delayed = nil, nil
}

// edited drops the summary and the action: with the decider's arguments the call does something else, and the record must not
// describe it as before.
func (c *call) edited(arguments json.RawMessage) {
	c.Summary = "With arguments that the decider wrote: " + string(arguments)
	c.Action = domain.Action{}
}

// editedBy is who has changed the arguments that the model wrote; nil: nobody.
func (c *call) editedBy() *domain.Actor {
	if c.editor != nil {
		return c.editor
	}
	return c.logged().EditedBy
}

// note tells the model of a call that has started with other arguments than it wrote; empty for any other call.
func (c *call) note() string {
	open := c.logged()
	return domain.EditNote(open.EditedBy, open.Call.Arguments)
}

// retryDecision is the decision to try a call of unknown outcome again; the zero value if there is none.
func (c *call) retryDecision() domain.Decision {
	if c.retry == nil {
		return domain.Decision{}
	}
	return *c.retry
}

// clientOutcome is the outcome of a call that no longer waits for the client.
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

// decidedBy names who ended a question, for the record.
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

// recalled names who let a call run, as the log has it; the approvals may add to that.
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

// outdated tells whether a question about one of our own calls was about the tool of an earlier release: the question was
// approved, or it was withdrawn when somebody tried to approve it, see [approvals.Service.Decide].
func outdated(row domain.Approval, c *call) bool {
	return row.Status == domain.ApprovalCancelled || (row.Status == domain.ApprovalApproved && row.Call.Version != c.Version)
}

// unrepeated is the outcome of a call of unknown outcome that the agent gives up: the agent cannot know what the first run has
// done.
func unrepeated(p domain.ToolCallCompleted) domain.ToolCallCompleted {
	why := domain.Failure{Code: domain.CodeToolFailed, Message: p.Output}
	if p.Error != nil {
		why = *p.Error
	}
	failure := approvals.NotRepeated(why)
	p.Outcome, p.Output, p.ModelOutput, p.Error = domain.OutcomeUnknown, failure.Message, "", &failure
	return p
}
