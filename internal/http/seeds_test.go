package http

import (
	"strings"
	"testing"

	"signoff/internal/admission"
	"signoff/internal/admission/admissiontest"
	"signoff/internal/domain"
)

// TestSeed000ErrorHandling has a row for each error that the specification of the agent block names before an agent starts. None of them starts anything.
func TestSeed000ErrorHandling(t *testing.T) {
	h := newTestServer(t)
	const internal, named = `"source":{"type":"internal"}`, `"prompt":"x"`
	fine := aBlock(internal + "," + named)
	for _, row := range []badInput{
		{"no id", strings.Replace(fine, `"id":"`+blockID+`",`, "", 1), 422, domain.CodeInvalid, "/block/id"},
		{"an id that is none", strings.Replace(fine, blockID, "uuid-here", 1), 422, domain.CodeInvalid, "/block/id"},
		{"another type", strings.Replace(fine, `"agent"`, `"script"`, 1), 422, domain.CodeInvalid, "/block/type"},
		{"no props", `{"block":{"id":"` + blockID + `","type":"agent"}}`, 422, domain.CodeInvalid, "/block/props"},
		{"no source", aBlock(named), 422, domain.CodeInvalid, "/block/props/source"},
		{"a source that is none", aBlock(`"source":{"type":"cloud"},` + named), 422, domain.CodeInvalid, "/block/props/source/type"},
		{"a source without a command", aBlock(`"source":{"type":"acp"},` + named), 422, domain.CodeInvalid, "/block/props/source/command"},
		{"capabilities that are none", aBlock(internal + "," + named + `,"capabilities":{"readFiles":"yes"}`), 422, domain.CodeInvalid, "/block/props/capabilities/readFiles"},
		{"a timeout that is none", aBlock(internal + "," + named + `,"timeoutSeconds":-1`), 422, domain.CodeInvalid, "/block/props/timeoutSeconds"},
		{"an agent that nobody registered", aBlock(`"source":{"type":"acp","command":"rm"},` + named), 422, domain.CodeUnknownAgent, "/block/props/source/command"},
		{"an agent that is not installed", aBlock(`"source":{"type":"acp","command":"absent"},` + named), 422, domain.CodeAgentUnavailable, "/block/props/source/command"},
		{"a model that nobody registered", aBlock(`"source":{"type":"internal","model":"gpt-9"},` + named), 422, domain.CodeUnknownModel, "/block/props/source/model"},
		{"a template that cannot be rendered", strings.Replace(aBlock(internal+`,"prompt":"{{ x }}"`), "{", `{"variables":{},`, 1), 422, domain.CodeTemplate, "/block/props/prompt"},
		{"a system prompt that cannot be rendered", aBlock(internal + "," + named + `,"systemPrompt":"{{ x }}"`), 422, domain.CodeTemplate, "/block/props/systemPrompt"},
	} {
		t.Run(row.name, func(t *testing.T) { h.within(t).wrong(row, h.within(t).ask("POST", "/executions", row.body)) })
	}
	t.Run("no model configured", func(t *testing.T) {
		none := newTestServerWith(t, func(c *admission.Config) { c.Models = admissiontest.Models{} })
		a := none.ask("POST", "/executions", fine).problem(422, domain.CodeUnknownModel)
		if !strings.Contains(a.text("detail"), "no model configured") {
			t.Errorf("%s", a.body)
		}
	})
	if a := h.ask("GET", "/executions", "").want(200); a.count("items") != 0 {
		t.Errorf("started: %s", a.body)
	}
}

// TestSeed002ErrorHandling: a session that is not there, and one that is no session of blocks.
func TestSeed002ErrorHandling(t *testing.T) {
	h := newTestServer(t)
	const nobody = "/executions/0197c4d2-7f00-7a31-9d2c-3b6f0e5a1c11"
	for name, row := range map[string][2]string{
		"an edit without a session":        {nobody + "/generation/edits", `{"text":"shorter"}`},
		"an acceptance without a session":  {nobody + "/generation/accept", `{"generation":1,"documentRevision":"12"}`},
		"a cancellation without a session": {nobody + "/cancel", ``},
		"a message without a session":      {nobody + "/prompts", `{"prompt":"x"}`},
	} {
		t.Run(name, func(t *testing.T) { h.within(t).ask("POST", row[0], row[1]).problem(404, domain.CodeNotFound) })
	}
	t.Run("rapid triggers", func(t *testing.T) {
		h := newTestServer(t)
		for range 10 {
			h.ask("POST", "/executions", forDocument("disks")).want(201)
		}
		h.limited(forDocument("disks"))
	})
	t.Run("an edit of no blocks", func(t *testing.T) {
		id := h.create("say x")
		h.ended(id)
		h.within(t).ask("POST", "/executions/"+id+"/generation/edits", `{"text":"shorter"}`).problem(409, domain.CodeNoGeneration)
	})
}

// TestSeed004ErrorHandling: what the unified interface answers where an agent or a session is not there.
func TestSeed004ErrorHandling(t *testing.T) {
	h := newTestServer(t)
	const external = `"source":{"type":"acp","command":"mock"}`
	t.Run("an unknown agent", func(t *testing.T) {
		a := h.within(t).ask("POST", "/executions", `{"source":{"type":"acp","command":"adjutant"},"prompt":"x"}`).problem(422, domain.CodeUnknownAgent)
		if a.text("errors", "0", "pointer") != "/source/command" || !strings.Contains(a.text("detail"), "mock") {
			t.Errorf("%s", a.body)
		}
	})
	t.Run("a start that fails", func(t *testing.T) {
		end := h.within(t).ask("POST", "/executions", `{`+external+`,"prompt":"fail no session"}`, "Prefer", "wait=30").want(201)
		if end.text("status") != "failed" || !strings.Contains(end.text("output", "error", "message"), "no session") {
			t.Errorf("%s", end.body)
		}
	})
	t.Run("a message to a session that is over", func(t *testing.T) {
		id := h.ask("POST", "/executions", `{`+external+`,"prompt":"say x"}`, "Prefer", "wait=30").want(201).text("id")
		h.within(t).ask("POST", "/executions/"+id+"/prompts", `{"prompt":"Hello?"}`).problem(409, domain.CodeExecutionEnded)
	})
	t.Run("a message without words", func(t *testing.T) {
		id := h.ask("POST", "/executions", `{`+external+`,"prompt":"say x","keepOpen":true}`).want(201).text("id")
		h.idle(id, 1)
		h.within(t).ask("POST", "/executions/"+id+"/prompts", `{"prompt":" "}`).problem(422, domain.CodeInvalid)
	})
	t.Run("a session of somebody else", func(t *testing.T) {
		id := h.create("say x")
		h.within(t).ask("DELETE", "/executions/"+id, "", "Authorization", "Bearer "+h.key("other", everyScope()...)).problem(404, domain.CodeNotFound)
	})
}

// within is the same server for a part of a test.
func (h *testServer) within(t *testing.T) *testServer {
	inner := *h
	inner.TB = t
	return &inner
}
