// Package hosttest is a scripted [domain.Host] for tests. It keeps what was emitted, and holds whoever uses it to the
// host's rules: a call is requested before it is authorized, authorized at most once, and has exactly one outcome; a
// closed message or thought stays closed. The calls of an external agent, which runs them itself, may also be asked
// about, or told as started. Files that are to be changed are a Tree in memory, with all that [domain.Host] promises of
// changes: all or none, and only where what was expected is there.
package hosttest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"

	"signoff/internal/domain"
)

// Host is the double. Its fields are the script; set them before use.
type Host struct {
	Grant    func(ctx context.Context, call domain.ToolCall) (domain.Grant, error)      // nil allows every call as it is
	Answer   func(ctx context.Context, question domain.Question) (domain.Answer, error) // nil expires every question
	Inquiry  func(ctx context.Context, inquiry domain.Inquiry) (domain.Answer, error)   // nil expires every question of a started call
	Command  func(ctx context.Context, command domain.Command, output io.Writer) (domain.CommandResult, error)
	Files    fs.FS                                                                      // what can be read where there is no Tree
	Tree     map[string]string                                                          // files that changes really change, by their path; nil refuses every change
	Dir      string                                                                     // where Files or Tree stand; empty refuses absolute paths
	Outputs  map[string]string                                                          // what calls have printed, by their id
	Notes    map[domain.MemoryScope]string                                              // what is noted at first, with revision 1
	Place    domain.Environment                                                         // what the execution sees
	Around   string                                                                     // and how it is told to the model
	Book     domain.Runbook                                                             // what the execution works on
	Client   func(ctx context.Context, call domain.ToolCall) (output string, err error) // runs the calls of the client
	Children func(ctx context.Context, call domain.ToolCall) (output string, err error) // does the work of the delegation tools
	Refuse   func(payload domain.Payload) error                                         // an error ends the session: every later Emit fails with it
	Budget   func(request domain.Estimate) (domain.Reservation, error)                  // what requests to models reserve from; nil has no bounds
	Stored   map[domain.FileID]StoredFile                                               // pictures and files of the execution; Store adds one

	mu             sync.Mutex
	payloads       []domain.Payload
	viewed         []string // paths of files
	saved          map[domain.MemoryScope]domain.Memory
	traces         []Traced
	over           error
	problems       []string
	asked          map[string]bool // calls that were authorized
	questioned     map[string]bool // calls that there was a question about
	startedByAgent map[string]bool // calls that an external agent runs itself
	known          map[string]bool // calls that were requested
	outcomes       map[string]domain.Outcome
	closed         map[string]bool // messages and thoughts, by kind and id

	submitted []domain.Generation
	together  [][]domain.Payload // what came in one Emit
	states    []domain.AnswerState
}

// Together is what was emitted, one row for each Emit.
func (h *Host) Together() [][]domain.Payload {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.together)
}

var _ domain.Host = (*Host)(nil)

// Emit implements [domain.Host]. It takes what is emitted after ctx has ended, so that a test sees it.
func (h *Host) Emit(_ context.Context, payloads ...domain.Payload) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.together = append(h.together, payloads)
	for _, payload := range payloads {
		if err := h.takeLocked(payload); err != nil {
			return err
		}
	}
	return nil
}

// EmitAnswer implements [domain.Host].
func (h *Host) EmitAnswer(ctx context.Context, state domain.AnswerState, payloads ...domain.Payload) error {
	if err := h.Emit(ctx, payloads...); err != nil || len(state.State) == 0 {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.states = append(h.states, state)
	return nil
}

// States returns the states of answers that were emitted so far.
func (h *Host) States() []domain.AnswerState {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.states)
}

func (h *Host) takeLocked(payload domain.Payload) error {
	if h.over == nil && h.Refuse != nil {
		h.over = h.Refuse(payload)
	}
	if h.over != nil {
		return h.over
	}
	h.judgeLocked(payload)
	h.payloads = append(h.payloads, payload)
	return nil
}

// Environment implements [domain.Host].
func (h *Host) Environment() domain.Environment { return h.Place }

// Surroundings implements [domain.Host].
func (h *Host) Surroundings(context.Context) string { return h.Around }

// Authorize implements [domain.Host].
func (h *Host) Authorize(ctx context.Context, call domain.ToolCall) (domain.Grant, error) {
	h.mu.Lock()
	if mark(&h.asked, call.ID) {
		h.problem("the call %s was authorized twice", call.ID)
	}
	if h.outcomes[call.ID] != "" {
		h.problem("the call %s was authorized after its outcome", call.ID)
	}
	h.mu.Unlock()
	grant := domain.Grant{Allowed: true, Arguments: call.Arguments}
	if h.Grant != nil {
		var err error
		if grant, err = h.Grant(ctx, call); err != nil {
			return grant, err
		}
	}
	if !grant.Allowed {
		h.mu.Lock()
		h.outcomeLocked(call.ID, domain.OutcomeDenied)
		h.mu.Unlock()
	}
	return grant, nil
}

// Ask implements [domain.Host].
func (h *Host) Ask(ctx context.Context, question domain.Question) (domain.Answer, error) {
	h.mu.Lock()
	mark(&h.questioned, question.Call.ID)
	if !h.known[question.Call.ID] {
		h.problem("there is a question about the call %s before it was requested", question.Call.ID)
	}
	h.mu.Unlock()
	if h.Answer == nil {
		h.answered(question.Call.ID, domain.ApprovalExpired)
		return domain.Answer{Status: domain.ApprovalExpired}, nil
	}
	answer, err := h.Answer(ctx, question)
	if err == nil {
		h.answered(question.Call.ID, answer.Status)
	}
	return answer, err
}

// answered does what the session does with an answer: it starts the call, or gives a call that has not begun its outcome.
func (h *Host) answered(call string, status domain.ApprovalStatus) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch status {
	case domain.ApprovalApproved:
		mark(&h.startedByAgent, call)
	case domain.ApprovalDenied, domain.ApprovalExpired:
		if !h.startedByAgent[call] {
			h.outcomeLocked(call, domain.OutcomeDenied)
		}
	}
}

// Traced is a raw message of an agent's protocol.
type Traced struct {
	Direction domain.Direction
	Message   string
}

// Trace implements [domain.Host].
func (h *Host) Trace(direction domain.Direction, message []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.traces = append(h.traces, Traced{direction, string(message)})
}

// Traces returns what was traced so far.
func (h *Host) Traces() []Traced {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.traces)
}

// Run implements [domain.Host].
func (h *Host) Run(ctx context.Context, command domain.Command, output io.Writer) (domain.CommandResult, error) {
	if h.Command == nil {
		return domain.CommandResult{}, errors.New("hosttest: no command is scripted")
	}
	return h.Command(ctx, command, output)
}

// Payloads returns what was emitted so far.
func (h *Host) Payloads() []domain.Payload {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]domain.Payload(nil), h.payloads...)
}

// Of returns the emitted payloads of one type.
func Of[P domain.Payload](h *Host) []P {
	var found []P
	for _, payload := range h.Payloads() {
		if p, is := payload.(P); is {
			found = append(found, p)
		}
	}
	return found
}

// Text is all the text that the agent said.
func (h *Host) Text() string {
	var text strings.Builder
	for _, delta := range Of[domain.MessageDelta](h) {
		text.WriteString(delta.Text)
	}
	return text.String()
}

// Thought is all the text that the agent thought.
func (h *Host) Thought() string {
	var text strings.Builder
	for _, delta := range Of[domain.ThoughtDelta](h) {
		text.WriteString(delta.Text)
	}
	return text.String()
}

// Recovered is what a restart would find in the log and beside it.
type Recovered struct {
	*domain.Progress
	Messages  []domain.Message
	Compacted []domain.ContextCompacted
}

// Fold turns what was emitted in one turn into what a restart would find, with Turn 1.
func (h *Host) Fold(t testing.TB) Recovered {
	t.Helper()
	events := []domain.Event{domain.NewEvent("x", domain.TurnStarted{Turn: 1})}
	for _, payload := range h.Payloads() {
		events = append(events, domain.NewEvent("x", payload))
	}
	transcript := domain.NewTranscript()
	for _, event := range events {
		if err := transcript.Apply(event); err != nil {
			t.Fatalf("transcript: %v", err)
		}
	}
	progress, err := domain.Fold(events)
	if err != nil {
		t.Fatalf("fold: %v", err)
	}
	transcript.Recall(h.States())
	return Recovered{progress, transcript.Messages(), transcript.Compacted()}
}

// LastText is the newest whole message of the agent.
func (r Recovered) LastText() string {
	text, _ := r.Said.Last(true)
	return text
}

// Finish fails the test where a rule was broken. With whole, every message is closed and every call has its outcome, but for
// one that has handed in blocks.
func (h *Host) Finish(t testing.TB, whole bool) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, problem := range h.problems {
		t.Error("host rule: " + problem)
	}
	if !whole {
		return
	}
	for id := range h.known {
		if h.outcomes[id] == "" && !h.submittedLocked(id) {
			t.Errorf("host rule: the call %s has no outcome", id)
		}
	}
	for _, payload := range h.payloads {
		if kind, id := stream(payload); kind != "" && !h.closed[kind+id] {
			t.Errorf("host rule: the %s %s was never completed", kind, id)
			return
		}
	}
}

func (h *Host) judgeLocked(payload domain.Payload) {
	if kind, id := stream(payload); kind != "" && h.closed[kind+id] {
		h.problem("the %s %s goes on after its end", kind, id)
	}
	switch p := payload.(type) {
	case domain.MessageCompleted:
		h.closeLocked("message", p.MessageID)
	case domain.ThoughtCompleted:
		h.closeLocked("thought", p.MessageID)
	case domain.ToolCallRequested:
		if mark(&h.known, p.ToolCallID) {
			h.problem("the call %s was requested twice", p.ToolCallID)
		}
	case domain.ToolCallStarted:
		if !h.known[p.ToolCallID] || mark(&h.startedByAgent, p.ToolCallID) || h.outcomes[p.ToolCallID] != "" {
			h.problem("the call %s was started again, after its end or before its request", p.ToolCallID)
		}
	case domain.ToolCallCompleted:
		h.outcomeLocked(p.ToolCallID, p.Outcome)
	case domain.ToolCallUpdated:
		if h.outcomes[p.ToolCallID] != "" {
			h.problem("the call %s prints after its outcome", p.ToolCallID)
		}
	}
}

func (h *Host) closeLocked(kind, id string) {
	if mark(&h.closed, kind+id) {
		h.problem("the %s %s was completed twice", kind, id)
	}
}

func (h *Host) outcomeLocked(id string, outcome domain.Outcome) {
	if h.outcomes == nil {
		h.outcomes = map[string]domain.Outcome{}
	}
	if h.outcomes[id] != "" {
		h.problem("the call %s has two outcomes, %s and %s", id, h.outcomes[id], outcome)
	}
	if outcome == domain.OutcomeSucceeded && !h.asked[id] && !h.startedByAgent[id] || outcome == domain.OutcomeDenied && !h.asked[id] && !h.questioned[id] {
		h.problem("the call %s ran unasked", id)
	}
	if h.submittedLocked(id) {
		h.problem("the call %s has handed in blocks, and was closed", id)
	}
	h.outcomes[id] = outcome
}

// submittedLocked reports whether the call has handed in blocks.
func (h *Host) submittedLocked(id string) bool {
	return slices.ContainsFunc(h.submitted, func(g domain.Generation) bool { return g.ToolCallID == id })
}

func (h *Host) problem(format string, args ...any) {
	h.problems = append(h.problems, fmt.Sprintf(format, args...))
}

// stream names the message or thought that a delta belongs to.
func stream(payload domain.Payload) (kind, id string) {
	switch p := payload.(type) {
	case domain.MessageDelta:
		return "message", p.MessageID
	case domain.ThoughtDelta:
		return "thought", p.MessageID
	default:
		return "", ""
	}
}

// mark sets a key and reports whether it was set already.
func mark(set *map[string]bool, key string) bool {
	if *set == nil {
		*set = map[string]bool{}
	}
	was := (*set)[key]
	(*set)[key] = true
	return was
}
