package acp

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"signoff/internal/acp/settings"
	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// translator turns what the agent says into facts for the host: each update into the events that it means, with the agent's
// own words beside them where the events leave something out.
//
// Updates come one after the other, but requests come beside them, and a permission request may announce a call that no
// update has. So one lock is held from looking at the state to the last event that follows from it: what is told has
// the order in which it was decided, and nothing is announced twice. It is never held while a person is asked.
type translator struct {
	life    context.Context //nolint:containedctx // of the agent: what it says belongs to no request
	outside domain.Host     // for what is said between turns

	mu       sync.Mutex
	host     domain.Host // of the turn; nil between turns
	turn     int         // 0 between turns
	prompted bool        // a turn has begun
	filter   replayFilter
	replay   *replay // nil where nothing can be told again
	prompt   string  // of the turn, without white space
	messages messages
	calls    calls
	usage    account
	settings settings.Settings
	options  []domain.AgentOption // as they were told last
}

// newTranslator is for one process. Where other processes have spoken for the same execution,
// the ids of calls, which the agent may count from 1 again, need an ending of their own.
func newTranslator(life context.Context, opening domain.Opening) *translator {
	process := randomName(4)
	s := &translator{life: life, outside: opening.Host}
	s.messages.process = process
	s.calls = newCalls(process, opening.Execution.Request.WorkingDirectory)
	s.usage = account{before: opening.Execution.Usage, continued: opening.AgentSession != ""}
	if opening.AgentSession != "" || opening.Execution.Turn > 1 || opening.Earlier {
		s.calls.distinguish()
	}
	return s
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

// inTurn tells whether a turn runs.
func (s *translator) inTurn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.host != nil
}

// currentHost is the host of this moment.
func (s *translator) currentHost() domain.Host {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hostNow()
}

func (s *translator) hostNow() domain.Host {
	if s.host != nil {
		return s.host
	}
	return s.outside
}

// emit tells the host. It fails only where the session is over, and then nobody is left to tell, and the end of the
// agent is near.
func (s *translator) emit(payload domain.Payload) {
	_ = s.hostNow().Emit(s.life, payload)
}

// tell tells the host from outside of the translator.
func (s *translator) tell(payload domain.Payload) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emit(payload)
}

// pass passes on what the agent said as it said it.
func (s *translator) pass(kind string, update json.RawMessage) {
	s.emit(domain.AgentUpdated{Turn: s.turn, Kind: wire.Beginning(kind, 100), Update: update})
}

// passOn is pass from outside of the translator.
func (s *translator) passOn(kind string, update json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass(kind, update)
}

// malformedBytes is how much is shown of what cannot be read.
const malformedBytes = 4 << 10

// malformed passes on what cannot be read, for somebody to look at. It never ends anything: most agents send something
// odd now and then, and mean nothing by it.
func (s *translator) malformed(raw json.RawMessage) {
	if len(raw) > malformedBytes {
		raw = domain.Encode(wire.Beginning(string(raw), malformedBytes))
	}
	if len(raw) == 0 {
		raw = json.RawMessage("null")
	}
	s.pass("malformed", raw)
}

// silent tells that nothing has come for a while.
func (s *translator) silent(quiet time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emit(domain.AgentSilent{Turn: s.turn, Seconds: int64(quiet / time.Second)})
}
