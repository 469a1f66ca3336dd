package sessions

import (
	"bytes"
	"slices"
	"time"
	"unicode/utf8"

	"signoff/internal/approvals"
	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/store"
)

// changeSet is everything that one commit of the session writes, and the replies that follow it. [recorder.begin] begins one.
type changeSet struct {
	recorder *recorder
	at       time.Time      // of all its events; zero: it has none yet
	events   []domain.Event // as the log will have them
	states   []domain.AnswerState
	paused   []domain.PausedRequest
	asked    []domain.Approval
	resolved []store.Resolution
	replies  []func()
	debug    []domain.DebugMessage
	started  domain.PromptID   // the prompt whose turn begins
	dropped  []domain.PromptID // prompts whose turn never comes
	park     *store.Park       // nobody drives the execution after this change, until it wakes
	resumed  bool              // the session has done what somebody chose for an interrupted execution
	advanced bool              // the execution has made progress: its recoveries count from 0 again
	hits     []string          // permission rules that have decided
	audit    []domain.AuditRecord
	ended    *domain.ExecutionEnded
	output   *domain.Output
	rollback *store.RollbackEnd // of the rollback that has ended
	accepted bool               // the execution ends, and somebody has accepted its newest blocks

	handed    []domain.ClientCall   // calls that the client is asked to run
	closing   []store.ClientClosing // calls that it is no longer asked to run
	generated *domain.Generation

	linked    []store.Change             // of children
	ancestors []ancestorEvents           // for parent and root
	result    *domain.DelegateResult     // of this child, for its parent
	taken     map[domain.ExecutionID]int // by child, the rest whose result is now in the conversation here
}

func (change *changeSet) empty() bool {
	return len(change.events) == 0 && len(change.states) == 0 && len(change.debug) == 0 && change.park == nil && !change.advanced && change.rollback == nil &&
		!change.hasLinkedChanges()
}

// hasLinkedChanges tells whether the change set writes to other executions.
func (change *changeSet) hasLinkedChanges() bool { return len(change.linked)+len(change.ancestors) > 0 }

// onlyEvents tells whether the change set has only the words of the agent: nobody waits for it, and it changes only the
// execution's own row.
func (change *changeSet) onlyEvents() bool {
	return len(change.asked)+len(change.resolved)+len(change.replies)+len(change.dropped)+len(change.audit)+len(change.handed)+len(change.closing) == 0 &&
		!change.hasLinkedChanges() && change.result == nil && change.taken == nil && change.started == "" && change.park == nil && !change.resumed && change.ended == nil && change.output == nil && change.generated == nil && change.rollback == nil
}

// after returns the change set with an earlier one before it.
func (change *changeSet) after(said *changeSet) *changeSet {
	both := *change
	both.events = slices.Concat(said.events, change.events)
	both.states = slices.Concat(said.states, change.states)
	both.debug = slices.Concat(said.debug, change.debug)
	both.hits = slices.Concat(said.hits, change.hits)
	both.advanced = said.advanced || change.advanced
	return &both
}

// emit adds an event to the change. It masks, dates and encodes the event as the log will have it, and applies exactly that to the
// progress. All events of a change have one time.
//
// An event is applied before it is committed. A session whose commit fails ends, unless the change was made by [recorder.attempt].
func (change *changeSet) emit(payload domain.Payload) {
	r := change.recorder
	if change.at.IsZero() {
		change.at = r.date()
	}
	event := r.event(payload)
	event.Time = change.at
	change.events = append(change.events, event)
	if _, _, text := growing(payload); text != "" && utf8.ValidString(text) && r.transcript == nil { // most events; the log has the text as it is
		r.progress.ApplyText(event.Time, payload)
		return
	}
	folded := []domain.Folded{r.progress}
	if r.transcript != nil {
		folded = append(folded, r.transcript)
	}
	if err := event.ApplyTo(folded...); err != nil {
		panic(err) // no server could read it back
	}
}

// keep adds the state of an answer. A state with a secret that the agent did not know is dropped: it must not be stored as it is, and its provider refuses
// it if it is changed.
func (change *changeSet) keep(state domain.AnswerState) {
	if masker := change.recorder.engine.masker; bytes.Equal(masker.JSON(state.State), state.State) {
		change.states = append(change.states, state)
	}
}

// complete ends a call, in the log and on record.
func (change *changeSet) complete(c *call, done domain.ToolCallCompleted) {
	masker := change.recorder.engine.masker
	done.Sandbox = c.logged().Sandbox
	done.Output = masker.MaskString(done.Output) // before the record cuts it: a masker does not find half a secret
	change.emit(done)
	call := c.ToolCall
	call.Summary, call.Action.Command = masker.MaskString(call.Summary), masker.MaskString(call.Action.Command)
	came := c.came
	came.Environment = change.recorder.environmentOf(c).Stamp()
	change.audit = append(change.audit, audit.Call(*change.recorder.execution, call, came, done))
}

// retract ends an open question that nobody has answered and nobody needs answered.
func (change *changeSet) retract(approval domain.Approval) {
	resolution, event := approvals.EndUndecided(approval, domain.ApprovalCancelled)
	change.resolved = append(change.resolved, resolution)
	change.emit(event)
	change.reportApprovalResolved(approval.ID, domain.ApprovalCancelled)
}

// transaction is the change in the form of the store: the execution's row as the session knows it, and the events in their order.
func (change *changeSet) transaction() store.Change {
	r := change.recorder
	usage := r.progress.Usage
	update := &store.Update{
		Status: r.progress.Status, Cause: r.progress.Cause, Turn: r.progress.Turn.Number, Rounds: r.progress.Turn.Rounds,
		Usage: &usage, Output: change.output, AgentSession: r.agentSession, Accepted: change.accepted,
	}
	if change.textOnly() {
		update = nil // the row does not change with every word
	}
	transaction := store.Change{
		Execution: r.execution.ID, Epoch: r.claim.epoch, Update: update, Events: change.events, States: change.states,
		Ask: change.asked, Resolve: change.resolved, Progress: change.advanced, Debug: change.debug,
		StartPrompt: change.started, DiscardPrompts: change.dropped, Resumed: change.resumed, Hits: change.hits, Paused: change.paused,
		ClientCalls: store.ClientCalls{AskClient: change.handed, CloseClient: change.closing}, Generate: change.generated, EndRollback: change.rollback, Park: change.park,
		Linked: change.linkedChanges(), Rest: change.result, Taken: change.taken,
	}
	for _, record := range change.audit {
		transaction.Audit = append(transaction.Audit, r.maskRecord(record))
	}
	return transaction
}

func (change *changeSet) textOnly() bool {
	return !slices.ContainsFunc(change.events, func(event domain.Event) bool {
		switch event.Type {
		case domain.MessageDeltaType, domain.ThoughtDeltaType, domain.ToolCallUpdatedType:
			return false
		default:
			return true
		}
	})
}

// answer wakes the agents that wait. The session calls it only after the commit: a call that starts must be in the log.
func (change *changeSet) answer() {
	for _, reply := range change.replies {
		reply()
	}
}

// reply answers the asker after the commit. An external agent may ask about the same call again.
func (change *changeSet) reply(c *call, answer reply) {
	waiting := c.ask
	if waiting == nil {
		return
	}
	change.replies = append(change.replies, func() { waiting.reply <- answer })
	if !waiting.ours() {
		c.ask = nil
	}
}
