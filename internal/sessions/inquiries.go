package sessions

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/domain"
)

// Questions that the MCP server of a started call of our own agent asks before it answers the call.
//
// If the request can be repeated with the answer, the call is paused: it does not run, the question waits like any other, over restarts and
// while the execution is parked, and the answer starts the call again. What the request is repeated with is kept beside the log. Otherwise the
// server asks on the connection of the open call: the call runs on, and the question lives as long as the process that asks.

// inquirable refuses an inquiry that is over its bounds.
func inquirable(inquiry domain.Inquiry) error {
	tooLong := func(part string, has, most int) error {
		return domain.Errorf(domain.CodePayloadTooLarge, "The MCP server has asked a question whose %s has %d bytes; %d is the most.", part, has, most)
	}
	switch form := inquiry.Question.Form; {
	case len(form) > domain.MaxInquiryForm:
		return tooLong("form", len(form), domain.MaxInquiryForm)
	case len(inquiry.Repeat) > domain.MaxInquiryRepeat:
		return tooLong("state", len(inquiry.Repeat), domain.MaxInquiryRepeat)
	}
	return approvals.CheckForm(inquiry.Question.Form)
}

// inquire puts a question of the MCP server of a running call to a person.
func (pm *permissions) inquire(change *changeSet, a *ask) {
	switch {
	case pm.turn.handsOff() && !a.pauses():
		return // the asker's context ends soon, and the call with it
	case pm.turn.handsOff(): // the next driver asks the person
	case pm.turn.stopped():
		a.reply <- nobody
		return
	}
	if !pm.progress.Turn.Open || pm.turn.result != nil || pm.budget.spent != nil {
		a.reply <- nobody
		return
	}
	c := pm.calls.open[a.Call.ID]
	if err := pm.refusesInquiry(c, a); err != nil {
		a.reply <- reply{err: err}
		return
	}
	hash, err := pm.hash(c)
	if err != nil {
		a.reply <- reply{err: err}
		return
	}
	judgement := approvals.JudgeInquiry(pm.execution.Request)
	if judgement.Verdict == domain.Deny {
		a.reply <- reply{answer: domain.Answer{Status: domain.ApprovalDenied, Message: judgement.Reason}}
		return
	}
	pm.mask(a)
	c.ask = a
	question := a.Question
	question.Call = c.ToolCall
	approval := approvals.New(*pm.execution, question, hash, judgement, pm.approvalTimeout(), time.Now())
	if a.pauses() {
		c.repeat = a.repeat
		change.paused = append(change.paused, domain.PausedRequest{ToolCallID: c.ID, Approval: approval.ID, Repeat: a.repeat})
	}
	pm.put(change, c, approval)
}

// refusesInquiry is the reason why a question cannot be put to anybody; nil: it can.
func (pm *permissions) refusesInquiry(c *call, a *ask) error {
	switch masker := pm.engine.masker; {
	case c == nil || !c.runsHere() || pm.external():
		return domain.Errorf(domain.CodeConflict, "The call does not run, so its MCP server has nothing to ask.")
	case c.approval != nil:
		return domain.Errorf(domain.CodeConflict, "The MCP server of this call has another question that is still open.")
	case c.logged().Questions >= domain.MaxInquiries:
		return domain.Errorf(domain.CodeLimitReached, "The MCP server has asked %d questions in this call, and that is the most.", domain.MaxInquiries)
	case a.pauses() && !bytes.Equal(masker.JSON(a.repeat), a.repeat): // it must not be stored as it is, and the server refuses it if it is changed
		return domain.Errorf(domain.CodeSecretExposed, "The state that the MCP server wants back holds the value of a secret, so it cannot be kept.")
	default:
		return nil
	}
}

// answered acts on the end of a question of an MCP server.
func (pm *permissions) answered(change *changeSet, c *call, row domain.Approval) {
	answer := approvals.InquiryAnswer(row)
	switch said := answer.Status == domain.ApprovalApproved || answer.Status == domain.ApprovalDenied; {
	case !c.paused(): // its server waits on the connection of the call
		change.reply(c, reply{answer: answer})
	case !said:
		c.came = decidedBy(row)
		outcome, failure := approvals.Unanswered(row)
		pm.refuse(change, c, outcome, failure)
	case c.repeat == nil:
		pm.refuse(change, c, domain.OutcomeUnknown, approvals.OutcomeUnknown())
	case pm.otherProcessRedefined(c):
		pm.refuse(change, c, domain.OutcomeFailed, domain.Failure{Code: domain.CodeArgumentsHash, Message: redefinedMessage})
	default:
		pm.start(change, c, domain.ToolCallStarted{
			ToolCallID: c.ID, Arguments: c.Arguments, ApprovalID: row.ID, AllowedBy: string(approvals.ByDecision),
		}, answer)
	}
}

const redefinedMessage = "The MCP server has changed the definition of this tool since the call began, so the answer to its question was not sent. " +
	"The server may have done a part of the work before it asked."

// otherProcessRedefined tells whether the tool of a paused call has another definition in the process that goes on with the call than the one that was allowed.
func (pm *permissions) otherProcessRedefined(c *call) bool {
	now := c.ask.Call.MCP
	return !c.ask.inquires && c.MCP != nil && now != nil && now.Definition != c.MCP.Definition
}

// resume takes our own agent back to the question of a paused call, which an earlier driver asked. A call whose question is lost may have done a
// part of its work, and is not begun anew.
func (pm *permissions) resume(change *changeSet, c *call) {
	row, decided := pm.decided[c.ID]
	delete(pm.decided, c.ID)
	switch {
	case c.approval != nil:
		change.advanced, pm.rules.behind = true, true
	case decided:
		pm.settle(change, c, row)
	default:
		pm.refuse(change, c, domain.OutcomeUnknown, approvals.OutcomeUnknown())
	}
}

// asksWithinCall tells whether the MCP server of a running call waits for an answer on the connection of the call.
func (pm *permissions) asksWithinCall(c *call) bool {
	return c.approval != nil && c.running() && !pm.external()
}

// withdrawWithinCalls ends the questions that nobody can answer any more, because the calls end in which they were asked.
func (pm *permissions) withdrawWithinCalls() error {
	for _, id := range slices.Sorted(maps.Keys(pm.calls.open)) {
		if c := pm.calls.open[id]; pm.asksWithinCall(c) {
			if err := pm.withdraw(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// answerWithinCalls passes on the answers to questions within running calls while nothing else may start any more. Answers that cannot be read
// are not worth to wait for: the calls end soon.
func (pm *permissions) answerWithinCalls() error {
	if !pm.calls.any(pm.asksWithinCall) {
		return nil
	}
	ctx, cancel := pm.claim.reading()
	defer cancel()
	rows, err := pm.engine.store.ApprovalsOf(ctx, pm.execution.ID)
	if err != nil {
		return nil
	}
	change := pm.recorder.begin()
	for _, row := range rows {
		if c := pm.endedBy(row); c != nil && c.running() {
			pm.settle(change, c, row)
		}
	}
	pm.calls.deriveStatus(change)
	return pm.recorder.commit(change)
}
