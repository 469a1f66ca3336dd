package http

import (
	"strings"
	"testing"
)

// TestRunbooksAndTheirOutputs: an editor lists runbooks, and completes what a template may name.
func TestRunbooksAndTheirOutputs(t *testing.T) {
	h := newTestServer(t)
	block := func(id, name, prompt string) string {
		return `{"runbookId":"disks","block":{"id":"` + id + `","type":"agent","props":{"name":"` + name + `","source":{"type":"internal"},"prompt":"` + prompt + `"}}}`
	}
	const second = "7f9c24e8-3b12-4a6f-9d0e-5c1b2a3d4e60"
	h.ended(h.ask("POST", "/executions", block(blockID, "query", "say old")).want(201).text("id"))
	newest := h.ask("POST", "/executions", block(blockID, "query", "say "+strings.Repeat("long ", 100))).want(201).text("id")
	h.ended(newest)
	failed := h.ask("POST", "/executions", block(second, "second", "fail the model is ill")).want(201).text("id")
	h.ended(failed)

	outputs := h.ask("GET", "/runbooks/disks/outputs", "").want(200)
	if outputs.text("items", "0", "executionId") != failed || outputs.text("items", "1", "executionId") != newest || outputs.text("items", "1", "name") != "query" || outputs.text("items", "1", "blockId") != blockID {
		t.Errorf("%s", outputs.body)
	}
	keys := map[string][2]string{}
	for i, item := range []string{"0", "1"} {
		for _, key := range outputs.get("items", item, "keys").([]any) {
			key := key.(map[string]any)
			keys[[]string{"failed ", "newest "}[i]+key["name"].(string)] = [2]string{key["type"].(string), key["value"].(string)}
		}
	}
	long := keys["newest text"][1]
	if keys["newest success"] != [2]string{"boolean", "true"} || keys["failed error"] != [2]string{"string", "the model is ill"} || keys["newest inputTokens"][0] != "null" ||
		keys["newest durationSeconds"][0] != "number" || !strings.HasPrefix(long, "done: long") || len([]rune(long)) != maxShownValue+1 {
		t.Errorf("%v", keys)
	}
	if _, has := keys["newest error"]; has {
		t.Error("a success has an error")
	}
	if none := h.ask("GET", "/runbooks/nothing/outputs", "").want(200); len(none.get("items").([]any)) != 0 {
		t.Errorf("%s", none.body)
	}
	h.ended(h.ask("POST", "/executions", `{`+valid+`,"runbookId":"other"}`).want(201).text("id"))
	books := h.ask("GET", "/runbooks?limit=1", "").want(200)
	if books.text("items", "0", "runbookId") != "other" || books.get("items", "0", "lastExecution", "block") != nil || books.get("items", "0", "lastExecution", "cost") != nil {
		t.Errorf("%s", books.body)
	}
	more := h.ask("GET", "/runbooks?cursor="+books.text("nextCursor"), "").want(200)
	if len(more.get("items").([]any)) != 1 || more.text("items", "0", "runbookId") != "disks" || more.text("items", "0", "lastExecution", "id") != failed || more.text("items", "0", "lastExecution", "status") != "failed" {
		t.Errorf("%s", more.body)
	}
	h.ask("POST", "/executions", `{`+valid+`,"kind":"assistant"}`).want(201)
	for query, want := range map[string]int{"": 5, "kind=assistant": 1, "runbookId=disks": 3, "blockId=" + second: 1, "runbookId=other&kind=agent": 1} {
		if got := h.ask("GET", "/executions?"+query, "").want(200); len(got.get("items").([]any)) != want {
			t.Errorf("%s: %s", query, got.body)
		}
	}
	h.ask("GET", "/executions?kind=other", "").want(422)
	stranger := h.key("acme", everyScope()...)
	for _, path := range []string{"/runbooks", "/runbooks/disks/outputs", "/executions?runbookId=disks"} {
		if foreign := h.ask("GET", path, "", "Authorization", "Bearer "+stranger).want(200); len(foreign.get("items").([]any)) != 0 {
			t.Errorf("another tenant reads %s: %s", path, foreign.body)
		}
	}
}
