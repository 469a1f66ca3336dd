package sessions

import (
	"maps"
	"slices"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/domain"
	"signoff/internal/failpoint"
)

// How a question is answered, and how it ends without an answer.

// readDecisions reads the approvals and acts on those that are no longer pending. The caller commits the change also beside an
// error: the events in it have been applied.
func (pm *permissions) readDecisions(change *changeSet) error {
	defer pm.calls.deriveStatus(change)                          // a late judgement may have let a call run
	for _, id := range slices.Sorted(maps.Keys(pm.calls.open)) { // their rules could not be read, or their judgement took long
		if c := pm.calls.open[id]; c != nil && c.unjudged && c.ask != nil {
			pm.judge(change, c)
		}
	}
	if err := pm.clients.applyAnswers(change); err != nil {
		return err
	}
	if err := pm.children.applyResults(change); err != nil {
		return err
	}
	if !pm.calls.any(func(c *call) bool { return c.approval != nil }) {
		pm.rules.behind = false
		return nil
	}
	if err := pm.applyNewRules(); err != nil {
		return err
	}
	pm.rules.behind = false
	ctx, cancel := pm.claim.reading()
	defer cancel()
	rows, err := pm.engine.store.ApprovalsOf(ctx, pm.execution.ID)
	if err != nil {
		return err
	}
	for _, row := range rows {
		switch c := pm.endedBy(row); {
		case c == nil:
		case c.ask == nil: // an earlier driver asked, and our own agent has not asked again yet
			c.approval, pm.decided[c.ID] = nil, row
		default:
			if err := pm.rules.readPin(c); err != nil {
				return err
			}
			pm.settle(change, c, row)
		}
	}
	return nil
}

// endedBy is the call whose open question has ended, as the store has it; nil: there is none.
func (pm *permissions) endedBy(row domain.Approval) *call {
	c, open := pm.calls.open[row.Call.ID]
	if !open || c.approval == nil || c.approval.ID != row.ID || row.Status == domain.ApprovalPending {
		return nil
	}
	return c
}

// settle acts on a decided approval, as the store has it. The request of the agent does not count any more.
func (pm *permissions) settle(change *changeSet, c *call, row domain.Approval) {
	failpoint.Hit(failpoint.BeforeDecision)
	c.approval = nil
	change.reportApprovalResolved(row.ID, row.Status)
	if row.Kind == domain.ApprovalUnknownOutcome {
		pm.resolve(change, c, row)
		return
	}
	if c.inquires() {
		pm.answered(change, c, row)
		return
	}
	if !c.outcomeUnknown() || row.Status == domain.ApprovalApproved { // otherwise the first run stays on record as it was allowed
		c.came = decidedBy(row)
	}
	switch {
	case c.ask.ours() && (outdated(row, c) || row.Status == domain.ApprovalApproved && (pm.changedFor(c, row) || pm.redefined(c, row))):
		pm.judge(change, c)
		return
	case row.Status != domain.ApprovalApproved:
		outcome, failure := approvals.Refusal(row)
		if row.Decision == nil {
			pm.refuse(change, c, outcome, failure)
			return
		}
		pm.refuseWith(change, c, outcome, failure, domain.Answer{Status: row.Status, OptionID: row.Decision.OptionID}) // the decider may have named an option that says no
		return
	}
	arguments, err := approvals.Granted(row)
	if err != nil {
		pm.refuse(change, c, domain.OutcomeFailed, domain.FailureOf(err))
		return
	}
	if row.Decision.Arguments != nil {
		c.edited(arguments)
	}
	if row.Decision.ArgumentsHash != "" && row.Decision.ArgumentsHash != row.ArgumentsHash { // otherwise they are written another way, at most
		c.editor = &row.Decision.By
	}
	c.Arguments = arguments
	pm.start(change, c, domain.ToolCallStarted{
		ToolCallID: c.ID, Arguments: arguments, ApprovalID: row.ID, AllowedBy: c.came.DecidedBy, RuleID: c.came.RuleID,
	}, domain.Answer{Status: row.Status, OptionID: row.Decision.OptionID, Content: row.Decision.Answer})
}

// resolve acts on a person's answer about a call of unknown outcome. To run it again is a new question: the policy judges it as a
// new call, and never allows it without a person.
func (pm *permissions) resolve(change *changeSet, c *call, row domain.Approval) {
	if row.Decision != nil && row.Decision.Resolution == domain.ResolutionRetry {
		c.retry, change.advanced = row.Decision, true
		pm.judge(change, c)
		return
	}
	pm.refuse(change, c, domain.OutcomeUnknown, approvals.ReportedOutcome(row))
}

// dropDecided drops the approvals that were decided while the end was written, and tells whether there were any. If there were
// none, the change was refused for another reason.
func (pm *permissions) dropDecided() bool {
	ctx, cancel := pm.claim.reading()
	defer cancel()
	rows, err := pm.engine.store.ApprovalsOf(ctx, pm.execution.ID)
	if err != nil {
		return false
	}
	dropped := false
	for _, row := range rows {
		if c := pm.endedBy(row); c != nil {
			c.approval, dropped = nil, true
		}
	}
	return dropped
}

func (pm *permissions) expire(c *call) error {
	resolution, event := approvals.EndUndecided(*c.approval, domain.ApprovalExpired)
	change := pm.recorder.begin()
	change.resolved = append(change.resolved, resolution)
	change.emit(event)
	transaction := change.transaction()
	transaction.Update = nil
	again := time.Now().Add(clockSkew) // if it is still pending by the database's clock
	c.approval.Expires = &again
	failpoint.Hit(failpoint.BeforeExpiry)
	return pm.recorder.commitEnd(transaction)
}

// recall takes a question of an earlier driver as open, or keeps its answer until the agent asks again. Only the newest question
// about a call counts: a yes to an earlier one is used up, and must not let the call run twice.
func (pm *permissions) recall(row domain.Approval) {
	c, open := pm.calls.open[row.Call.ID]
	if open && row.ID == c.logged().Under {
		c.came = decidedBy(row)
		c.Version = row.Call.Version
		if row.Decision != nil && row.Decision.Arguments != nil {
			c.edited(c.Arguments)
		}
	}
	if open && row.Decision != nil && row.Decision.Resolution == domain.ResolutionRetry {
		c.retry = row.Decision
	}
	switch {
	case !open || row.ID != c.logged().Approval:
	case row.Status == domain.ApprovalPending && c.inquires():
		c.approval = &row // the call has begun, and stays on record as it was allowed
	case row.Status == domain.ApprovalPending:
		c.approval, c.came.Hash = &row, row.ArgumentsHash
	case c.running() && !pm.external():
	default:
		pm.decided[row.Call.ID] = row
	}
	if open && row.Status != domain.ApprovalPending && c.running() && (pm.external() || row.Kind != domain.ApprovalQuestion) {
		c.came = decidedBy(row)
	}
}
