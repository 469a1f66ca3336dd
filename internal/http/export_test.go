package http

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
)

// exported is an export that was read and found to be whole.
type exported struct {
	lines  []map[string]any
	counts map[string]int
}

// export reads an export, and holds each line against the document and the last one against all.
func (h *testServer) export(id string, extra ...string) exported {
	h.Helper()
	a := h.ask("GET", "/executions/"+id+"/export", "", extra...).want(200)
	if a.header.Get("Content-Type") != "application/x-ndjson" ||
		a.header.Get("Content-Disposition") != `attachment; filename="execution-`+id+`.ndjson"` {
		h.Errorf("%v", a.header)
	}
	out := exported{counts: map[string]int{}}
	schema := tight().Components.Schemas["ExportLine"].Value
	for line := range bytes.Lines(a.body) {
		var decoded map[string]any
		must(h, json.Unmarshal(line, &decoded))
		if err := schema.VisitJSON(decoded, openapi3.MultiErrors()); err != nil {
			h.Errorf("%s: %v", line, err)
		}
		out.lines = append(out.lines, decoded)
		out.counts[decoded["type"].(string)]++
	}
	h.whole(a.body, out)
	delete(out.counts, "end")
	return out
}

func (h *testServer) whole(body []byte, e exported) {
	h.Helper()
	end := e.lines[len(e.lines)-1]
	before := body[:bytes.LastIndexByte(body[:len(body)-1], '\n')+1]
	sum := sha256.Sum256(before)
	if end["type"] != "end" || end["sha256"] != hex.EncodeToString(sum[:]) {
		h.Errorf("%v is not the end of %x", end, sum)
	}
	for kind, count := range end["counts"].(map[string]any) {
		if float64(e.counts[kind]) != count {
			h.Errorf("%d lines of %s, and %v are told of", e.counts[kind], kind, count)
		}
	}
}

// events are the events of an export, as the log has them.
func (e exported) events() (events []any) {
	for _, line := range e.lines {
		if line["type"] == "event" {
			events = append(events, line["event"])
		}
	}
	return events
}

// all reads the log in pages.
func (h *testServer) all(id string) (events []any) {
	h.Helper()
	for after := "0"; ; {
		page := h.ask("GET", "/executions/"+id+"/events?limit=1000&after="+after, "", "Accept", typeJSON).want(200)
		events = append(events, page.get("items").([]any)...)
		if page.get("nextCursor") == nil {
			return events
		}
		after = page.text("nextCursor")
	}
}

func TestExport(t *testing.T) {
	h := newTestServer(t)
	id := h.create("ask df", "Idempotency-Key", "k")
	approval, _ := h.pending(id)
	live := h.export(id)
	if diff := cmp.Diff(map[string]int{"execution": 1, "approval": 1, "event": len(h.all(id)), "auditEntry": 1}, live.counts); diff != "" {
		t.Error(diff)
	}
	first := live.lines[0]
	if first["lastSeq"] != float64(len(live.events())) || len(first["omitted"].([]any)) != 0 ||
		first["execution"].(map[string]any)["status"] != "pendingToolApproval" {
		t.Errorf("%v", first)
	}
	h.ask("POST", "/approvals/"+approval, `{"decision":"approve"}`).want(200)
	h.ended(id)
	over := h.export(id)
	if diff := cmp.Diff(h.all(id), over.events()); diff != "" {
		t.Error(diff)
	}
	if over.counts["auditEntry"] != len(h.ask("GET", "/audit?executionId="+id, "").want(200).get("items").([]any)) {
		t.Errorf("%v", over.counts)
	}
}

// What there are many of is read in pages, and nothing is left out between two.
func TestExportOfMuch(t *testing.T) {
	h := newTestServer(t)
	id := h.create(fmt.Sprintf("many %d", 2*exportEvents))
	h.ended(id)
	if diff := cmp.Diff(h.all(id), h.export(id).events()); diff != "" {
		t.Error(diff)
	}
	open := h.open("x")
	for i := range 3 {
		h.ask("POST", "/executions/"+open+"/prompts", `{"prompt":"again"}`).want(202)
		h.idle(open, i+2)
	}
	if n := h.export(open).counts["prompt"]; n != 3 {
		t.Errorf("%d prompts", n)
	}
	if n := h.export(h.generated()).counts["generation"]; n != 1 {
		t.Errorf("%d generations", n)
	}
	if n := h.export(h.inserting()).counts["clientCall"]; n != 1 {
		t.Errorf("%d calls of the client", n)
	}
}

// An export shows to a key what the other routes show to it, and says what it left out.
func TestExportNeedsItsScopes(t *testing.T) {
	h := newTestServer(t)
	id := h.create("ask df")
	h.pending(id)
	for _, test := range []struct {
		scopes  []string
		omitted string
	}{
		{[]string{"executions:read", "events:read"}, "[approval auditEntry]"},
		{[]string{"executions:read", "events:read", "approvals:read"}, "[auditEntry]"},
		{[]string{"executions:read", "events:read", "audit:read"}, "[approval]"},
	} {
		e := h.export(id, "Authorization", "Bearer "+h.key("", test.scopes...))
		for _, kind := range []string{"approval", "auditEntry"} {
			if (e.counts[kind] == 0) != strings.Contains(test.omitted, kind) {
				t.Errorf("%v: %v", test.scopes, e.counts)
			}
		}
		if got := fmt.Sprint(e.lines[0]["omitted"]); got != test.omitted {
			t.Errorf("%v: %s is omitted, not %s", test.scopes, got, test.omitted)
		}
	}
	path := "/executions/" + id + "/export"
	for _, scope := range []string{"executions:read", "events:read"} {
		h.ask("GET", path, "", "Authorization", "Bearer "+h.key("", scope, "audit:read")).problem(403, domain.CodeForbidden)
	}
	h.ask("GET", path, "", "Authorization", "Bearer "+h.key("other", everyScope()...)).problem(404, domain.CodeNotFound)
	h.ask("GET", "/executions/x/export", "").problem(404, domain.CodeNotFound)
}

// disturbed is a reader whose events are gone when they are asked for.
type disturbed struct{ Reader }

func (disturbed) EventPage(context.Context, domain.ExecutionID, int64, int, int) ([]domain.Event, error) {
	return nil, nil
}

// Nobody takes a half for the whole: the connection breaks.
func TestExportThatBreaksOff(t *testing.T) {
	h := newTestServer(t, func(c *Config) { c.Reader = disturbed{c.Reader} })
	id := h.create("x")
	h.ended(id)
	response, err := client.Do(h.request(http.MethodGet, "/executions/"+id+"/export", ""))
	if err == nil {
		defer response.Body.Close()
		_, err = new(bytes.Buffer).ReadFrom(response.Body)
	}
	if err == nil {
		t.Error("it ends as if it were whole")
	}
}

func TestRetentionDays(t *testing.T) {
	h := newTestServer(t)
	for said, want := range map[string]any{"": nil, `"retentionDays":null,`: nil, `"retentionDays":0,`: 0.0, `"retentionDays":3650,`: 3650.0} {
		created := h.ask("POST", "/executions", `{`+said+`"source":{"type":"internal"},"prompt":"x"}`).want(201)
		if got := h.ask("GET", "/executions/"+created.text("id"), "").want(200).get("retentionDays"); got != want || created.get("retentionDays") != want {
			t.Errorf("%s: %v, %v", said, created.get("retentionDays"), got)
		}
	}
	for _, wrong := range []string{"-1", "3651", "1.5", `"1"`} {
		h.ask("POST", "/executions", `{"retentionDays":`+wrong+`,"source":{"type":"internal"},"prompt":"x"}`).problem(422, domain.CodeInvalid)
	}
}
