package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// fates are those of all calls, in their order.
func (s *story) fates(id string) (all []domain.Fate) {
	s.t.Helper()
	for _, done := range of[domain.ToolCallCompleted](s.t, s.log(id)) {
		all = append(all, done.Fate)
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

func askedInsertion(t *testing.T, stage *stage) {
	s := stage.story(t, inserts("df"), finally("It is there."))
	id := s.assist(object{"capabilities": nil}, object{"capabilities": object{"write": "ask"}})
	a := s.pending(id)
	if a.Tool != "insert_blocks" || len(s.see(id).PendingToolCalls) != 0 {
		t.Errorf("asked: %+v", a)
	}
	s.decide(a)
	s.answers(id, s.waits(id, 1)[0], object{"output": "done"})
	s.rests(id, 1)
	if diff := cmp.Diff([]domain.Fate{domain.FateSucceeded}, s.fates(id)); diff != "" {
		t.Error(diff)
	}
}

func refusedInsertion(t *testing.T, stage *stage) {
	s := stage.story(t, inserts("df"), finally("Then not."))
	id := s.assist(object{"capabilities": object{"write": "ask"}})
	a := s.pending(id)
	s.decide(a, object{"decision": "deny", "reason": "not in this runbook"})
	s.rests(id, 1)
	if told := last(s.requests()[1]); !strings.Contains(told.Content, "not in this runbook") {
		t.Errorf("told: %+v", told)
	}
	if diff := cmp.Diff([]domain.Fate{domain.FateDenied}, s.fates(id)); diff != "" {
		t.Error(diff)
	}
	call := of[domain.ToolCallRequested](t, s.log(id))[0].ToolCallID
	s.refused(http.StatusNotFound, "notFound", "POST", "/executions/"+id+"/tool-results", object{"toolCallId": call, "output": "x"})
}

func forbiddenInsertion(t *testing.T, stage *stage) {
	s := stage.story(t, inserts("df"), finally("Then not."))
	id := s.assist(object{"policy": object{"rules": []object{{"effect": "deny", "matcher": object{"tool": "insert_blocks"}}}}})
	s.rests(id, 1)
	if diff := cmp.Diff([]domain.Fate{domain.FateDenied}, s.fates(id)); diff != "" {
		t.Error(diff)
	}
	if started := of[domain.ToolCallStarted](t, s.log(id)); len(started) != 0 {
		t.Errorf("started: %+v", started)
	}
}

func withoutWriting(t *testing.T, stage *stage) {
	s := stage.story(t, inserts("df"), finally("I cannot."))
	id := s.assist(object{"capabilities": object{"write": "deny"}})
	s.rests(id, 1)
	if slices.Contains(s.tools(), "insert_blocks") {
		t.Error("the model was told of a tool that is off")
	}
	if diff := cmp.Diff([]domain.Fate{domain.FateFailed}, s.fates(id)); diff != "" {
		t.Error(diff)
	}
}

func misfitInsertion(t *testing.T, stage *stage) {
	s := stage.story(t, calls("insert_blocks", object{"blocks": []object{{"type": "poem", "props": object{}}}}), inserts("df"), finally("It is there."))
	id := s.assist()
	s.answers(id, s.waits(id, 1)[0], object{"output": "done"})
	s.rests(id, 1)
	if told := last(s.requests()[1]); told.Role != "tool" || !strings.Contains(told.Content, "/blocks/0/type") {
		t.Errorf("told: %+v", told)
	}
	if diff := cmp.Diff([]domain.Fate{domain.FateFailed, domain.FateSucceeded}, s.fates(id)); diff != "" {
		t.Error(diff)
	}
}

func twoWaitingCalls(t *testing.T, stage *stage) {
	s := stage.story(t, func(a *answer, _ []message) {
		a.Want("insert_blocks", object{"blocks": []object{block("first")}})
		a.Want("update_block", object{"id": "b2", "props": object{"text": "second"}})
	}, finally("Both are there."))
	id := s.assist()
	both := s.waits(id, 2) // they are handed out at once, in whatever order
	slices.SortFunc(both, func(a, b clientCall) int { return strings.Compare(a.Tool, b.Tool) })
	s.answers(id, both[1], object{"output": "two"})
	if left := s.waits(id, 1)[0]; left.ToolCallID != both[0].ToolCallID {
		t.Errorf("left: %+v", left)
	}
	s.heardOf(1)
	s.answers(id, both[0], object{"output": "one"})
	s.rests(id, 1)
	told := s.requests()[1]
	if diff := cmp.Diff([]string{"tool: one", "tool: two"}, wire(told[len(told)-3:])); diff != "" {
		t.Error(diff)
	}
}

func failedCall(t *testing.T, stage *stage) {
	s := stage.story(t, inserts("df"), finally("Then not."))
	id := s.assist()
	answered := s.answers(id, s.waits(id, 1)[0], object{"error": "There is no block b1 any more."})
	if answered.Answer.Output != nil || *answered.Answer.Error != "There is no block b1 any more." {
		t.Errorf("%+v", answered.Answer)
	}
	s.rests(id, 1)
	if told := last(s.requests()[1]); !strings.Contains(told.Content, "There is no block b1 any more.") {
		t.Errorf("told: %+v", told)
	}
	if done := of[domain.ToolCallCompleted](t, s.log(id)); len(done) != 1 || done[0].Fate != domain.FateFailed || done[0].Error.Code != domain.CodeClientFailed {
		t.Errorf("fates: %+v", done)
	}
}

func wrongAnswers(t *testing.T, stage *stage) {
	s := stage.story(t, inserts("df"), inserts("df -h"), finally("done"))
	id := s.assist()
	path := "/executions/" + id + "/tool-results"
	first := s.waits(id, 1)[0]
	s.refused(http.StatusNotFound, "notFound", "POST", path, object{"toolCallId": "nobody", "output": "x"})
	s.refused(http.StatusNotFound, "notFound", "POST", "/executions/"+someBlock+"/tool-results", object{"toolCallId": first.ToolCallID, "output": "x"})
	stranger := s.with(stage.newKey("--name", "stranger", "--scopes", "all", "--tenant", "other"))
	stranger.refused(http.StatusNotFound, "notFound", "POST", path, object{"toolCallId": first.ToolCallID, "output": "x"})
	reader := s.with(stage.newKey("--name", "reader", "--scopes", "executions:read"))
	reader.refused(http.StatusForbidden, "forbidden", "POST", path, object{"toolCallId": first.ToolCallID, "output": "x"})
	for _, body := range []object{{}, {"output": "x", "error": "y"}, {"error": " "}} {
		body["toolCallId"] = first.ToolCallID
		s.refused(http.StatusUnprocessableEntity, "invalid", "POST", path, body)
	}
	s.answers(id, first, object{"output": "one"})
	s.answers(id, first, object{"output": "one"}) // the same again is none
	double := s.refused(http.StatusConflict, "alreadyAnswered", "POST", path, object{"toolCallId": first.ToolCallID, "output": "two"})
	if double.ToolCall == nil || *double.ToolCall.Answer.Output != "one" {
		t.Errorf("%+v", double.ToolCall)
	}
	s.eventually("the second call", func() bool {
		waiting := s.see(id).PendingToolCalls
		return len(waiting) == 1 && waiting[0].ToolCallID != first.ToolCallID
	})
	second := s.waits(id, 1)[0]
	s.cancel(id)
	late := s.refused(http.StatusGone, "toolCallEnded", "POST", path, object{"toolCallId": second.ToolCallID, "output": "x"})
	if late.ToolCall == nil || late.ToolCall.Status != "cancelled" || late.ToolCall.Answer != nil {
		t.Errorf("%+v", late.ToolCall)
	}
	s.over(id, domain.StatusCancelled)
	s.answers(id, first, object{"output": "one"}) // it has been answered so, for ever
	if diff := cmp.Diff([]domain.Fate{domain.FateSucceeded, domain.FateCancelled}, s.fates(id)); diff != "" {
		t.Error(diff)
	}
	s.heardOf(2)
}

func unansweredCall(t *testing.T, stage *stage) {
	s := stage.story(t, inserts("df"), finally("Nobody is there."))
	id := s.assist(object{"approvalTimeoutSeconds": 1})
	s.rests(id, 1)
	started := of[domain.ToolCallStarted](t, s.log(id))
	if len(started) != 1 || started[0].Awaits != domain.AwaitsClient {
		t.Fatalf("started: %+v", started)
	}
	gone := s.refused(http.StatusGone, "toolCallEnded", "POST", "/executions/"+id+"/tool-results", object{"toolCallId": started[0].ToolCallID, "output": "x"})
	if gone.ToolCall == nil || gone.ToolCall.Status != "expired" {
		t.Errorf("%+v", gone.ToolCall)
	}
	if done := of[domain.ToolCallCompleted](t, s.log(id)); len(done) != 1 || done[0].Fate != domain.FateExpired || done[0].Error.Code != domain.CodeClientTimedOut {
		t.Errorf("fates: %+v", done)
	}
	if told := last(s.requests()[1]); told.Role != "tool" || !strings.Contains(told.Content, "did not answer") {
		t.Errorf("told: %+v", told)
	}
}

// ring is a tool that a request declares.
var ring = object{
	"name": "ring_bell", "description": "Rings the bell.", "class": "none",
	"schema": object{"type": "object", "required": []string{"times"}, "properties": object{"times": object{"type": "integer", "maximum": 3}}, "additionalProperties": false},
}

func declaredTool(t *testing.T, stage *stage) {
	s := stage.story(t, calls("ring_bell", object{"times": 7}), calls("ring_bell", object{"often": 1}), calls("ring_bell", object{"times": 2}), finally("It rang."))
	id := s.createdAs(object{"source": object{"type": "internal"}, "prompt": s.prompt("Ring"), "clientTools": []object{ring}})
	waiting := s.waits(id, 1)[0]
	if waiting.Tool != "ring_bell" || string(waiting.Arguments) != `{"times":2}` {
		t.Errorf("waiting: %+v %s", waiting, waiting.Arguments)
	}
	s.answers(id, waiting, object{"output": nil})
	s.over(id, domain.StatusCompleted)
	heard := s.requests()
	for i, says := range []string{"/times", "times", "null"} {
		if told := last(heard[i+1]); told.Role != "tool" || !strings.Contains(told.Content, says) {
			t.Errorf("told: %+v, want %q", told, says)
		}
	}
	if diff := cmp.Diff([]domain.Fate{domain.FateFailed, domain.FateFailed, domain.FateSucceeded}, s.fates(id)); diff != "" {
		t.Error(diff)
	}
}

func badDeclarations(t *testing.T, stage *stage) {
	s := stage.story(t, finally("not asked"))
	with := func(name string, value any) object {
		tool := object{}
		for field, said := range ring {
			tool[field] = said
		}
		tool[name] = value
		return tool
	}
	for pointer, tool := range map[string]object{
		"/clientTools/0/name":        with("name", "bash"),
		"/clientTools/0/description": with("description", " "),
		"/clientTools/0/class":       with("class", "root"),
		"/clientTools/0/schema":      with("schema", object{"type": "object", "properties": object{"x": object{"type": "thing"}}}),
	} {
		p := s.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/executions",
			object{"source": object{"type": "internal"}, "prompt": "x", "clientTools": []object{tool}})
		if len(p.Errors) == 0 || !strings.HasPrefix(p.Errors[0].Pointer, pointer) {
			t.Errorf("%s: %+v", pointer, p)
		}
	}
	p := s.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/executions",
		object{"source": object{"type": "internal"}, "prompt": "x", "clientTools": []object{ring, ring}})
	if len(p.Errors) == 0 || p.Errors[0].Pointer != "/clientTools/1/name" {
		t.Errorf("twice: %+v", p)
	}
}

func interruptedCall(t *testing.T, stage *stage) {
	s := stage.story(t, inserts("df"), finally("Something else, then."))
	id := s.assist()
	waiting := s.waits(id, 1)[0]
	want[object](s.client, http.StatusAccepted, "POST", "/executions/"+id+"/prompts", object{"prompt": "Stop.", "whenBusy": "interrupt"})
	s.rests(id, 2)
	late := s.refused(http.StatusGone, "toolCallEnded", "POST", "/executions/"+id+"/tool-results", object{"toolCallId": waiting.ToolCallID, "output": "x"})
	if late.ToolCall == nil || late.ToolCall.Status != "cancelled" {
		t.Errorf("%+v", late.ToolCall)
	}
	if diff := cmp.Diff([]domain.Fate{domain.FateCancelled}, s.fates(id)); diff != "" {
		t.Error(diff)
	}
	heard := s.requests()
	if told := heard[len(heard)-1]; last(told).Content != "Stop." || told[len(told)-2].Role != "tool" {
		t.Errorf("the model was sent %q", wire(told))
	}
}

func promptBehindACall(t *testing.T, stage *stage) {
	s := stage.story(t, inserts("df"), finally("It is there."), finally("You are welcome."))
	id := s.assist()
	waiting := s.waits(id, 1)[0]
	want[object](s.client, http.StatusAccepted, "POST", "/executions/"+id+"/prompts", object{"prompt": "Thank you."})
	s.refused(http.StatusConflict, "busy", "POST", "/executions/"+id+"/prompts", object{"prompt": "Now!", "whenBusy": "reject"})
	s.heardOf(1)
	s.answers(id, waiting, object{"output": "done"})
	s.rests(id, 2)
	if said := wire(s.requests()[2]); said[len(said)-1] != "user: Thank you." || said[len(said)-2] != "assistant: It is there." || said[len(said)-3] != "tool: done" {
		t.Errorf("the model was sent %q", said)
	}
}

// editedInsertion: what the client is asked to do is what the person signed, and not what the model wrote.
func editedInsertion(t *testing.T, stage *stage) {
	s := stage.story(t, inserts("rm -rf /"), finally("It is there."))
	id := s.assist(object{"capabilities": object{"write": "ask"}})
	s.decide(s.pending(id), object{"arguments": object{"after": "b1", "blocks": []object{block("df")}}})
	waiting := s.waits(id, 1)[0]
	if arguments := string(waiting.Arguments); strings.Contains(arguments, "rm -rf") || !strings.Contains(arguments, `"df"`) {
		t.Errorf("the client is asked for %s", arguments)
	}
	s.answers(id, waiting, object{"output": "done"})
	s.rests(id, 1)
}
