package http

import (
	"slices"
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
	if outputs.text("items", "0", "executionId") != failed || outputs.text("items", "1", "executionId") != newest || outputs.text("items", "1", "name") != "query" || outputs.text("items", "1", "blockId") != blockID || outputs.text("items", "0", "scope") != "output" {
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
		keys["newest durationSeconds"][0] != "number" || !strings.HasPrefix(long, "done: long") || len([]rune(long)) != 201 {
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

// TestVariablesOfARunbook: an editor completes the names of the variables that earlier executions of the runbook brought. Each has its newest value.
func TestVariablesOfARunbook(t *testing.T) {
	h := newTestServer(t)
	create := func(runbook, variables string) string {
		return h.ask("POST", "/executions", `{`+valid+`,"runbookId":"`+runbook+`","variables":`+variables+`}`).want(201).text("id")
	}
	create("other", `{"foreign":1}`)
	first := create("disks", `{"host":"old","port":5432,"doc":{"named":{}},"note":"the `+canary+`"}`)
	second := create("disks", `{"host":"new","none":null,"ready":true}`)
	create("disks", `{}`)
	h.ended(h.ask("POST", "/executions", `{"runbookId":"disks","block":{"id":"`+blockID+`","type":"agent","props":{"name":"q","source":{"type":"internal"},"prompt":"say x"}}}`).want(201).text("id"))

	page := h.ask("GET", "/runbooks/disks/outputs", "").want(200)
	want := [][4]string{
		{"doc", "object", `{"named":{}}`, first}, {"host", "string", "new", second},
		{"none", "null", "null", second}, {"note", "string", "the [masked]", first}, {"port", "number", "5432", first}, {"ready", "boolean", "true", second},
	}
	var got [][4]string
	for _, listed := range page.get("variables").([]any) {
		v := listed.(map[string]any)
		if v["scope"] != "variable" {
			t.Errorf("%v", v)
		}
		got = append(got, [4]string{v["name"].(string), v["type"].(string), v["value"].(string), v["executionId"].(string)})
	}
	if !slices.Equal(got, want) || strings.Contains(string(page.body), canary) || page.count("items") != 1 {
		t.Errorf("%s", page.body)
	}
	stranger := h.key("acme", everyScope()...)
	if foreign := h.ask("GET", "/runbooks/disks/outputs", "", "Authorization", "Bearer "+stranger).want(200); foreign.count("variables") != 0 {
		t.Errorf("another tenant reads %s", foreign.body)
	}
	if shown := h.ask("GET", "/executions/"+first, "").want(200); strings.Contains(string(shown.body), "5432") {
		t.Errorf("an execution shows its variables: %s", shown.body)
	}
	h.ended(second)
	h.ask("DELETE", "/executions/"+second, "").want(202)
	if left := h.ask("GET", "/runbooks/disks/outputs", "").want(200); left.text("variables", "1", "value") != "old" || left.count("variables") != 4 {
		t.Errorf("after the deletion: %s", left.body)
	}
}

// TestVariablesStandOnTheFirstPage: a reader of all pages gets each variable once.
func TestVariablesStandOnTheFirstPage(t *testing.T) {
	h := newTestServer(t)
	for _, id := range []string{blockID, "7f9c24e8-3b12-4a6f-9d0e-5c1b2a3d4e60"} {
		h.ended(h.ask("POST", "/executions", `{"runbookId":"disks","variables":{"host":"x"},"block":{"id":"`+id+`","type":"agent","props":{"name":"q","source":{"type":"internal"},"prompt":"say {{ host }}"}}}`).want(201).text("id"))
	}
	first := h.ask("GET", "/runbooks/disks/outputs?limit=1", "").want(200)
	second := h.ask("GET", "/runbooks/disks/outputs?limit=1&cursor="+first.text("nextCursor"), "").want(200)
	if first.count("variables") != 1 || second.count("items") != 1 || second.count("variables") != 0 {
		t.Errorf("%s, then %s", first.body, second.body)
	}
}
