package sessions

import (
	"slices"
	"time"
	"unicode/utf8"

	"signoff/internal/approvals"
	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/store"
)

// draft collects what one commit of the session writes, and whom it answers afterwards.
type draft struct {
	at       time.Time      // of all its events; zero: there are none yet
	events   []domain.Event // as the log will hold them
	asked    []domain.Approval
	resolved []store.Resolution
	replies  []func()
	debug    []domain.DebugMessage
	started  domain.PromptID   // the prompt whose turn begins
	dropped  []domain.PromptID // prompts whose turn never comes
	park     *store.Park       // nobody drives the execution from here on, until it wakes
	resumed  bool              // what somebody chose for an interrupted execution is done
	advanced bool              // the execution has come further: its recoveries count from 0 again
	hits     []string          // permission rules that decided
	audit    []domain.AuditRecord
	ended    *domain.ExecutionEnded
	output   *domain.Output

	handed    []domain.ClientCall   // that the client is asked to run
	closing   []store.ClientClosing // that it is not asked to run any more
	generated *domain.Generation
}

func (d *draft) empty() bool {
	return len(d.events) == 0 && len(d.debug) == 0 && d.park == nil && !d.advanced
}

// onlySays tells whether the draft has nothing but what the agent said: nobody waits for it, and no row but that of the execution changes.
func (d *draft) onlySays() bool {
	return len(d.asked)+len(d.resolved)+len(d.replies)+len(d.dropped)+len(d.audit)+len(d.handed)+len(d.closing) == 0 &&
		d.started == "" && d.park == nil && !d.resumed && d.ended == nil && d.output == nil && d.generated == nil
}

// after is the draft with all that comes before it.
func (d *draft) after(said *draft) *draft {
	both := *d
	both.events = slices.Concat(said.events, d.events)
	both.debug = slices.Concat(said.debug, d.debug)
	both.hits = slices.Concat(said.hits, d.hits)
	both.advanced = said.advanced || d.advanced
	return &both
}

// emit adds what happens to the change, masked, dated and encoded as the log will hold it, and applies exactly that to the progress. All
// events of a change have one time.
//
// A change that is not committed has been applied all the same: a session whose commit fails ends, unless it drafted by
// [Session.attempt].
func (s *Session) emit(d *draft, payload domain.Payload) {
	if d.at.IsZero() {
		d.at = s.date()
	}
	event := s.event(payload)
	event.Time = d.at
	d.events = append(d.events, event)
	if _, _, text := growing(payload); text != "" && utf8.ValidString(text) && s.agent.transcript == nil { // most events; the log holds the text as it is
		s.progress.ApplyText(event.Time, payload)
		return
	}
	folded := []domain.Folded{s.progress}
	if s.agent.transcript != nil {
		folded = append(folded, s.agent.transcript)
	}
	if err := event.ApplyTo(folded...); err != nil {
		panic(err) // no server could read it back
	}
}

// complete ends a call, in the log and on record.
func (s *Session) complete(d *draft, c *call, done domain.ToolCallCompleted) {
	done.Sandbox = c.logged().Sandbox
	done.Output = s.deps.masker.MaskString(done.Output) // before the record cuts it: half a secret is not found any more
	s.emit(d, done)
	call := c.ToolCall
	call.Summary, call.Action.Command = s.deps.masker.MaskString(call.Summary), s.deps.masker.MaskString(call.Action.Command)
	d.audit = append(d.audit, audit.Call(s.execution, call, c.came, done))
}

// retract ends an open question that nobody has answered and nobody needs answered any more.
func (s *Session) retract(d *draft, approval domain.Approval) {
	resolution, event := approvals.EndUndecided(approval, domain.ApprovalCancelled)
	d.resolved = append(d.resolved, resolution)
	s.emit(d, event)
}

// change is the transaction: the row as the session knows it, and the events in their order.
func (d *draft) change(s *Session) store.Change {
	usage := s.progress.Usage
	update := &store.Update{
		Status: s.progress.Status, Cause: s.progress.Cause, Turn: s.progress.Turn.Number, Rounds: s.progress.Turn.Rounds,
		Usage: &usage, Output: d.output, AgentSession: s.agent.session,
	}
	change := store.Change{
		Execution: s.execution.ID, Epoch: s.claim.epoch, Update: update, Events: d.events,
		Ask: d.asked, Resolve: d.resolved, Progress: d.advanced, Debug: d.debug,
		StartPrompt: d.started, DiscardPrompts: d.dropped, Resumed: d.resumed, Hits: d.hits,
		ClientCalls: store.ClientCalls{AskClient: d.handed, CloseClient: d.closing}, Generate: d.generated, Park: d.park,
	}
	switch {
	case d.ended != nil:
		update.Accepted = s.blocks.accepted
	case d.textOnly():
		change.Update = nil // the row does not change with every word
	}
	for _, record := range d.audit {
		change.Audit = append(change.Audit, s.maskRecord(record))
	}
	return change
}

func (d *draft) textOnly() bool {
	return !slices.ContainsFunc(d.events, func(event domain.Event) bool {
		switch event.Type {
		case domain.MessageDeltaType, domain.ThoughtDeltaType, domain.ToolCallUpdatedType:
			return false
		default:
			return true
		}
	})
}

// answer wakes the agents that wait. It is called after the commit and never before: a call that starts must be in
// the log.
func (d *draft) answer() {
	for _, reply := range d.replies {
		reply()
	}
}
