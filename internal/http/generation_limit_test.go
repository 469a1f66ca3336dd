package http

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"signoff/internal/domain"
)

// forDocument is a request for blocks of the document with an id.
func forDocument(id string) string {
	return strings.Replace(aGeneration("hang", `"insertAfter":"b3"`), `"document":{`, fmt.Sprintf(`"document":{"id":%q,`, id), 1)
}

// limited asks for one generation more than there may be, and expects the refusal.
func (h *testServer) limited(body string, headers ...string) {
	h.Helper()
	a := h.ask("POST", "/executions", body, headers...).problem(429, domain.CodeRateLimited)
	if wait, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || wait < 1 || wait > 10 {
		h.Errorf("Retry-After: %q", a.header.Get("Retry-After"))
	}
	if !strings.HasPrefix(a.header.Get("Content-Type"), "application/problem+json") || !strings.Contains(a.text("detail"), "10 of these") {
		h.Errorf("%s", a.body)
	}
}

// TestGenerationsAreLimited for each runbook, and each document without one. A refused generation does not exist, and cancels nothing.
func TestGenerationsAreLimited(t *testing.T) {
	for name, body := range map[string]string{"a runbook": aGeneration("hang", `"insertAfter":"b3","runbookId":"disks"`), "a document": forDocument("disks")} {
		t.Run(name, func(t *testing.T) {
			h := newTestServer(t)
			first := h.ask("POST", "/executions", body, "Idempotency-Key", "first").want(201).text("id")
			newest := first
			for range 9 {
				newest = h.ask("POST", "/executions", body).want(201).text("id")
			}
			h.limited(body)
			h.limited(body, "Idempotency-Key", "new")
			h.limited(strings.Replace(body, `"insertAfter":"b3"`, `"insertAfter":"b1"`, 1)) // another place of it
			again := h.ask("POST", "/executions", body, "Idempotency-Key", "first").want(201)
			if again.text("id") != first || again.header.Get("Idempotency-Replayed") != "true" {
				t.Errorf("%s", again.body)
			}
			if got := h.ask("GET", "/executions?limit=100", "").want(200).count("items"); got != 10 {
				t.Errorf("%d executions", got)
			}
			eventually(h, "the newest goes on", func() bool { return h.ask("GET", "/executions/"+newest, "").want(200).text("status") == "waiting" })

			other := h.key("acme", "executions:write")
			for name, other := range map[string]answer{
				"another runbook": h.ask("POST", "/executions", aGeneration("hang", `"runbookId":"other"`)), "another document": h.ask("POST", "/executions", forDocument("other")),
				"neither": h.ask("POST", "/executions", aGeneration("hang")), "another kind": h.ask("POST", "/executions", `{"source":{"type":"internal"},"prompt":"hang","runbookId":"disks"}`),
				"another tenant": h.ask("POST", "/executions", body, "Authorization", "Bearer "+other),
			} {
				if other.status != 201 {
					t.Errorf("%s: %s", name, other.body)
				}
			}
		})
	}
}

// TestIdsOfDocuments are text that can be shown.
func TestIdsOfDocuments(t *testing.T) {
	h := newTestServer(t)
	for name, id := range map[string]string{"empty": "", "a control character": "a\u0007", "a line": "a\nb", "turns the text around": "a\u202eb", "too long": strings.Repeat("x", 201)} {
		body := strings.Replace(aGeneration("hang"), `"document":{`, `"document":{"id":`+string(domain.Encode(id))+`,`, 1)
		h.wrong(badInput{name, body, 422, domain.CodeInvalid, "/document/id"}, h.ask("POST", "/executions", body))
	}
	h.ask("POST", "/executions", forDocument("Ordner/Größe der Platten 漢字")).want(201)
}
