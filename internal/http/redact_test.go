package http

import (
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/keys"
)

// TestConflictsTellAWriterNothing: who may write but not read would else read by asking for what cannot be.
func TestConflictsTellAWriterNothing(t *testing.T) {
	h := newTestServer(t)
	writer := "Bearer " + h.key("", string(keys.ExecutionsWrite), string(keys.ExecutionsCancel))
	body := strings.Replace(aGeneration(`blocks [{\"type\":\"script\",\"props\":{\"code\":\"df\"}}]`), "{",
		`{"systemPrompt":"prompt inner","instructions":"prompt inner","metadata":{"inner":"inner"},`, 1)
	blocks := h.ask("POST", "/executions", body).want(201).text("id")
	h.idle(blocks, 1)
	said := h.create("say inner")
	h.ended(said)
	asking := h.create("ask inner")
	h.pending(asking)
	for _, row := range []struct {
		path, body string
		status     int
		is         domain.Status
	}{
		{said + "/prompts", `{"prompt":"x"}`, 409, domain.StatusCompleted},
		{said + "/cancel", `{}`, 409, domain.StatusCompleted},
		{said + "/resume", `{"mode":"load"}`, 409, domain.StatusCompleted},
		{said + "/generation/edits", `{"text":"x"}`, 409, domain.StatusCompleted},
		{blocks + "/generation/edits", `{"text":"x","generation":7}`, 409, domain.StatusIdle},
		{blocks + "/generation/accept", `{"generation":7,"documentRevision":"12"}`, 409, domain.StatusIdle},
		{asking + "/resume", `{"mode":"load"}`, 409, domain.StatusPendingToolApproval},
		{asking + "/cancel", `{}`, 200, domain.StatusCancelled},
	} {
		a := h.ask("POST", "/executions/"+row.path, row.body, "Authorization", writer, "Prefer", "wait=30").want(row.status)
		at := []string{"execution", "status"}
		if row.status == 200 {
			at = at[1:]
		}
		if a.text(at...) != string(row.is) || strings.Contains(string(a.body), "inner") || strings.Contains(string(a.body), "Disks, then") {
			t.Errorf("%s: %s", row.path, a.body)
		}
	}
	closed := h.ask("POST", "/executions/"+blocks+"/close", "", "Authorization", writer)
	if closed.status > 202 || strings.Contains(string(closed.body), "inner") {
		t.Errorf("%d %s", closed.status, closed.body)
	}
}

func TestAConflictOverACallTellsAWriterNothing(t *testing.T) {
	h := newTestServer(t)
	writer := "Bearer " + h.key("", string(keys.ExecutionsWrite))
	path := "/executions/" + h.inserting() + "/tool-results"
	h.ask("POST", path, `{"toolCallId":"c1","output":"inner"}`).want(200)
	a := h.ask("POST", path, `{"toolCallId":"c1","output":"x"}`, "Authorization", writer).problem(409, domain.CodeAlreadyAnswered)
	if a.get("toolCall") != nil || strings.Contains(string(a.body), "inner") {
		t.Errorf("%s", a.body)
	}
}
