package http

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/keys"
)

// concrete fills a route's pattern with ids that do not exist: whoever is let through gets 404, or what the route has.
func concrete(route string) (method, path string) {
	method, path, _ = strings.Cut(route, " ")
	return method, strings.NewReplacer("{id}", someID, "{scope}", "global", "{file}", "main.js").Replace(path)
}

// TestScopes asks every route with every key of one scope: one opens it, and no other does.
func TestScopes(t *testing.T) {
	h := newTestServer(t)
	tokens := map[keys.Scope]string{}
	for _, scope := range keys.Scopes {
		tokens[scope] = h.key("", string(scope))
	}
	used := map[keys.Scope]bool{}
	for route, o := range h.server.document {
		method, path := concrete(route)
		for scope, token := range tokens {
			a := h.ask(method, path, "", "Authorization", "Bearer "+token, "Accept", typeJSON) // a stream has no end
			opens := a.status != 401 && a.status != 403
			if opens != (o.Public || scope == o.Scope) {
				t.Errorf("%s with %s answers %d", route, scope, a.status)
			}
			if a.status == 403 && !strings.Contains(a.header.Get("WWW-Authenticate"), `scope="`+string(o.Scope)+`"`) {
				t.Errorf("%s with %s: %v", route, scope, a.header)
			}
		}
		used[o.Scope] = true
		if !o.Public {
			h.ask(method, path, "", "Authorization", "").problem(401, domain.CodeUnauthenticated)
		}
	}
	for _, scope := range keys.Scopes {
		if !used[scope] && scope != keys.ApprovalsDecideUnseen && scope != keys.EnvironmentsUse && scope != keys.MCPUse && scope != keys.ProfilesUse { // these are of a field of a body
			t.Errorf("no route needs %s", scope)
		}
	}
}

func TestWhoCreatesMayNotSignOff(t *testing.T) {
	h := newTestServer(t)
	approval, hash := h.pending(h.create("ask df"))
	for _, scopes := range [][]string{
		{"executions:write", "executions:read", "executions:cancel", "approvals:read"},
		{"approvals:decideUnseen"},
	} {
		a := h.ask("POST", "/approvals/"+approval, `{"decision":"approve","argumentsHash":"`+hash+`"}`, "Authorization", "Bearer "+h.key("", scopes...))
		a.problem(403, domain.CodeForbidden)
	}
	if a := h.ask("GET", "/approvals/"+approval, "").want(200); a.text("status") != "pending" {
		t.Errorf("%s", a.body)
	}
}

func TestWithoutAKeyThatHolds(t *testing.T) {
	h := newTestServer(t)
	id, secret := strings.Split(h.token, "_")[1], strings.Split(h.token, "_")[2]
	expired, _, err := keys.Create(t.Context(), h.store, keys.CreateParams{
		Name: "ann", Scopes: everyScope(), Expires: new(time.Now().Add(50 * time.Millisecond)),
	})
	must(t, err)
	revoked, key, err := keys.Create(t.Context(), h.store, keys.CreateParams{Name: "ann", Scopes: everyScope()})
	must(t, err)
	must(t, h.store.RevokeKey(t.Context(), domain.DefaultTenant, key.ID))
	time.Sleep(60 * time.Millisecond)
	for name, value := range map[string]string{
		"none":         "",
		"bare token":   h.token,
		"basic":        "Basic " + h.token,
		"empty bearer": "Bearer ",
		"wrong secret": "Bearer sgn_" + id + "_" + strings.Repeat("0", 64),
		"unknown id":   "Bearer sgn_" + strings.Repeat("0", 16) + "_" + secret,
		"a JWT":        "Bearer eyJhbGciOiJub25lIn0.e30.",
		"expired":      "Bearer " + expired,
		"revoked":      "Bearer " + revoked,
		"two tokens":   "Bearer " + h.token + " " + h.token,
	} {
		a := h.ask("GET", "/executions?unknown=1", "", "Authorization", value).problem(401, domain.CodeUnauthenticated)
		if a.header.Get("WWW-Authenticate") != `Bearer realm="signoff"` || strings.Contains(string(a.body), secret) {
			t.Errorf("%s: %v %s", name, a.header, a.body)
		}
	}
	if a := h.ask("GET", "/executions?token="+h.token, "", "Authorization", "").want(401); strings.Contains(string(a.body), secret) {
		t.Errorf("%s", a.body)
	}
	h.ask("GET", "/executions", "", "Authorization", "bearer "+h.token).want(200)
	r := h.request("GET", "/executions", "")
	r.Header.Add("Authorization", "Bearer "+h.token)
	response, err := client.Do(r)
	must(t, err)
	response.Body.Close()
	if response.StatusCode != 401 {
		t.Errorf("two Authorization headers: %d", response.StatusCode)
	}
}

// TestAnotherTenantsThingsDoNotExist compares the answers for unknown and foreign ids word by word.
func TestAnotherTenantsThingsDoNotExist(t *testing.T) {
	h := newTestServer(t)
	id := h.create("ask df")
	approval, hash := h.pending(id)
	rule := h.rule(`{"scope":"execution","executionId":"` + id + `","effect":"deny","matcher":{"tool":"write"}}`)
	hook := h.ask("POST", "/webhooks", `{"url":"https://hooks.example/"}`).want(201).text("webhook", "id")
	profile := h.ask("POST", "/agent-profiles", `{"name":"dba","definition":{"source":{"type":"internal"}}}`).want(201).text("name")
	stranger := h.key("acme", everyScope()...)
	bodies := map[string]string{
		"PUT /agent-profiles/{name}":              `{"definition":{"source":{"type":"internal"}}}`,
		"POST /approvals/{id}":                    `{"decision":"approve","argumentsHash":"` + hash + `"}`,
		"POST /executions/{id}/prompts":           `{"prompt":"say x"}`,
		"POST /executions/{id}/resume":            `{"mode":"fail"}`,
		"POST /executions/{id}/rollback":          `{"to":1,"dryRun":true}`,
		"POST /executions/{id}/tool-results":      `{"toolCallId":"c1","output":"x"}`,
		"POST /executions/{id}/workspace/fetch":   `{"dryRun":true}`,
		"POST /executions/{id}/generation/edits":  `{"text":"x"}`,
		"POST /executions/{id}/generation/accept": `{"generation":1}`,
	}
	for route := range h.server.document {
		method, pattern, _ := strings.Cut(route, " ")
		named := strings.HasPrefix(pattern, "/agent-profiles/")
		if !named && !strings.Contains(pattern, "{id}") || strings.HasPrefix(pattern, "/runbooks") { // the client's own ids: TestRunbooksAndTheirOutputs
			continue
		}
		foreign := id
		switch {
		case strings.HasPrefix(pattern, "/approvals"):
			foreign = approval
		case strings.HasPrefix(pattern, "/permission-rules"):
			foreign = rule
		case strings.HasPrefix(pattern, "/webhooks"):
			foreign = hook
		case named:
			foreign, pattern = profile, "/agent-profiles/{id}"
		}
		var told []string
		for _, id := range []string{foreign, someID, "not-an-id"} {
			a := h.ask(method, strings.ReplaceAll(pattern, "{id}", id), bodies[route], "Authorization", "Bearer "+stranger).
				problem(404, domain.CodeNotFound)
			told = append(told, strings.ReplaceAll(string(a.body), a.text("requestId"), "…"))
		}
		if told[0] != told[1] || told[1] != told[2] {
			t.Errorf("%s:\nforeign %s\nunknown %s\nmalformed %s", route, told[0], told[1], told[2])
		}
	}
	for route, body := range map[string]string{
		"/permission-rules": `{"scope":"execution","effect":"allow","matcher":{"tool":"bash"},"executionId":"%s"}`,
		"/policy/evaluate":  `{"tool":"bash","arguments":{"command":"df"},"executionId":"%s"}`,
	} {
		for _, of := range []string{id, someID, "not-an-id"} {
			h.ask("POST", route, fmt.Sprintf(body, of), "Authorization", "Bearer "+stranger).problem(404, domain.CodeNotFound)
		}
	}
	for _, list := range []string{
		"/executions", "/approvals", "/approvals?status=approved", "/permission-rules?ended=true", "/permission-rules?executionId=" + id,
		"/audit", "/audit?executionId=" + id, "/webhooks",
	} {
		if a := h.ask("GET", list, "", "Authorization", "Bearer "+stranger).want(200); a.count("items") != 0 {
			t.Errorf("%s: %s", list, a.body)
		}
	}
	var refused []string
	for _, from := range []string{id, someID, "not-an-id", "' or 1=1 --"} {
		a := h.ask("POST", "/executions", `{"source":{"type":"acp","command":"mock"},"prompt":"x","resumeFrom":"`+from+`"}`,
			"Authorization", "Bearer "+stranger).want(422)
		refused = append(refused, strings.ReplaceAll(string(a.body), a.text("requestId"), "…"))
	}
	if len(slices.Compact(refused)) != 1 || !strings.Contains(refused[0], `"/resumeFrom"`) {
		t.Errorf("resumeFrom tells foreign from unknown: %s", refused)
	}
	ours := h.ask("GET", "/executions?limit=1", "").want(200)
	if ours.text("items", "0", "status") != "pendingToolApproval" {
		t.Errorf("%s", ours.body)
	}
}

func TestForeignHostsAreMisdirected(t *testing.T) {
	h := newTestServer(t, func(c *Config) { c.Hosts = []string{"signoff.example.org", "Runner:9000"} })
	for host, opens := range map[string]bool{
		"localhost": true, "localhost:1": true, "LOCALHOST:8080": true, "localhost.": true, "127.0.0.1": true,
		"127.0.0.1:99": true, "127.1.2.3": true, "[::1]:8080": true, "[::1]": true, "[::ffff:127.0.0.1]": true,
		"signoff.example.org": true, "SIGNOFF.example.org:443": true, "runner:9000": true,
		"runner": false, "runner:9001": false, "evil.example": false, "evil.example:8080": false,
		"localhost.evil.example": false, "127.0.0.1.evil.example": false, "signoff.example.org.evil.example": false,
		"10.0.0.1": false, "0.0.0.0": false, "[::]": false, "169.254.169.254": false, "2130706433": false,
		"localhost:8080:8080": false, "user@localhost": false, "localhost:http": false, "localhost#": false,
	} {
		for _, route := range []string{"/", "/healthz", "/metrics", "/executions", "/nowhere", "/executions/" + someID + "/events"} {
			r := h.request("GET", route, "", "Host", host)
			response, err := client.Do(r)
			if err != nil {
				if opens {
					t.Errorf("%s: %v", host, err)
				}
				continue // the client does not even send it
			}
			response.Body.Close()
			if response.StatusCode == 400 && !opens {
				continue // net/http refused it first
			}
			if (response.StatusCode != 421) != opens {
				t.Errorf("%s with Host %s answers %d", route, host, response.StatusCode)
			}
		}
	}
	h.ask("GET", "/healthz", "", "Host", "evil.example").problem(421, domain.CodeMisdirected)
}

func TestTheAddressThatWasDialledMayBeNamed(t *testing.T) {
	h := newTestServer(t)
	for local, want := range map[string]bool{"10.1.2.3:8080": true, "[::ffff:10.1.2.3]:8080": true, "10.1.2.4:8080": false} {
		r, err := http.NewRequestWithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, address(local)), "GET", "/healthz", nil)
		must(t, err)
		r.Host = "10.1.2.3:80"
		if got := h.server.hosts.allow(r); got != want {
			t.Errorf("on %s: %v", local, got)
		}
	}
}

type address string

func (a address) Network() string { return "tcp" }
func (a address) String() string  { return string(a) }

func TestPagesOfOtherOriginsAreRefused(t *testing.T) {
	h := newTestServer(t)
	self := h.url
	_, port, _ := strings.Cut(strings.TrimPrefix(self, "http://"), ":")
	for _, row := range []struct {
		header, value string
		opens         bool
	}{
		{"Origin", self, true},
		{"Origin", strings.ToUpper(self), true},
		{"Origin", "https://127.0.0.1:" + port, true}, // a proxy ends TLS
		{"Origin", "null", false},
		{"Origin", "https://evil.example", false},
		{"Origin", "http://localhost:" + port, false},
		{"Origin", "http://127.0.0.1:1", false},
		{"Origin", "http://127.0.0.1", false},
		{"Origin", "http://127.0.0.1:" + port + ".evil.example", false},
		{"Origin", "http://127.0.0.1:" + port + "@evil.example", false},
		{"Origin", "file://", false},
		{"Origin", "chrome-extension://abc", false},
		{"Origin", " ", true}, // trimmed to nothing by net/http: not a browser
		{"Sec-Fetch-Site", "cross-site", false},
		{"Sec-Fetch-Site", "same-origin", true},
		{"Sec-Fetch-Site", "none", true},
	} {
		for _, route := range []string{"GET /", "GET /healthz", "GET /executions", "POST /executions", "DELETE /executions/{id}", "GET /executions/{id}/events"} {
			method, path := concrete(route)
			body := ""
			if method == "POST" {
				body = "{" + valid + "}"
			}
			a := h.ask(method, path, body, row.header, row.value)
			if (a.status != 403) != row.opens && strings.TrimSpace(row.value) != "" {
				t.Errorf("%s with %s: %s answers %d", route, row.header, row.value, a.status)
			}
			if a.status == 403 {
				a.problem(403, domain.CodeForeignOrigin)
			}
		}
	}
}

// Unknown fields of bodies are refused by TestEveryRuleOfTheDocumentHoldsForBodies.
func TestNoMassAssignment(t *testing.T) {
	h := newTestServer(t)
	for _, header := range []string{"X-Tenant-Id", "X-Scopes", "X-Forwarded-User", "X-HTTP-Method-Override"} {
		h.ask("GET", "/executions", "", header, "admin").want(200)
	}
	if a := h.ask("GET", "/healthz", "", "X-Request-Id", "mine"); a.header.Get("X-Request-Id") == "mine" {
		t.Error("the client chose the request's id")
	}
}
