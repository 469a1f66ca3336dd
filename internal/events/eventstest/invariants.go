// Package eventstest holds the oracle of the tests: what must be true of every log, whatever happened to it.
package eventstest

import (
	"fmt"
	"slices"

	"signoff/internal/domain"
)

// Broken lists how a log breaks the invariants of the design; empty is well. A log that has not ended is checked as
// far as it goes.
func Broken(log []domain.Event) []string {
	c := checker{texts: map[string]int{}, calls: map[string]*outcome{}, used: map[domain.ApprovalID]bool{}, approvals: map[domain.ApprovalID]int{},
		ends: map[domain.ApprovalID]domain.ApprovalStatus{}, rests: map[domain.ExecutionID]int{}}
	for i, event := range log {
		c.event(int64(i+1), event)
	}
	if c.ended {
		c.end()
	}
	return c.broken
}

type checker struct {
	status    domain.Status
	texts     map[string]int // bytes so far
	calls     map[string]*outcome
	used      map[domain.ApprovalID]bool // what a call has started under
	approvals map[domain.ApprovalID]int  // how often resolved
	ends      map[domain.ApprovalID]domain.ApprovalStatus
	rests     map[domain.ExecutionID]int // of each child, that whose result was taken last
	ended     bool
	broken    []string
}

var outcomes = []domain.Outcome{
	domain.OutcomeSucceeded, domain.OutcomeFailed, domain.OutcomeDenied, domain.OutcomeExpired, domain.OutcomeCancelled, domain.OutcomeUnknown,
}

type outcome struct {
	starts, outcomes int
	lost             bool              // it has started, and somebody is asked what became of it
	question         domain.ApprovalID // it has started, and only the answer to this starts it again; empty: it is not paused
}

func (c *checker) failf(seq int64, format string, args ...any) {
	c.broken = append(c.broken, fmt.Sprintf("event %d: ", seq)+fmt.Sprintf(format, args...))
}

func (c *checker) event(want int64, event domain.Event) {
	if event.Seq != want {
		c.failf(want, "has seq %d", event.Seq)
	}
	if c.ended {
		c.failf(want, "%s comes after the terminal event", event.Type)
	}
	c.ended = event.Type.Terminal()
	payload, err := event.Payload()
	if err != nil {
		c.failf(want, "%v", err)
		return
	}
	c.state(want, payload)
	c.text(want, payload)
	c.call(want, payload)
	c.delegate(want, payload)
}

func (c *checker) state(seq int64, payload domain.Payload) {
	switch p := payload.(type) {
	case domain.ExecutionCreated:
		if seq != 1 {
			c.failf(seq, "created is not the first event")
		}
		c.status = p.Status
	case domain.StateChanged:
		if p.From != c.status || !p.From.CanBecome(p.To) {
			c.failf(seq, "state %s says that it goes from %s to %s", c.status, p.From, p.To)
		}
		c.status = p.To
	case domain.ExecutionEnded:
		if !c.status.CanBecome(p.Status) {
			c.failf(seq, "ends as %s from %s", p.Status, c.status)
		}
		c.status = p.Status
	}
}

func (c *checker) text(seq int64, payload domain.Payload) {
	grow := func(key string, offset int, text string) {
		if offset != c.texts[key] {
			c.failf(seq, "offset %d of %s where %d bytes were written", offset, key, c.texts[key])
		}
		c.texts[key] += len(text)
	}
	closed := func(key string, length int) {
		if length != c.texts[key] {
			c.failf(seq, "%s is completed with length %d, its pieces have %d", key, length, c.texts[key])
		}
	}
	switch p := payload.(type) {
	case domain.MessageDelta:
		grow("message "+p.MessageID, p.Offset, p.Text)
	case domain.ThoughtDelta:
		grow("thought "+p.MessageID, p.Offset, p.Text)
	case domain.ToolCallUpdated:
		grow("output "+p.ToolCallID, p.Offset, p.Output)
	case domain.MessageCompleted:
		closed("message "+p.MessageID, p.Length)
	case domain.ThoughtCompleted:
		closed("thought "+p.MessageID, p.Length)
	}
}

func (c *checker) call(seq int64, payload domain.Payload) {
	switch p := payload.(type) {
	case domain.ToolCallRequested:
		if c.calls[p.ToolCallID] != nil {
			c.failf(seq, "call %s is requested twice", p.ToolCallID)
		}
		c.calls[p.ToolCallID] = &outcome{}
	case domain.ToolCallStarted:
		if f := c.known(seq, p.ToolCallID); f != nil {
			c.starts(seq, f, p)
			if p.ApprovalID != "" {
				c.used[p.ApprovalID] = true
			}
		}
	case domain.BlocksGenerated: // handing them in is all that there was to run
		if f := c.known(seq, p.ToolCallID); f != nil {
			f.starts++
			if f.starts > 1 || f.outcomes > 0 {
				c.failf(seq, "call %s hands in blocks again", p.ToolCallID)
			}
		}
	case domain.ToolCallCompleted:
		if f := c.known(seq, p.ToolCallID); f != nil {
			f.outcomes++
			if f.outcomes > 1 {
				c.failf(seq, "call %s has a second outcome", p.ToolCallID)
			}
			if p.Outcome == domain.OutcomeSucceeded && (f.starts == 0 || f.lost || f.question != "") {
				c.failf(seq, "call %s succeeded without a start", p.ToolCallID)
			}
			if f.lost && p.Outcome != domain.OutcomeUnknown {
				c.failf(seq, "call %s is %s, and nobody knows what it has done", p.ToolCallID, p.Outcome)
			}
			if !slices.Contains(outcomes, p.Outcome) { // also where it stands under a name of another release
				c.failf(seq, "call %s has the outcome %q", p.ToolCallID, p.Outcome)
			}
		}
	case domain.ApprovalRequested:
		if c.approvals[p.ApprovalID] = 0; p.Kind == domain.ApprovalUnknownOutcome {
			c.asksOutcome(seq, p.ToolCallID)
		}
		if p.Repeats {
			c.pauses(seq, p)
		}
	case domain.ApprovalResolved:
		c.ends[p.ApprovalID] = p.Status
		c.approvals[p.ApprovalID]++
		if n := c.approvals[p.ApprovalID]; n != 1 {
			c.failf(seq, "approval %s is resolved %d times", p.ApprovalID, n)
		}
	}
}

// delegate holds that a call creates its child once, and that each result of a child is taken once.
func (c *checker) delegate(seq int64, payload domain.Payload) {
	known := func(id domain.ExecutionID) {
		if _, started := c.rests[id]; !started {
			c.failf(seq, "the child %s was never started", id)
		}
	}
	switch p := payload.(type) {
	case domain.DelegateStarted:
		if f := c.known(seq, p.ToolCallID); f != nil && f.starts == 0 {
			c.failf(seq, "call %s has a child before it starts", p.ToolCallID)
		}
		if _, started := c.rests[p.ExecutionID]; started {
			c.failf(seq, "the child %s is started twice", p.ExecutionID)
		}
		c.rests[p.ExecutionID] = 0
	case domain.DelegateUpdated:
		known(p.ExecutionID)
	case domain.DelegateReturned:
		if known(p.ExecutionID); p.Rest <= c.rests[p.ExecutionID] {
			c.failf(seq, "the result of rest %d of the child %s is taken after that of rest %d", p.Rest, p.ExecutionID, c.rests[p.ExecutionID])
		}
		c.rests[p.ExecutionID] = p.Rest
	}
}

// starts holds that a call starts once, and after that only under an approval of its own: somebody has looked into a start that was lost, or has
// answered the question for which the call was paused.
func (c *checker) starts(seq int64, f *outcome, p domain.ToolCallStarted) {
	f.starts++
	again := f.starts > 1 && (!f.lost && f.question == "" || p.ApprovalID == "") || c.used[p.ApprovalID]
	if again || f.outcomes > 0 {
		c.failf(seq, "call %s starts again", p.ToolCallID)
	}
	if end := c.ends[p.ApprovalID]; f.question != "" && (p.ApprovalID != f.question || end != domain.ApprovalApproved && end != domain.ApprovalDenied) {
		c.failf(seq, "call %s goes on, and its question %s is %q", p.ToolCallID, f.question, c.ends[f.question])
	}
	f.lost, f.question = false, ""
}

// pauses holds that a call was running when its server asked.
func (c *checker) pauses(seq int64, p domain.ApprovalRequested) {
	f := c.known(seq, p.ToolCallID)
	if f == nil {
		return
	}
	if f.starts == 0 || f.lost || f.question != "" || f.outcomes > 0 || p.Kind != domain.ApprovalQuestion {
		c.failf(seq, "call %s pauses, and it is not running", p.ToolCallID)
	}
	f.question = p.ApprovalID
}

// asksOutcome holds that a call was running, and that nobody was asked about the same run before.
func (c *checker) asksOutcome(seq int64, id string) {
	f := c.known(seq, id)
	if f == nil {
		return
	}
	if f.starts == 0 || f.lost || f.question != "" || f.outcomes > 0 {
		c.failf(seq, "what became of call %s is asked, and it is not running", id)
	}
	f.lost = true
}

func (c *checker) known(seq int64, id string) *outcome {
	if c.calls[id] == nil {
		c.failf(seq, "call %s was never requested", id)
	}
	return c.calls[id]
}

func (c *checker) end() {
	for id, f := range c.calls {
		if f.outcomes != 1 {
			c.broken = append(c.broken, fmt.Sprintf("call %s has %d outcomes at the end", id, f.outcomes))
		}
	}
	for id, n := range c.approvals {
		if n != 1 {
			c.broken = append(c.broken, fmt.Sprintf("approval %s was resolved %d times at the end", id, n))
		}
	}
}
