package acp

import (
	"encoding/json"
	"time"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

const (
	heldLimit    = 1000    // updates before the session has a name
	heldBytes    = 4 << 20 // of them
	foreignShown = 3       // updates of other sessions that are shown in a turn
	requestShown = 10      // requests of other sessions that are shown in a turn
)

// beginReplay begins the replay of a resumed session; r recognises repeated updates. r is nil where nothing is repeated.
func (t *translator) beginReplay(session string, r *replay) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.replay = r
	t.filter.phase, t.filter.session, t.filter.heard = phaseReplaying, session, time.Now()
}

// replaying reports whether the agent repeats updates that the log has already.
func (t *translator) replaying() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.filter.phase == phaseReplaying
}

// toldAll reports whether the replay is complete.
func (t *translator) toldAll() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.replay == nil || t.replay.exhausted()
}

// lastHeard is when the last update of the replay came.
func (t *translator) lastHeard() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.filter.heard
}

// nameSession tells what the session is called. What was held back stays so until the session is live.
func (t *translator) nameSession(session string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.filter.session = session
}

// goLive lets the updates through, first those that were held back, and what a replay has told of the present.
func (t *translator) goLive() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.filter.phase = phaseLive
	if t.replay != nil && t.replay.exhausted() {
		t.replay = nil
	}
	held, kept := t.filter.held, t.filter.kept
	t.filter.held, t.filter.kept = nil, nil
	t.tellOptions()
	for _, params := range held {
		t.dispatch(params)
	}
	for _, kind := range statefulKinds {
		if update, told := kept[kind]; told {
			t.translate(update)
		}
	}
}

// update takes the parameters of one session/update.
func (t *translator) update(params json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.filter.phase != phaseOpening {
		t.dispatch(params)
		return
	}
	if len(t.filter.held) < heldLimit && t.filter.heldBytes+len(params) <= heldBytes {
		t.filter.held = append(t.filter.held, params)
		t.filter.heldBytes += len(params)
	}
}

// takeChunk takes a plain chunk of text of our session. It declines one that is not told at once as what it is.
func (t *translator) takeChunk(chunk wire.TextChunk) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.filter.phase != phaseLive || chunk.Session != t.filter.session || t.replay != nil {
		return false
	}
	t.addText(chunk.Thought, chunk.MessageID, chunk.Text)
	return true
}

// dispatch tells the updates of our session and of its subagents from others.
func (t *translator) dispatch(params json.RawMessage) {
	p := wire.ReadObject(params)
	session, update := p.Text("sessionId"), p["update"]
	child := t.children[session]
	switch {
	case wire.ReadObject(update) == nil || session == "":
		t.malformed(params)
	case session != t.filter.session && child == nil:
		if t.filter.foreign++; t.filter.foreign <= foreignShown { // one would like to know, and not to be flooded
			t.pass("foreignSession", params)
		}
	case t.filter.phase == phaseReplaying:
		t.learn(child, update)
	case child != nil:
		t.translateFrom(child, update)
	case t.replay != nil:
		t.recognise(update)
	default:
		t.translate(update)
	}
}

// statefulKinds are the kinds of updates whose newest one still holds after a replay.
var statefulKinds = []string{"available_commands_update", "usage_update"}

// learn keeps the updates of a replay that describe the present. All others are in the log already. The work of a subagent is history: the
// agent starts none again.
func (t *translator) learn(child *subagent, update json.RawMessage) {
	t.filter.heard = time.Now()
	o := wire.ReadObject(update)
	kind := o.Text("sessionUpdate")
	if kind == "subagent_update" {
		t.learnSubagent(child, o)
	}
	if child != nil {
		return
	}
	t.settings.ReadUpdate(kind, o)
	t.replay.learn(kind, o)
	for _, stateful := range statefulKinds {
		if kind == stateful {
			if t.filter.kept == nil {
				t.filter.kept = map[string]json.RawMessage{}
			}
			t.filter.kept[kind] = update
		}
	}
}

// begin opens a turn: from here on its host hears everything.
func (t *translator) begin(host domain.Host, prompt domain.Prompt) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closeMessage(false)
	t.host, t.turn, t.prompt = host, prompt.Turn, withoutSpace(prompt.Text)
	t.messages.round = ""
	t.filter.foreign, t.filter.requests = 0, 0
	if prompt.Turn > 1 && !t.prompted {
		t.calls.distinguish()
	}
	t.prompted = true
}

// end closes the turn. A message that was cut off is marked so: the agent does not remember it.
func (t *translator) end(cutOff bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closeMessage(cutOff)
	t.host, t.turn = nil, 0
	t.messages.round = ""
	for _, s := range t.children {
		s.call = nil // the session has written the outcome of calls that are still open
	}
}
