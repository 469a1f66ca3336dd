//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/events/eventstest"
	"signoff/test/harness"
)

// check holds everything that was seen in the world against the invariants, when the load has settled.
func (w *world) check() {
	w.nothingLeft()
	w.noDoubles()
	ledger, err := readLedger(w.workspace)
	w.run.must(err)
	for _, t := range w.load.all() {
		if t.id == "" {
			w.run.expect(len(ledger[t.plan.Key]) == 0, "%s: %s was never created and has effects", w.name, t.plan.Key)
			continue
		}
		log, err := w.log(w.run.ctx, &w.run.dice, t.id)
		if err != nil {
			w.run.violate("%s: I2: %v", w.name, err)
			continue
		}
		t.log = log
		h := history{seen: t.seen, log: log, decisions: t.decisions, ledger: ledger[t.plan.Key]}
		wrong := h.broken()
		w.run.checks.Add(int64(len(h.log) + len(h.seen) + len(h.decisions) + len(h.ledger)))
		w.run.count("executions", 1)
		w.run.count("events", len(log))
		w.report(h)
		if end := h.givenUp(); end != "" {
			w.run.count(givenUp, 1)
			w.run.violate("%s: %s (%s) was given up: %s", w.name, t.plan.Key, t.id, end)
		}
		for _, text := range wrong {
			w.run.violate("%s: %s (%s): %s", w.name, t.plan.Key, t.id, text)
		}
	}
	w.completed()
	for key := range ledger {
		w.run.expect(strings.HasPrefix(key, w.run.block.name), "%s: an effect of nobody: %s", w.name, key)
	}
}

// report counts the calls and questions that faults have met. A campaign that never killed a running call proves nothing about running calls.
func (w *world) report(h history) {
	for _, e := range h.ledger {
		w.run.count("effects: "+e.what, 1)
	}
	for _, e := range h.log {
		var call callEvent
		var asked question
		switch {
		case e.Type == "toolCall.completed" && e.Into(&call) == nil:
			w.run.count("calls "+call.Outcome, 1)
		case e.Type == "approval.requested" && e.Into(&asked) == nil:
			w.run.count("questions "+asked.Kind, 1)
		case recovers(e):
			w.run.count("recoveries", 1)
		}
	}
}

// recovered counts how often a server recovered an execution of another one, as followers saw it.
func (w *world) recovered() (n int) {
	for _, t := range w.load.all() {
		t.mu.Lock()
		for _, e := range t.seen {
			if recovers(e) {
				n++
			}
		}
		t.mu.Unlock()
	}
	return n
}

// recovers reports whether an event says that another driver has recovered the execution.
func recovers(e event) bool {
	var change struct{ Reason string }
	return e.Type == "execution.stateChanged" && e.Into(&change) == nil && change.Reason == "recovered"
}

// completed checks the results of the executions that were completed.
func (w *world) completed() {
	for _, t := range w.load.all() {
		if t.id == "" || len(t.seen) == 0 {
			continue
		}
		last := t.seen[len(t.seen)-1]
		if last.Type != "execution.completed" {
			continue
		}
		var end struct{ Output struct{ Text string } }
		if err := last.Into(&end); err != nil {
			w.run.violate("%s: the end of %s: %v", w.name, t.id, err)
			continue
		}
		w.run.expect(strings.HasSuffix(end.Output.Text, lastWords(t.plan.Key)), "%s: %s ended with %q", w.name, t.id, end.Output.Text)
	}
}

// noDoubles checks that each key has made one execution, and that every acknowledged execution exists.
func (w *world) noDoubles() {
	type execution struct {
		ID       string
		Metadata map[string]string
	}
	executions, err := listed[execution](w, "/executions?limit=100")
	if err != nil {
		w.run.violate("%s: %v", w.name, err)
		return
	}
	made := map[string]string{}
	for _, e := range executions {
		key := e.Metadata["key"]
		w.run.expect(made[key] == "", "%s: I2: the key %s has made %s and %s", w.name, key, made[key], e.ID)
		made[key] = e.ID
	}
	for _, t := range w.load.all() {
		w.run.expect(t.id == "" || t.above != nil || made[t.plan.Key] == t.id, "%s: I2: %s was acknowledged as %q and is listed as %q", w.name,
			t.plan.Key, t.id, made[t.plan.Key])
	}
}

// history is everything about one execution: the events that its follower saw, its log, the answers to deciders, and the ledger of the commands that
// really ran.
type history struct {
	seen, log []event
	decisions map[string][]operation
	ledger    []entry
}

// givenUp is the name in a report for executions that failed or were interrupted without a reason of their own. The load does nothing that could fail,
// and cancels nothing.
const givenUp = "given up"

// givenUp is the event by which the execution was given up; empty where it was not.
func (h history) givenUp() string {
	for _, e := range slices.Backward(h.log) {
		var change struct{ To string }
		switch {
		case e.Type == "execution.completed":
			return ""
		case domain.EventType(e.Type).Terminal():
			return e.Raw
		case e.Type == "execution.stateChanged" && e.Into(&change) == nil:
			if change.To == string(domain.StatusInterrupted) {
				return e.Raw
			}
			return "" // it is live, and I3 reports that it has not ended
		}
	}
	return ""
}

// broken lists how the history breaks the promises.
func (h history) broken() []string {
	var wrong []string
	wrong = append(wrong, h.stream()...)
	wrong = append(wrong, eventstest.BrokenReceived(harness.Domain(h.log))...)
	c := newCalls(h.log)
	wrong = append(wrong, c.wrong...)
	wrong = append(wrong, c.effects(h.ledger)...)
	wrong = append(wrong, c.deciders(h.decisions)...)
	return wrong
}

// stream checks I1, I2 and I3: the log is 1..n and ends once, and the follower saw exactly the log.
func (h history) stream() (wrong []string) {
	terminal := 0
	for i, e := range h.log {
		if e.Seq != int64(i+1) {
			wrong = append(wrong, fmt.Sprintf("I1: event %d of the log has seq %d", i+1, e.Seq))
		}
		if domain.EventType(e.Type).Terminal() {
			terminal++
		}
	}
	for i, e := range h.seen {
		if i >= len(h.log) || h.log[i].Raw != e.Raw {
			wrong = append(wrong, fmt.Sprintf("I1, I2: the %d. event that was seen is not in the log there: %s", i+1, e.Raw))
			break
		}
	}
	if len(h.seen) < len(h.log) && terminal > 0 {
		wrong = append(wrong, fmt.Sprintf("I1: %d events were seen, the log has %d", len(h.seen), len(h.log)))
	}
	if terminal != 1 {
		last := "nothing"
		if len(h.log) > 0 {
			last = h.log[len(h.log)-1].Raw
		}
		wrong = append(wrong, fmt.Sprintf("I3: %d terminal events, the last event is %s", terminal, last))
	}
	return wrong
}

// calls are the tool calls and approvals of a log. Their checks leave out those that eventstest makes of every log.
type calls struct {
	tools     map[string]string // by call
	asked     map[string]question
	resolved  map[string]resolved
	ran       map[string]string   // the command of the start, by approval
	starts    map[string][]string // commands by call
	started   map[string]int      // by effect, as in the ledger
	succeeded map[string]int      // likewise
	wrong     []string
}

type resolved struct {
	ApprovalID string `json:"approvalId"`
	Status     string `json:"status"`
	Edited     bool   `json:"edited"`
	Resolution string `json:"resolution"`
	DecidedBy  any    `json:"decidedBy"`
}

type callEvent struct {
	ToolCallID string          `json:"toolCallId"`
	Tool       string          `json:"tool"`
	ApprovalID string          `json:"approvalId"`
	Arguments  json.RawMessage `json:"arguments"`
	Outcome    string          `json:"outcome"`
}

func newCalls(log []event) *calls {
	c := &calls{tools: map[string]string{}, asked: map[string]question{}, resolved: map[string]resolved{}, ran: map[string]string{}, starts: map[string][]string{},
		started: map[string]int{}, succeeded: map[string]int{}}
	for _, e := range log {
		c.event(e)
	}
	return c
}

func (c *calls) failf(format string, arguments ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, arguments...))
}

func (c *calls) event(e event) {
	var call callEvent
	switch e.Type {
	case "approval.requested":
		var asked question
		c.read(e, &asked)
		if _, twice := c.asked[asked.ApprovalID]; twice {
			c.failf("approval %s is requested twice", asked.ApprovalID)
		}
		c.asked[asked.ApprovalID] = asked
	case "approval.resolved":
		var r resolved
		c.read(e, &r)
		c.resolved[r.ApprovalID] = r
	case "toolCall.requested":
		c.read(e, &call)
		c.tools[call.ToolCallID] = call.Tool
	case "toolCall.started":
		c.read(e, &call)
		if !delegates(c.tools[call.ToolCallID]) { // which the plan has allowed
			c.start(e.Seq, call)
		}
	case "toolCall.completed":
		c.read(e, &call)
		if starts := c.starts[call.ToolCallID]; call.Outcome == "succeeded" && len(starts) > 0 {
			c.succeeded[effectIn(starts[len(starts)-1])]++
		}
	}
}

func (c *calls) read(e event, into any) {
	if err := e.Into(into); err != nil {
		c.failf("event %d: %v", e.Seq, err)
	}
}

// start checks I4 and I7: a start has an approval of its own that was approved before, and runs the approved command.
func (c *calls) start(seq int64, call callEvent) {
	command := commandOf(call.Arguments)
	c.starts[call.ToolCallID] = append(c.starts[call.ToolCallID], command)
	c.started[effectIn(command)]++
	asked, known := c.asked[call.ApprovalID]
	answers := asked.Kind == "question" && asked.Repeats
	if !known || asked.ToolCallID != call.ToolCallID || asked.Kind != "toolCall" && !answers {
		c.failf("I4: event %d: call %s starts without an approval of its own: %q of kind %q", seq, call.ToolCallID, call.ApprovalID, asked.Kind)
		return
	}
	c.ran[call.ApprovalID] = command
	r, decided := c.resolved[call.ApprovalID]
	if declined := answers && r.Status == "denied"; !decided || r.Status != "approved" && !declined { // the MCP server is told so
		c.failf("I4: event %d: call %s starts, its approval is %q", seq, call.ToolCallID, r.Status)
	}
	if !r.Edited && !sameJSON(call.Arguments, asked.Arguments) {
		c.failf("I7: event %d: what runs is %s, what was approved is %s", seq, call.Arguments, asked.Arguments)
	}
}

// effects checks I4 and I6 on the ledger: nothing ran more often than the log says that it started, what succeeded
// has come to its end, and no two tools ran at once.
func (c *calls) effects(ledger []entry) (wrong []string) {
	starts, ends := map[string]int{}, map[string]int{}
	for _, e := range ledger {
		switch e.what {
		case "start":
			starts[e.effect()]++
		case "end":
			ends[e.effect()]++
		default:
			wrong = append(wrong, fmt.Sprintf("I6: %s ran while another tool of this execution did, at %d", e.effect(), e.at))
		}
	}
	for effect, n := range starts {
		if n > c.started[effect] {
			wrong = append(wrong, fmt.Sprintf("I4: %q ran %d times, and was started %d times", effect, n, c.started[effect]))
		}
	}
	for effect, n := range c.succeeded {
		if ends[effect] < n {
			wrong = append(wrong, fmt.Sprintf("I4: %q succeeded %d times, and came to its end %d times", effect, n, ends[effect]))
		}
	}
	return wrong
}

// deciders checks I7: what deciders were answered is explained by a register, and the log has its winner.
func (c *calls) deciders(decisions map[string][]operation) (wrong []string) {
	for id, operations := range decisions {
		winner, err := explain(operations)
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("I7: approval %s: %v in %v", id, err, operations))
			continue
		}
		if winner == "" {
			continue
		}
		r, is := c.resolved[id]
		if !is {
			wrong = append(wrong, fmt.Sprintf("I2: approval %s was acknowledged as %q, and is open in the log", id, winner))
			continue
		}
		if logged := c.winner(id, r); logged != winner && (logged != edit || !strings.HasPrefix(winner, edit)) {
			wrong = append(wrong, fmt.Sprintf("I7: approval %s was acknowledged as %q, the log has %q", id, winner, logged))
		}
	}
	return wrong
}

// winner is the decision according to the log. Only the start of the call, if there was one, has the words of an edit.
func (c *calls) winner(id string, r resolved) string {
	switch {
	case r.Resolution != "":
		return resolution + r.Resolution
	case r.Edited:
		return edit + c.ran[id]
	case r.Status == "approved":
		return approve
	case r.Status == "denied":
		return deny
	default:
		return r.Status
	}
}

// effectIn is the part of a command that the ledger shows.
func effectIn(command string) string {
	words := strings.Fields(command)
	if len(words) != 5 {
		return command
	}
	return strings.Join(words[1:4], " ")
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
