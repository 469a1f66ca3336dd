package http

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/runbooks"
	"signoff/internal/tools"
)

// inserting starts an execution whose agent has the client insert blocks, and returns its id when the call waits.
func (h *testServer) inserting() string {
	h.Helper()
	body := `{"source":{"type":"internal"},"prompt":"insert b1","capabilities":{"write":"allow"},"clientTools":[` + aTool + `]}`
	id := h.ask("POST", "/executions", body).want(201).text("id")
	eventually(h, "the call waits for its client", func() bool {
		return h.ask("GET", "/executions/"+id, "").want(200).count("pendingToolCalls") == 1
	})
	return id
}

func TestTheClientAnswersACall(t *testing.T) {
	h := newTestServer(t)
	id := h.inserting()
	path := "/executions/" + id + "/tool-results"
	waiting := h.ask("GET", "/executions/"+id, "").want(200)
	if waiting.text("status") != "executingTool" || waiting.text("pendingToolCalls", "0", "toolCallId") != "c1" ||
		waiting.text("pendingToolCalls", "0", "status") != "waitingForClient" || waiting.text("pendingToolCalls", "0", "tool") != "insert_blocks" ||
		waiting.text("pendingToolCalls", "0", "arguments", "after") != "b1" || waiting.text("pendingToolCalls", "0", "expiresAt") == "" {
		t.Errorf("%s", waiting.body)
	}
	h.ask("POST", path, `{"toolCallId":"c9","output":"x"}`).problem(404, domain.CodeNotFound)
	a := h.ask("POST", path, `{"toolCallId":"c1","output":{"inserted":["b7", 2]}}`).want(200)
	if a.text("status") != "answered" || a.text("answer", "output") != `{"inserted":["b7", 2]}` || a.get("answer", "error") != nil ||
		a.text("answer", "answeredBy", "name") != "ann" || a.text("executionId") != id {
		t.Errorf("%s", a.body)
	}
	h.ask("POST", path, `{"toolCallId":"c1","output":{"inserted":["b7", 2]}}`).want(200)
	late := h.ask("POST", path, `{"toolCallId":"c1","error":"There is no block b1."}`).problem(409, domain.CodeAlreadyAnswered)
	if late.text("toolCall", "answer", "output") != `{"inserted":["b7", 2]}` {
		t.Errorf("%s", late.body)
	}
	ended := h.ended(id)
	if ended.text("output", "toolCallsExecuted", "0", "name") != "insert_blocks" || ended.get("output", "toolCallsExecuted", "0", "approved") != true ||
		ended.text("output", "toolCallsExecuted", "0", "outcome") != "succeeded" || ended.count("pendingToolCalls") != 0 {
		t.Errorf("%s", ended.body)
	}
}

// TestAnAssistantHasToolsOfTheClientUnasked: its calls wait visibly, though the request declares no tools.
func TestAnAssistantHasToolsOfTheClientUnasked(t *testing.T) {
	h := newTestServer(t)
	var names []string
	for _, tool := range tools.DocumentTools(nil) {
		names = append(names, tool.Definition().Name)
	}
	if diff := cmp.Diff(names, runbooks.DocumentTools); diff != "" {
		t.Error(diff)
	}
	fields := `"source":{"type":"internal"},"prompt":"insert b1","capabilities":{"write":"allow"},"tools":{"enabled":["bash","insert_blocks"]}`
	id := h.ask("POST", "/executions", `{"kind":"assistant",`+fields+`}`).want(201).text("id")
	eventually(t, "the call waits for its client", func() bool {
		return h.ask("GET", "/executions/"+id, "").want(200).count("pendingToolCalls") == 1
	})
	if list := h.ask("GET", "/executions", "").want(200); list.text("items", "0", "pendingToolCalls", "0", "tool") != "insert_blocks" {
		t.Errorf("%s", list.body)
	}
	h.ask("POST", "/executions/"+id+"/cancel", "", "Prefer", "wait=30").want(200)
	a := h.ask("POST", "/executions", `{`+fields+`}`).problem(422, domain.CodeInvalid)
	if a.text("errors", "0", "pointer") != "/tools/enabled/1" {
		t.Errorf("%s", a.body)
	}
}

func TestACallThatWaitsForNobodyAnyMore(t *testing.T) {
	h := newTestServer(t)
	id := h.inserting()
	h.ask("POST", "/executions/"+id+"/cancel", "", "Prefer", "wait=30").want(200)
	gone := h.ask("POST", "/executions/"+id+"/tool-results", `{"toolCallId":"c1","output":"x"}`).problem(410, domain.CodeCallEnded)
	if gone.text("toolCall", "status") != "cancelled" || gone.get("toolCall", "answer") != nil {
		t.Errorf("%s", gone.body)
	}
}

// hears takes the client's answers, and says what it is told.
type hears struct {
	Sessions
	answer domain.ClientAnswer
}

func (k *hears) AnswerClient(_ context.Context, _ domain.TenantID, id domain.ExecutionID, call string, answer domain.ClientAnswer) (domain.ClientCall, error) {
	k.answer = answer
	return domain.ClientCall{
		Execution: id, ToolCallID: call, Tool: "t", Arguments: []byte(`{}`), State: domain.ClientCallAnswered, Asked: time.Now(), Answer: &answer,
	}, nil
}

func TestWhatAnAnswerCanBe(t *testing.T) {
	k := &hears{}
	h := newTestServer(t, func(c *Config) { k.Sessions, c.Sessions = c.Sessions, k })
	path := "/executions/" + someID + "/tool-results"
	for sent, want := range map[string]domain.ClientAnswer{
		`"output":"two\nlines"`: {Output: "two\nlines"},
		`"output":""`:           {},
		`"output":[1, 2]`:       {Output: "[1, 2]"},
		`"output":12.50`:        {Output: "12.50"},
		`"output":false`:        {Output: "false"},
		`"output":null`:         {Output: "null"},
		`"error":"No."`:         {Error: "No."},
	} {
		a := h.ask("POST", path, `{"toolCallId":"c1",`+sent+"}").want(200)
		want.By = k.answer.By
		if diff := cmp.Diff(want, k.answer); diff != "" || k.answer.By.Name != "ann" {
			t.Errorf("%s: %s", sent, diff)
		}
		if (a.get("answer", "error") == nil) != (want.Error == "") || (a.get("answer", "output") == nil) != (want.Error != "") {
			t.Errorf("%s: %s", sent, a.body)
		}
	}
	for name, row := range map[string][2]string{
		"neither": {`{"toolCallId":"c1"}`, "/output"},
		"both":    {`{"toolCallId":"c1","output":"x","error":"y"}`, "/output"},
	} {
		h.wrong(badInput{name, row[0], 422, domain.CodeInvalid, row[1]}, h.ask("POST", path, row[0]))
	}
	h.ask("POST", "/executions/x/tool-results", `{"toolCallId":"c1","output":"x"}`).problem(404, domain.CodeNotFound)
}
