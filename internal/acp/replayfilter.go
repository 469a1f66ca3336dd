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
	foreignShown = 3       // updates of other sessions that are shown
)

// beginReplay begins what an agent tells when it takes up a session; r recognises what is told again, nil where that need not
// be.
func (s *translator) beginReplay(session string, r *replay) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replay = r
	s.filter.phase, s.filter.session, s.filter.heard = phaseReplaying, session, time.Now()
}

// toldAll tells whether everything that could be told again was.
func (s *translator) toldAll() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.replay == nil || s.replay.exhausted()
}

// lastHeard is when the last update of the replay came.
func (s *translator) lastHeard() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.filter.heard
}

// nameSession tells what the session is called. What was held back stays so until the session is live.
func (s *translator) nameSession(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.filter.session = session
}

// goLive lets the updates through, first those that were held back, and what a replay has told of the present.
func (s *translator) goLive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.filter.phase = phaseLive
	if s.replay != nil && s.replay.exhausted() {
		s.replay = nil
	}
	held, kept := s.filter.held, s.filter.kept
	s.filter.held, s.filter.kept = nil, nil
	s.tellOptions()
	for _, params := range held {
		s.dispatch(params)
	}
	for _, kind := range statefulKinds {
		if update, told := kept[kind]; told {
			s.translate(update)
		}
	}
}

// update takes the parameters of one session/update.
func (s *translator) update(params json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.filter.phase != phaseOpening {
		s.dispatch(params)
		return
	}
	if len(s.filter.held) < heldLimit && s.filter.heldBytes+len(params) <= heldBytes {
		s.filter.held = append(s.filter.held, params)
		s.filter.heldBytes += len(params)
	}
}

// takeChunk takes a plain chunk of text of our session. It declines one that is not told at once as what it is.
func (s *translator) takeChunk(chunk wire.TextChunk) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.filter.phase != phaseLive || chunk.Session != s.filter.session || s.replay != nil {
		return false
	}
	s.addText(chunk.Thought, chunk.MessageID, chunk.Text)
	return true
}

// dispatch tells the updates of our session from others.
func (s *translator) dispatch(params json.RawMessage) {
	p := wire.ReadObject(params)
	update := p["update"]
	switch {
	case wire.ReadObject(update) == nil || p.Text("sessionId") == "":
		s.malformed(params)
	case p.Text("sessionId") != s.filter.session:
		s.passForeign(params)
	case s.filter.phase == phaseReplaying:
		s.learn(update)
	case s.replay != nil:
		s.recognise(update)
	default:
		s.translate(update)
	}
}

// passForeign shows the first updates of sessions that are not ours: one would like to know, and not to be flooded.
func (s *translator) passForeign(params json.RawMessage) {
	if s.filter.foreign++; s.filter.foreign <= foreignShown {
		s.pass("foreignSession", params)
	}
}

// statefulKinds are the updates of which the newest still holds after a replay.
var statefulKinds = []string{"available_commands_update", "usage_update"}

// learn takes from a replay what it tells of the present. All else has been told when it happened.
func (s *translator) learn(update json.RawMessage) {
	s.filter.heard = time.Now()
	o := wire.ReadObject(update)
	kind := o.Text("sessionUpdate")
	s.settings.ReadUpdate(kind, o)
	s.replay.learn(kind, o)
	for _, stateful := range statefulKinds {
		if kind == stateful {
			if s.filter.kept == nil {
				s.filter.kept = map[string]json.RawMessage{}
			}
			s.filter.kept[kind] = update
		}
	}
}

// begin opens a turn: from here on its host hears everything.
func (s *translator) begin(host domain.Host, prompt domain.Prompt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeMessage(false)
	s.host, s.turn, s.prompt = host, prompt.Turn, withoutSpace(prompt.Text)
	s.messages.round = ""
	if prompt.Turn > 1 && !s.prompted {
		s.calls.distinguish()
	}
	s.prompted = true
}

// end closes the turn. A message that was cut off is marked so: the agent does not remember it.
func (s *translator) end(cutOff bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeMessage(cutOff)
	s.host, s.turn = nil, 0
	s.messages.round = ""
}
