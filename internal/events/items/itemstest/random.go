package itemstest

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"signoff/internal/domain"
)

var ann = domain.Actor{KeyID: "key-1", Name: "Ann"}

// teller makes up a log.
type teller struct {
	*rapid.T
	*Story
	turn       int
	speech     string // that is open; empty: none
	thought    bool
	numbers    int
	calls      []*toldCall // without a fate
	past       []*toldCall // with one
	generation int
	submitted  bool
}

type toldCall struct {
	id, tool string
	approval domain.ApprovalID // that is open
	approved domain.ApprovalID // that lets it start again
	started  bool
	lost     bool // its server stopped while it ran
}

// Random is a story by chance, with whatever a reducer knows: also late reports about calls that have ended. It has
// at least and at most so many steps.
func Random(t *rapid.T, least, most int) *Story {
	source := rapid.SampledFrom([]domain.SourceType{domain.SourceInternal, domain.SourceACP}).Draw(t, "source")
	w := &teller{T: t, Story: Begun(source), turn: 1}
	all := []func(){
		w.speak, w.speak, w.speak, w.hush, w.request, w.request, w.ask, w.resolve, w.start, w.start, w.print, w.print, w.report, w.report,
		w.complete, w.restart, w.nextTurn, w.generate, w.accept, w.murmur, w.reportLate, w.queue, w.lose, w.startAgain,
	}
	for range rapid.IntRange(least, most).Draw(t, "steps") {
		all[rapid.IntRange(0, len(all)-1).Draw(t, "step")]()
	}
	if rapid.Bool().Draw(t, "ends") {
		w.restart()
		w.dropCalls()
		w.Tell(domain.ExecutionEnded{Status: domain.StatusCompleted})
	}
	return w.Story
}

func (w *teller) name(noun string) string {
	w.numbers++
	return fmt.Sprint(noun, w.numbers)
}

func (w *teller) text() string {
	return rapid.SampledFrom([]string{"OK", "OK", "é", "\n", "<b>&", "", "a long one, "}).Draw(w.T, "text")
}

func (w *teller) speak() {
	if w.speech == "" {
		w.speech, w.thought = w.name("m"), rapid.Bool().Draw(w.T, "thought")
	}
	if w.thought {
		w.Tell(domain.ThoughtDelta{MessageID: w.speech, Turn: w.turn, Text: w.text()})
	} else {
		w.Tell(domain.MessageDelta{MessageID: w.speech, Turn: w.turn, Text: w.text()})
	}
}

func (w *teller) hush() { w.silence(false) }

func (w *teller) silence(interrupted bool) {
	switch {
	case w.speech == "":
	case w.thought:
		w.Tell(domain.ThoughtCompleted{MessageID: w.speech, Turn: w.turn, Interrupted: interrupted})
	default:
		w.Tell(domain.MessageCompleted{MessageID: w.speech, Turn: w.turn, Interrupted: interrupted})
	}
	w.speech = ""
}

func (w *teller) arguments() []byte {
	return []byte(rapid.SampledFrom([]string{
		`{"command":"ls"}`, `{}`, `"no object"`, `{"path":7}`, `{"path":"p","content":"a\nb\n"}`, `{"path":"q","content":""}`,
		`{"path":"p","oldText":"a","newText":"b\nc"}`, `{"patch":"--- a/p\n+++ b/p\n@@ -1 +1 @@\n-a\n+b\n--- q\n+++ q\n@@ -1 +0,0 @@\n-a\n"}`,
		`{"patch":"--- q\n+++ q\n@@"}`, `{"patch":"hm"}`,
	}).Draw(w.T, "arguments"))
}

func (w *teller) request() {
	c := &toldCall{id: w.name("c"), tool: rapid.SampledFrom([]string{"bash", "edit", "write", "patch", "writeTextFile"}).Draw(w.T, "tool")}
	w.calls = append(w.calls, c)
	w.Tell(domain.ToolCallRequested{ToolCallID: c.id, MessageID: "m", Turn: w.turn, Tool: c.tool, Class: domain.ClassWrite, Arguments: w.arguments()})
}

// pick returns a call of which something holds; nil: there is none.
func (w *teller) pick(holds func(*toldCall) bool) *toldCall {
	fit := slices.DeleteFunc(slices.Clone(w.calls), func(c *toldCall) bool { return !holds(c) })
	if len(fit) == 0 {
		return nil
	}
	return rapid.SampledFrom(fit).Draw(w.T, "call")
}

func (w *teller) ask() {
	if c := w.pick(func(c *toldCall) bool { return c.approval == "" }); c != nil {
		c.approval = domain.ApprovalID(w.name("a"))
		w.Tell(domain.ApprovalRequested{ApprovalID: c.approval, ToolCallID: c.id, Tool: c.tool, Arguments: w.arguments()})
	}
}

func (w *teller) resolve() {
	if c := w.pick(func(c *toldCall) bool { return c.approval != "" }); c != nil {
		w.answer(c, rapid.SampledFrom([]domain.ApprovalStatus{domain.ApprovalApproved, domain.ApprovalDenied, domain.ApprovalExpired}).Draw(w.T, "answer"))
	}
}

func (w *teller) answer(c *toldCall, status domain.ApprovalStatus) {
	w.Tell(domain.ApprovalResolved{ApprovalID: c.approval, ToolCallID: c.id, Status: status, DecidedBy: &ann})
	if c.lost && status == domain.ApprovalApproved {
		c.approved = c.approval
	}
	c.approval = ""
}

func (w *teller) start() {
	if c := w.pick(func(c *toldCall) bool { return !c.started }); c != nil {
		c.started = true
		awaits := rapid.SampledFrom([]domain.Awaited{"", domain.AwaitsClient}).Draw(w.T, "awaits")
		w.Tell(domain.ToolCallStarted{ToolCallID: c.id, Arguments: w.arguments(), Awaits: awaits})
	}
}

func (w *teller) queue() {
	if c := w.pick(func(c *toldCall) bool { return !c.started }); c != nil {
		w.Tell(domain.ToolCallQueued{ToolCallID: c.id})
	}
}

// lose asks what became of a call whose server stopped.
func (w *teller) lose() {
	if c := w.pick(func(c *toldCall) bool { return c.started && !c.lost && c.approval == "" }); c != nil {
		c.approval, c.lost = domain.ApprovalID(w.name("a")), true
		w.Tell(domain.ApprovalRequested{
			ApprovalID: c.approval, ToolCallID: c.id, Kind: domain.ApprovalUnknownOutcome, Tool: c.tool, Arguments: w.arguments(),
		})
	}
}

// startAgain starts a lost call that somebody has approved anew.
func (w *teller) startAgain() {
	if c := w.pick(func(c *toldCall) bool { return c.lost && c.approved != "" }); c != nil {
		w.Tell(domain.ToolCallStarted{ToolCallID: c.id, Arguments: w.arguments(), ApprovalID: c.approved})
		c.approved, c.lost = "", false
	}
}

func (w *teller) print() {
	if c := w.pick(func(c *toldCall) bool { return c.started }); c != nil {
		w.Tell(domain.ToolCallUpdated{ToolCallID: c.id, Output: w.text()})
	}
}

func (w *teller) report() {
	if c := w.pick(func(*toldCall) bool { return true }); c != nil {
		w.reportOf(c)
	}
}

// reportLate is about a call that has ended, maybe long ago: external agents do that.
func (w *teller) reportLate() {
	if len(w.past) > 0 {
		w.reportOf(rapid.SampledFrom(w.past).Draw(w.T, "past"))
	}
}

func (w *teller) reportOf(c *toldCall) {
	w.Tell(domain.ToolCallReported{ToolCallID: c.id, Turn: w.turn, Update: []byte(rapid.SampledFrom([]string{
		`{"title":"T","rawInput":{"x":1}}`, `7`, `{"content":{}}`, `{"content":[7,{"type":"diff","path":"p","newText":7}]}`,
		`{"content":[{"type":"diff","path":"p","oldText":"a","newText":"b"},{"type":"diff","path":"p","oldText":null,"newText":"c"}]}`,
		`{"content":[{"type":"diff","path":"q","oldText":"a","newText":"b"}]}`,
		`{"content":[{"type":"content","content":{"type":"text","text":"said"}}]}`,
	}).Draw(w.T, "report"))})
}

func (w *teller) complete() {
	if c := w.pick(func(*toldCall) bool { return true }); c != nil {
		fate := domain.FateFailed
		if c.started {
			fate = rapid.SampledFrom([]domain.Fate{domain.FateSucceeded, domain.FateFailed, domain.FateOutcomeUnknown}).Draw(w.T, "fate")
		}
		w.end(c, fate)
	}
}

func (w *teller) end(c *toldCall, fate domain.Fate) {
	if c.lost {
		fate = domain.FateOutcomeUnknown
	}
	if c.approval != "" {
		w.answer(c, domain.ApprovalCancelled)
	}
	w.Tell(domain.ToolCallCompleted{ToolCallID: c.id, Fate: fate, Output: w.text()})
	w.calls = slices.DeleteFunc(w.calls, func(open *toldCall) bool { return open == c })
	w.past = append(w.past, c)
}

// restart is what a session finds and closes that takes up an execution.
func (w *teller) restart() {
	w.silence(true)
	for _, c := range slices.Clone(w.calls) {
		if c.started {
			w.end(c, domain.FateOutcomeUnknown)
		}
	}
}

func (w *teller) dropCalls() {
	for _, c := range slices.Clone(w.calls) {
		w.end(c, domain.FateCancelled)
	}
}

func (w *teller) nextTurn() {
	w.hush()
	w.dropCalls()
	w.turn++
	w.Tell(
		domain.TurnEnded{Turn: w.turn - 1, StopReason: domain.StopEndTurn},
		domain.TurnStarted{Turn: w.turn, PromptID: domain.PromptID(w.name("p")), Text: "And?"},
	)
}

func (w *teller) generate() {
	c := &toldCall{id: w.name("c"), tool: "submit_blocks", started: true}
	w.calls = append(w.calls, c)
	w.generation++
	w.submitted = true
	w.Tell(
		domain.ToolCallRequested{ToolCallID: c.id, MessageID: "m", Turn: w.turn, Tool: c.tool, Class: domain.ClassNone},
		domain.BlocksGenerated{Generation: w.generation, Turn: w.turn, ToolCallID: c.id, Blocks: []byte(`[{}]`)},
	)
}

func (w *teller) accept() {
	if w.submitted {
		w.submitted = false
		w.Tell(domain.BlocksAccepted{Generation: w.generation, By: ann})
	}
}

// murmur tells what is no part of the conversation.
func (w *teller) murmur() {
	w.Tell(domain.UsageUpdated{}, domain.AgentUpdated{Kind: "x", Update: []byte(`{}`)}, domain.PlanUpdated{})
}
