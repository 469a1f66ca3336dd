package sessions

import (
	"signoff/internal/domain"
	"signoff/internal/store"
)

// A child reports to its parent, in the transactions in which it changes itself. Its rest and its end wake the parent; all else is for whoever reads
// the parent's log. What a person has to decide is reported to the root as well, since that is the log which people follow.

// told are events that a change set writes to the log of another execution.
type told struct {
	execution domain.ExecutionID
	events    []domain.Event
	wakes     bool
}

// report adds an event to the log of the parent; wakes tells whether the parent has to act.
func (change *changeSet) report(payload domain.Payload, wakes bool) {
	if parent := change.recorder.execution.Request.Parent; parent != nil {
		change.tell(parent.Execution, payload, wakes)
	}
}

func (change *changeSet) tell(whom domain.ExecutionID, payload domain.Payload, wakes bool) {
	event := domain.NewEvent(whom, payload)
	for i := range change.told {
		if t := &change.told[i]; t.execution == whom {
			t.events, t.wakes = append(t.events, event), t.wakes || wakes
			return
		}
	}
	change.told = append(change.told, told{whom, []domain.Event{event}, wakes})
}

// reportApproval tells parent and root of an approval.
func (change *changeSet) reportApproval(payload domain.Payload) {
	parent := change.recorder.execution.Request.Parent
	if parent == nil {
		return
	}
	change.tell(parent.Execution, payload, false)
	if parent.Root != parent.Execution {
		change.tell(parent.Root, payload, false)
	}
}

// reportAsked tells parent and root that somebody has to decide.
func (change *changeSet) reportAsked(approval domain.Approval) {
	if execution := change.recorder.execution; execution.Request.Parent != nil {
		change.reportApproval(domain.DelegateApprovalRequested{
			ExecutionID: execution.ID, ApprovalID: approval.ID, ToolCallID: approval.Call.ID, Kind: approval.Kind, Tool: approval.Call.Tool,
			Path: execution.Path(),
		})
	}
}

// reportAnswered tells parent and root that nobody has to decide any more.
func (change *changeSet) reportAnswered(id domain.ApprovalID, status domain.ApprovalStatus) {
	change.reportApproval(domain.DelegateApprovalResolved{ExecutionID: change.recorder.execution.ID, ApprovalID: id, Status: status})
}

// reportRest hands the result of the turn that ends to the parent. A child that is closed or cancelled while it rests has handed its result over before.
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
	change.rest = domain.NewDelegateResult(status, end.finish, text, cut, end.structured, end.failure, r.progress.Usage)
}

// links are the changes of other executions that go with this one.
func (change *changeSet) links() []store.Change {
	links := change.linked
	for _, t := range change.told {
		for i := range t.events {
			t.events[i].Time = change.at
		}
		links = append(links, store.Change{Execution: t.execution, Events: t.events, IfLive: true, Quiet: !t.wakes})
	}
	return links
}
