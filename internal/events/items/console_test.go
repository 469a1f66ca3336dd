package items

import (
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"signoff/internal/domain"
	"signoff/internal/events"
)

// consoleFolder has logs and the items that they make. The console makes items of the log itself, in the browser, and
// test/console/unit/conversation.test.js holds it to these files; so a change of the reducer fails there.
const consoleFolder = "../../../test/console/unit/items/"

// toldLog is one log as the API sends it, and what it amounts to.
type toldLog struct {
	Request toldRequest `json:"request"`
	Log     []toldEvent `json:"log"`
	Items   []Item      `json:"items"`
}

type toldRequest struct {
	Prompt   string                `json:"prompt"`
	Parts    []domain.PromptPart   `json:"parts,omitempty"`
	Messages []domain.InputMessage `json:"messages"`
}

type toldEvent struct {
	Seq  int64            `json:"seq"`
	Type domain.EventType `json:"type"`
	Time string           `json:"time"`
	Data json.RawMessage  `json:"data"`
}

func TestTheConsoleIsGivenTheSameItems(t *testing.T) {
	past := []domain.InputMessage{{Role: domain.RoleUser, Content: "Hello"}, {Role: domain.RoleAssistant, Content: "Hello!"}}
	stories := map[string]struct {
		request domain.Request
		script  *script
	}{
		"files":      {domain.Request{Messages: past, Prompt: "Change the port."}, fileWork()},
		"agent":      {domain.Request{Prompt: "Change it."}, agentWork()},
		"blocks":     {domain.Request{Prompt: "A script, please."}, blockWork()},
		"pictures":   {pictureRequest, pictureWork()},
		"summary":    {domain.Request{Prompt: "Look after it."}, summaryWork()},
		"delegates":  {domain.Request{Prompt: "Plan the move."}, delegateWork()},
		"delegating": {domain.Request{Prompt: "Plan the move."}, delegating()},
		"disk":       {domain.Request{Prompt: "Change the port."}, diskWork()},
		"odd":        {domain.Request{Prompt: "Surprise me."}, oddWork()},
		"chance":     {domain.Request{Prompt: "Go."}, rapid.Custom(randomScript).Example(15)},
		"failed":     {domain.Request{Prompt: "Go."}, cutShort(domain.StatusFailed)},
		"timedOut":   {domain.Request{Prompt: "Go."}, cutShort(domain.StatusTimedOut)},
	}
	types, groups := map[domain.EventType]bool{}, map[string]bool{} // that the stories have
	for name, c := range stories {
		t.Run(name, func(t *testing.T) {
			all, err := Reduce(c.request, c.script.Log)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, consoleFolder+name+".json", asJSON(t, toldLog{
				Request: toldRequest{c.request.Prompt, c.request.Parts, c.request.Messages}, Log: sent(c.script.Log), Items: all,
			})+"\n")
			for _, event := range c.script.Log {
				types[event.Type] = true
			}
			for _, item := range all {
				eachGroup(item, func(group string, set bool) { groups[group] = groups[group] || set })
			}
		})
	}
	// What no story has, one of the two reducers may lack, and nobody would see it. Add the event at the end of a story: further up it
	// changes the numbers of all that follow.
	for _, eventType := range itemTypes {
		if !types[eventType] {
			t.Errorf("no story has the event %s", eventType)
		}
	}
	eachGroup(Item{}, func(group string, _ bool) {
		if !groups[group] {
			t.Errorf("no story makes an item with %s", group)
		}
	})
}

// eachGroup calls visit with each field that belongs to one kind of item.
func eachGroup(item Item, visit func(group string, set bool)) {
	for field, value := range reflect.ValueOf(item).Fields() {
		if value.Kind() == reflect.Pointer {
			visit(field.Name, !value.IsNil())
		}
	}
}

// cutShort ends with status in the middle of a message and of a call.
func cutShort(status domain.Status) *script {
	return begun(domain.SourceInternal).Add(
		domain.MessageDelta{MessageID: "m1", Turn: 1, Text: "I look "},
		domain.ToolCallRequested{ToolCallID: "c1", MessageID: "m1", Turn: 1, Tool: "bash", Class: domain.ClassExecute,
			Arguments: []byte(`{"command":"ls"}`), Summary: "Run `ls`"},
		domain.ExecutionEnded{Status: status, FinishReason: domain.FinishError},
	)
}

func sent(log []domain.Event) []toldEvent {
	all := make([]toldEvent, 0, len(log))
	for _, event := range log {
		var frame struct{ Data json.RawMessage }
		if err := json.Unmarshal(events.NewFrame(event).JSON(), &frame); err != nil {
			panic(err) // unreachable: we have just encoded it
		}
		all = append(all, toldEvent{event.Seq, event.Type, event.Time.Format("2006-01-02T15:04:05Z07:00"), frame.Data})
	}
	return all
}

// oddWork is what hostile models and agents write where a change of a file is read: odd arguments, odd paths, odd patches, odd reports.
func oddWork() *script {
	s := begun(domain.SourceInternal)
	for n, c := range []struct{ tool, arguments string }{
		{"write", `{"path":["p"],"content":"x"}`}, {"write", `7`}, {"write", `null`}, {"write", `{"PATH":"capitals","Content":"x\n"}`},
		{"write", `{"path":"a\nb\u0000\"\\","content":"no end"}`}, {"write", `{"path":"empty","content":""}`},
		{"edit", `{"path":"p","oldText":null,"newText":"a\nb"}`}, {"edit", `{"path":"p","oldText":"same","newText":"same"}`},
		{"edit", `{"path":"p","oldText":"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18","newText":"1\n2\nthree\n4\n5\n6\n7\n8\n9\n11\n12\n13\n14\n15\n16\n17\n18\n"}`},
		{"edit", `{"path":"é","oldText":"ä\nb","newText":"b\nä"}`},
		{"patch", `{"patch":"noise\n--- \"a/\\303\\251 x\"\n+++ \"b/\\303\\251 x\"\n@@ -1 +1 @@\n-a\n+b\n--- a/gone\t2026\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\ndiff --git a/z b/z\n"}`},
		{"patch", `{"patch":"--- a/x\n+++ y\n@@\n--- not a name\n+++ nor this\n\n+one\n"}`}, {"toString", `{"path":"p"}`},
	} {
		s.Add(domain.ToolCallRequested{ToolCallID: string(rune('a' + n)), MessageID: "m", Turn: 1, Tool: c.tool, Class: domain.ClassWrite,
			Arguments: []byte(c.arguments), Summary: c.tool})
	}
	for _, report := range []string{
		`null`, `[]`, `7`, `{"title":7,"rawInput":[1],"content":{"type":"diff"}}`, `{"title":"","content":[null,7,"x",{"type":"diff","path":""}]}`,
		`{"content":[{"type":"diff","path":"r","newText":"x"},{"type":"diff","path":"r","oldText":"x","newText":"y"},{"type":"diff","path":7,"newText":"z"}]}`,
		`{"content":[{"content":[{"text":"in a list"}]},{"content":{"text":"said"}},{"content":{"text":"twice 😀"}}]}`,
	} {
		s.Add(domain.ToolCallReported{ToolCallID: "reported", Turn: 1, Update: []byte(report)})
	}
	return s.Add(
		domain.ToolCallUpdated{ToolCallID: "printed", Output: "é😀"},
		domain.ToolCallUpdated{ToolCallID: "printed", Output: "\n"},
		domain.MessageDelta{MessageID: "m", Turn: 1, Text: "漢字"},
		domain.MessageDelta{MessageID: "m", Turn: 1, Text: " and more"},
		domain.ToolCallRequested{ToolCallID: "asks", MessageID: "n", Turn: 1, Tool: "mcp__paint__mix", Class: domain.ClassMCP, Arguments: []byte(`{}`),
			MCP: &domain.MCPTool{Server: "paint", Tool: "mix", Definition: "d", Annotations: domain.MCPAnnotations{ReadOnly: new(bool)}}},
		domain.ToolCallStarted{ToolCallID: "asks"},
		domain.ToolCallUpdated{ToolCallID: "asks", Progress: &domain.CallProgress{Done: 1.5, Message: "mixing"}},
		domain.ToolCallUpdated{ToolCallID: "asks", Output: "red"},
		domain.ApprovalRequested{ApprovalID: "q", ToolCallID: "asks", Kind: domain.ApprovalQuestion, Tool: "mcp__paint__mix", Repeats: true},
		domain.ApprovalResolved{ApprovalID: "q", ToolCallID: "asks", Status: domain.ApprovalDenied},
		domain.ToolCallRequested{ToolCallID: "asked", MessageID: "n", Turn: 1, Tool: "mcp__paint__mix", Class: domain.ClassMCP, Arguments: []byte(`{}`)},
		domain.ToolCallStarted{ToolCallID: "asked"},
		domain.ToolCallUpdated{ToolCallID: "asked", Progress: &domain.CallProgress{Done: 2, Total: 2}},
		domain.ToolCallCompleted{ToolCallID: "asked", Outcome: domain.OutcomeSucceeded},
		domain.ToolCallRequested{ToolCallID: "queued", MessageID: "n", Turn: 1, Tool: "bash", Class: domain.ClassExecute, Arguments: []byte(`{}`)},
		domain.ToolCallQueued{ToolCallID: "queued"},
	)
}
