package sessions

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"signoff/internal/approvals"
	"signoff/internal/domain"
)

const (
	// inboxBytes is how far an agent may be ahead of the database before Emit waits.
	inboxBytes = 4 << 20
	// deltaBytes bounds one event: a longer text becomes several.
	deltaBytes = 64 << 10
	// itemBytes is what an item counts beside its text, so that a flood of tiny items is bounded, too.
	itemBytes = 256
)

// inbox holds what the agent has said and the session has not taken yet. The slice has the items; the channels only notify.
type inbox struct {
	mu     sync.Mutex
	items  []item
	traces []domain.DebugMessage // apart from the items, so that deltas still grow together
	bytes  int
	traced int   // bytes of the traces
	closed error // why nothing is taken any more; nil: it is open

	progress map[string]*callProgress // by call

	later *time.Timer // notifies the session of what can wait for more; nil: nothing does

	ready chan struct{} // for the session: there is something
	room  chan struct{} // for agents: there may be room again
	over  chan struct{} // closes with the inbox
}

// item is one message of the agent; exactly one field is set.
type item struct {
	payload    domain.Payload
	delta      *delta
	state      *domain.AnswerState // of the answer whose end stands before it
	ask        *ask
	withdrawn  *ask   // nobody waits for its answer any more
	slotGiven  string // the id of a call that has got its slot
	submitted  *submission
	checkpoint *pointReported
	rolledBack *rolledBack
	done       *turnResult
}

// delta is text that still grows: the pieces of one message, thought or tool output since the session last took them.
type delta struct {
	kind domain.EventType
	id   string
	text strings.Builder
}

// ask is a waiting Authorize, CallClient, Delegate, Ask or Inquire.
type ask struct {
	domain.Question
	client    bool            // if the call may run, the client runs it
	delegates bool            // if the call may run, it delegates
	inquires  bool            // the MCP server of the call asks
	repeat    json.RawMessage // of an inquiry: the call does not run until the answer starts it again; nil: it runs on
	reply     chan reply      // one slot: the answer never waits for the asker
}

// submission is a waiting SubmitBlocks.
type submission struct {
	call   domain.ToolCall
	blocks json.RawMessage
	reply  chan error // one slot
}

// reply answers an ask; the kind of the question says which half counts.
type reply struct {
	grant  domain.Grant
	answer domain.Answer
	err    error // of an inquiry that cannot be put to anybody
}

// ours tells whether the call is one of our own tools.
func (a *ask) ours() bool { return a.Kind == domain.ApprovalToolCall || a.inquires }

// pauses tells whether the call does not run until the answer starts it again.
func (a *ask) pauses() bool { return a != nil && a.repeat != nil }

// needsAsker tells whether the answer is of use only to the process that asks. Our own agent asks for all other calls again after a restart.
func (a *ask) needsAsker() bool { return !a.ours() || a.inquires && !a.pauses() }

// outside reports whether an external agent asks that runs the call itself, in no environment.
func (a *ask) outside() bool {
	return a != nil && a.Kind == domain.ApprovalAgentPermission && !a.Isolated
}

// turnResult is how Prompt returned.
type turnResult struct {
	stop domain.StopReason
	err  error
}

// limited tells whether the agent stopped at a limit or refused. An error beside such a stop reason only says it in words; beside another one, such as
// that of an agent whose turn was cancelled, it is a failure.
func (r *turnResult) limited() bool {
	switch r.stop {
	case domain.StopMaxTokens, domain.StopMaxIterations, domain.StopRefusal:
		return true
	default:
		return false
	}
}

func newInbox() *inbox {
	return &inbox{
		ready: make(chan struct{}, 1), room: make(chan struct{}, 1), over: make(chan struct{}), progress: map[string]*callProgress{},
	}
}

// emit puts payloads in, all at once, and the state of the answer that they end; deltas become text that grows. It waits while the inbox is full.
func (b *inbox) emit(ctx context.Context, state *domain.AnswerState, payloads []domain.Payload) error {
	for {
		full, err := b.tryEmit(state, payloads)
		if err != nil || !full {
			return err
		}
		select {
		case <-b.room:
		case <-b.over:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (b *inbox) tryEmit(state *domain.AnswerState, payloads []domain.Payload) (full bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed != nil {
		return false, b.closed
	}
	if b.bytes >= inboxBytes {
		return true, nil
	}
	for _, payload := range payloads {
		b.add(payload)
	}
	if state != nil {
		b.bytes += itemBytes + len(state.State)
		b.items = append(b.items, item{state: state})
	}
	if state == nil && !slices.ContainsFunc(payloads, urgent) {
		b.notifyLater()
		return false, nil
	}
	notify(b.ready)
	return false, nil
}

// urgent tells whether an event is to be written at once. That a model is asked can wait for a moment: the answer of a fast one comes in the same
// commit, and a request to a model costs no commit of its own.
func urgent(payload domain.Payload) bool {
	switch payload.(type) {
	case domain.ModelRequested, domain.RateLimitUpdated:
		return false
	default:
		return true
	}
}

// laterBy is how long an event that is not urgent waits for others.
const laterBy = 100 * time.Millisecond

func (b *inbox) notifyLater() {
	if b.later == nil {
		b.later = time.AfterFunc(laterBy, func() { notify(b.ready) })
	}
}

func (b *inbox) forgetLater() {
	if b.later != nil {
		b.later.Stop()
		b.later = nil
	}
}

func (b *inbox) add(payload domain.Payload) {
	switch p := payload.(type) {
	case domain.ToolCallUpdated:
		if p.Progress != nil {
			b.advance(p.ToolCallID, *p.Progress)
		}
	case domain.ToolCallCompleted:
		b.endProgress(p.ToolCallID)
	}
	kind, id, text := growing(payload)
	if id == "" {
		b.bytes += itemBytes + weight(payload)
		b.items = append(b.items, item{payload: payload})
	}
	for len(text) > 0 {
		piece := cut(text)
		b.grow(kind, id, piece)
		text = text[len(piece):]
	}
}

// weight is the size of an item beside its few words.
func weight(payload domain.Payload) int {
	switch p := payload.(type) {
	case domain.ToolCallRequested:
		return len(p.Arguments) + len(p.Summary)
	case domain.ToolCallCompleted:
		return len(p.Output) + len(p.ModelOutput)
	case domain.ToolCallStarted:
		return len(p.Arguments)
	case domain.ToolCallReported:
		return len(p.Update)
	case domain.AgentStderr:
		return len(p.Text)
	case domain.AgentUpdated:
		return len(p.Update)
	case domain.PlanUpdated:
		return 2 * len(p.Update)
	case domain.RateLimitUpdated:
		return len(p.Update)
	case domain.CommandsUpdated:
		return len(p.Update)
	default:
		return 0
	}
}

// cut is the beginning of text that fits into one event and ends between two characters.
func cut(text string) string {
	if len(text) <= deltaBytes {
		return text
	}
	end := deltaBytes
	for end > deltaBytes-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// grow appends to the last item if it is the same text, up to deltaBytes, so that a burst costs its bytes and not its count.
func (b *inbox) grow(kind domain.EventType, id, text string) {
	b.bytes += len(text)
	if n := len(b.items); n > 0 {
		last := b.items[n-1].delta
		if last != nil && last.kind == kind && last.id == id && last.text.Len()+len(text) <= deltaBytes {
			last.text.WriteString(text)
			return
		}
	}
	d := &delta{kind: kind, id: id}
	d.text.WriteString(text)
	b.bytes += itemBytes
	b.items = append(b.items, item{delta: d})
}

// growing tells whether a payload is a piece of text, and of which text.
func growing(payload domain.Payload) (kind domain.EventType, id, text string) {
	switch p := payload.(type) {
	case domain.MessageDelta:
		return p.EventType(), p.MessageID, p.Text
	case domain.ThoughtDelta:
		return p.EventType(), p.MessageID, p.Text
	case domain.ToolCallUpdated:
		return p.EventType(), p.ToolCallID, p.Output
	default:
		return "", "", ""
	}
}

// put puts in an item that must never wait: a question or the end of the turn.
func (b *inbox) put(i item) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed != nil {
		return b.closed
	}
	b.items = append(b.items, i)
	notify(b.ready)
	return nil
}

// trace puts in a raw message, or drops it if the inbox is full: a diagnosis must not hold up the agent.
func (b *inbox) trace(message domain.DebugMessage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed != nil || b.traced >= inboxBytes {
		return
	}
	b.traced += itemBytes + len(message.Message)
	b.traces = append(b.traces, message)
	notify(b.ready)
}

// take empties the inbox.
func (b *inbox) take() ([]item, []domain.DebugMessage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forgetLater()
	items, traces := b.items, b.traces
	b.items, b.traces, b.bytes, b.traced = nil, nil, 0, 0
	notify(b.room)
	return items, traces
}

// close refuses everything from now on, and wakes the agents that wait for room or for an answer.
func (b *inbox) close(why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forgetLater()
	if b.closed == nil {
		b.closed = why
		close(b.over)
	}
}

// notify never waits: two notifications before anybody looks are one.
func notify(notification chan struct{}) {
	select {
	case notification <- struct{}{}:
	default:
	}
}

// allowable tells whether a call can be allowed without a person: one of our own can, and an agent's if it offers exactly one
// option that allows.
func (a *ask) allowable() bool { return a.ours() || a.option() != "" }

func (a *ask) option() string {
	id, _ := approvals.AllowingOption(approvals.Options(a.Options))
	return id
}

func newAsk(question domain.Question) *ask {
	return &ask{Question: question, reply: make(chan reply, 1)}
}
