package itemstest

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"signoff/internal/domain"
)

var ann = domain.Actor{KeyID: "key-1", Name: "Ann"}

// generator makes up a log.
type generator struct {
	*rapid.T
	*Script
	turn        int
	message     string // that is open; empty: none
	thought     bool
	numbers     int
	calls       []*generatedCall // without an outcome
	past        []*generatedCall // with one
	generation  int
	submitted   bool
	children    []*generatedChild
	checkpoints int
	rollbacks   int
}

type generatedCall struct {
	id, tool string
	approval domain.ApprovalID // that is open
	approved domain.ApprovalID // that lets it start again
	started  bool
	lost     bool // its server stopped while it ran
	paused   bool // its MCP server has asked
}

type generatedChild struct {
	id     domain.ExecutionID
	name   string
	status domain.Status
	rests  int
	taken  bool                // the result of the newest rest
	asked  []domain.ApprovalID // pending, of the child or of one below it
}

// Random is a script by chance, with whatever a reducer knows: also late reports about calls that have ended. It has
// at least and at most so many steps.
func Random(t *rapid.T, least, most int) *Script {
	source := rapid.SampledFrom([]domain.SourceType{domain.SourceInternal, domain.SourceACP}).Draw(t, "source")
	w := &generator{T: t, Script: Begun(source), turn: 1}
	all := []func(){
		w.writeMessage, w.writeMessage, w.writeMessage, w.endMessage, w.request, w.request, w.ask, w.resolve, w.start, w.start, w.print, w.print, w.report, w.report,
		w.complete, w.restart, w.nextTurn, w.generate, w.accept, w.writeOther, w.reportLate, w.queue, w.lose, w.pause, w.startAgain, w.tell,
		w.delegate, w.delegate, w.await, w.moveChild, w.moveChild, w.askInChild, w.answerInChild, w.returnChild,
		w.checkpoint, w.checkpoint, w.rollBack,
	}
	for range rapid.IntRange(least, most).Draw(t, "steps") {
		all[rapid.IntRange(0, len(all)-1).Draw(t, "step")]()
	}
	if rapid.Bool().Draw(t, "ends") {
		w.restart()
		w.dropCalls()
		w.Add(domain.ExecutionEnded{Status: domain.StatusCompleted})
	}
	return w.Script
}

func (w *generator) name(noun string) string {
	w.numbers++
	return fmt.Sprint(noun, w.numbers)
}

func (w *generator) text() string {
	return rapid.SampledFrom([]string{"OK", "OK", "é", "\n", "<b>&", "", "a long one, "}).Draw(w.T, "text")
}

func (w *generator) writeMessage() {
	if w.message == "" {
		w.message, w.thought = w.name("m"), rapid.Bool().Draw(w.T, "thought")
	}
	if w.thought {
		w.Add(domain.ThoughtDelta{MessageID: w.message, Turn: w.turn, Text: w.text()})
	} else {
		w.Add(domain.MessageDelta{MessageID: w.message, Turn: w.turn, Text: w.text()})
	}
}

func (w *generator) endMessage() { w.endMessages(false) }

func (w *generator) endMessages(interrupted bool) {
	switch {
	case w.message == "":
	case w.thought:
		w.Add(domain.ThoughtCompleted{MessageID: w.message, Turn: w.turn, Interrupted: interrupted})
	default:
		w.Add(domain.MessageCompleted{MessageID: w.message, Turn: w.turn, Interrupted: interrupted})
	}
	w.message = ""
}

func (w *generator) arguments() []byte {
	return []byte(rapid.SampledFrom([]string{
		`{"command":"ls"}`, `{}`, `"no object"`, `{"path":7}`, `{"path":"p","content":"a\nb\n"}`, `{"path":"q","content":""}`,
		`{"path":"p","oldText":"a","newText":"b\nc"}`, `{"patch":"--- a/p\n+++ b/p\n@@ -1 +1 @@\n-a\n+b\n--- q\n+++ q\n@@ -1 +0,0 @@\n-a\n"}`,
		`{"patch":"--- q\n+++ q\n@@"}`, `{"patch":"hm"}`,
	}).Draw(w.T, "arguments"))
}

func (w *generator) request() {
	c := &generatedCall{id: w.name("c"), tool: rapid.SampledFrom([]string{"bash", "edit", "write", "patch", "writeTextFile"}).Draw(w.T, "tool")}
	parent := w.pick(func(*generatedCall) bool { return true })
	w.calls = append(w.calls, c)
	asked := domain.ToolCallRequested{ToolCallID: c.id, MessageID: "m", Turn: w.turn, Tool: c.tool, Class: domain.ClassWrite, Arguments: w.arguments()}
	if rapid.Bool().Draw(w.T, "mcp") {
		asked.MCP = &domain.MCPTool{Server: "s", Tool: c.tool, Definition: "d"}
	}
	if parent != nil && rapid.Bool().Draw(w.T, "subagent") {
		asked.ParentToolCallID = parent.id
	}
	w.Add(asked)
}

// pick returns a call of which something holds; nil: there is none.
func (w *generator) pick(holds func(*generatedCall) bool) *generatedCall {
	fit := slices.DeleteFunc(slices.Clone(w.calls), func(c *generatedCall) bool { return !holds(c) })
	if len(fit) == 0 {
		return nil
	}
	return rapid.SampledFrom(fit).Draw(w.T, "call")
}

// ask asks about a call. One whose server has put a question, or that is to start again, goes on with the answer that it has.
func (w *generator) ask() {
	if c := w.pick(func(c *generatedCall) bool { return c.approval == "" && c.approved == "" && !c.paused }); c != nil {
		c.approval = domain.ApprovalID(w.name("a"))
		w.Add(domain.ApprovalRequested{ApprovalID: c.approval, ToolCallID: c.id, Kind: domain.ApprovalToolCall, Tool: c.tool, Arguments: w.arguments()})
	}
}

func (w *generator) resolve() {
	if c := w.pick(func(c *generatedCall) bool { return c.approval != "" }); c != nil {
		w.answer(c, rapid.SampledFrom([]domain.ApprovalStatus{domain.ApprovalApproved, domain.ApprovalDenied, domain.ApprovalExpired}).Draw(w.T, "answer"))
	}
}

func (w *generator) answer(c *generatedCall, status domain.ApprovalStatus) {
	w.Add(domain.ApprovalResolved{ApprovalID: c.approval, ToolCallID: c.id, Status: status, DecidedBy: &ann})
	said := status == domain.ApprovalApproved || status == domain.ApprovalDenied
	if status == domain.ApprovalApproved && c.lost || said && c.paused {
		c.approved = c.approval
	}
	c.approval = ""
}

func (w *generator) start() {
	if c := w.pick(func(c *generatedCall) bool { return !c.started }); c != nil {
		c.started = true
		awaits := rapid.SampledFrom([]domain.Awaited{"", domain.AwaitsClient}).Draw(w.T, "awaits")
		w.Add(domain.ToolCallStarted{ToolCallID: c.id, Arguments: w.arguments(), Awaits: awaits})
	}
}

func (w *generator) queue() {
	if c := w.pick(func(c *generatedCall) bool { return !c.started }); c != nil {
		w.Add(domain.ToolCallQueued{ToolCallID: c.id})
	}
}

// lose asks what became of a call whose server stopped.
func (w *generator) lose() {
	if c := w.pick(func(c *generatedCall) bool { return c.started && !c.lost && !c.paused && c.approval == "" }); c != nil {
		c.approval, c.lost = domain.ApprovalID(w.name("a")), true
		w.Add(domain.ApprovalRequested{
			ApprovalID: c.approval, ToolCallID: c.id, Kind: domain.ApprovalUnknownOutcome, Tool: c.tool, Arguments: w.arguments(),
		})
	}
}

// pause puts a question of the MCP server of a call.
func (w *generator) pause() {
	if c := w.pick(func(c *generatedCall) bool { return c.started && !c.lost && !c.paused && c.approval == "" }); c != nil {
		c.approval, c.paused = domain.ApprovalID(w.name("a")), true
		w.Add(domain.ApprovalRequested{
			ApprovalID: c.approval, ToolCallID: c.id, Kind: domain.ApprovalQuestion, Tool: c.tool, Arguments: w.arguments(), Repeats: true,
		})
	}
}

// startAgain starts a lost call that somebody has approved anew, or a paused one whose question somebody has answered.
func (w *generator) startAgain() {
	if c := w.pick(func(c *generatedCall) bool { return c.approved != "" }); c != nil {
		w.Add(domain.ToolCallStarted{ToolCallID: c.id, Arguments: w.arguments(), ApprovalID: c.approved})
		c.approved, c.lost, c.paused = "", false, false
	}
}

func (w *generator) tell() {
	if c := w.pick(func(c *generatedCall) bool { return c.started }); c != nil {
		w.Add(domain.ToolCallUpdated{ToolCallID: c.id, Progress: &domain.CallProgress{Done: float64(w.numbers), Message: w.text()}})
	}
}

func (w *generator) print() {
	if c := w.pick(func(c *generatedCall) bool { return c.started }); c != nil {
		w.Add(domain.ToolCallUpdated{ToolCallID: c.id, Output: w.text()})
	}
}

func (w *generator) report() {
	if c := w.pick(func(*generatedCall) bool { return true }); c != nil {
		w.reportOf(c)
	}
}

// reportLate is about a call that has ended, maybe long ago: external agents do that.
func (w *generator) reportLate() {
	if len(w.past) > 0 {
		w.reportOf(rapid.SampledFrom(w.past).Draw(w.T, "past"))
	}
}

func (w *generator) reportOf(c *generatedCall) {
	w.Add(domain.ToolCallReported{ToolCallID: c.id, Turn: w.turn, Update: []byte(rapid.SampledFrom([]string{
		`{"title":"T","rawInput":{"x":1}}`, `7`, `{"content":{}}`, `{"content":[7,{"type":"diff","path":"p","newText":7}]}`,
		`{"content":[{"type":"diff","path":"p","oldText":"a","newText":"b"},{"type":"diff","path":"p","oldText":null,"newText":"c"}]}`,
		`{"content":[{"type":"diff","path":"q","oldText":"a","newText":"b"}]}`,
		`{"content":[{"type":"content","content":{"type":"text","text":"said"}}]}`,
	}).Draw(w.T, "report"))})
}

func (w *generator) complete() {
	if c := w.pick(func(*generatedCall) bool { return true }); c != nil {
		outcome := domain.OutcomeFailed
		if c.started {
			outcome = rapid.SampledFrom([]domain.Outcome{domain.OutcomeSucceeded, domain.OutcomeFailed, domain.OutcomeUnknown}).Draw(w.T, "outcome")
		}
		w.end(c, outcome)
	}
}

func (w *generator) end(c *generatedCall, outcome domain.Outcome) {
	switch {
	case c.lost:
		outcome = domain.OutcomeUnknown
	case c.paused && outcome == domain.OutcomeSucceeded:
		outcome = domain.OutcomeExpired
	}
	if c.approval != "" {
		w.answer(c, domain.ApprovalCancelled)
	}
	w.Add(domain.ToolCallCompleted{ToolCallID: c.id, Outcome: outcome, Output: w.text()})
	w.calls = slices.DeleteFunc(w.calls, func(open *generatedCall) bool { return open == c })
	w.past = append(w.past, c)
}

// restart is what a session finds and closes that takes up an execution.
func (w *generator) restart() {
	w.endMessages(true)
	for _, c := range slices.Clone(w.calls) {
		if c.started {
			w.end(c, domain.OutcomeUnknown)
		}
	}
}

func (w *generator) dropCalls() {
	for _, c := range slices.Clone(w.calls) {
		w.end(c, domain.OutcomeCancelled)
	}
}

func (w *generator) nextTurn() {
	w.endMessage()
	w.dropCalls()
	w.turn++
	w.Add(
		domain.TurnEnded{Turn: w.turn - 1, StopReason: domain.StopEndTurn},
		w.nextPrompt(),
	)
}

// nextPrompt is one of a person, or the results of children.
func (w *generator) nextPrompt() domain.TurnStarted {
	started := domain.TurnStarted{Turn: w.turn, Text: "And?"}
	if len(w.children) > 0 && rapid.Bool().Draw(w.T, "results") {
		started.Delegates = []domain.ExecutionID{w.child().id}
	} else {
		started.PromptID = domain.PromptID(w.name("p"))
	}
	return started
}

func (w *generator) child() *generatedChild { return rapid.SampledFrom(w.children).Draw(w.T, "child") }

// delegate creates a child, and waits for it or not.
func (w *generator) delegate() {
	child := &generatedChild{id: domain.ExecutionID(w.name("w")), name: w.name("agent "), status: domain.StatusQueued}
	w.children = append(w.children, child)
	call := w.startAwaiting(domain.DelegateTool, rapid.Bool().Draw(w.T, "background"), child.id)
	w.Add(domain.DelegateStarted{ExecutionID: child.id, ToolCallID: call, Name: child.name, Source: domain.Source{Type: domain.SourceInternal}, Depth: 1})
}

// await waits for children that there are already, maybe for one of them twice.
func (w *generator) await() {
	if len(w.children) > 0 {
		w.startAwaiting(domain.AwaitDelegatesTool, false, w.child().id, w.child().id)
	}
}

// startAwaiting starts a call about children.
func (w *generator) startAwaiting(tool string, background bool, children ...domain.ExecutionID) string {
	c := &generatedCall{id: w.name("c"), tool: tool, started: true}
	w.calls = append(w.calls, c)
	started := domain.ToolCallStarted{ToolCallID: c.id, Arguments: w.arguments(), Children: children}
	if !background {
		started.Awaits, started.Mode = domain.AwaitsDelegate, domain.AwaitAll
	}
	w.Add(domain.ToolCallRequested{ToolCallID: c.id, MessageID: "m", Turn: w.turn, Tool: tool, Class: domain.ClassDelegate, Arguments: w.arguments()}, started)
	return c.id
}

// moveChild changes the status of a child, as far as its parent is told.
func (w *generator) moveChild() {
	if len(w.children) == 0 {
		return
	}
	child := w.child()
	if child.status.Terminal() {
		return
	}
	told := domain.DelegateUpdated{ExecutionID: child.id, Turn: 1}
	told.Status = rapid.SampledFrom([]domain.Status{
		domain.StatusWaiting, domain.StatusInterrupted, domain.StatusIdle, domain.StatusCompleted, domain.StatusFailed,
	}).Draw(w.T, "status")
	if told.Status == domain.StatusInterrupted {
		told.Cause = domain.CauseProvider
	}
	if child.status = told.Status; child.status == domain.StatusIdle || child.status.Terminal() {
		child.rests, child.taken = child.rests+1, false
	}
	w.Add(told)
}

// askInChild asks a person in a child, or below it.
func (w *generator) askInChild() {
	if len(w.children) == 0 {
		return
	}
	child := w.child()
	asked := domain.DelegateApprovalRequested{
		ExecutionID: child.id, ApprovalID: domain.ApprovalID(w.name("a")), ToolCallID: "c1", Kind: domain.ApprovalToolCall, Tool: "bash",
		Path: []domain.PathStep{{Execution: "execution", Name: "root"}, {Execution: child.id, Name: child.name}},
	}
	if rapid.Bool().Draw(w.T, "below") {
		asked.ExecutionID = domain.ExecutionID(w.name("w"))
		asked.Path = append(asked.Path, domain.PathStep{Execution: asked.ExecutionID, Name: "grandchild"})
	}
	child.asked = append(child.asked, asked.ApprovalID)
	w.Add(asked)
}

func (w *generator) answerInChild() {
	if len(w.children) == 0 {
		return
	}
	if child := w.child(); len(child.asked) > 0 {
		w.Add(domain.DelegateApprovalResolved{ExecutionID: child.id, ApprovalID: child.asked[0], Status: domain.ApprovalApproved})
		child.asked = child.asked[1:]
	}
}

// returnChild takes the result of a child, which may have begun to work again meanwhile.
func (w *generator) returnChild() {
	if len(w.children) == 0 {
		return
	}
	child := w.child()
	if child.rests == 0 || child.taken {
		return
	}
	child.taken = true
	returned := domain.DelegateReturned{ExecutionID: child.id, Rest: child.rests, Status: domain.StatusIdle}
	if child.status.Terminal() {
		returned.Status = child.status
	}
	if rapid.Bool().Draw(w.T, "failed") {
		returned.Error = &domain.Failure{Code: domain.CodeLimitReached, Message: "Too many rounds."}
	}
	w.Add(returned)
}

func (w *generator) generate() {
	c := &generatedCall{id: w.name("c"), tool: "submit_blocks", started: true}
	w.calls = append(w.calls, c)
	w.generation++
	w.submitted = true
	w.Add(
		domain.ToolCallRequested{ToolCallID: c.id, MessageID: "m", Turn: w.turn, Tool: c.tool, Class: domain.ClassNone},
		domain.BlocksGenerated{Generation: w.generation, Turn: w.turn, ToolCallID: c.id, Blocks: []byte(`[{"type":"script","props":{}}]`)},
	)
}

func (w *generator) accept() {
	if w.submitted {
		w.submitted = false
		w.Add(domain.BlocksAccepted{Generation: w.generation, By: ann})
	}
}

// checkpoint takes one, of which some are of a call that has ended long ago: a scan may take a while.
func (w *generator) checkpoint() {
	taken := domain.CheckpointCreated{Turn: w.turn, Status: domain.CheckpointTaken, Folders: []domain.CheckpointFolder{}}
	taken.Moment = rapid.SampledFrom([]domain.CheckpointMoment{
		domain.TurnBegins, domain.BeforeToolCall, domain.AfterToolCall, domain.AfterToolCall, domain.TurnEnds, domain.BeforeRollback, domain.AfterRollback,
	}).Draw(w.T, "moment")
	if calls := slices.Concat(w.calls, w.past); len(calls) > 0 && (taken.Moment == domain.BeforeToolCall || taken.Moment == domain.AfterToolCall) {
		taken.ToolCallID = rapid.SampledFrom(calls).Draw(w.T, "call").id
	}
	if rapid.IntRange(0, 4).Draw(w.T, "fails") == 0 {
		taken.Status, taken.Error = domain.CheckpointFailed, &domain.Failure{Code: domain.CodeCheckpointFailed, Message: "The disk is full."}
	} else {
		w.checkpoints++
		taken.Checkpoint = w.checkpoints
		for _, path := range rapid.SliceOfN(rapid.SampledFrom([]string{"/", "/w"}), 1, 2).Draw(w.T, "folders") {
			taken.Folders = append(taken.Folders, w.recorded(path))
		}
	}
	w.Add(taken)
}

func (w *generator) recorded(path string) domain.CheckpointFolder {
	folder := domain.CheckpointFolder{Path: path, Tree: fmt.Sprint(w.checkpoints), Changes: []domain.PathChange{}, NotCovered: []domain.NotCoveredPath{}}
	for range rapid.IntRange(0, 2).Draw(w.T, "changes") {
		folder.Changes = append(folder.Changes, domain.PathChange{
			Path: w.name("file"), Kind: "renamed", From: rapid.SampledFrom([]string{"", "old"}).Draw(w.T, "from"), Additions: 2, Deletions: 1,
			By: rapid.SampledFrom([]domain.ChangeBy{"", domain.ByExecution, domain.ByOthers, domain.ByUncertain}).Draw(w.T, "by"),
		})
	}
	folder.ChangedPaths, folder.Additions, folder.Deletions = len(folder.Changes), 2*len(folder.Changes), len(folder.Changes)
	return folder
}

func (w *generator) rollBack() {
	w.rollbacks++
	w.Add(domain.RollbackCompleted{Turn: w.turn, Rollback: w.rollbacks, To: 1, By: ann, Folders: []domain.RestoredFolder{{
		Path: "/w", Restored: []string{"file"}, RestoredCount: 1, Kept: []domain.KeptPath{{Path: "kept", Reason: "uncertain"}}, KeptCount: 1}}})
}

// writeOther adds events that are no part of the conversation.
func (w *generator) writeOther() {
	w.Add(domain.UsageUpdated{}, domain.AgentUpdated{Kind: "x", Update: []byte(`{}`)}, domain.PlanUpdated{})
	w.Add(domain.ContextCompacted{Turn: 1, Summary: "What was said.", Messages: 1, Model: "m"})
}
