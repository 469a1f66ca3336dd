package http

import (
	"strings"
	"testing"

	"signoff/internal/domain"
)

const blockID = "7f9c24e8-3b12-4a6f-9d0e-5c1b2a3d4e5f"

// aBlock is a request with an agent block with these props.
func aBlock(props string) string {
	return `{"block":{"id":"` + blockID + `","type":"agent","props":{` + props + `}}}`
}

func TestABlockIsAnotherSpellingOfARequest(t *testing.T) {
	h := newTestServer(t)
	a := h.ask("POST", "/executions", `{"variables":{"log":"disk full"},"metadata":{"a":"b"},"block":{"id":"`+blockID+`","type":"agent","props":{
		"name":"Analyze Logs","source":{"type":"acp","command":"mock","args":["--acp"],"env":{},"model":"m"},
		"prompt":"say {{ log }}","systemPrompt":"Be concise.",
		"capabilities":{"readFiles":true,"writeFiles":false,"executeCommands":true,"alwaysAllowTools":false},
		"timeoutSeconds":0,"workingDirectory":null}}}`).want(201)
	if a.text("block", "id") != blockID || a.text("block", "name") != "Analyze Logs" || a.text("kind") != "agent" ||
		a.text("source", "command") != "mock" || a.text("source", "model") != "m" || a.text("prompt") != "say disk full" ||
		a.text("systemPrompt") != "Be concise." || a.get("timeoutSeconds") != 0.0 || a.text("capabilities", "read") != "allow" ||
		a.text("capabilities", "write") != "ask" || a.text("capabilities", "execute") != "allow" || a.text("metadata", "a") != "b" {
		t.Errorf("%s", a.body)
	}
	sparse := h.ask("POST", "/executions", aBlock(`"source":{"type":"internal","model":null},"prompt":"say x","systemPrompt":null,"timeoutSeconds":null`)).want(201)
	if sparse.text("block", "name") != "Agent" || sparse.get("timeoutSeconds") != 300.0 || sparse.text("source", "model") != "demo" ||
		sparse.get("systemPrompt") != nil || sparse.text("capabilities", "write") != "ask" {
		t.Errorf("%s", sparse.body)
	}
	h.ask("POST", "/executions", aBlock(`"source":{"type":"acp","command":"mock","args":[]},"prompt":"say x","name":"An empty list is none"`)).want(201)
	h.ask("POST", "/executions", strings.Replace(aBlock(`"source":{"type":"internal"},"prompt":"say x"`), blockID, strings.ToUpper(blockID), 1)).want(201)
	if a := h.ask("POST", "/executions", "{"+valid+"}").want(201); a.get("block") != nil {
		t.Errorf("%s", a.body)
	}
}

// TestABlockAsAnEditorStoresIt: how it is shown is ignored, and each answer about the execution says so. A misspelt field is refused.
func TestABlockAsAnEditorStoresIt(t *testing.T) {
	h := newTestServer(t)
	stored := `{"block":{"id":"` + blockID + `","type":"agent","children":[],"content":null,"props":{"source":{"type":"internal"},"prompt":"say x","textAlignment":"left"}}}`
	first := h.ask("POST", "/executions", stored, "Idempotency-Key", "a").want(201)
	again := h.ask("POST", "/executions", stored, "Idempotency-Key", "a").want(201)
	shown := h.ask("GET", "/executions/"+first.text("id"), "").want(200)
	for _, a := range []answer{first, again, shown} {
		if got := a.get("warnings"); len(got.([]any)) != 3 || a.text("warnings", "2", "pointer") != "/block/props/textAlignment" {
			t.Errorf("%s", a.body)
		}
	}
	h.ask("POST", "/executions", strings.Replace(stored, "textAlignment", "timeoutSecond", 1)).problem(422, domain.CodeInvalid)
	if plain := h.ask("POST", "/executions", "{"+valid+"}").want(201); len(plain.get("warnings").([]any)) != 0 {
		t.Errorf("%s", plain.body)
	}
}

// TestASentenceNamesTheWholePlace: "block must be a UUID" says nothing about which of its fields is wrong.
func TestASentenceNamesTheWholePlace(t *testing.T) {
	h := newTestServer(t)
	for body, want := range map[string]string{
		strings.Replace(aBlock(`"source":{"type":"internal"},"prompt":"x"`), `"id":"`, `"id":"x`, 1): "block/id must be a UUID.",
		`{` + valid + `,"metadata":{"a b":"x"}}`:                                                     "metadata/a b must have a name of 1 to 64 characters of A-Z a-z 0-9 _ . : / -.",
		`{` + valid + `,"metadata":{"` + strings.Repeat("a", 101) + `":"x"}}`:                        "A part of the input must have a name of 1 to 64 characters of A-Z a-z 0-9 _ . : / -.",
	} {
		if a := h.ask("POST", "/executions", body).problem(422, domain.CodeInvalid); a.text("detail") != want {
			t.Errorf("%s", a.body)
		}
	}
}
