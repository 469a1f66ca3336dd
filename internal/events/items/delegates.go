package items

import (
	"slices"

	"signoff/internal/domain"
)

// delegate is a child of the execution. The child has a log of its own; its state in the log of the parent is shown under the call that has created it,
// and under the calls that wait for it.
type delegate struct {
	Child
	CreatedBy string              `json:"createdBy"`         // the call
	Awaited   []string            `json:"awaited,omitempty"` // the other calls that wait for it, without an outcome
	Asked     []domain.ApprovalID `json:"asked,omitempty"`   // pending, of the child and of executions below it
}

// delegate returns a child by its id; nil: there is none.
func (r *Reducer) delegate(id domain.ExecutionID) *delegate {
	return r.findDelegate(func(d *delegate) bool { return d.ExecutionID == id })
}

func (r *Reducer) findDelegate(is func(*delegate) bool) *delegate {
	if at := slices.IndexFunc(r.delegates, is); at >= 0 {
		return r.delegates[at]
	}
	return nil
}

// delegateOn returns the child on a path: either the child asks, or an execution below it.
func (r *Reducer) delegateOn(path []domain.PathStep) *delegate {
	return r.findDelegate(func(d *delegate) bool {
		return slices.ContainsFunc(path, func(step domain.PathStep) bool { return step.Execution == d.ExecutionID })
	})
}

// delegateAsking returns the child to which an approval is counted.
func (r *Reducer) delegateAsking(id domain.ApprovalID) *delegate {
	return r.findDelegate(func(d *delegate) bool { return slices.Contains(d.Asked, id) })
}

func (r *Reducer) delegated(p domain.DelegateStarted) {
	d := &delegate{Child: Child{ExecutionID: p.ExecutionID, Name: p.Name, Status: domain.StatusQueued}, CreatedBy: p.ToolCallID}
	r.delegates = append(r.delegates, d)
	r.showDelegate(d)
}

func (r *Reducer) delegateUpdated(p domain.DelegateUpdated) {
	if d := r.delegate(p.ExecutionID); d != nil {
		d.Status, d.Cause, d.Error = p.Status, p.Cause, nil
		r.showDelegate(d)
	}
}

func (r *Reducer) delegateAsked(p domain.DelegateApprovalRequested) {
	if d := r.delegateOn(p.Path); d != nil {
		d.Asked = append(d.Asked, p.ApprovalID)
		r.showDelegate(d)
	}
}

func (r *Reducer) delegateAnswered(p domain.DelegateApprovalResolved) {
	if d := r.delegateAsking(p.ApprovalID); d != nil {
		d.Asked = slices.DeleteFunc(d.Asked, func(id domain.ApprovalID) bool { return id == p.ApprovalID })
		r.showDelegate(d)
	}
}

// delegateReturned applies a result. If the child works again already, the result is an old one.
func (r *Reducer) delegateReturned(p domain.DelegateReturned) {
	if d := r.delegate(p.ExecutionID); d != nil && d.Status == p.Status {
		d.Error = p.Error
		r.showDelegate(d)
	}
}

// awaited shows the children that a call waits for. The child that the call itself creates follows with its own event.
func (r *Reducer) awaited(c *call, children []domain.ExecutionID) {
	for _, id := range children {
		d := r.delegate(id)
		if d == nil || d.CreatedBy == c.Tool.ToolCallID || slices.Contains(d.Awaited, c.Tool.ToolCallID) {
			continue
		}
		d.Awaited = append(d.Awaited, c.Tool.ToolCallID)
		c.Tool.show(d.Child)
	}
}

// released freezes the children that a call has waited for in their present state. If each such call followed its child for ever, one event of a child with
// many prompts would change as many items.
func (r *Reducer) released(c *call) {
	for _, d := range r.delegates {
		at := slices.Index(d.Awaited, c.Tool.ToolCallID)
		if at < 0 {
			continue
		}
		d.Awaited = slices.Delete(d.Awaited, at, at+1)
		last := d.Child
		last.PendingApprovals = 0 // the call that has created the child continues to count them
		c.Tool.show(last)
	}
}

// delegatesEnd applies the end of the execution, which ends its children: their approvals are no longer pending.
func (r *Reducer) delegatesEnd() {
	for _, d := range r.delegates {
		if len(d.Asked) > 0 {
			d.Asked = nil
			r.showDelegate(d)
		}
	}
}

// showDelegate updates a child in all items that show it.
func (r *Reducer) showDelegate(d *delegate) {
	d.PendingApprovals = len(d.Asked)
	for _, id := range d.shownBy() {
		c := r.call(id)
		c.Tool.show(d.Child)
		r.touch(c.item)
	}
}

// shownBy returns the calls that show the present state of the child.
func (d *delegate) shownBy() []string {
	return append([]string{d.CreatedBy}, d.Awaited...)
}

// show replaces a child, or adds it.
func (t *Tool) show(child Child) {
	at := slices.IndexFunc(t.Children, func(known Child) bool { return known.ExecutionID == child.ExecutionID })
	if at < 0 {
		t.Children = append(t.Children, child)
		return
	}
	t.Children[at] = child
}
