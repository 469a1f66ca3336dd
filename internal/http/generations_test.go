package http

import (
	"context"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// generated starts a generation, and returns its id when its first blocks are there.
func (h *testServer) generated(more ...string) string {
	h.Helper()
	id := h.ask("POST", "/executions", aGeneration(`blocks [{\"type\":\"script\",\"props\":{\"code\":\"df\"}}]`, more...)).want(201).text("id")
	h.idle(id, 1)
	return id
}

func TestGenerateEditAccept(t *testing.T) {
	h := newTestServer(t)
	id := h.generated(`"insertAfter":"b3","runbookId":"disks"`)
	path := "/executions/" + id + "/generation"
	first := h.ask("GET", path, "").want(200)
	if first.get("current") != 1.0 || first.text("state") != "submitted" || first.text("insertAfter") != "b3" || first.text("documentRevision") != "12" ||
		first.text("versions", "0", "blocks", "0", "props", "code") != "df" || first.get("versions", "0", "decidedAt") != nil {
		t.Errorf("%s", first.body)
	}
	shown := h.ask("GET", "/executions/"+id, "").want(200)
	if shown.get("generation", "number") != 1.0 || shown.text("generation", "state") != "submitted" {
		t.Errorf("%s", shown.body)
	}

	edit := `{"text":"blocks [{\"type\":\"script\",\"props\":{\"code\":\"df -h\"}}]","generation":1,"document":{"revision":"13","blocks":[]}}`
	asked := h.ask("POST", path+"/edits", edit, "Idempotency-Key", "k").want(202)
	if asked.get("edits") != 1.0 || asked.text("executionId") != id {
		t.Errorf("%s", asked.body)
	}
	if again := h.ask("POST", path+"/edits", edit, "Idempotency-Key", "k").want(202); again.header.Get("Idempotency-Replayed") != "true" || again.text("id") != asked.text("id") {
		t.Errorf("%s", again.body)
	}
	h.idle(id, 2)
	second := h.ask("GET", path, "").want(200)
	if second.get("current") != 2.0 || second.text("versions", "0", "state") != "superseded" || second.text("versions", "1", "state") != "submitted" ||
		second.text("documentRevision") != "13" || second.text("versions", "1", "documentRevision") != "13" {
		t.Errorf("%s", second.body)
	}

	missing := h.ask("POST", path+"/accept", `{"generation":2}`).problem(428, domain.CodeRevisionRequired)
	if missing.get("execution") != nil {
		t.Errorf("%s", missing.body)
	}
	changed := h.ask("POST", path+"/accept", `{"generation":2,"documentRevision":"12"}`).problem(409, domain.CodeDocumentChanged)
	if changed.get("generation", "number") != 2.0 || changed.text("execution", "status") != "idle" {
		t.Errorf("%s", changed.body)
	}
	h.ask("POST", path+"/accept", `{"generation":1,"documentRevision":"12"}`).problem(409, domain.CodeNoGeneration)
	unknown := h.ask("POST", path+"/accept", `{"generation":9,"documentRevision":"13"}`).problem(409, domain.CodeNoGeneration)
	if unknown.text("generation", "state") != "submitted" {
		t.Errorf("%s", unknown.body)
	}

	accepted := h.ask("POST", path+"/accept", `{"generation":2,"documentRevision":"13"}`).want(200)
	if accepted.text("state") != "accepted" || accepted.text("acceptedBy", "name") != "ann" || accepted.text("decidedAt") == "" || accepted.get("number") != 2.0 {
		t.Errorf("%s", accepted.body)
	}
	if ended := h.ended(id); ended.text("status") != "completed" || ended.text("generation", "state") != "accepted" {
		t.Errorf("%s", ended.body)
	}
	h.ask("POST", path+"/accept", `{"generation":2,"documentRevision":"13"}`).want(200)
	over := h.ask("POST", path+"/edits", `{"text":"x"}`)
	if over.want(409); over.text("execution", "status") != "completed" || over.text("generation", "state") != "accepted" {
		t.Errorf("%s", over.body)
	}
}

// TestAnEditKeepsThePlace: blocks for a place that the document no longer has could be accepted, and put nowhere.
func TestAnEditKeepsThePlace(t *testing.T) {
	h := newTestServer(t)
	path := "/executions/" + h.generated(`"insertAfter":"b3"`) + "/generation/edits"
	gone := badInput{"the place is gone", `{"text":"x","document":{"blocks":[{"id":"b1"},{"id":"b2","children":[{"id":"b4"}]}]}}`, 422, domain.CodeInvalid, "/document/blocks"}
	h.wrong(gone, h.ask("POST", path, gone.body))
	h.ask("POST", path, `{"text":"x","document":{"blocks":[{"id":"b1"},{"id":"b2","children":[{"id":"b3"}]}]}}`).want(202)

	anywhere := "/executions/" + h.generated() + "/generation/edits"
	h.ask("POST", anywhere, `{"text":"x","document":{"blocks":[{"id":"b9"}]}}`).want(202)
	h.ask("POST", "/executions/"+someID+"/generation/edits", `{"text":"x","document":{"blocks":[]}}`).problem(404, domain.CodeNotFound)
}

func TestBlocksWithoutARevisionNeedNone(t *testing.T) {
	h := newTestServer(t)
	body := `{` + generation + `,"prompt":"blocks [{\"type\":\"script\",\"props\":{\"code\":\"df\"}}]","document":{"blocks":[]},` + aBlockType + `}`
	id := h.ask("POST", "/executions", body).want(201).text("id")
	h.idle(id, 1)
	h.ask("POST", "/executions/"+id+"/generation/edits", `{"text":"say nothing, the blocks stay"}`).want(202)
	h.idle(id, 2)
	history := h.ask("GET", "/executions/"+id+"/generation", "").want(200)
	if history.get("current") != 1.0 || history.get("documentRevision") != nil || history.get("insertAfter") != nil {
		t.Errorf("%s", history.body)
	}
	h.ask("POST", "/executions/"+id+"/generation/accept", `{"generation":1}`).want(200)
}

func TestWithoutBlocksThereIsNothingToAccept(t *testing.T) {
	h := newTestServer(t)
	id := h.open("say one")
	path := "/executions/" + id + "/generation"
	history := h.ask("GET", path, "").want(200)
	if history.get("current") != nil || history.get("state") != nil || history.count("versions") != 0 {
		t.Errorf("%s", history.body)
	}
	a := h.ask("POST", path+"/accept", `{"generation":1}`).problem(409, domain.CodeNoGeneration)
	if a.text("execution", "id") != id || a.get("generation") != nil {
		t.Errorf("%s", a.body)
	}
	h.ask("POST", path+"/edits", `{"text":"x"}`).problem(409, domain.CodeNoGeneration)
}

// busy refuses every edit and every acceptance, since a turn runs.
type busy struct{ Sessions }

var errBusy = domain.Errorf(domain.CodeBusy, "A turn runs.")

func (busy) Edit(
	context.Context, domain.TenantID, domain.ExecutionID, domain.QueuedPrompt, domain.Actor, *store.Idempotency,
) (domain.QueuedPrompt, bool, error) {
	return domain.QueuedPrompt{}, false, errBusy
}

func (busy) Accept(context.Context, domain.TenantID, domain.ExecutionID, store.Acceptance) (domain.Execution, error) {
	return domain.Execution{}, errBusy
}

func TestConflictsOverBlocksShowWhatThereIs(t *testing.T) {
	h := newTestServer(t, func(c *Config) { c.Sessions = busy{c.Sessions} })
	id := h.generated()
	for route, body := range map[string]string{"edits": `{"text":"x"}`, "accept": `{"generation":1,"documentRevision":"12"}`} {
		a := h.ask("POST", "/executions/"+id+"/generation/"+route, body).problem(409, domain.CodeBusy)
		if a.text("execution", "id") != id || a.get("generation", "number") != 1.0 {
			t.Errorf("%s: %s", route, a.body)
		}
	}
}
