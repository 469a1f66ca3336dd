package acp

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"signoff/internal/acp/settings"
	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// translator translates what the agent says for the host: each update into the events that it means, with the agent's
// own words beside them where the events leave something out.
//
// Updates come one after the other, but requests come beside them, and a permission request may announce a call that no
// update has. So one lock is held from looking at the state to the last event that follows from it: events have
// the order in which they were decided, and nothing is announced twice. It is never held while a person is asked.
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
	children subagents
	usage    account
	settings settings.Settings
	options  []domain.AgentOption // as they were told last
}

// newTranslator is for one process. Where other processes have spoken for the same execution,
// the ids of calls, which the agent may count from 1 again, need an ending of their own.
func newTranslator(life context.Context, opening domain.Opening) *translator {
	process := randomName(4)
	t := &translator{life: life, outside: opening.Host, children: subagents{}}
	t.messages.process = process
	t.calls = calls{
		process: process, folder: opening.Execution.Request.WorkingDirectory, known: map[callKey]*toolCall{}, used: map[string]bool{},
	}
	t.usage = account{before: opening.Execution.Usage, continued: opening.AgentSession != ""}
	if opening.AgentSession != "" || opening.Execution.Turn > 1 || opening.Earlier {
		t.calls.distinguish()
	}
	return t
}

// inTurn tells whether a turn runs.
func (t *translator) inTurn() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.host != nil
}

// currentHost is the host of this moment.
func (t *translator) currentHost() domain.Host {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.hostNow()
}

func (t *translator) hostNow() domain.Host {
	if t.host != nil {
		return t.host
	}
	return t.outside
}

// emit tells the host. It fails only where the session is over, and then nobody is left to tell, and the end of the
// agent is near.
func (t *translator) emit(payload domain.Payload) {
	_ = t.hostNow().Emit(t.life, payload)
}

// tell tells the host from outside of the translator.
func (t *translator) tell(payload domain.Payload) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.emit(payload)
}

// pass passes on what the agent said as it said it.
func (t *translator) pass(kind string, update json.RawMessage) {
	t.emit(domain.AgentUpdated{Turn: t.turn, Kind: wire.Beginning(kind, 100), Update: update})
}

// passOn is pass from outside of the translator.
func (t *translator) passOn(kind string, update json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pass(kind, update)
}

// malformedBytes is how much is shown of what cannot be read.
const malformedBytes = 4 << 10

// malformed passes on what cannot be read, for somebody to look at. It never ends anything: most agents send something
// odd now and then, and mean nothing by it.
func (t *translator) malformed(raw json.RawMessage) {
	if len(raw) > malformedBytes {
		raw = domain.Encode(wire.Beginning(string(raw), malformedBytes))
	}
	if len(raw) == 0 {
		raw = json.RawMessage("null")
	}
	t.pass("malformed", raw)
}

// silent tells that nothing has come for a while.
func (t *translator) silent(quiet time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.emit(domain.AgentSilent{Turn: t.turn, Seconds: int64(quiet / time.Second)})
}

// replayFilter decides what becomes of an update, before it is translated. An agent speaks as soon as its session
// exists, which is before we know what the session is called; and one that resumes a session tells all of it again.
type replayFilter struct {
	phase   phase
	session string // as the agent calls it, and as it is shown

	held      []json.RawMessage          // opening: updates, until we know whose they are
	heldBytes int                        // of them
	kept      map[string]json.RawMessage // replaying: the newest of the kinds that tell a state
	heard     time.Time                  // replaying: when the last update came
	foreign   int                        // updates of other sessions, in this turn
	requests  int                        // requests of other sessions, in this turn
}

type phase int

const (
	phaseOpening   phase = iota // the session has no name yet
	phaseReplaying              // what comes has been told before
	phaseLive
)

// messages are what the agent says and thinks. Agents send chunks, with an id of the message or without; a run of chunks
// of one kind and one id is a message of ours. Its id is ours too, since an agent's may come again: after a retry, in
// the next turn, in the next process.
type messages struct {
	process string // what sets the ids of this process apart from those of an earlier one
	count   int
	open    *message // nil between messages
	round   string   // the message that the next call belongs to; empty: none yet
}

// message is a message or a thought that may go on.
type message struct {
	id      string
	agentID string // as the agent calls it; empty where it does not
	thought bool
	length  int // UTF-8 bytes
}

// randomName is n letters and digits that nobody can guess, if they are enough.
func randomName(n int) string {
	random := make([]byte, n)
	_, _ = rand.Read(random) // it never fails
	return strings.ToLower(base32.StdEncoding.EncodeToString(random))[:n]
}
