package items

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"signoff/internal/domain"
)

// However a log comes, the items are the same: at once, in portions, with events that come again, by looking at all items or at
// those that have changed. And nothing that was handed out changes afterwards.
func TestTheSameItemsInWhateverPortions(t *testing.T) {
	request := domain.Request{Prompt: "Go."}
	rapid.Check(t, func(t *rapid.T) {
		log := randomStory(t).checked(t)
		atOnce, err := Reduce(request, log)
		if err != nil {
			t.Fatal(err)
		}
		wanted := asJSON(t, atOnce)

		reducer, shown := New(request), client{}
		var handedOut [][]Item
		var were []string
		for n, event := range log {
			for _, again := range rapid.SliceOfN(rapid.IntRange(0, n), 0, 2).Draw(t, "again") {
				if again < n {
					take(t, reducer, log[again])
				}
			}
			take(t, reducer, event)
			take(t, reducer, event)
			if rapid.Bool().Draw(t, "look") {
				shown.apply(reducer.Changed())
				handedOut = append(handedOut, reducer.Items())
				were = append(were, asJSON(t, handedOut[len(handedOut)-1]))
			}
		}
		shown.apply(reducer.Changed())
		same(t, "items of portions", wanted, asJSON(t, reducer.Items()))
		same(t, "changed items put together", wanted, asJSON(t, shown.items))
		for n := range handedOut {
			same(t, "items handed out before", were[n], asJSON(t, handedOut[n]))
		}
		if again := reducer.Changed(); len(again) > 0 {
			t.Errorf("%d items have changed with nothing in between", len(again))
		}
		orderly(t, atOnce)
	})
}

func take(t *rapid.T, reducer *Reducer, event domain.Event) {
	if err := reducer.Take(event); err != nil {
		t.Fatal(err)
	}
}

func same(t *rapid.T, what, wanted, got string) {
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

// client is a frontend: it puts items in place by their id, and new ones at the end.
type client struct{ items []Item }

func (c *client) apply(changed []Item) {
	for _, i := range changed {
		at := slices.IndexFunc(c.items, func(known Item) bool { return known.ID == i.ID })
		if at < 0 {
			c.items = append(c.items, i)
			continue
		}
		c.items[at] = i
	}
}

// orderly checks what is true of all lists of items.
func orderly(t *rapid.T, all []Item) {
	ids := map[string]bool{}
	for n, i := range all {
		if ids[i.ID] {
			t.Errorf("%s is there twice", i.ID)
		}
		ids[i.ID] = true
		if i.FirstSeq > i.LastSeq || i.CreatedAt.After(i.UpdatedAt) || (n > 0 && i.FirstSeq < all[n-1].FirstSeq) {
			t.Errorf("%s is out of order", i.ID)
		}
	}
}

// teller makes up a log.
type teller struct {
	*rapid.T
	*story
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
	started  bool
}

func randomStory(t *rapid.T) *story {
	source := rapid.SampledFrom([]domain.SourceType{domain.SourceInternal, domain.SourceACP}).Draw(t, "source")
	w := &teller{T: t, story: begun(source), turn: 1}
	steps := []func(){
		w.speak, w.speak, w.speak, w.hush, w.request, w.request, w.ask, w.resolve, w.start, w.start, w.print, w.print, w.report, w.report,
		w.complete, w.restart, w.nextTurn, w.generate, w.accept, w.murmur, w.reportLate,
	}
	for range rapid.IntRange(0, 80).Draw(t, "steps") {
		steps[rapid.IntRange(0, len(steps)-1).Draw(t, "step")]()
	}
	if rapid.Bool().Draw(t, "ends") {
		w.restart()
		w.dropCalls()
		w.tell(domain.ExecutionEnded{Status: domain.StatusCompleted})
	}
	return w.story
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
		w.tell(domain.ThoughtDelta{MessageID: w.speech, Turn: w.turn, Text: w.text()})
	} else {
		w.tell(domain.MessageDelta{MessageID: w.speech, Turn: w.turn, Text: w.text()})
	}
}

func (w *teller) hush() { w.silence(false) }

func (w *teller) silence(interrupted bool) {
	switch {
	case w.speech == "":
	case w.thought:
		w.tell(domain.ThoughtCompleted{MessageID: w.speech, Turn: w.turn, Interrupted: interrupted})
	default:
		w.tell(domain.MessageCompleted{MessageID: w.speech, Turn: w.turn, Interrupted: interrupted})
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
	w.tell(domain.ToolCallRequested{ToolCallID: c.id, MessageID: "m", Turn: w.turn, Tool: c.tool, Class: domain.ClassWrite, Arguments: w.arguments()})
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
		w.tell(domain.ApprovalRequested{ApprovalID: c.approval, ToolCallID: c.id, Tool: c.tool, Arguments: w.arguments()})
	}
}

func (w *teller) resolve() {
	if c := w.pick(func(c *toldCall) bool { return c.approval != "" }); c != nil {
		w.answer(c, rapid.SampledFrom([]domain.ApprovalStatus{domain.ApprovalApproved, domain.ApprovalDenied, domain.ApprovalExpired}).Draw(w.T, "answer"))
	}
}

func (w *teller) answer(c *toldCall, status domain.ApprovalStatus) {
	w.tell(domain.ApprovalResolved{ApprovalID: c.approval, ToolCallID: c.id, Status: status, DecidedBy: ann})
	c.approval = ""
}

func (w *teller) start() {
	if c := w.pick(func(c *toldCall) bool { return !c.started }); c != nil {
		c.started = true
		awaits := rapid.SampledFrom([]domain.Awaited{"", domain.AwaitsClient}).Draw(w.T, "awaits")
		w.tell(domain.ToolCallStarted{ToolCallID: c.id, Arguments: w.arguments(), Awaits: awaits})
	}
}

func (w *teller) print() {
	if c := w.pick(func(c *toldCall) bool { return c.started }); c != nil {
		w.tell(domain.ToolCallUpdated{ToolCallID: c.id, Output: w.text()})
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
	w.tell(domain.ToolCallReported{ToolCallID: c.id, Turn: w.turn, Update: []byte(rapid.SampledFrom([]string{
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
	if c.approval != "" {
		w.answer(c, domain.ApprovalCancelled)
	}
	w.tell(domain.ToolCallCompleted{ToolCallID: c.id, Fate: fate, Output: w.text()})
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
	w.tell(
		domain.TurnEnded{Turn: w.turn - 1, StopReason: domain.StopEndTurn},
		domain.TurnStarted{Turn: w.turn, PromptID: domain.PromptID(w.name("p")), Text: "And?"},
	)
}

func (w *teller) generate() {
	c := &toldCall{id: w.name("c"), tool: "submit_blocks", started: true}
	w.calls = append(w.calls, c)
	w.generation++
	w.submitted = true
	w.tell(
		domain.ToolCallRequested{ToolCallID: c.id, MessageID: "m", Turn: w.turn, Tool: c.tool, Class: domain.ClassNone},
		domain.BlocksGenerated{Generation: w.generation, Turn: w.turn, ToolCallID: c.id, Blocks: []byte(`[{}]`)},
	)
}

func (w *teller) accept() {
	if w.submitted {
		w.submitted = false
		w.tell(domain.BlocksAccepted{Generation: w.generation, By: *ann})
	}
}

// murmur tells what is no part of the conversation.
func (w *teller) murmur() {
	w.tell(domain.UsageUpdated{}, domain.AgentUpdated{Kind: "x", Update: []byte(`{}`)}, domain.PlanUpdated{})
}
