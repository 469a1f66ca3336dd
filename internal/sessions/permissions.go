package sessions

import (
	"bytes"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/audit"
	"signoff/internal/domain"
)

// permissions decides whether a call may run: the policy, a person, or a rule of a person allows it. It asks people, and starts or
// refuses the call.
type permissions struct {
	core
	recorder *recorder
	budget   *budget
	calls    *openCalls
	clients  *clientCalls
	children *delegates
	rules    *rules
	control  *control
	turn     *turnRun
	inbox    *inbox
	decided  map[string]domain.Approval // answers to questions of an earlier driver, by call, until the agent asks again

	checkpointing *checkpointing
}

// nobody is the reply if nobody will answer: the call was judged before, or the turn is over.
var nobody = reply{
	grant:  domain.Grant{Message: "This call was judged before, or comes too late."},
	answer: domain.Answer{Status: domain.ApprovalCancelled},
}

const exposedMessage = "The arguments hold the value of a secret, so they cannot be shown to anybody; name the secret instead."

// authorize judges a call that the agent wants to run, or asks about.
func (pm *permissions) authorize(change *changeSet, a *ask) {
	if pm.turn.handsOff() {
		return // the asker's context ends soon; it asks the next driver again
	}
	if pm.turn.stopped() || !pm.progress.Turn.Open || pm.turn.result != nil || pm.budget.spent != nil {
		a.reply <- nobody
		return
	}
	exposed := pm.mask(a)
	c := pm.calls.announce(change, a.Call)
	if c == nil || c.ask != nil || (c.running() && a.ours() && c.client == nil && !c.awaitsDelegate()) || pm.budget.spent != nil {
		a.reply <- nobody
		return
	}
	c.ask = a
	if c.client != nil || c.awaitsDelegate() { // an earlier driver asked the client or a child, who may have answered since
		change.advanced, pm.rules.behind = true, true
		return
	}
	if exposed && a.ours() {
		if c.approval != nil {
			change.retract(*c.approval)
		}
		pm.refuse(change, c, domain.OutcomeFailed, domain.Failure{Code: domain.CodeSecretExposed, Message: exposedMessage})
		return
	}
	if c.paused() {
		pm.resume(change, c)
		return
	}
	if a.ours() {
		c.Version, c.Description, c.Action, c.MCP = a.Call.Version, a.Call.Description, a.Call.Action, a.Call.MCP
	} else { // an external agent often says only now what the call does, and a person has to see that
		c.ToolCall = a.Call
	}
	if err := pm.environment.err; err != nil && pm.environment.concerns(c) { // nobody is asked about what cannot run, and no answer starts it
		delete(pm.decided, c.ID)
		if c.approval != nil {
			change.retract(*c.approval)
		}
		pm.refuse(change, c, domain.OutcomeFailed, domain.FailureOf(err))
		return
	}
	row, decided := pm.decided[c.ID]
	delete(pm.decided, c.ID)
	switch {
	case c.approval != nil && (pm.changedFor(c, *c.approval) || otherDefinition(c, *c.approval)): // the person has seen another call than would run
		change.retract(*c.approval)
		c.approval = nil
		pm.judge(change, c)
	case c.approval != nil: // an earlier driver asked: to be back at the same question is all the progress there can be
		change.advanced = true
		pm.rules.behind = true // a rule that is newer than the question may answer it
	case decided:
		if err := pm.rules.readPin(c); err != nil { // without it, the decision counts for nothing
			pm.control.postpone(err)
		}
		pm.settle(change, c, row)
	default:
		pm.judge(change, c)
	}
}

// mask takes the secrets out of a question of the agent, since people see and decide what is stored. It tells whether that has
// changed the arguments: then our own calls do not run, see [permissions.authorize].
func (pm *permissions) mask(a *ask) (changed bool) {
	arguments := pm.engine.masker.JSON(a.Call.Arguments)
	changed = !bytes.Equal(arguments, a.Call.Arguments)
	a.Call.Arguments, a.Call.Summary = arguments, pm.engine.masker.MaskString(a.Call.Summary)
	a.Call.MCP = maskedTool(a.Call.MCP, pm.engine.masker)
	a.Options, a.Form = pm.engine.masker.JSON(a.Options), pm.engine.masker.JSON(a.Form)
	return changed
}

// judge asks the policy whether a call may run, and acts on its answer: the call starts or is refused, or a person is asked.
func (pm *permissions) judge(change *changeSet, c *call) {
	c.unjudged = false
	if pm.confinedBy(c) == NoSandbox {
		pm.refuse(change, c, domain.OutcomeFailed, domain.Failure{Code: domain.CodeSandboxUnavailable, Message: approvals.NoSandbox})
		return
	}
	hash, err := pm.hash(c)
	if err != nil {
		pm.refuse(change, c, domain.OutcomeFailed, domain.Failure{
			Code: domain.CodeInvalidArguments, Message: "The arguments of this call have no canonical form.",
		})
		return
	}
	if c.ask.delegates {
		if err := pm.children.check(c); err != nil {
			pm.refuse(change, c, domain.OutcomeFailed, domain.FailureOf(err))
			return
		}
	}
	judgement, judged, err := pm.rules.judgement(c, hash)
	if err != nil { // it is judged when the rules can be read, and waits until then
		pm.control.postpone(err)
	}
	if !judged {
		c.unjudged = true
		return
	}
	if c.outcomeUnknown() {
		judgement = approvals.Repeated(judgement, c.retryDecision())
	} else {
		c.came = audit.Provenance{
			DecidedBy: string(judgement.By), RuleID: judgement.RuleID, Reason: judgement.Reason, Hash: hash, Channel: audit.BySession,
		}
	}
	if judgement.RuleID != "" {
		change.hits = append(change.hits, judgement.RuleID)
	}
	switch verdict := judgement.Verdict; {
	case verdict == domain.Deny:
		pm.refuse(change, c, domain.OutcomeDenied, domain.Failure{Code: domain.CodePolicyDenied, Message: judgement.Reason})
	case verdict == domain.Allow && c.ask.allowable():
		pm.start(change, c, domain.ToolCallStarted{
			ToolCallID: c.ID, Arguments: c.Arguments, AllowedBy: string(judgement.By), RuleID: judgement.RuleID, Reason: judgement.Reason,
		}, domain.Answer{Status: domain.ApprovalApproved, OptionID: c.ask.option()})
	default:
		pm.ask(change, c, hash, judgement)
	}
}

// ask opens an approval. The session counts it as open before anybody can see it, so an answer that comes at once finds the call
// that waits.
func (pm *permissions) ask(change *changeSet, c *call, hash string, judgement approvals.Judgement) {
	question := c.ask.Question
	question.Call = c.ToolCall
	approval := approvals.New(*pm.execution, question, hash, judgement, pm.approvalTimeout(), time.Now())
	if pm.recorder.hides(c.Action.Command) { // a rule would show the secret, and mean another command
		approval.RememberOptions = approval.RememberOptions[:1]
	}
	pm.put(change, c, approval)
}

// put writes a question to a person.
func (pm *permissions) put(change *changeSet, c *call, approval domain.Approval) {
	c.releaseSlot()
	approval.Isolation, approval.Environment = pm.isolation(c, approval.Kind), pm.environmentOf(c).ForApproval()
	approval.Reversibility = pm.checkpointing.reversibility(c, approval.Kind)
	c.approval = &approval
	pm.calls.deriveStatus(change)
	change.asked = append(change.asked, approval)
	if approval.Kind.AnswerableByRule() { // whoever has made a rule since it was judged did not find the question
		change.replies = append(change.replies, func() { pm.rules.behind = true })
	}
	requested := approvals.Requested(approval)
	requested.Sandbox, requested.Repeats = pm.confinedBy(c), c.ask.pauses()
	change.emit(requested)
	change.reportApprovalRequested(approval)
}

// isolation is the isolation that a person is shown; nil if the call runs no program.
func (pm *permissions) isolation(c *call, kind domain.ApprovalKind) *domain.Isolation {
	name := pm.confinedBy(c)
	if kind == domain.ApprovalAgentPermission { // the agent runs the call itself
		name = pm.agentConfinedBy(!c.ask.outside())
	}
	switch name {
	case unconfined:
		return &domain.Isolation{Name: domain.IsolationNone}
	case "":
		return nil
	default:
		return &domain.Isolation{Name: name}
	}
}

// approvalTimeout is how long a question stays open; 0 is for ever.
func (pm *permissions) approvalTimeout() time.Duration {
	return time.Duration(pm.execution.Request.ApprovalTimeoutSeconds) * time.Second
}

// start lets a call run as soon as its start is in the log; a command waits for its slot before that. A call that an external
// agent has begun before it asked has no second start.
func (pm *permissions) start(change *changeSet, c *call, started domain.ToolCallStarted, answer domain.Answer) {
	started.Version, started.EditedBy = c.Version, c.editedBy()
	if c.MCP != nil {
		started.Definition = c.MCP.Definition
	}
	if c.ask.client {
		pm.clients.ask(change, c, started)
		return
	}
	if c.ask.delegates {
		if err := pm.children.start(change, c, started); err != nil { // the tree may have filled up since it was checked
			c.approval = nil
			pm.refuse(change, c, domain.OutcomeFailed, domain.FailureOf(err))
		}
		return
	}
	if pm.delay(change, c, started, answer) {
		return
	}
	grant := domain.Grant{
		Allowed: true, Arguments: started.Arguments, Approved: started.AllowedBy == string(approvals.ByDecision), EditedBy: started.EditedBy,
	}
	if c.paused() {
		grant.Approved = c.logged().AllowedBy == string(approvals.ByDecision) // whoever has answered the question has not said yes to the call
		grant.Continues = &domain.Continuation{Repeat: c.repeat, Answer: answer}
	}
	if !c.running() {
		started.Sandbox = pm.confinedBy(c)
		if c.ask.ours() {
			started.Note, grant.Note = pm.progress.Checkpoint.Note, pm.progress.Checkpoint.Note
		}
		change.emit(started)
	}
	c.approval, c.refusal = nil, nil
	change.reply(c, reply{grant: grant, answer: answer})
}

// delay has a command wait for a slot, and tells whether it must. The command is allowed, and needs no other answer.
func (pm *permissions) delay(change *changeSet, c *call, started domain.ToolCallStarted, answer domain.Answer) bool {
	if pm.confinedBy(c) == "" || c.running() {
		return false
	}
	if c.slot == nil {
		id := c.ID
		c.slot = pm.engine.commands.request(pm.execution.Tenant, pm.execution.ID, func() {
			_ = pm.inbox.put(item{slotGiven: id}) // refused only if the session is over, which releases the slot
		})
	}
	if c.slot.isGiven() {
		return false
	}
	c.approval, c.delayed = nil, &delayed{started, answer}
	change.emit(domain.ToolCallQueued{ToolCallID: c.ID})
	return true
}

// slotGiven starts a command that has got its slot. A command that no person has approved is judged again: while it waited, a rule
// may have been made that forbids it.
func (pm *permissions) slotGiven(change *changeSet, id string) {
	c, open := pm.calls.open[id]
	if !open || !c.awaitsSlot() {
		return
	}
	if pm.turn.stopped() || pm.turn.handsOff() { // the next driver starts it, or nobody does
		c.slot.release()
		return
	}
	next := c.delayed
	c.delayed = nil
	if next.started.ApprovalID == "" {
		pm.judge(change, c)
		return
	}
	pm.start(change, c, next.started, next.answer)
}

// refuse gives a call its outcome without running it. The model reads the failure's message as the result.
func (pm *permissions) refuse(change *changeSet, c *call, outcome domain.Outcome, failure domain.Failure) {
	answer := domain.Answer{Status: refusedAs[outcome]}
	if c.ask != nil && answer.Status != domain.ApprovalCancelled {
		answer.OptionID = approvals.RefusingOption(approvals.Options(c.ask.Options))
	}
	pm.refuseWith(change, c, outcome, failure, answer)
}

// refusedAs is the answer that an external agent gets in place of an outcome.
var refusedAs = map[domain.Outcome]domain.ApprovalStatus{
	domain.OutcomeDenied: domain.ApprovalDenied, domain.OutcomeFailed: domain.ApprovalDenied, domain.OutcomeExpired: domain.ApprovalExpired,
	domain.OutcomeCancelled: domain.ApprovalCancelled, domain.OutcomeUnknown: domain.ApprovalCancelled,
}

// refuseWith ends a call that does not run. Some external agents report the start of a call and ask only then: they also report
// its outcome. If they report a failure or nothing, it was refused.
func (pm *permissions) refuseWith(change *changeSet, c *call, outcome domain.Outcome, failure domain.Failure, answer domain.Answer) {
	if c.outcomeUnknown() { // the refusal says nothing about the first run
		outcome, failure = domain.OutcomeUnknown, approvals.NotRepeated(failure)
	}
	if answer.Status == domain.ApprovalDenied || answer.Status == domain.ApprovalExpired {
		pm.turn.reaches(turnDenied)
	}
	answer.Message = failure.Message
	if c.running() && c.ask != nil && !c.ask.ours() {
		c.refusal = &refusal{outcome, failure}
		change.reply(c, reply{answer: answer})
		return
	}
	pm.calls.endOutput(change, c)
	change.advanced = true
	note := c.note()
	change.complete(c, domain.ToolCallCompleted{ToolCallID: c.ID, Outcome: outcome, Output: failure.Message, Error: &failure})
	pm.calls.forget(c)
	change.reply(c, reply{grant: domain.Grant{Message: note + failure.Message}, answer: answer})
}
