package sessions

import (
	"signoff/internal/domain"
)

// translator turns what the agent says into events, and hands on what it asks.
type translator struct {
	core
	recorder    *recorder
	budget      *budget
	calls       *openCalls
	texts       *texts
	permissions *permissions
	blocks      *blocks
	agent       *agent
	turn        *turnRun
	inbox       *inbox

	checkpointing *checkpointing
	rollbacks     *rollbacks
}

// commitInbox writes everything that the agent has said. It may make a question obsolete that a person is deciding at this moment:
// then the question ends first, in a change of its own, and a decision that was faster stands. If the log is full, only what
// closes something is taken.
func (t *translator) commitInbox() error {
	items, traces := t.inbox.take()
	change := t.recorder.begin()
	change.debug = traces
	t.budget.countTime(change)
	for _, i := range items {
		if c := t.permissions.obsolete(i); c != nil {
			if err := t.recorder.commit(change); err != nil {
				return err
			}
			if err := t.permissions.withdraw(c); err != nil {
				return err
			}
			change = t.recorder.begin()
		}
		if t.budget.measure(change) || i.closes() {
			t.apply(change, i)
		}
	}
	if t.turn.result != nil && change.onlyEvents() {
		t.recorder.held = change
		return nil
	}
	return t.recorder.commit(change)
}

// apply turns one item into events, and updates the session. The status changes with each item, so the log has the changes in
// their order.
func (t *translator) apply(change *changeSet, i item) {
	switch {
	case i.delta != nil:
		t.texts.write(change, i.delta)
	case i.state != nil:
		change.keep(*i.state)
	case i.ask != nil && i.ask.inquires:
		t.permissions.inquire(change, i.ask)
	case i.ask != nil:
		t.permissions.authorize(change, i.ask)
	case i.withdrawn != nil:
		t.permissions.askerLeft(i.withdrawn)
	case i.slotGiven != "":
		t.permissions.slotGiven(change, i.slotGiven)
	case i.submitted != nil:
		t.blocks.submit(change, i.submitted)
	case i.checkpoint != nil:
		t.checkpointing.write(change, i.checkpoint)
	case i.rolledBack != nil:
		t.rollbacks.end(change, i.rolledBack)
	case i.done != nil:
		t.turn.result = i.done
	default:
		t.translate(change, i.payload)
	}
	t.calls.deriveStatus(change)
}

// translate turns one finished statement of the agent into events.
func (t *translator) translate(change *changeSet, payload domain.Payload) {
	switch p := payload.(type) {
	case domain.MessageCompleted:
		if length, begun := t.texts.end(change, domain.TextKey{Kind: domain.MessageDeltaType, ID: p.MessageID}); begun {
			p.Turn, p.Length = t.turnNumber(), length
			change.advanced = change.advanced || !p.Interrupted
			change.emit(p)
		}
	case domain.ThoughtCompleted:
		if length, begun := t.texts.end(change, domain.TextKey{Kind: domain.ThoughtDeltaType, ID: p.MessageID}); begun {
			p.Turn, p.Length = t.turnNumber(), length
			change.emit(p) // text follows a thought, so the status stays
		}
	case domain.ToolCallRequested:
		t.calls.request(change, p)
	case domain.ToolCallStarted:
		t.calls.startedByAgent(change, p)
	case domain.ToolCallUpdated: // its output is text that grows
		t.calls.advanced(change, p)
	case domain.ToolCallCompleted:
		t.calls.complete(change, p)
	case domain.UsageUpdated:
		t.used(change, p)
	case domain.AgentExited:
		t.agent.exited = true
		change.emit(p)
	default:
		change.emit(domain.InTurn(payload, t.turnNumber()))
	}
}

// used takes the usage that the agent reports.
func (t *translator) used(change *changeSet, p domain.UsageUpdated) {
	p.Usage, p.Charged = p.Usage.AtLeast(t.progress.Usage), t.execution.Request.Charged()
	if p.Turn == nil {
		turn := p.Usage.Since(t.progress.Turn.Before)
		p.Turn = &turn
	}
	change.emit(p)
	t.budget.spend(change)
}
