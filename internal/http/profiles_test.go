package http

import (
	"strings"
	"testing"

	"signoff/internal/domain"
)

const someProfile = `{"name":"dba","definition":{"description":"Looks only.","source":{"type":"internal"},"systemPrompt":"Be careful.","capabilities":{"write":"deny"},"outputSchema":{"type":"object"}}}`

func TestAgentProfilesAreMadeReplacedAndHidden(t *testing.T) {
	h := newTestServer(t)
	made := h.ask("POST", "/agent-profiles", someProfile).want(201)
	if made.header.Get("Location") != "/agent-profiles/dba" || made.header.Get("ETag") != `"1"` || made.get("version") != 1.0 || made.text("origin") != "api" ||
		made.text("createdBy", "name") != "ann" || made.text("definition", "systemPrompt") != "Be careful." || made.get("deletedAt") != nil {
		t.Errorf("%v %s", made.header, made.body)
	}
	if read := h.ask("GET", "/agent-profiles/dba", "").want(200); string(read.body) != string(made.body) || read.header.Get("ETag") != `"1"` {
		t.Errorf("made %s\nread %s", made.body, read.body)
	}
	h.ask("POST", "/agent-profiles", someProfile).problem(409, domain.CodeConflict)
	body := `{"definition":{"source":{"type":"internal","model":"dear"}}}`
	h.ask("PUT", "/agent-profiles/dba", body).problem(428, domain.CodeRevisionRequired)
	h.ask("PUT", "/agent-profiles/dba", body, "If-Match", `1`).problem(422, domain.CodeInvalid)
	h.ask("PUT", "/agent-profiles/dba", body, "If-Match", `"2"`).problem(409, domain.CodeConflict)
	second := h.ask("PUT", "/agent-profiles/dba", body, "If-Match", `"1"`).want(200)
	if second.get("version") != 2.0 || second.header.Get("ETag") != `"2"` || second.text("digest") == made.text("digest") {
		t.Errorf("%s", second.body)
	}
	if first := h.ask("GET", "/agent-profiles/dba?version=1", "").want(200); string(first.body) != string(made.body) {
		t.Errorf("%s", first.body)
	}
	list := h.ask("GET", "/agent-profiles", "").want(200)
	if list.count("items") != 2 || list.text("items", "0", "name") != "house" || list.text("items", "1", "name") != "dba" || strings.Contains(string(list.body), "systemPrompt") {
		t.Errorf("%s", list.body)
	}

	running := h.ask("POST", "/executions", `{"source":{"type":"profile","name":"dba","version":1},"prompt":"say x"}`).want(201)
	if running.text("source", "type") != "internal" || running.text("profile", "name") != "dba" || running.get("profile", "version") != 1.0 ||
		running.text("profile", "digest") != made.text("digest") || running.text("systemPrompt") != "Be careful." || running.text("capabilities", "write") != "deny" {
		t.Errorf("%s", running.body)
	}
	h.ask("DELETE", "/agent-profiles/dba", "").want(204)
	h.ask("GET", "/agent-profiles/dba", "").problem(404, domain.CodeNotFound)
	h.ask("DELETE", "/agent-profiles/dba", "").problem(404, domain.CodeNotFound)
	h.ask("PUT", "/agent-profiles/dba", body, "If-Match", `"2"`).problem(404, domain.CodeNotFound)
	if kept := h.ask("GET", "/agent-profiles/dba?version=1", "").want(200); kept.get("deletedAt") == nil || kept.text("digest") != made.text("digest") {
		t.Errorf("%s", kept.body)
	}
	for _, version := range []string{``, `,"version":1`} {
		h.ask("POST", "/executions", `{"source":{"type":"profile","name":"dba"`+version+`},"prompt":"say x"}`).problem(422, domain.CodeUnknownProfile)
	}
	if n := h.ask("GET", "/agent-profiles", "").want(200).count("items"); n != 1 {
		t.Errorf("%d items", n)
	}
	again := h.ask("POST", "/agent-profiles", someProfile).want(201)
	if again.get("version") != 3.0 {
		t.Errorf("%s", again.body)
	}
	for action, n := range map[string]int{"agentProfile.created": 2, "agentProfile.replaced": 1, "agentProfile.deleted": 1} {
		a := h.ask("GET", "/audit?action="+action, "").want(200)
		if a.count("items") != n || a.text("items", "0", "record", "subject") != "dba" || a.text("items", "0", "record", "actor", "name") != "ann" ||
			strings.Contains(string(a.body), "careful") {
			t.Errorf("%s: %s", action, a.body)
		}
	}
}

// TestTheOperatorsProfilesWinTheName: nobody changes one over HTTP, and one that a key made before is hidden, but for the versions that executions name.
func TestTheOperatorsProfilesWinTheName(t *testing.T) {
	h := newTestServer(t)
	body := `{"name":"house","definition":{"source":{"type":"internal"}}}`
	h.ask("POST", "/agent-profiles", body).problem(409, domain.CodeConflict)
	h.ask("PUT", "/agent-profiles/house", `{"definition":{"source":{"type":"internal"}}}`, "If-Match", `"1"`).problem(409, domain.CodeConflict)
	h.ask("DELETE", "/agent-profiles/house", "").problem(409, domain.CodeConflict)
	_, err := h.store.CreateAgentProfile(t.Context(), domain.AgentProfile{Tenant: domain.DefaultTenant, Name: "house", Definition: []byte(`{"source":{"type":"internal"}}`)},
		domain.AuditRecord{Action: "agentProfile.created"})
	must(t, err)
	if list := h.ask("GET", "/agent-profiles", "").want(200); list.count("items") != 1 || list.text("items", "0", "origin") != "operator" || list.get("items", "0", "version") != nil {
		t.Errorf("%s", list.body)
	}
	if read := h.ask("GET", "/agent-profiles/house", "").want(200); read.text("origin") != "operator" || read.header.Get("ETag") != "" || read.get("createdAt") != nil {
		t.Errorf("%v %s", read.header, read.body)
	}
	h.ask("GET", "/agent-profiles/house?version=1", "").want(200)
	h.ask("POST", "/executions", `{"source":{"type":"profile","name":"house","version":1},"prompt":"say x"}`).problem(422, domain.CodeUnknownProfile)
	user := h.key("", "executions:write", "profiles:use:house")
	ran := h.ask("POST", "/executions", `{"source":{"type":"profile","name":"house"},"prompt":"say x"}`, "Authorization", "Bearer "+user).want(201)
	if ran.text("profile", "name") != "house" || ran.get("profile", "version") != nil || ran.text("environment", "name") != "app" {
		t.Errorf("%s", ran.body)
	}
}

// TestProfilesOfAKey: whoever may write profiles writes into them what the key may request, and no more.
func TestProfilesOfAKey(t *testing.T) {
	h := newTestServer(t)
	writer := h.key("", "profiles:write")
	body := `{"name":"p","definition":{"source":{"type":"internal"},"environment":"app"}}`
	h.ask("POST", "/agent-profiles", body, "Authorization", "Bearer "+writer).problem(403, domain.CodeForbidden)
	trusted := h.key("", "profiles:write", "environments:use")
	h.ask("POST", "/agent-profiles", body, "Authorization", "Bearer "+trusted).want(201)
	h.ask("PUT", "/agent-profiles/p", `{"definition":{"source":{"type":"internal"},"environment":"app"}}`, "Authorization", "Bearer "+writer, "If-Match", `"1"`).
		problem(403, domain.CodeForbidden)
	for _, name := range []string{"", "1", "a b", "a/b", "ü", strings.Repeat("x", 65)} {
		h.ask("POST", "/agent-profiles", `{"name":"`+name+`","definition":{"source":{"type":"internal"}}}`).problem(422, domain.CodeInvalid)
	}
}
