package items

import (
	"slices"

	"signoff/internal/domain"
)

// call returns a call by its id. It adds the item even if the log has no request of the call, since a person must see that it ran.
func (r *Reducer) call(id string) *call {
	c, known := r.calls[id]
	if !known {
		c = &call{item: r.add(Item{
			ID: callID(id), Kind: KindTool, Turn: r.turn, Status: StatusOpen,
			Tool: &Tool{ToolCallID: id, Arguments: boundedJSON(nil), Status: ToolRequested, Approvals: []Approval{}},
		})}
		r.calls[id] = c
	}
	return c
}

func (r *Reducer) requested(p domain.ToolCallRequested) {
	c := r.call(p.ToolCallID)
	c.Turn = p.Turn
	c.Tool.MessageID, c.Tool.Tool, c.Tool.Class, c.Tool.Summary = p.MessageID, p.Tool, p.Class, p.Summary
	c.Tool.Arguments, c.Tool.MCP, c.Tool.ParentToolCallID = boundedJSON(p.Arguments), p.MCP, p.ParentToolCallID
	r.settle(c)
	r.changesAskedFor(c)
}

// askedAbout applies an approval of a call. An external agent often describes the call only now.
func (r *Reducer) askedAbout(p domain.ApprovalRequested) {
	c := r.call(p.ToolCallID)
	c.queued, c.lost = false, c.lost || p.Kind == domain.ApprovalUnknownOutcome || p.Repeats
	c.Tool.Tool, c.Tool.Summary, c.Tool.Arguments = p.Tool, p.Summary, boundedJSON(p.Arguments)
	c.Tool.Approvals = append(c.Tool.Approvals, Approval{ID: p.ApprovalID, Kind: p.Kind, Status: domain.ApprovalPending})
	r.settle(c)
	r.changesAskedFor(c)
}

func (r *Reducer) answered(p domain.ApprovalResolved) {
	c := r.call(p.ToolCallID)
	at := slices.IndexFunc(c.Tool.Approvals, func(a Approval) bool { return a.ID == p.ApprovalID })
	if at >= 0 {
		approval := &c.Tool.Approvals[at]
		approval.Status, approval.Edited, approval.Reason, approval.DecidedBy = p.Status, p.Edited, p.Reason, p.DecidedBy
		approval.Resolution = p.Resolution
	}
	r.settle(c)
}

func (r *Reducer) queued(p domain.ToolCallQueued) {
	c := r.call(p.ToolCallID)
	c.queued = true
	r.settle(c)
}

func (r *Reducer) started(p domain.ToolCallStarted) {
	c := r.call(p.ToolCallID)
	c.queued, c.awaits, c.lost, c.Tool.Arguments = false, p.Awaits, false, boundedJSON(p.Arguments)
	r.awaited(c, p.Children)
	r.begun(c)
	r.changesAskedFor(c)
}

func (r *Reducer) begun(c *call) {
	at := r.event.Time
	c.Tool.StartedAt = &at
	r.settle(c)
}

func (r *Reducer) printed(p domain.ToolCallUpdated) error {
	c, known := r.calls[p.ToolCallID]
	if !known {
		c = &call{}
	}
	if err := c.printed.fits(p.Offset, "output of "+p.ToolCallID); err != nil {
		return err
	}
	c = r.call(p.ToolCallID)
	c.printed.add(p.Output)
	if c.outcome == "" {
		c.Tool.Output, c.Tool.Truncated = c.printed.kept.String(), c.printed.cut
		if p.Progress != nil {
			c.Tool.Progress = p.Progress
		}
	}
	r.touch(c.item)
	return nil
}

// completed applies the outcome. If the result only repeats the error, as for a command that was running when the server stopped, the output
// stays: it is all that is left of the command.
func (r *Reducer) completed(p domain.ToolCallCompleted) {
	c := r.call(p.ToolCallID)
	c.outcome, c.Tool.Progress = p.Outcome, nil
	r.released(c)
	if c.Tool.Output == "" || p.Error == nil || p.Output != p.Error.Message {
		output, cut := bounded(p.Output, TextBytes)
		c.Tool.Output, c.Tool.Truncated = output, cut || p.Truncated
	}
	c.Tool.ExitCode, c.Tool.DurationMs, c.Tool.Error, c.Tool.Files = p.ExitCode, p.DurationMs, p.Error, p.Files
	r.settle(c)
	r.changesSettle(c)
}

// settle brings the status of a call up to date.
func (r *Reducer) settle(c *call) {
	c.Tool.Status = c.status()
	if c.outcome != "" {
		c.Status = StatusComplete
	}
	r.touch(c.item)
}

// status returns the first matching status. An external agent may ask about a call that it has begun already.
func (c *call) status() ToolStatus {
	asked := slices.ContainsFunc(c.Tool.Approvals, func(a Approval) bool { return a.Status == domain.ApprovalPending })
	switch {
	case c.outcome != "":
		return ToolStatus(c.outcome)
	case asked:
		return ToolPendingApproval
	case c.queued:
		return ToolQueued
	case c.Tool.StartedAt == nil || c.lost:
		return ToolRequested
	case c.awaits == domain.AwaitsClient:
		return ToolWaitingForClient
	case c.awaits == domain.AwaitsDelegate:
		return ToolWaitingForDelegate
	default:
		return ToolRunning
	}
}
