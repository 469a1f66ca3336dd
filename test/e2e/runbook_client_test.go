package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"signoff/internal/domain"
)

// assist starts an assistant that may write without asking, unless the change says otherwise.
func (s *story) assist(change ...object) string {
	s.t.Helper()
	return s.createdAs(object{
		"kind": "assistant", "source": object{"type": "internal"}, "prompt": s.prompt("Add a step"), "document": notebook("12"),
		"blockTypes": storyTypes, "capabilities": object{"write": "allow"},
	}, change...)
}

// inserts is a step of an assistant.
func inserts(code string) script {
	return calls("insert_blocks", object{"after": "b1", "blocks": []object{block(code)}})
}

// waits waits until so many calls wait for the client, and the execution with them.
func (s *story) waits(id string, n int) []clientCall {
	s.t.Helper()
	var shown showing
	s.eventually("calls that wait for the client", func() bool {
		shown = s.see(id)
		if domain.Status(shown.Status).Terminal() {
			s.t.Fatalf("it has ended as %s: %+v", shown.Status, shown.Output.Error)
		}
		return len(shown.PendingToolCalls) == n && shown.Status == string(domain.StatusExecutingTool)
	})
	return shown.PendingToolCalls
}

// answers hands in what came of a call.
func (s *story) answers(id string, c clientCall, body object) clientCall {
	s.t.Helper()
	body["toolCallId"] = c.ToolCallID
	return want[clientCall](s.client, http.StatusOK, "POST", "/executions/"+id+"/tool-results", body)
}

// outcomes are those of all calls, in their order.
func (s *story) outcomes(id string) (all []domain.Outcome) {
	s.t.Helper()
	for _, done := range of[domain.ToolCallCompleted](s.t, s.log(id)) {
		all = append(all, done.Outcome)
	}
	return all
}

func insertedBlocks(t *testing.T, stage *stage) {
	s := stage.story(t, inserts("df"), finally("It is there."), finally("You are welcome."))
	id := s.assist()
	waiting := s.waits(id, 1)[0]
	if waiting.Tool != "insert_blocks" || waiting.Status != "waitingForClient" || !strings.Contains(string(waiting.Arguments), `"df"`) {
		t.Errorf("waiting: %+v", waiting)
	}
	for _, name := range []string{"insert_blocks", "update_block", "replace_blocks", "get_runbook_document", "get_block_docs"} {
		if !slices.Contains(s.tools(), name) {
			t.Errorf("the assistant has no %s", name)
		}
	}
	if slices.Contains(s.tools(), "submit_blocks") {
		t.Error("the assistant can hand in blocks")
	}
	if started := of[domain.ToolCallStarted](t, s.log(id)); len(started) != 1 || started[0].Awaits != domain.AwaitsClient || started[0].ExpiresAt == nil {
		t.Errorf("started: %+v", started)
	}
	if answered := s.answers(id, waiting, object{"output": object{"inserted": []string{"b7"}}}); answered.Status != "answered" || *answered.Answer.Output != `{"inserted":["b7"]}` {
		t.Errorf("answered: %+v", answered)
	}
	shown := s.rests(id, 1)
	if len(shown.PendingToolCalls) != 0 {
		t.Errorf("%+v", shown.PendingToolCalls)
	}
	if told := last(s.requests()[1]); told.Role != "tool" || told.Content != `{"inserted":["b7"]}` {
		t.Errorf("the model was told %+v", told)
	}
	want[object](s.client, http.StatusAccepted, "POST", "/executions/"+id+"/prompts", object{"prompt": "Thank you."})
	s.rests(id, 2)
	want[object](s.client, http.StatusOK, "POST", "/executions/"+id+"/close", nil, waits)
	if out := s.over(id, domain.StatusCompleted).Output; out.Text != "You are welcome." || len(out.ToolCallsExecuted) != 1 || !out.ToolCallsExecuted[0].Approved {
		t.Errorf("%+v", out)
	}
}
