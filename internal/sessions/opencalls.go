package sessions

import (
	"maps"
	"slices"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/store"
)

// openCalls are the tool calls without an outcome: those of the progress, with their parts that are not in the log.
type openCalls struct {
	core
	recorder *recorder
	budget   *budget
	turn     *turnRun
	open     map[string]*call // by id
}

// nextExpiry delivers when the first open question expires; never if none does.
func (o *openCalls) nextExpiry() (<-chan time.Time, func() bool) {
	first := o.firstExpiry()
	if first == nil {
		return nil, func() bool { return false }
	}
	timer := time.NewTimer(time.Until(*first))
	return timer.C, timer.Stop
}

// firstExpiry is the time at which the first open question expires; nil: never.
func (o *openCalls) firstExpiry() (first *time.Time) {
	for _, c := range o.open {
		if expires := c.expires(); expires != nil && (first == nil || expires.Before(*first)) {
			first = expires
		}
	}
	return first
}

// startedByAgent takes the start of a call that an external agent did not ask about, or was allowed to run.
func (o *openCalls) startedByAgent(change *changeSet, p domain.ToolCallStarted) {
	c, open := o.open[p.ToolCallID]
	if !open || c.running() {
		return
	}
	c.came = audit.Provenance{DecidedBy: p.AllowedBy, Channel: audit.ByAgent}
	if p.Arguments == nil {
		p.Arguments = c.Arguments
	}
	change.emit(p)
}

func (o *openCalls) request(change *changeSet, p domain.ToolCallRequested) {
	if _, open := o.open[p.ToolCallID]; open || o.progress.Ended[p.ToolCallID] {
		return // a call is announced once
	}
	p.Turn = o.turnNumber()
	change.emit(p)
	o.open[p.ToolCallID] = &call{
		ToolCall: domain.ToolCall{ID: p.ToolCallID, Tool: p.Tool, Class: p.Class, Arguments: p.Arguments, Summary: p.Summary, MCP: p.MCP},
		of:       o.progress,
		came:     audit.Provenance{DecidedBy: string(approvals.ByServer), Channel: audit.BySession}, // until it is judged
	}
	o.budget.countCall(change)
}

// complete takes the outcome of a call that the agent ran, or could not run. A call has one outcome: the first one stands, also if
// the session gave it.
func (o *openCalls) complete(change *changeSet, p domain.ToolCallCompleted) {
	c, open := o.open[p.ToolCallID]
	if !open {
		return
	}
	if c.refusal != nil && p.Outcome != domain.OutcomeSucceeded {
		p.Outcome, p.Error = c.refusal.outcome, &c.refusal.failure
	}
	if c.outcomeUnknown() { // the agent could not even ask for it again
		p = unrepeated(p)
	}
	o.endOutput(change, c)
	change.advanced = true
	change.complete(c, p)
	o.forget(c)
}

// announce returns the call, and announces it if the agent did not. Nil: it has its outcome.
func (o *openCalls) announce(change *changeSet, asked domain.ToolCall) *call {
	if c, known := o.open[asked.ID]; known {
		return c
	}
	o.request(change, domain.ToolCallRequested{
		ToolCallID: asked.ID, MessageID: o.progress.Turn.Round, Tool: asked.Tool, Class: asked.Class,
		Arguments: asked.Arguments, Summary: asked.Summary, MCP: asked.MCP,
	})
	return o.open[asked.ID]
}

// close gives every open call its outcome and withdraws the open questions.
func (o *openCalls) close(change *changeSet) {
	for _, id := range slices.Sorted(maps.Keys(o.open)) {
		c := o.open[id]
		switch {
		case c.generation() > 0:
			continue // it outlives its turn
		case c.awaitsClient():
			change.closing = append(change.closing, store.ClientClosing{
				ToolCallID: id, To: domain.ClientCallCancelled,
			})
		case c.approval != nil:
			change.retract(*c.approval)
		}
		begun := c.paused() || c.running() && (c.approval == nil || !o.external())
		if !c.outcomeUnknown() && !begun {
			c.came.DecidedBy, c.came.RuleID, c.came.Reason = string(approvals.ByServer), "", ""
		}
		change.complete(c, o.lastOutcome(c))
	}
}

// lastOutcome is the outcome of a call that is open when its turn ends. The call can still be running only if the agent has not
// returned.
func (o *openCalls) lastOutcome(c *call) domain.ToolCallCompleted {
	outcome, failure := domain.OutcomeCancelled, domain.Failure{Code: domain.CodeCancelled, Message: "The turn ended before this call ran."}
	switch {
	case c.client != nil:
		return c.clientOutcome()
	case c.refusal != nil:
		outcome, failure = c.refusal.outcome, c.refusal.failure
	case c.awaitsDelegate():
		failure.Message = "The turn ended while this call waited for another agent."
	case c.running() && (o.unaccounted() || !o.progress.Turn.Open):
		outcome = domain.OutcomeUnknown
		failure = domain.Failure{Code: domain.CodeOutcomeUnknown, Message: leftOpen}
	case c.running() && o.turn.result == nil:
		outcome = domain.OutcomeUnknown
		failure = approvals.OutcomeUnknown()
	case c.running() && c.MCP != nil: // the server was asked to stop, and nothing says that it has
		outcome = domain.OutcomeUnknown
		failure = domain.Failure{Code: domain.CodeOutcomeUnknown, Message: "The turn ended while the MCP server was running this call. It was told to stop, and may have done it, in part or in full."}
	case c.running():
		failure.Message = "The turn ended while this call was running; it was stopped."
	case c.paused():
		failure.Message = "The turn ended before anybody answered a question of the MCP server, so the request was not repeated."
	case c.outcomeUnknown():
		outcome, failure = domain.OutcomeUnknown, approvals.OutcomeUnknown()
	}
	return domain.ToolCallCompleted{ToolCallID: c.ID, Outcome: outcome, Output: failure.Message, Error: &failure}
}

const leftOpen = "The agent ended its turn without saying what became of this call: it may have run, in part or in full."

// unaccounted tells whether an external agent has ended its turn by itself, so that nobody has stopped the calls that it left
// open.
func (o *openCalls) unaccounted() bool {
	return o.external() && o.turn.result != nil && !o.turn.stopped()
}

func (o *openCalls) releaseSlots(which func(*call) bool) {
	for _, c := range o.open {
		if which(c) {
			c.releaseSlot()
		}
	}
}

func (o *openCalls) any(is func(*call) bool) bool {
	for _, c := range o.open {
		if is(c) {
			return true
		}
	}
	return false
}

// deriveStatus sets the status of a running turn.
func (o *openCalls) deriveStatus(change *changeSet) { o.deriveStatusWith(change, o.progress.Streaming) }

// deriveStatusWith sets the first status that applies; streaming tells whether text arrives.
func (o *openCalls) deriveStatusWith(change *changeSet, streaming bool) {
	if !o.progress.Turn.Open || o.turn.result != nil {
		return
	}
	switch o.progress.Status {
	case domain.StatusInitializing, domain.StatusInterrupted: // the turn is open, and its agent is not at work
		return
	}
	status := domain.StatusWaiting
	switch {
	case o.any(func(c *call) bool { return c.approval != nil }):
		status = domain.StatusPendingToolApproval
	case o.any(func(c *call) bool { return c.running() || c.awaitsSlot() }):
		status = domain.StatusExecutingTool
	case streaming:
		status = domain.StatusStreaming
	}
	change.to(status, "")
}

// attach makes a call for each open call of the log, and forgets all others.
func (o *openCalls) attach() {
	for id, c := range o.open {
		if o.progress.Calls[id] == nil {
			o.forget(c)
		}
	}
	for id, open := range o.progress.Calls {
		if o.open[id] != nil {
			continue
		}
		c := &call{ToolCall: open.Call, of: o.progress, came: recalled(*open)}
		if open.Awaits == domain.AwaitsClient {
			c.client = &domain.ClientCall{ToolCallID: id, State: domain.ClientCallWaiting} // until its row is read
		}
		c.undelivered = c.awaitsDelegate() && c.Tool == domain.MessageDelegateTool
		o.open[id] = c
	}
}

// endOutput writes the rest of the output that was held back because it might have become a secret. The outcome comes after it.
func (o *openCalls) endOutput(change *changeSet, c *call) {
	key := outputOf(c)
	if rest := o.recorder.masking.release(key); rest != "" {
		o.print(change, c.ID, rest)
	}
	o.recorder.masking.forget(key)
}

// print writes a piece of output with its offset.
func (o *openCalls) print(change *changeSet, id, text string) {
	printed := 0
	if c := o.progress.Calls[id]; c != nil {
		printed = c.Printed
	}
	change.emit(domain.ToolCallUpdated{ToolCallID: id, Offset: printed, Output: text})
}

// forget removes a call that has its outcome.
func (o *openCalls) forget(c *call) {
	c.releaseSlot()
	delete(o.open, c.ID)
	o.recorder.masking.forget(outputOf(c))
}

func outputOf(c *call) domain.TextKey {
	return domain.TextKey{Kind: domain.ToolCallUpdatedType, ID: c.ID}
}
