package items

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
)

// What does not fit is refused, and the reducer stands where it stood: it can go on with the right event.
func TestWhatDoesNotFitChangesNothing(t *testing.T) {
	talk := begun(domain.SourceInternal).Add(
		domain.MessageDelta{MessageID: "m", Turn: 1, Text: "é"},
		domain.ToolCallRequested{ToolCallID: "c", Turn: 1, Tool: "bash"},
		domain.ToolCallUpdated{ToolCallID: "c", Output: "1"},
	)
	next := int64(len(talk.Log) + 1)
	event := func(seq int64, payload domain.Payload) domain.Event {
		e := domain.NewEvent("execution", payload)
		e.Seq = seq
		return e
	}
	for name, c := range map[string]struct {
		event  domain.Event
		wanted string
	}{
		"a hole":                       {event(next+1, domain.TurnEnded{Turn: 1}), "The log has a hole: event 10 follows event 8."},
		"a piece that comes again":     {event(next, domain.MessageDelta{MessageID: "m", Text: "é"}), "at 0, where 2 bytes are"},
		"a piece of what is not there": {event(next, domain.MessageDelta{MessageID: "n", Offset: 2, Text: "x"}), "at 2, where 0 bytes are"},
		"a thought of the same id":     {event(next, domain.ThoughtDelta{MessageID: "m", Offset: 2, Text: "x"}), "at 2, where 0 bytes are"},
		"output after a hole":          {event(next, domain.ToolCallUpdated{ToolCallID: "c", Offset: 2, Output: "x"}), "at 2, where 1 bytes are"},
		"output of no call":            {event(next, domain.ToolCallUpdated{ToolCallID: "d", Offset: 1, Output: "x"}), "at 1, where 0 bytes are"},
		"no JSON":                      {domain.Event{Seq: next, Type: domain.MessageDeltaType, Data: json.RawMessage("{")}, "Event 9 of the log cannot be read."},
	} {
		t.Run(name, func(t *testing.T) {
			reducer := New(domain.Request{})
			for _, e := range talk.Log {
				if err := reducer.Take(e); err != nil {
					t.Fatal(err)
				}
			}
			before := asJSON(t, reducer.Items())
			reducer.Changed()
			err := reducer.Take(c.event)
			if err == nil || !strings.Contains(err.Error(), c.wanted) || domain.CodeOf(err) != domain.CodeInternal {
				t.Errorf("the error is %v", err)
			}
			if diff := cmp.Diff(before, asJSON(t, reducer.Items())); diff != "" || len(reducer.Changed()) > 0 || reducer.LastSeq() != next-1 {
				t.Errorf("something has changed, up to %d: %s", reducer.LastSeq(), diff)
			}
			if err := reducer.Take(event(next, domain.MessageDelta{MessageID: "m", Offset: 2, Text: "!"})); err != nil {
				t.Errorf("it cannot go on: %v", err)
			}
		})
	}
}

func TestReduceTellsWhatDoesNotFit(t *testing.T) {
	if _, err := Reduce(domain.Request{}, begun(domain.SourceACP).Log[1:]); domain.CodeOf(err) != domain.CodeInternal {
		t.Errorf("the error is %v", err)
	}
}

func TestUnknownTypesArePassedOver(t *testing.T) {
	reducer := New(domain.Request{})
	if err := reducer.Take(domain.Event{Seq: 1, Type: "weather.changed", Data: json.RawMessage("no JSON")}); err != nil {
		t.Fatal(err)
	}
	if all := reducer.Items(); reducer.LastSeq() != 1 || len(all) > 0 {
		t.Errorf("up to %d, items %v", reducer.LastSeq(), all)
	}
}

func TestAMessageWithoutAWordIsNone(t *testing.T) {
	s := begun(domain.SourceInternal).Add(domain.MessageCompleted{MessageID: "m"}, domain.ThoughtCompleted{MessageID: "m"})
	if all := reduced(t, s); len(all) > 0 {
		t.Errorf("items %v", all)
	}
}

// Long texts are cut, between two characters; pieces still have to fit behind what was cut off.
func TestTextsAreBounded(t *testing.T) {
	almost := strings.Repeat("x", TextBytes-1)
	long := almost + "é and more"
	arguments := domain.Encode(map[string]string{"path": "p", "content": long})
	all := reduced(t, begun(domain.SourceInternal).Add(
		domain.MessageDelta{MessageID: "m", Turn: 1, Text: almost},
		domain.MessageDelta{MessageID: "m", Turn: 1, Text: "é"},
		domain.MessageDelta{MessageID: "m", Turn: 1, Text: "y"},
		domain.ThoughtDelta{MessageID: "m", Turn: 1, Text: long},
		domain.ToolCallRequested{ToolCallID: "c", Turn: 1, Tool: "write", Class: domain.ClassWrite, Arguments: arguments},
		domain.ToolCallUpdated{ToolCallID: "c", Output: long},
		domain.TurnStarted{Turn: 2, PromptID: "p", Text: long},
		domain.BlocksGenerated{Generation: 1, ToolCallID: "c", Blocks: arguments},
	))
	message, reasoning, tool, prompt, blocks := all[0].Message, all[1].Reasoning, all[2].Tool, all[3].Message, all[4].Blocks
	for name, c := range map[string]struct {
		text      string
		truncated bool
	}{
		"message": {message.Text, message.Truncated}, "reasoning": {reasoning.Text, reasoning.Truncated},
		"output": {tool.Output, tool.Truncated}, "prompt": {prompt.Text, prompt.Truncated},
	} {
		if c.text != almost || !c.truncated {
			t.Errorf("%s: %d bytes, truncated: %v", name, len(c.text), c.truncated)
		}
	}
	if string(tool.Arguments) != "null" || string(blocks.Blocks) != "null" {
		t.Errorf("%d bytes of arguments, %d of blocks", len(tool.Arguments), len(blocks.Blocks))
	}
}

func TestLongDiffsAreCutAndCountedWhole(t *testing.T) {
	const lines = TextBytes / 2
	wide := strings.Repeat("x\n", lines) // each is a byte longer in the diff
	all := reduced(t, begun(domain.SourceACP).Add(
		domain.ToolCallRequested{ToolCallID: "c", Turn: 1, Tool: "edit"},
		domain.ToolCallReported{ToolCallID: "c", Update: domain.Encode(map[string]any{
			"content": []any{map[string]any{"type": "diff", "path": "p", "newText": wide}},
		})},
	))
	diff := all[1].Diff
	if len(diff.Diff) != TextBytes || !diff.Truncated || diff.Additions != lines {
		t.Errorf("%d bytes, truncated: %v, +%d", len(diff.Diff), diff.Truncated, diff.Additions)
	}
}

// tool is the tool item of a script about one call.
func tool(t *testing.T, s *script) *Tool {
	t.Helper()
	for _, i := range reduced(t, s) {
		if i.Tool != nil {
			return i.Tool
		}
	}
	t.Fatal("there is no call")
	return nil
}

func TestStatusOfACall(t *testing.T) {
	request := domain.ToolCallRequested{ToolCallID: "c", Turn: 1, Tool: "bash"}
	ask := domain.ApprovalRequested{ApprovalID: "a", ToolCallID: "c"}
	yes := domain.ApprovalResolved{ApprovalID: "a", ToolCallID: "c", Status: domain.ApprovalApproved}
	start := domain.ToolCallStarted{ToolCallID: "c"}
	handOver := domain.ToolCallStarted{ToolCallID: "c", Awaits: domain.AwaitsClient}
	for name, c := range map[string]struct {
		script []domain.Payload
		wanted ToolStatus
	}{
		"requested":                      {[]domain.Payload{request}, ToolRequested},
		"asked":                          {[]domain.Payload{request, ask}, ToolPendingApproval},
		"approved":                       {[]domain.Payload{request, ask, yes}, ToolRequested},
		"started":                        {[]domain.Payload{request, ask, yes, start}, ToolRunning},
		"begun by its agent, then asked": {[]domain.Payload{request, start, ask}, ToolPendingApproval},
		"and approved":                   {[]domain.Payload{request, start, ask, yes}, ToolRunning},
		"one question of two answered": {[]domain.Payload{request, ask, domain.ApprovalRequested{ApprovalID: "b", ToolCallID: "c"}, yes},
			ToolPendingApproval},
		"the client's":      {[]domain.Payload{request, handOver}, ToolWaitingForClient},
		"the client's, end": {[]domain.Payload{request, handOver, domain.ToolCallCompleted{ToolCallID: "c", Outcome: domain.OutcomeExpired}}, ToolExpired},
		"blocks handed in":  {[]domain.Payload{request, domain.BlocksGenerated{Generation: 1, ToolCallID: "c"}}, ToolRunning},
		"without a request": {[]domain.Payload{start}, ToolRunning},
		"cancelled": {[]domain.Payload{request, ask, domain.ToolCallCompleted{ToolCallID: "c", Outcome: domain.OutcomeCancelled},
			domain.ApprovalResolved{ApprovalID: "a", ToolCallID: "c", Status: domain.ApprovalCancelled}}, ToolCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tool(t, begun(domain.SourceInternal).Add(c.script...)).Status; got != c.wanted {
				t.Errorf("it is %s, not %s", got, c.wanted)
			}
		})
	}
}

// TestAPausedCallIsNotRunning: its MCP server has asked, and the answer starts it again. What it tells of its progress is shown until its outcome.
func TestAPausedCallIsNotRunning(t *testing.T) {
	mcp := &domain.MCPTool{Server: "paint", Tool: "mix", Definition: "d"}
	log := begun(domain.SourceInternal)
	for _, step := range []struct {
		payload domain.Payload
		want    ToolStatus
		told    float64
	}{
		{domain.ToolCallRequested{ToolCallID: "c", Turn: 1, Tool: "mcp__paint__mix", Class: domain.ClassMCP, MCP: mcp}, ToolRequested, 0},
		{domain.ToolCallStarted{ToolCallID: "c"}, ToolRunning, 0},
		{domain.ToolCallUpdated{ToolCallID: "c", Output: "a line", Progress: &domain.CallProgress{Done: 1}}, ToolRunning, 1},
		{domain.ToolCallUpdated{ToolCallID: "c", Output: "."}, ToolRunning, 1},
		{domain.ApprovalRequested{ApprovalID: "q", ToolCallID: "c", Kind: domain.ApprovalQuestion, Repeats: true}, ToolPendingApproval, 1},
		{domain.ApprovalResolved{ApprovalID: "q", ToolCallID: "c", Status: domain.ApprovalDenied}, ToolRequested, 1},
		{domain.ToolCallStarted{ToolCallID: "c", ApprovalID: "q"}, ToolRunning, 1},
		{domain.ToolCallUpdated{ToolCallID: "c", Progress: &domain.CallProgress{Done: 2, Total: 2}}, ToolRunning, 2},
		{domain.ToolCallCompleted{ToolCallID: "c", Outcome: domain.OutcomeSucceeded, Output: "done"}, ToolSucceeded, 0},
	} {
		c := tool(t, log.Add(step.payload))
		if c.Status != step.want || !cmp.Equal(c.MCP, mcp) || (step.told == 0) != (c.Progress == nil) || c.Progress != nil && c.Progress.Done != step.told {
			t.Errorf("after %T: %+v, want %s and %v", step.payload, c, step.want, step.told)
		}
	}
	log.Checked(t)
}

// An agent cannot put other words below what a person has approved.
func TestReportsDoNotChangeWhatAPersonWasShown(t *testing.T) {
	shown := begun(domain.SourceACP).Add(
		domain.ToolCallRequested{ToolCallID: "c", Turn: 1, Tool: "execute", Arguments: []byte(`{}`)},
		domain.ToolCallReported{ToolCallID: "c", Update: []byte(`{"title":"ls","rawInput":{"command":"ls"}}`)},
	)
	if c := tool(t, shown); c.Summary != "ls" || string(c.Arguments) != `{"command":"ls"}` {
		t.Errorf("before anybody was asked: %s %s", c.Summary, c.Arguments)
	}
	shown.Add(
		domain.ApprovalRequested{ApprovalID: "a", ToolCallID: "c", Summary: "ls", Arguments: []byte(`{"command":"ls"}`)},
		domain.ToolCallReported{ToolCallID: "c", Update: []byte(`{"title":"rm","rawInput":{"command":"rm"},
			"content":[{"type":"content","content":{"type":"text","text":"gone"}}]}`)},
	)
	if c := tool(t, shown); c.Summary != "ls" || string(c.Arguments) != `{"command":"ls"}` || c.Output != "gone" {
		t.Errorf("after somebody was asked: %s %s %s", c.Summary, c.Arguments, c.Output)
	}
}

// diffs are the diffs of a script, in short.
func diffs(t *testing.T, s *script) []string {
	t.Helper()
	var short []string
	for _, i := range reduced(t, s) {
		if i.Diff != nil {
			short = append(short, strings.Join([]string{i.ID, i.Diff.Path, string(i.Diff.Status), string(i.Status)}, " "))
		}
	}
	return short
}

// TestALostCallIsNotRunning: its server stopped, and nothing runs before it starts again.
func TestALostCallIsNotRunning(t *testing.T) {
	run := func(approval domain.ApprovalID) domain.Payload {
		return domain.ToolCallStarted{ToolCallID: "c", ApprovalID: approval, Arguments: []byte(`{"command":"make"}`)}
	}
	question := func(id domain.ApprovalID, kind domain.ApprovalKind) domain.Payload {
		return domain.ApprovalRequested{ApprovalID: id, ToolCallID: "c", Kind: kind, Tool: "bash", Arguments: []byte(`{"command":"make"}`)}
	}
	log := begun(domain.SourceInternal)
	for _, step := range []struct {
		payload domain.Payload
		want    ToolStatus
	}{
		{domain.ToolCallRequested{ToolCallID: "c", Turn: 1, Tool: "bash", Class: domain.ClassExecute}, ToolRequested},
		{run("a1"), ToolRunning},
		{question("u", domain.ApprovalUnknownOutcome), ToolPendingApproval},
		{domain.ApprovalResolved{ApprovalID: "u", ToolCallID: "c", Status: domain.ApprovalApproved, Resolution: domain.ResolutionRetry}, ToolRequested},
		{question("a2", domain.ApprovalToolCall), ToolPendingApproval},
		{domain.ApprovalResolved{ApprovalID: "a2", ToolCallID: "c", Status: domain.ApprovalApproved}, ToolRequested},
		{run("a2"), ToolRunning},
		{domain.ToolCallCompleted{ToolCallID: "c", Outcome: domain.OutcomeSucceeded}, ToolSucceeded},
	} {
		all := reduced(t, log.Add(step.payload))
		tool := all[len(all)-1].Tool
		if tool.Status != step.want {
			t.Errorf("after %T: %s, want %s", step.payload, tool.Status, step.want)
		}
		if len(tool.Approvals) == 2 && tool.Approvals[0].Resolution != domain.ResolutionRetry {
			t.Errorf("%+v", tool.Approvals)
		}
	}
	log.Checked(t)
}

func TestDiffsOfACall(t *testing.T) {
	request := func(tool, arguments string) domain.Payload {
		return domain.ToolCallRequested{ToolCallID: "c", Turn: 1, Tool: tool, Class: domain.ClassWrite, Arguments: []byte(arguments)}
	}
	report := func(content string) domain.Payload {
		return domain.ToolCallReported{ToolCallID: "c", Update: []byte(`{"content":` + content + `}`)}
	}
	outcome := func(outcome domain.Outcome) domain.Payload {
		return domain.ToolCallCompleted{ToolCallID: "c", Outcome: outcome}
	}
	const write = `{"path":"p","content":"x"}`
	for name, c := range map[string]struct {
		source domain.SourceType
		script []domain.Payload
		wanted []string
	}{
		"proposed": {domain.SourceInternal, []domain.Payload{request("write", write)}, []string{"diff:c:1 p proposed open"}},
		"applied":  {domain.SourceInternal, []domain.Payload{request("write", write), outcome(domain.OutcomeSucceeded)}, []string{"diff:c:1 p applied complete"}},
		"denied":   {domain.SourceInternal, []domain.Payload{request("write", write), outcome(domain.OutcomeDenied)}, []string{"diff:c:1 p failed complete"}},
		"nobody knows": {domain.SourceInternal, []domain.Payload{request("write", write), outcome(domain.OutcomeUnknown)},
			[]string{"diff:c:1 p outcomeUnknown complete"}},
		"somewhere else, as a person wants it": {domain.SourceInternal, []domain.Payload{request("write", write),
			domain.ToolCallStarted{ToolCallID: "c", Arguments: []byte(`{"path":"q","content":"x"}`)}, outcome(domain.OutcomeSucceeded)},
			[]string{"diff:c:1 p failed complete", "diff:c:2 q applied complete"}},
		"arguments that do not fit": {domain.SourceInternal, []domain.Payload{request("write", `{"path":["p"]}`), request("edit", `7`),
			request("patch", `{"patch":{}}`), request("edit", `{"oldText":"a"}`)}, nil},
		"another tool":             {domain.SourceInternal, []domain.Payload{request("bash", write)}, nil},
		"another program's edit":   {domain.SourceACP, []domain.Payload{request("edit", write), request("write", write)}, nil},
		"another program, through": {domain.SourceACP, []domain.Payload{request("writeTextFile", write)}, []string{"diff:c:1 p proposed open"}},
		"reported": {domain.SourceACP, []domain.Payload{request("edit", `{}`),
			report(`[{"type":"diff","path":"p","newText":"1"},{"type":"diff","path":"p","newText":"2"},{"type":"diff","path":"q","newText":"3"}]`)},
			[]string{"diff:c:1 p proposed open", "diff:c:2 p proposed open", "diff:c:3 q proposed open"}},
		"reported anew, with less": {domain.SourceACP, []domain.Payload{request("edit", `{}`),
			report(`[{"type":"diff","path":"p","newText":"1"},{"type":"diff","path":"q","newText":"3"}]`),
			report(`[{"type":"diff","path":"q","newText":"4"}]`), outcome(domain.OutcomeSucceeded)},
			[]string{"diff:c:1 p failed complete", "diff:c:2 q applied complete"}},
		"a report about something else": {domain.SourceACP, []domain.Payload{request("edit", `{}`),
			report(`[{"type":"diff","path":"p","newText":"1"}]`), report(`[{"type":"content","content":{"text":"done"}}]`), report(`[]`)},
			[]string{"diff:c:1 p proposed open"}},
		"a report after the outcome": {domain.SourceACP, []domain.Payload{request("edit", `{}`), outcome(domain.OutcomeSucceeded),
			report(`[{"type":"diff","path":"p","newText":"1"}]`)}, []string{"diff:c:1 p applied complete"}},
		"odd reports": {domain.SourceACP, []domain.Payload{request("edit", `{}`), report(`{}`), report(`null`),
			report(`[null,[],{"type":"diff"},{"type":"diff","path":"","newText":"1"},{"type":"diff","path":"p","newText":{}},{"type":7,"path":"p"}]`),
			domain.ToolCallReported{ToolCallID: "c", Update: []byte(`[]`)}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.wanted, diffs(t, begun(c.source).Add(c.script...))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestACallHasAnEndOfDiffs(t *testing.T) {
	var content []any
	for n := range maxChanges + 10 {
		content = append(content, map[string]any{"type": "diff", "path": strings.Repeat("x", n+1), "newText": "1"})
	}
	s := begun(domain.SourceACP).Add(
		domain.ToolCallReported{ToolCallID: "c", Update: domain.Encode(map[string]any{"content": content[10:]})},
		domain.ToolCallReported{ToolCallID: "c", Update: domain.Encode(map[string]any{"content": content[:10]})},
	)
	if got := diffs(t, s); len(got) != maxChanges {
		t.Errorf("%d diffs", len(got))
	}
}

func TestBlocksNobodyAccepted(t *testing.T) {
	s := begun(domain.SourceInternal).Add(
		domain.ToolCallRequested{ToolCallID: "c", Turn: 1, Tool: "submit_blocks"},
		domain.BlocksGenerated{Generation: 1, ToolCallID: "c", Blocks: []byte(`[]`)},
		domain.BlocksGenerated{Generation: 2, ToolCallID: "c", Blocks: []byte(`[]`)},
		domain.BlocksAccepted{Generation: 1}, // never written: the newest one alone can be accepted
		domain.ExecutionEnded{Status: domain.StatusCancelled},
	)
	all := reduced(t, s)
	if first, second := all[1].Blocks.State, all[2].Blocks.State; first != domain.GenerationSuperseded || second != domain.GenerationCancelled {
		t.Errorf("the first is %s, the second %s", first, second)
	}
	if all[2].Status != StatusComplete || all[2].Blocks.AcceptedBy != nil {
		t.Errorf("%s, by %v", all[2].Status, all[2].Blocks.AcceptedBy)
	}
}

// A question of the session's own in a person's place is told as one, so that a frontend does not show it as theirs.
func TestRepairsAreMarked(t *testing.T) {
	all := reduced(t, begun(domain.SourceInternal).Add(domain.TurnStarted{Turn: 2, Text: "That is no JSON.", Repair: 1}))
	if got := all[0]; got.ID != "prompt:turn2" || got.Message.Repair != 1 || got.Message.Role != domain.RoleUser {
		t.Errorf("it is %+v, %+v", got, got.Message)
	}
}

// A follower that is not told of a change would show the diff that nobody approved.
func TestADiffThatAPersonChangedIsMarked(t *testing.T) {
	s := begun(domain.SourceInternal).Add(
		domain.ToolCallRequested{ToolCallID: "c", Turn: 1, Tool: "write", Class: domain.ClassWrite, Arguments: []byte(`{"path":"p","content":"1"}`)},
		domain.ToolCallStarted{ToolCallID: "c", Arguments: []byte(`{"path":"p","content":"2"}`)},
	)
	if diff := reduced(t, s)[1]; diff.LastSeq != int64(len(s.Log)) || !strings.Contains(diff.Diff.Diff, "+2") {
		t.Errorf("at %d it is %s", diff.LastSeq, diff.Diff.Diff)
	}
}

func TestTheResultOfACallStands(t *testing.T) {
	c := tool(t, begun(domain.SourceInternal).Add(
		domain.ToolCallRequested{ToolCallID: "c", Turn: 1, Tool: "bash"},
		domain.ToolCallCompleted{ToolCallID: "c", Outcome: domain.OutcomeSucceeded, Output: "head … tail", Truncated: true},
		domain.ToolCallUpdated{ToolCallID: "c", Output: "late"},
	))
	if c.Output != "head … tail" || !c.Truncated {
		t.Errorf("it is %q, truncated: %v", c.Output, c.Truncated)
	}
}

func TestNamesThatAModelWritesAreBounded(t *testing.T) {
	long := strings.Repeat("x", 2*pathBytes)
	all := reduced(t, begun(domain.SourceACP).Add(
		domain.ToolCallRequested{ToolCallID: "c", Turn: 1, Tool: "edit"},
		domain.ToolCallReported{ToolCallID: "c", Update: domain.Encode(map[string]any{
			"title": long, "content": []any{map[string]any{"type": "diff", "path": long, "newText": "1"}},
		})},
	))
	if summary, path := len(all[0].Tool.Summary), len(all[1].Diff.Path); summary != summaryBytes || path != pathBytes {
		t.Errorf("the summary has %d bytes, the path %d", summary, path)
	}
	if path := len(splitPatch("--- " + long + "\n+++ " + long + "\n@@\n")[0].path); path != pathBytes {
		t.Errorf("the path of a patch has %d bytes", path)
	}
}
