package http

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/admission"
)

// TestTheChosenModelIsSaid in the execution and in its first event, with the reason; an external agent has none.
func TestTheChosenModelIsSaid(t *testing.T) {
	h := newTestServerWith(t, func(c *admission.Config) {
		c.Settings.RunbookModels = []admission.RunbookModel{{Runbook: "disks*", Model: "dear"}}
	})
	for _, row := range []struct {
		fields string
		want   any
	}{
		{`"source":{"type":"internal"},"runbookId":"disks-1"`, map[string]any{"name": "dear", "provider": "openai", "model": "vendors-dear", "from": "runbook"}},
		{`"source":{"type":"internal"}`, map[string]any{"name": "demo", "provider": "openai", "model": "vendors-demo", "from": "default"}},
		{`"source":{"type":"acp","command":"mock"},"runbookId":"disks-1"`, nil},
	} {
		id := h.ask("POST", "/executions", `{`+row.fields+`,"prompt":"say x"}`).want(201).text("id")
		shown := h.ask("GET", "/executions/"+id, "").want(200)
		created := h.ask("GET", "/executions/"+id+"/events", "", "Accept", "application/json").want(200)
		for _, got := range []any{shown.get("model"), created.get("items", "0", "data", "model")} {
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("%s: %s", row.fields, diff)
			}
		}
	}
}
