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
	h := newHouse(t)
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

func TestBadBlocks(t *testing.T) {
	h := newHouse(t)
	const internal = `"source":{"type":"internal"}`
	fine := aBlock(internal + `,"prompt":"say x"`)
	var rows []badInput
	for name, row := range map[string][2]string{
		"a text":                          {`{"block":"x"}`, "/block"},
		"null":                            {`{"block":null}`, "/block"},
		"a number for an id":              {strings.Replace(fine, `"`+blockID+`"`, "1", 1), "/block/id"},
		"no type":                         {`{"block":{"id":"` + blockID + `","props":{` + internal + `,"prompt":"x"}}}`, "/block/type"},
		"another type":                    {strings.Replace(fine, `"agent"`, `"script"`, 1), "/block/type"},
		"no props":                        {`{"block":{"id":"` + blockID + `","type":"agent"}}`, "/block/props"},
		"an unknown prop":                 {aBlock(internal + `,"prompt":"x","colour":"red"`), "/block/props/colour"},
		"no source":                       {aBlock(`"prompt":"x"`), "/block/props/source"},
		"an unknown source":               {aBlock(`"source":{"type":"magic"},"prompt":"x"`), "/block/props/source/type"},
		"an empty name":                   {aBlock(internal + `,"prompt":"x","name":""`), "/block/props/name"},
		"an unknown capability":           {aBlock(internal + `,"prompt":"x","capabilities":{"fly":true}`), "/block/props/capabilities/fly"},
		"a capability that is no boolean": {aBlock(internal + `,"prompt":"x","capabilities":{"readFiles":"yes"}`), "/block/props/capabilities/readFiles"},
		"a negative timeout":              {aBlock(internal + `,"prompt":"x","timeoutSeconds":-1`), "/block/props/timeoutSeconds"},
	} {
		rows = append(rows, badInput{name, row[0], 422, domain.CodeInvalid, row[1]})
	}
	for _, row := range rows {
		h.wrong(row, h.ask("POST", "/executions", row.body))
	}
	if a := h.ask("GET", "/executions", "").want(200); a.count("items") != 0 {
		t.Errorf("%s", a.body)
	}
}

// TestASentenceNamesTheWholePlace: "block must be a UUID" says nothing about which of its fields is wrong.
func TestASentenceNamesTheWholePlace(t *testing.T) {
	h := newHouse(t)
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
