package sessions

import (
	"maps"
	"slices"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/domain"
)

// Calls of our own agent that were running when their server stopped. Nobody knows the outcome of such a call without a look at
// what it works on. So a person is asked, and the agent waits as for any other approval. The call runs again only after a new
// approval.

// consequential are the classes of calls that leave something behind. A call of another class only reads: the agent gets its
// outcome at once, and may read again.
var consequential = []domain.Class{domain.ClassWrite, domain.ClassExecute, domain.ClassNetwork, domain.ClassMCP}

// asksOutcome tells whether a person is asked for the outcome of a call. An external agent is gone and does not wait for it, and
// an unattended execution has nobody to ask.
func (pm *permissions) asksOutcome(c *call) bool {
	return !pm.external() && !pm.execution.Request.Unattended && slices.Contains(consequential, c.Class)
}

// askOutcome asks for the outcome of a call, and tells whether it could. With that event the call is no longer running, in the log
// and here: the next driver finds the same question.
func (pm *permissions) askOutcome(change *changeSet, c *call) bool {
	hash, err := pm.hash(c)
	if err != nil {
		return false
	}
	pm.put(change, c, approvals.AskOutcome(*pm.execution, c.ToolCall, hash, c.logged().Since, pm.approvalTimeout(), time.Now()))
	return true
}

// closeUnknown ends the calls that were lost with the process: those that had started, and all calls of an external agent, which
// no longer waits for an answer. If the outcome matters, a person is asked first.
func (pm *permissions) closeUnknown(change *changeSet) {
	for _, id := range slices.Sorted(maps.Keys(pm.calls.open)) {
		c := pm.calls.open[id]
		if pm.asksWithinCall(c) { // the connection on which its server asks is lost
			change.retract(*c.approval)
			c.approval = nil
		}
		switch {
		case c.client != nil, c.awaitsDelegate(): // the client or a child was asked, not this server
			continue
		case c.running() && pm.asksOutcome(c) && pm.askOutcome(change, c):
			continue
		case c.running():
			pm.refuse(change, c, domain.OutcomeUnknown, approvals.OutcomeUnknown())
		case pm.external():
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
