package sessions

import (
	"signoff/internal/domain"
	"signoff/internal/store"
)

// A child reports to its parent, in the transactions in which it changes itself. Its rest and its end wake the parent; the other events are for readers
// of the parent's log. Approvals are reported to the root as well, because people follow the log of the root.

// ancestorEvents are events that a change set writes to the log of the parent or the root.
type ancestorEvents struct {
	execution domain.ExecutionID
	events    []domain.Event
	wakes     bool
}

// report adds an event to the log of the parent; wakes tells whether the parent must act on it.
func (change *changeSet) report(payload domain.Payload, wakes bool) {
	if parent := change.recorder.execution.Request.Parent; parent != nil {
		change.reportTo(parent.Execution, payload, wakes)
	}
}

// reportTo adds an event to the log of an ancestor.
func (change *changeSet) reportTo(ancestor domain.ExecutionID, payload domain.Payload, wakes bool) {
	event := domain.NewEvent(ancestor, payload)
	for i := range change.ancestors {
		if a := &change.ancestors[i]; a.execution == ancestor {
			a.events, a.wakes = append(a.events, event), a.wakes || wakes
			return
		}
	}
	change.ancestors = append(change.ancestors, ancestorEvents{ancestor, []domain.Event{event}, wakes})
}

// reportApproval reports an approval to parent and root.
func (change *changeSet) reportApproval(payload domain.Payload) {
	parent := change.recorder.execution.Request.Parent
	if parent == nil {
		return
	}
	change.reportTo(parent.Execution, payload, false)
	if parent.Root != parent.Execution {
		change.reportTo(parent.Root, payload, false)
	}
}

// reportApprovalRequested reports a new approval to parent and root.
func (change *changeSet) reportApprovalRequested(approval domain.Approval) {
	if execution := change.recorder.execution; execution.Request.Parent != nil {
		change.reportApproval(domain.DelegateApprovalRequested{
			ExecutionID: execution.ID, ApprovalID: approval.ID, ToolCallID: approval.Call.ID, Kind: approval.Kind, Tool: approval.Call.Tool,
			Path: execution.Path(),
		})
	}
}

// reportApprovalResolved reports the end of an approval to parent and root.
func (change *changeSet) reportApprovalResolved(id domain.ApprovalID, status domain.ApprovalStatus) {
	change.reportApproval(domain.DelegateApprovalResolved{ExecutionID: change.recorder.execution.ID, ApprovalID: id, Status: status})
}

// reportRest hands the result of the turn that ends to the parent. A child that is closed or cancelled while it rests has already handed over its result.
func (change *changeSet) reportRest(status domain.Status, end outcome, rested bool) {
	r := change.recorder
	if r.execution.Request.Parent == nil {
		return
	}
	change.report(domain.DelegateUpdated{ExecutionID: r.execution.ID, Status: status, Turn: r.progress.Turn.Number}, true)
	if !rested {
		change.keepResult(status, end)
	}
}

// keepResult keeps the result of the turn that ends until the parent takes it. If a further prompt waits, the parent takes it with the answer to that one.
func (change *changeSet) keepResult(status domain.Status, end outcome) {
	r := change.recorder
	if r.execution.Request.Parent == nil {
		return
	}
	text, cut := r.progress.Said.Last(end.status == domain.StatusCompleted)
	change.result = domain.NewDelegateResult(status, end.finish, text, cut, end.structured, end.failure, r.progress.Usage)
}

// linkedChanges are the changes of other executions in the same transaction.
func (change *changeSet) linkedChanges() []store.Change {
	links := change.linked
	for _, a := range change.ancestors {
		for i := range a.events {
			a.events[i].Time = change.at
		}
		links = append(links, store.Change{Execution: a.execution, Events: a.events, IfLive: true, Quiet: !a.wakes})
	}
	return links
}
