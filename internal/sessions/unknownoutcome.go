package sessions

import (
	"maps"
	"slices"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/domain"
)

// Calls of our own agent that were running when their server stopped. What such a call has done, nobody knows who has not looked; so
// a person is asked, and the agent waits for it as for any other approval. It runs again only after a new approval.

// consequential are the classes of calls that leave something behind. Of one that only reads the agent is told at once, and may
// read again.
var consequential = []domain.Class{domain.ClassWrite, domain.ClassExecute, domain.ClassNetwork, domain.ClassMCP}

// asksOutcome tells whether somebody is to be asked what became of a call. An external agent is not there any more to wait for that,
// and of an unattended execution there is nobody to be asked.
func (pm *permissions) asksOutcome(c *call) bool {
	return !pm.recorder.external() && !pm.execution.Request.Unattended && slices.Contains(consequential, c.Class)
}

// askOutcome asks what became of a call, and tells whether it could. From that event on the call is not running, in the log and here: the
// next driver finds the same question.
func (pm *permissions) askOutcome(change *changeSet, c *call) bool {
	hash, err := approvals.Hash(c.ToolCall, pm.execution.Request.WorkingDirectory)
	if err != nil {
		return false
	}
	pm.put(change, c, approvals.AskOutcome(*pm.execution, c.ToolCall, hash, c.logged().Since, pm.approvalTimeout(), time.Now()))
	return true
}

// closeUnknown ends the calls that were lost with the process: those that had started, and of an external agent all, since nobody is
// left who would wait for an answer. Where it matters what became of one, a person is asked first.
func (pm *permissions) closeUnknown(change *changeSet) {
	for _, id := range slices.Sorted(maps.Keys(pm.calls.open)) {
		c := pm.calls.open[id]
		switch {
		case c.client != nil: // the client was asked, not this server
			continue
		case c.running() && pm.asksOutcome(c) && pm.askOutcome(change, c):
			continue
		case c.running():
			pm.refuse(change, c, domain.OutcomeUnknown, approvals.OutcomeUnknown())
		case pm.recorder.external():
			pm.refuse(change, c, domain.OutcomeCancelled, domain.Failure{
				Code: domain.CodeCancelled, Message: "The agent's process was lost before this call ran.",
			})
		default:
			continue
		}
		if c.approval != nil {
			change.retract(*c.approval)
		}
	}
}
