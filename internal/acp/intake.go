package acp

import (
	"encoding/json"
	"time"

	"signoff/internal/acp/wire"
)

// intake decides what becomes of an update, before it becomes part of the story. An agent speaks as soon as its session
// exists, which is before we know what the session is called; and one that takes up a session tells all of it again.
type intake struct {
	phase   phase
	session string // as the agent calls it, and as it is shown

	held      []json.RawMessage          // opening: updates, until we know whose they are
	heldBytes int                        // of them
	kept      map[string]json.RawMessage // replaying: the newest of the kinds that tell a state
	heard     time.Time                  // replaying: when the last update came
	foreign   int                        // updates of other sessions
}

type phase int

const (
	phaseOpening   phase = iota // the session has no name yet
	phaseReplaying              // what comes has been told before
	phaseLive
)

const (
	heldLimit    = 1000    // updates before the session has a name
	heldBytes    = 4 << 20 // of them
	foreignShown = 3       // updates of other sessions that are shown
)

// takeUp begins what an agent tells when it takes up a session; r recognises what is told again, nil where that need not
// be.
func (s *story) takeUp(session string, r *replay) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replay = r
	s.intake.phase, s.intake.session, s.intake.heard = phaseReplaying, session, time.Now()
}

// toldAll tells whether everything that could be told again was.
func (s *story) toldAll() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.replay == nil || s.replay.exhausted()
}

// lastHeard is when the last update of the replay came.
func (s *story) lastHeard() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.intake.heard
}

// name tells what the session is called. What was held back stays so until the story is live.
func (s *story) name(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.intake.session = session
}

// live lets the updates through, first those that were held back, and what a replay has told of the present.
func (s *story) live() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.intake.phase = phaseLive
	if s.replay != nil && s.replay.exhausted() {
		s.replay = nil
	}
	held, kept := s.intake.held, s.intake.kept
	s.intake.held, s.intake.kept = nil, nil
	s.tellOptions()
	for _, params := range held {
		s.sort(params)
	}
	for _, kind := range statefulKinds {
		if update, told := kept[kind]; told {
			s.take(update)
		}
	}
}

// update takes the parameters of one session/update.
func (s *story) update(params json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.intake.phase != phaseOpening {
		s.sort(params)
		return
	}
	if len(s.intake.held) < heldLimit && s.intake.heldBytes+len(params) <= heldBytes {
		s.intake.held = append(s.intake.held, params)
		s.intake.heldBytes += len(params)
	}
}

// hear takes a plain chunk of text of our session. It declines one that is not told at once as what it is.
func (s *story) hear(chunk wire.TextChunk) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.intake.phase != phaseLive || chunk.Session != s.intake.session || s.replay != nil {
		return false
	}
	s.say(chunk.Thought, chunk.MessageID, chunk.Text)
	return true
}

// sort tells the updates of our session from others.
func (s *story) sort(params json.RawMessage) {
	p := wire.ReadObject(params)
	update := p["update"]
	switch {
	case wire.ReadObject(update) == nil || p.Text("sessionId") == "":
		s.malformed(params)
	case p.Text("sessionId") != s.intake.session:
		s.strange(params)
	case s.intake.phase == phaseReplaying:
		s.learn(update)
	case s.replay != nil:
		s.recognise(update)
	default:
		s.take(update)
	}
}

// strange shows the first updates of sessions that are not ours: one would like to know, and not to be flooded.
func (s *story) strange(params json.RawMessage) {
	if s.intake.foreign++; s.intake.foreign <= foreignShown {
		s.pass("foreignSession", params)
	}
}

// statefulKinds are the updates of which the newest still holds after a replay.
var statefulKinds = []string{"available_commands_update", "usage_update"}

// learn takes from a replay what it tells of the present. All else has been told when it happened.
func (s *story) learn(update json.RawMessage) {
	s.intake.heard = time.Now()
	o := wire.ReadObject(update)
	kind := o.Text("sessionUpdate")
	s.settings.Learn(kind, o)
	s.replay.learn(kind, o)
	for _, stateful := range statefulKinds {
		if kind == stateful {
			if s.intake.kept == nil {
				s.intake.kept = map[string]json.RawMessage{}
			}
			s.intake.kept[kind] = update
		}
	}
}
