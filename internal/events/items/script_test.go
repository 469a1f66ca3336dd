package items

import (
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"signoff/internal/domain"
	"signoff/internal/events/items/itemstest"
)

// script is a log that a test writes, and begun how every log begins.
type script = itemstest.Script

var begun = itemstest.Begun

// randomScript is one by chance.
func randomScript(t *rapid.T) *script { return itemstest.Random(t, 0, 80) }

func reduced(t *testing.T, s *script) []Item {
	t.Helper()
	all, err := Reduce(domain.Request{}, s.Log)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// asJSON is what a client would get.
func asJSON(t interface {
	Helper()
	Fatal(args ...any)
}, value any) string {
	t.Helper()
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	ann  = &domain.Actor{KeyID: "key-1", Name: "Ann"}
	zero = 0
	two  = 2
)

// fileWork is an execution of the internal agent: thoughts, allowed, approved, edited, denied and expired calls, a restart in the
// middle of a message and of a command, a further turn.
func fileWork() *script {
	return begun(domain.SourceInternal).Add(
		domain.ThoughtDelta{MessageID: "m1", Turn: 1, Text: "First "},
		domain.ThoughtDelta{MessageID: "m1", Turn: 1, Text: "look."},
		domain.ThoughtCompleted{MessageID: "m1", Turn: 1},
		domain.MessageDelta{MessageID: "m1", Turn: 1, Text: "I look "},
		domain.MessageDelta{MessageID: "m1", Turn: 1, Text: "at it – now."},
		domain.MessageCompleted{MessageID: "m1", Turn: 1},
		domain.ToolCallRequested{ToolCallID: "c1", MessageID: "m1", Turn: 1, Tool: "bash", Class: domain.ClassExecute,
			Arguments: []byte(`{"command":"ls"}`), Summary: "Run `ls`"},
		domain.ToolCallStarted{ToolCallID: "c1", Arguments: []byte(`{"command":"ls"}`), AllowedBy: "bashPolicy"},
		domain.ToolCallUpdated{ToolCallID: "c1", Output: "port.txt\n"},
		domain.ToolCallUpdated{ToolCallID: "c1", Output: "README\n"},
		domain.ToolCallCompleted{ToolCallID: "c1", Outcome: domain.OutcomeSucceeded, Output: "port.txt\nREADME\n", ExitCode: &zero, DurationMs: 12},

		// An edit that a person edits, and a file that nobody may write.
		domain.ToolCallRequested{ToolCallID: "c2", MessageID: "m2", Turn: 1, Tool: "edit", Class: domain.ClassWrite,
			Arguments: []byte(`{"path":"port.txt","oldText":"80","newText":"81"}`), Summary: "Replace `80` by `81`"},
		domain.ApprovalRequested{ApprovalID: "a2", ToolCallID: "c2", Kind: domain.ApprovalToolCall, Tool: "edit",
			Arguments: []byte(`{"path":"port.txt","oldText":"80","newText":"81"}`), Summary: "Replace `80` by `81`"},
		domain.ToolCallRequested{ToolCallID: "c3", MessageID: "m2", Turn: 1, Tool: "write", Class: domain.ClassWrite,
			Arguments: []byte(`{"path":".env","content":"A=1\nB=2\n"}`), Summary: "Write 2 lines to `.env`"},
		domain.ApprovalRequested{ApprovalID: "a3", ToolCallID: "c3", Kind: domain.ApprovalToolCall, Tool: "write",
			Arguments: []byte(`{"path":".env","content":"A=1\nB=2\n"}`), Summary: "Write 2 lines to `.env`"},
		domain.ApprovalResolved{ApprovalID: "a2", ToolCallID: "c2", Status: domain.ApprovalApproved, Edited: true, DecidedBy: ann},
		domain.ToolCallStarted{ToolCallID: "c2", Arguments: []byte(`{"path":"port.txt","oldText":"80","newText":"8080"}`),
			ApprovalID: "a2", AllowedBy: "person"},
		domain.ToolCallCompleted{ToolCallID: "c2", Outcome: domain.OutcomeSucceeded, Output: "Edited port.txt at 1 place."},
		domain.ApprovalResolved{ApprovalID: "a3", ToolCallID: "c3", Status: domain.ApprovalDenied, Reason: "Not that one.", DecidedBy: ann},
		domain.ToolCallCompleted{ToolCallID: "c3", Outcome: domain.OutcomeDenied, Output: "Not that one.",
			Error: &domain.Failure{Code: domain.CodeDenied, Message: "Not that one."}},

		// The server stops while a command runs, and again in the middle of a word.
		domain.ToolCallRequested{ToolCallID: "c4", MessageID: "m3", Turn: 1, Tool: "bash", Class: domain.ClassExecute,
			Arguments: []byte(`{"command":"make"}`), Summary: "Run `make`"},
		domain.ToolCallStarted{ToolCallID: "c4", Arguments: []byte(`{"command":"make"}`), AllowedBy: "rule"},
		domain.ToolCallUpdated{ToolCallID: "c4", Output: "compiling\n"},
		domain.ToolCallCompleted{ToolCallID: "c4", Outcome: domain.OutcomeUnknown, Output: "It may have run.",
			Error: &domain.Failure{Code: domain.CodeOutcomeUnknown, Message: "It may have run."}},
		domain.MessageDelta{MessageID: "m4", Turn: 1, Text: "It seems th"},
		domain.MessageCompleted{MessageID: "m4", Turn: 1, Interrupted: true},
		domain.MessageDelta{MessageID: "m5", Turn: 1, Text: "It seems that it runs."},
		domain.MessageCompleted{MessageID: "m5", Turn: 1},
		domain.TurnEnded{Turn: 1, StopReason: domain.StopEndTurn},

		domain.PromptQueued{PromptID: "p2", Text: "And now?", WhenBusy: domain.WhenBusyEnqueue, By: *ann},
		domain.TurnStarted{Turn: 2, PromptID: "p2", Text: "And now?"},
		domain.ToolCallRequested{ToolCallID: "c5", MessageID: "m6", Turn: 2, Tool: "patch", Class: domain.ClassWrite,
			Arguments: []byte(`{"patch":"--- a/one\n+++ b/one\n@@ -1 +1 @@\n-1\n+2\n--- /dev/null\n+++ b/two\n@@ -0,0 +1 @@\n+new\n"}`),
			Summary:   "Patch 2 files"},
		domain.ApprovalRequested{ApprovalID: "a5", ToolCallID: "c5", Kind: domain.ApprovalToolCall, Tool: "patch", Summary: "Patch 2 files",
			Arguments: []byte(`{"patch":"--- a/one\n+++ b/one\n@@ -1 +1 @@\n-1\n+2\n--- /dev/null\n+++ b/two\n@@ -0,0 +1 @@\n+new\n"}`)},
		domain.ApprovalResolved{ApprovalID: "a5", ToolCallID: "c5", Status: domain.ApprovalExpired},
		domain.ToolCallCompleted{ToolCallID: "c5", Outcome: domain.OutcomeExpired, Output: "Nobody answered.",
			Error: &domain.Failure{Code: domain.CodeApprovalExpired, Message: "Nobody answered."}},
		domain.ToolCallRequested{ToolCallID: "c6", MessageID: "m7", Turn: 2, Tool: "bash", Class: domain.ClassExecute,
			Arguments: []byte(`"{\"command\": "`), Summary: "bash"},
		domain.ToolCallCompleted{ToolCallID: "c6", Outcome: domain.OutcomeFailed, Output: "The arguments are not JSON.", ExitCode: &two,
			Error: &domain.Failure{Code: domain.CodeInvalidArguments, Message: "The arguments are not JSON."}},
		domain.MessageDelta{MessageID: "m8", Turn: 2, Text: "Done."},
		domain.MessageCompleted{MessageID: "m8", Turn: 2},
		domain.TurnEnded{Turn: 2, StopReason: domain.StopEndTurn},
		domain.ExecutionEnded{Status: domain.StatusCompleted, FinishReason: domain.FinishEndTurn},
	)
}

// agentWork is an execution of an external agent: a call that it reports with a diff and asks about when it has begun, a file that
// Signoff writes for it, a call that is lost with the process, and what it says between two turns.
func agentWork() *script {
	return begun(domain.SourceACP).Add(
		domain.MessageDelta{MessageID: "t1-1-x", Turn: 1, Text: "I change it."},
		domain.MessageCompleted{MessageID: "t1-1-x", Turn: 1},
		domain.ToolCallRequested{ToolCallID: "call_1", MessageID: "t1-1-x", Turn: 1, Tool: "edit", Class: domain.ClassWrite,
			Arguments: []byte(`{}`), Summary: "edit"},
		domain.ToolCallReported{ToolCallID: "call_1", Turn: 1,
			Update: []byte(`{"sessionUpdate":"tool_call","toolCallId":"call_1","kind":"edit","status":"pending"}`)},
		domain.ToolCallReported{ToolCallID: "call_1", Turn: 1, Update: []byte(`{"sessionUpdate":"tool_call_update","toolCallId":"call_1",
			"title":"Edit main.go","rawInput":{"file_path":"/w/main.go"},
			"content":[{"type":"diff","path":"/w/main.go","oldText":"a\nb\nc\n","newText":"a\nB\nc\n"}]}`)},
		domain.ToolCallStarted{ToolCallID: "call_1", Arguments: []byte(`{"file_path":"/w/main.go"}`), AllowedBy: "agent"},
		domain.ApprovalRequested{ApprovalID: "a1", ToolCallID: "call_1", Kind: domain.ApprovalAgentPermission, Tool: "edit",
			Arguments: []byte(`{"file_path":"/w/main.go"}`), Summary: "Edit main.go", Options: []byte(`[{"optionId":"y"}]`)},
		domain.ApprovalResolved{ApprovalID: "a1", ToolCallID: "call_1", Status: domain.ApprovalApproved, OptionID: "y", DecidedBy: ann},
		domain.ToolCallReported{ToolCallID: "call_1", Turn: 1, Update: []byte(`{"sessionUpdate":"tool_call_update","toolCallId":"call_1",
			"status":"completed","content":[
				{"type":"diff","path":"/w/main.go","oldText":"a\nb\nc\n","newText":"a\nB\nc\n"},
				{"type":"diff","path":"/w/new.go","oldText":null,"newText":"package new"},
				{"type":"content","content":{"type":"text","text":"changed"}}]}`)},
		domain.ToolCallCompleted{ToolCallID: "call_1", Outcome: domain.OutcomeSucceeded, Output: "changed", DurationMs: 1500},

		domain.ToolCallRequested{ToolCallID: "writeTextFile", MessageID: "t1-2-x", Turn: 1, Tool: "writeTextFile", Class: domain.ClassWrite,
			Arguments: []byte(`{"path":"/w/log","content":"one\n"}`), Summary: "Write 4 bytes to /w/log"},
		domain.ToolCallStarted{ToolCallID: "writeTextFile", Arguments: []byte(`{"path":"/w/log","content":"one\n"}`), AllowedBy: "rule"},
		domain.ToolCallCompleted{ToolCallID: "writeTextFile", Outcome: domain.OutcomeSucceeded, Output: "Wrote 4 bytes."},

		domain.ToolCallRequested{ToolCallID: "call_2", MessageID: "t1-3-x", Turn: 1, Tool: "execute", Class: domain.ClassExecute,
			Arguments: []byte(`{"command":"make"}`), Summary: "make"},
		domain.ToolCallStarted{ToolCallID: "call_2", Arguments: []byte(`{"command":"make"}`), AllowedBy: "agent"},
		domain.ToolCallReported{ToolCallID: "call_2", Turn: 1, Update: []byte(`{"toolCallId":"call_2","status":"in_progress",
			"content":[{"type":"content","content":{"type":"text","text":"half of it"}},{"type":"terminal","terminalId":"t"}]}`)},
		domain.ToolCallCompleted{ToolCallID: "call_2", Outcome: domain.OutcomeUnknown, Output: "It may have run.",
			Error: &domain.Failure{Code: domain.CodeOutcomeUnknown, Message: "It may have run."}},
		domain.ToolCallReported{ToolCallID: "call_2", Turn: 1, Update: []byte(`{"toolCallId":"call_2","status":"completed",
			"content":[{"type":"content","content":{"type":"text","text":"all of it"}}]}`)},
		domain.TurnContinued{Turn: 1, Mode: domain.ResumeLoad, Text: "Go on.", By: ann},
		domain.ThoughtDelta{MessageID: "t1-1-y", Turn: 1, Text: "Where was I"},
		domain.ThoughtCompleted{MessageID: "t1-1-y", Turn: 1, Interrupted: true},
		domain.TurnEnded{Turn: 1, StopReason: domain.StopCancelled},
		domain.MessageDelta{MessageID: "t0-1-y", Turn: 0, Text: "Bye."},
		domain.MessageCompleted{MessageID: "t0-1-y", Turn: 0},

		// A subagent of the agent works, between two turns, and changes a file.
		domain.ToolCallRequested{ToolCallID: "subagent", MessageID: "t0-2-y", Tool: "subagent", Class: domain.ClassDelegate,
			Arguments: []byte(`{"sessionId":"child","title":"Tidy up"}`), Summary: "Tidy up"},
		domain.ToolCallStarted{ToolCallID: "subagent", Arguments: []byte(`{"sessionId":"child","title":"Tidy up"}`), AllowedBy: "agent"},
		domain.ToolCallUpdated{ToolCallID: "subagent", Output: "I tidy up."},
		domain.ToolCallRequested{ToolCallID: "call_3", ParentToolCallID: "subagent", MessageID: "t0-3-y", Tool: "edit", Class: domain.ClassWrite,
			Arguments: []byte(`{"file_path":"/w/main.go"}`), Summary: "Edit main.go"},
		domain.ToolCallReported{ToolCallID: "call_3", Update: []byte(`{"sessionUpdate":"tool_call_update","toolCallId":"call_3","status":"completed",
			"content":[{"type":"diff","path":"/w/main.go","oldText":"B\n","newText":"b\n"}]}`)},
		domain.ToolCallStarted{ToolCallID: "call_3", Arguments: []byte(`{"file_path":"/w/main.go"}`), AllowedBy: "agent"},
		domain.ToolCallCompleted{ToolCallID: "call_3", Outcome: domain.OutcomeSucceeded},
		domain.ToolCallCompleted{ToolCallID: "subagent", Outcome: domain.OutcomeSucceeded, Output: "It is tidy."},
		domain.ExecutionEnded{Status: domain.StatusCancelled, FinishReason: domain.FinishCancelled, CancelledBy: ann},
	)
}

// blockWork is a generation of blocks: handed in, changed, accepted; and a tool that the frontend runs.
func blockWork() *script {
	return begun(domain.SourceInternal).Add(
		domain.ToolCallRequested{ToolCallID: "s1", MessageID: "m1", Turn: 1, Tool: "submit_blocks", Class: domain.ClassNone,
			Arguments: []byte(`{"blocks":[{"type":"script"}]}`), Summary: "Submit 1 block"},
		domain.BlocksGenerated{Generation: 1, Turn: 1, ToolCallID: "s1", Blocks: []byte(`[{"type":"script","props":{}}]`),
			InsertAfter: "b7", DocumentRevision: "r1"},
		domain.ToolCallRequested{ToolCallID: "k1", MessageID: "m1", Turn: 1, Tool: "insert_blocks", Class: domain.ClassWrite,
			Arguments: []byte(`{"path":"x","content":"y"}`), Summary: "Insert"},
		domain.ToolCallStarted{ToolCallID: "k1", Arguments: []byte(`{"path":"x","content":"y"}`), AllowedBy: "capabilities",
			Awaits: domain.AwaitsClient},
		domain.ToolCallCompleted{ToolCallID: "k1", Outcome: domain.OutcomeSucceeded, Output: "inserted"},
		domain.TurnEnded{Turn: 1, StopReason: domain.StopEndTurn},
		domain.PromptQueued{PromptID: "p2", Text: "Shorter.", WhenBusy: domain.WhenBusyEnqueue, Edits: 1, By: *ann},
		domain.ToolCallCompleted{ToolCallID: "s1", Outcome: domain.OutcomeSucceeded, Output: "The person asks for changes."},
		domain.TurnStarted{Turn: 2, PromptID: "p2", Text: "Shorter.", Edits: 1},
		domain.ToolCallRequested{ToolCallID: "s2", MessageID: "m2", Turn: 2, Tool: "submit_blocks", Class: domain.ClassNone,
			Arguments: []byte(`{"blocks":[]}`), Summary: "Submit 0 blocks"},
		domain.BlocksGenerated{Generation: 2, Turn: 2, ToolCallID: "s2", Blocks: []byte(`[]`), InsertAfter: "b7", DocumentRevision: "r2"},
		domain.TurnEnded{Turn: 2, StopReason: domain.StopEndTurn},
		domain.BlocksAccepted{Generation: 2, By: *ann},
		domain.ToolCallCompleted{ToolCallID: "s2", Outcome: domain.OutcomeSucceeded, Output: "Accepted."},
		domain.ExecutionEnded{Status: domain.StatusCompleted, FinishReason: domain.FinishEndTurn},
	)
}

// summaryWork is an execution whose model has summarized the older part of its conversation, after old results were cut.
func summaryWork() *script {
	return begun(domain.SourceInternal).Add(
		domain.MessageDelta{MessageID: "m1", Turn: 1, Text: "I look after it."},
		domain.MessageCompleted{MessageID: "m1", Turn: 1},
		domain.ContextCompacted{Turn: 1, Reason: "nearLimit", Results: 2, Before: 900, After: 700, Through: "c1"},
		domain.ContextCompacted{Turn: 1, Reason: "nearLimit", Before: 900, After: 300, Summary: "They want it looked after.", Messages: 2, Model: "local"},
		domain.MessageDelta{MessageID: "m2", Turn: 1, Text: "I still do."},
		domain.MessageCompleted{MessageID: "m2", Turn: 1},
		domain.TurnEnded{Turn: 1, StopReason: domain.StopEndTurn},
	)
}

// delegating is an execution in the middle of its delegations: it has messaged a child that is interrupted, below which somebody asks, and awaits that
// one or another, which works in the background.
func delegating() *script {
	researcher := []domain.PathStep{{Execution: "root", Name: "local", Asked: "Plan the move."}, {Execution: "w1", Name: "researcher", Asked: "Read up."}}
	reader := append(slices.Clone(researcher), domain.PathStep{Execution: "g1", Name: "reader", Asked: "Read the page."})
	return begun(domain.SourceInternal).Add(
		delegationCall("c1", domain.DelegateTool), callAwaits("c1", domain.AwaitAll, "w1"), childOf("c1", "w1", "researcher"),
		domain.DelegateUpdated{ExecutionID: "w1", Status: domain.StatusWaiting, Turn: 1},
		childAsks("a1", researcher), childAsks("a2", reader),
		domain.DelegateApprovalResolved{ExecutionID: "w1", ApprovalID: "a1", Status: domain.ApprovalApproved},
		domain.DelegateUpdated{ExecutionID: "w1", Status: domain.StatusIdle, Turn: 1},
		domain.DelegateReturned{ExecutionID: "w1", Rest: 1, ToolCallID: "c1", Status: domain.StatusIdle},
		domain.ToolCallCompleted{ToolCallID: "c1", Outcome: domain.OutcomeSucceeded, Output: "Read."},

		delegationCall("c2", domain.DelegateTool),
		domain.ToolCallStarted{ToolCallID: "c2", Arguments: []byte(`{}`), AllowedBy: "capability", Children: []domain.ExecutionID{"w2"}},
		domain.DelegateStarted{ExecutionID: "w2", ToolCallID: "c2", Name: "checker", Source: domain.Source{Type: domain.SourceACP, Command: "claude"}, Depth: 1,
			Background: true},
		domain.ToolCallCompleted{ToolCallID: "c2", Outcome: domain.OutcomeSucceeded, Output: "checker works on it."},
		domain.DelegateUpdated{ExecutionID: "w2", Status: domain.StatusWaiting, Turn: 1},

		delegationCall("c3", domain.MessageDelegateTool), callAwaits("c3", domain.AwaitAll, "w1"),
		domain.DelegateUpdated{ExecutionID: "w1", Status: domain.StatusWaiting, Turn: 2},
		domain.DelegateUpdated{ExecutionID: "w1", Status: domain.StatusInterrupted, Cause: domain.CauseProvider},
		delegationCall("c4", domain.AwaitDelegatesTool), callAwaits("c4", domain.AwaitAny, "w1", "w2"),
	)
}

// delegateWork is the same execution to its end: one child fails, the other has a result that opens a turn, and a third one is left behind with its
// question when somebody cancels all.
func delegateWork() *script {
	writer := []domain.PathStep{{Execution: "root", Name: "local", Asked: "Plan the move."}, {Execution: "w3", Name: "writer", Asked: "Write it down."}}
	return delegating().Add(
		domain.DelegateUpdated{ExecutionID: "w2", Status: domain.StatusFailed, Turn: 1},
		domain.DelegateReturned{ExecutionID: "w2", Rest: 1, ToolCallID: "c4", Status: domain.StatusFailed, Error: &domain.Failure{
			Code: domain.CodeLimitReached, Message: "Too many rounds."}},
		domain.ToolCallCompleted{ToolCallID: "c4", Outcome: domain.OutcomeSucceeded, Output: "checker has failed."}, // it no longer shows what becomes of w1
		domain.DelegateUpdated{ExecutionID: "w1", Status: domain.StatusWaiting, Turn: 2},
		domain.DelegateApprovalResolved{ExecutionID: "g1", ApprovalID: "a2", Status: domain.ApprovalDenied},
		domain.DelegateUpdated{ExecutionID: "w1", Status: domain.StatusIdle, Turn: 2},
		domain.ToolCallCompleted{ToolCallID: "c3", Outcome: domain.OutcomeCancelled, Error: &domain.Failure{
			Code: domain.CodeCancelled, Message: "The turn ended while this call waited for another agent."}},
		domain.TurnEnded{Turn: 1, StopReason: domain.StopEndTurn},

		domain.TurnStarted{Turn: 2, Text: "These are the results.", Delegates: []domain.ExecutionID{"w1"}},
		domain.DelegateReturned{ExecutionID: "w1", Rest: 2, Status: domain.StatusIdle},
		delegationCall("c5", domain.DelegateTool), callAwaits("c5", domain.AwaitAll, "w3"), childOf("c5", "w3", "writer"),
		domain.DelegateUpdated{ExecutionID: "w3", Status: domain.StatusWaiting, Turn: 1}, childAsks("a3", writer),
		domain.ToolCallCompleted{ToolCallID: "c5", Outcome: domain.OutcomeCancelled, Error: &domain.Failure{
			Code: domain.CodeCancelled, Message: "The turn ended while this call waited for another agent."}},
		domain.ExecutionEnded{Status: domain.StatusCancelled, FinishReason: domain.FinishCancelled, CancelledBy: ann},
	)
}

func delegationCall(id, tool string) domain.ToolCallRequested {
	return domain.ToolCallRequested{ToolCallID: id, MessageID: "m1", Turn: 1, Tool: tool, Class: domain.ClassDelegate, Arguments: []byte(`{}`), Summary: tool}
}

func callAwaits(id string, mode domain.AwaitMode, children ...domain.ExecutionID) domain.ToolCallStarted {
	return domain.ToolCallStarted{ToolCallID: id, Arguments: []byte(`{}`), AllowedBy: "capability", Awaits: domain.AwaitsDelegate, Mode: mode, Children: children}
}

func childOf(call string, id domain.ExecutionID, name string) domain.DelegateStarted {
	return domain.DelegateStarted{ExecutionID: id, ToolCallID: call, Name: name, Source: domain.Source{Type: domain.SourceInternal}, Depth: 1}
}

// childAsks is the question of the last step of a path.
func childAsks(approval domain.ApprovalID, path []domain.PathStep) domain.DelegateApprovalRequested {
	return domain.DelegateApprovalRequested{ExecutionID: path[len(path)-1].Execution, ApprovalID: approval, ToolCallID: "c1", Kind: domain.ApprovalToolCall,
		Tool: "bash", Path: path}
}

// pictureWork is an execution with pictures and files: in the request, in a further prompt without a text, and in the result of a call.
func pictureWork() *script {
	return begun(domain.SourceInternal).Add(
		domain.ToolCallRequested{ToolCallID: "c1", MessageID: "m1", Turn: 1, Tool: "read", Class: domain.ClassRead,
			Arguments: []byte(`{"path":"plot.png"}`), Summary: "Read plot.png"},
		domain.ToolCallStarted{ToolCallID: "c1", Arguments: []byte(`{"path":"plot.png"}`), AllowedBy: "capabilities"},
		domain.ToolCallCompleted{ToolCallID: "c1", Outcome: domain.OutcomeSucceeded, Output: "A picture.", Files: []domain.PromptPart{
			{Type: domain.PartImage, FileID: "file_3", Name: "plot.png", MediaType: domain.MediaPNG, Size: 30}}},
		domain.TurnEnded{Turn: 1, StopReason: domain.StopEndTurn},
		domain.PromptQueued{PromptID: "p2", WhenBusy: domain.WhenBusyEnqueue, By: *ann, Parts: manual},
		domain.TurnStarted{Turn: 2, PromptID: "p2", Parts: manual},
		domain.TurnEnded{Turn: 2, StopReason: domain.StopEndTurn},
	)
}

var manual = []domain.PromptPart{{Type: domain.PartFile, FileID: "file_2", Path: "manual.pdf", Name: "manual.pdf", MediaType: domain.MediaPDF, Size: 20}}

var pictureRequest = domain.Request{Prompt: "What does\n\nthis show?", Parts: []domain.PromptPart{
	{Type: domain.PartText, Text: "What does"},
	{Type: domain.PartImage, FileID: "file_1", Name: "gauge.jpg", MediaType: domain.MediaJPEG, Size: 10},
	{Type: domain.PartText, Text: "this show?"},
}}
