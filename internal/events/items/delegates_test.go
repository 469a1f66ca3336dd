package items

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"signoff/internal/domain"
)

// A call that has created a child shows the child as its parent's log last told of it, with the approvals of all below it that wait for a person. So does a
// call that waits for the child; at its outcome it stops, and shows no approvals any more.
func TestCallsShowTheirChildren(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := randomScript(t).Checked(t)
		reducer, told := New(domain.Request{}), toldChildren{children: map[domain.ExecutionID]*toldChild{}, calls: map[string]*toldCall{}}
		for _, event := range log {
			take(t, reducer, event)
			told.hear(t, event)
			for id, c := range told.calls {
				i, known := reducer.Item(reducer.calls[id].place)
				if !known {
					t.Fatalf("call %s has no item", id)
				}
				same(t, "children of "+id+" after "+string(event.Type), asJSON(t, told.shown(c)), asJSON(t, append([]Child{}, i.Tool.Children...)))
				if waits := i.Tool.Status == ToolWaitingForDelegate; len(i.Tool.Approvals) == 0 && waits != (c.waits && !c.ended) {
					t.Errorf("%s is %s", id, i.Tool.Status)
				}
			}
		}
	})
}

// toldChildren is what a log has told of children, and of the calls that are about them.
type toldChildren struct {
	children map[domain.ExecutionID]*toldChild
	calls    map[string]*toldCall
}

type toldChild struct {
	Child
	by      string // the call that has created it
	pending map[domain.ApprovalID]bool
}

type toldCall struct {
	id       string
	children []domain.ExecutionID
	waits    bool
	ended    bool
	last     []Child // of one that has ended: the children of others
}

func (told toldChildren) hear(t *rapid.T, event domain.Event) {
	payload, err := event.Payload()
	if err != nil {
		t.Fatal(err)
	}
	switch p := payload.(type) {
	case domain.ToolCallStarted:
		if p.Children != nil {
			told.calls[p.ToolCallID] = &toldCall{id: p.ToolCallID, children: slices.Compact(slices.Clone(p.Children)), waits: p.Awaits == domain.AwaitsDelegate}
		}
	case domain.ToolCallCompleted:
		if c := told.calls[p.ToolCallID]; c != nil {
			c.last, c.ended = told.shown(c), true
			for n := range c.last {
				c.last[n].PendingApprovals = 0
			}
		}
	case domain.DelegateStarted:
		told.children[p.ExecutionID] = &toldChild{
			Child: Child{ExecutionID: p.ExecutionID, Name: p.Name, Status: domain.StatusQueued}, by: p.ToolCallID, pending: map[domain.ApprovalID]bool{},
		}
	case domain.DelegateUpdated:
		child := told.children[p.ExecutionID]
		child.Status, child.Cause, child.Error = p.Status, p.Cause, nil
	case domain.DelegateApprovalRequested:
		told.children[p.Path[1].Execution].pending[p.ApprovalID] = true
	case domain.DelegateApprovalResolved:
		for _, child := range told.children {
			delete(child.pending, p.ApprovalID)
		}
	case domain.DelegateReturned:
		if child := told.children[p.ExecutionID]; child.Status == p.Status {
			child.Error = p.Error
		}
	case domain.ExecutionEnded:
		for _, child := range told.children {
			clear(child.pending)
		}
	}
}

// shown are the children that a call is to show.
func (told toldChildren) shown(c *toldCall) []Child {
	shown := []Child{}
	for n, id := range c.children {
		child := told.children[id]
		switch {
		case child == nil: // its call has just started
		case c.ended && child.by != c.id:
			shown = append(shown, c.last[n])
		default:
			child.PendingApprovals = len(child.pending)
			shown = append(shown, child.Child)
		}
	}
	return shown
}
