package sessions

import (
	"slices"

	"signoff/internal/approvals"
	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/store"
)

// draft collects what one commit of the session writes, and whom it answers afterwards.
type draft struct {
	payloads []domain.Payload
	asked    []domain.Approval
	resolved []store.Resolution
	replies  []func()
	debug    []domain.DebugMessage
	started  domain.PromptID   // the prompt whose turn begins
	dropped  []domain.PromptID // prompts whose turn never comes
	park     *store.Park       // nobody drives the execution from here on, until it wakes
	resumed  bool              // what somebody chose for an interrupted execution is done
	progress bool              // the execution has come further: its recoveries count from 0 again
	hits     []string          // permission rules that decided
	audit    []domain.AuditRecord
	ended    *domain.ExecutionEnded
	output   *domain.Output

	handed    []domain.ClientCall   // that the client is asked to run
	closing   []store.ClientClosing // that it is not asked to run any more
	generated *domain.Generation
	executed  []domain.ExecutedToolCall // that got their fate
}

func (d *draft) empty() bool {
	return len(d.payloads) == 0 && len(d.debug) == 0 && d.park == nil && !d.progress
}

// fate ends a call, in the log and on record.
func (d *draft) fate(s *session, c *call, done domain.ToolCallCompleted) {
	done.Sandbox = c.sandbox
	done.Output = s.masker.MaskString(done.Output) // before the record cuts it: half a secret is not found any more
	d.add(done)
	d.executed = append(d.executed, domain.Executed(c.ToolCall, done, c.running || c.lost))
	call := c.ToolCall
	call.Summary, call.Action.Command = s.masker.MaskString(call.Summary), s.masker.MaskString(call.Action.Command)
	d.audit = append(d.audit, audit.Call(s.execution, call, c.came, done))
}

// withdraw ends an open question that nobody has answered and nobody needs answered any more.
func (d *draft) withdraw(approval domain.Approval) {
	resolution, event := approvals.EndUndecided(approval, domain.ApprovalCancelled)
	d.resolved = append(d.resolved, resolution)
	d.add(event)
}

func (d *draft) add(payload domain.Payload) { d.payloads = append(d.payloads, payload) }

// change is the transaction: the row as the session knows it, and the events in their order.
func (d *draft) change(s *session) store.Change {
	update := &store.Update{Status: s.status, Turn: s.turn, Rounds: s.rounds, Usage: &s.usage, Output: d.output, AgentSession: s.agentSession}
	change := store.Change{
		Execution: s.execution.ID, Epoch: s.epoch, Update: update,
		Ask: d.asked, Resolve: d.resolved, Progress: d.progress, Debug: d.debug,
		StartPrompt: d.started, DiscardPrompts: d.dropped, Resumed: d.resumed, Hits: d.hits,
		AskClient: d.handed, CloseClient: d.closing, Generate: d.generated, Park: d.park,
	}
	if s.status == domain.StatusInterrupted {
		update.Cause = s.cause
	}
	switch {
	case d.ended != nil:
		update.Status, update.Cause, update.Accepted = d.ended.Status, "", s.blocks.accepted
	case d.textOnly():
		change.Update = nil // the row does not change with every word
	}
	for _, payload := range d.payloads {
		change.Events = append(change.Events, s.event(payload))
	}
	for _, record := range d.audit {
		change.Audit = append(change.Audit, s.maskRecord(record))
	}
	return change
}

func (d *draft) textOnly() bool {
	return !slices.ContainsFunc(d.payloads, func(payload domain.Payload) bool {
		_, id, _ := growing(payload)
		return id == ""
	})
}

// answer wakes the agents that wait. It is called after the commit and never before: a call that starts must be in
// the log.
func (d *draft) answer() {
	for _, reply := range d.replies {
		reply()
	}
}
