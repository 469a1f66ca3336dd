package http

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/admission/admissiontest"
	"signoff/internal/domain"
	"signoff/internal/keys"
)

// What the list shows, a request may name; what it names is shown by the execution, with the digest of the list.
func TestEnvironments(t *testing.T) {
	h := newTestServer(t)
	list := h.ask("GET", "/environments", "").want(200)
	if list.text("items", "0", "name") != "app" || list.text("items", "0", "mounts", "1", "access") != "read" || list.text("items", "0", "risk") != "machine" ||
		list.text("items", "1", "name") != "host" || list.text("items", "1", "risk") != "host" || list.text("items", "1", "user") != "operator" ||
		list.get("items", "2", "available") != false || list.text("items", "2", "reason") != "The kernel has no user namespaces." ||
		list.get("items", "3", "default") != true {
		t.Errorf("%s", list.body)
	}
	const rest = `"source": {"type": "internal"}, "prompt": "say x"}`
	shown := h.ended(h.ask("POST", "/executions", `{"environment": "app", `+rest).want(201).text("id"))
	if shown.text("environment", "name") != "app" || shown.text("environment", "digest") != list.text("items", "0", "digest") {
		t.Errorf("%s", shown.body)
	}
	narrowed := h.ended(h.ask("POST", "/executions", `{"environment": {"name": "app", "readOnly": true, "mounts": ["/srv/app"]}, `+rest).want(201).text("id"))
	if narrowed.get("environment", "readOnly") != true || narrowed.text("environment", "mounts", "0") != "/srv/app" || narrowed.text("environment", "digest") == shown.text("environment", "digest") {
		t.Errorf("%s", narrowed.body)
	}
	byDefault := h.ask("POST", "/executions", `{`+rest).want(201).text("id")
	if ended := h.ended(byDefault); ended.text("environment", "name") != "workspace" {
		t.Errorf("%s", ended.body)
	}
	if created := h.ask("GET", "/executions/"+byDefault+"/events", "", "Accept", "application/json").want(200); created.text("items", "0", "data", "environment", "digest") == "" {
		t.Errorf("%s", created.body)
	}
}

// A refusal says which field is wrong and what there is, whatever part of a body names the environment.
func TestRefusedEnvironments(t *testing.T) {
	h := newTestServer(t)
	for environment, refusal := range map[string]struct {
		code domain.Code
		at   string // below the environment
		says string
	}{
		`"other"`:   {domain.CodeInvalid, "", "app, host, machine, workspace"},
		`"machine"`: {domain.CodeEnvironmentUnavailable, "", "The kernel has no user namespaces."},
		`{"name": "app", "mounts": ["/srv/app", "/"]}`: {domain.CodeInvalid, "/mounts/1", "/srv/app, /var/log/app"},
		`{"name": "app", "hosts": ["example.org"]}`:    {domain.CodeInvalid, "/hosts/0", "*.corp.example"},
		`{"name": "host", "readOnly": true}`:           {domain.CodeInvalid, "", "has no isolation"},
		`{"name": "app", "digest": "x"}`:               {domain.CodeInvalid, "", ""},
		`{"readOnly": true}`:                           {domain.CodeInvalid, "", ""},
		`7`:                                            {domain.CodeInvalid, "", ""},
		`""`:                                           {domain.CodeInvalid, "", ""},
	} {
		for at, body := range map[string]string{
			"POST /executions /environment":      `{"source": {"type": "internal"}, "prompt": "say x", "environment": ` + environment + `}`,
			"POST /policy/evaluate /environment": `{"tool": "bash", "arguments": {"command": "df"}, "environment": ` + environment + `}`,
			"POST /executions /block/props/environment": `{"block": {"id": "` + someID + `", "type": "agent",
				"props": {"source": {"type": "internal"}, "prompt": "say x", "environment": ` + environment + `}}}`,
		} {
			parts := strings.Fields(at)
			a := h.ask(parts[0], parts[1], body).problem(422, refusal.code)
			pointer := a.text("errors", "0", "pointer")
			if refusal.says != "" && (pointer != parts[2]+refusal.at || !strings.Contains(string(a.body), refusal.says)) {
				t.Errorf("%s of %s: %s", environment, at, a.body)
			}
			if !strings.HasPrefix(pointer, parts[2]) {
				t.Errorf("%s of %s: %s", environment, at, a.body)
			}
		}
	}
	h.ask("POST", "/executions", `{"environment": "app", "block": {"id": "`+someID+`", "type": "agent", "props": {"source": {"type": "internal"}, "prompt": "say x"}}}`).
		problem(422, domain.CodeInvalid)
}

// Only a key with the scope starts something in another environment than the default one. A dry run starts nothing.
func TestTheScopeOfEnvironments(t *testing.T) {
	h := newTestServer(t)
	h.token = h.key("", string(keys.ExecutionsWrite), string(keys.ExecutionsRead), string(keys.PoliciesRead))
	const props = `"source": {"type": "internal"}, "prompt": "say x"`
	block := func(more string) string {
		return `{"block": {"id": "` + someID + `", "type": "agent", "props": {` + props + more + `}}}`
	}
	for _, body := range []string{
		`{` + props + `, "environment": "app"}`, `{` + props + `, "environment": {"name": "app", "readOnly": true}}`, block(`, "environment": "app"`),
		admissiontest.GenerationBody("say x", `"environment": "app"`), `{` + props + `, "kind": "assistant", "environment": "app"}`,
		`{` + props + `, "environment": "other"}`, // what there is, it may not know
	} {
		refused := h.ask("POST", "/executions", body).problem(403, domain.CodeForbidden)
		if !strings.Contains(string(refused.body), "environments:use") || strings.Contains(string(refused.body), "workspace") {
			t.Errorf("%s", refused.body)
		}
	}
	for _, body := range []string{`{` + props + `, "environment": "workspace"}`, block(`, "environment": {"name": "workspace", "readOnly": true}`)} {
		h.ask("POST", "/executions", body).want(201)
	}
	h.ask("POST", "/policy/evaluate", `{"tool": "bash", "arguments": {"command": "df"}, "environment": "app"}`).want(200)
}

// A rule that is written by hand holds for the definition of its environment as it is now, and in no other.
func TestRulesOfEnvironments(t *testing.T) {
	h := newTestServer(t)
	app := h.ask("GET", "/environments", "").want(200).text("items", "0", "digest")
	const rule = `{"scope": "global", "effect": "allow", "matcher": {"tool": "bash", "environment": "app", "environmentDigest": "of the client"}}`
	made := h.ask("POST", "/permission-rules", rule, "Idempotency-Key", "k").want(201)
	if made.text("matcher", "environment") != "app" || made.text("matcher", "environmentDigest") != app || !strings.Contains(made.text("description"), "app") {
		t.Errorf("%s", made.body)
	}
	if again := h.ask("POST", "/permission-rules", rule, "Idempotency-Key", "k").want(201); again.text("id") != made.text("id") {
		t.Errorf("%s", again.body)
	}
	for environment, want := range map[string]string{`"app"`: "allow", `"workspace"`: "ask", `{"name": "app", "readOnly": true}`: "allow"} {
		dry := h.ask("POST", "/policy/evaluate", `{"tool": "bash", "arguments": {"command": "df"}, "environment": `+environment+`}`).want(200)
		if dry.text("decision") != want || want == "allow" && dry.text("ruleId") != made.text("id") {
			t.Errorf("%s: %s", environment, dry.body)
		}
	}
	unknown := h.ask("POST", "/permission-rules", strings.Replace(rule, `"app"`, `"other"`, 1)).problem(422, domain.CodeInvalid)
	if unknown.text("errors", "0", "pointer") != "/matcher/environment" || !strings.Contains(string(unknown.body), "app, host, machine, workspace") {
		t.Errorf("%s", unknown.body)
	}
	h.ask("POST", "/permission-rules", strings.Replace(rule, `"app"`, `"machine"`, 1)).want(201) // that this machine cannot build; another one may

	const own = `{"source": {"type": "internal"}, "prompt": "say x", "environment": "app",
		"policy": {"rules": [{"effect": "deny", "matcher": {"tool": "bash", "environment": "%s"}}]}}`
	h.ask("POST", "/executions", fmt.Sprintf(own, "app")).want(201)
	other := h.ask("POST", "/executions", fmt.Sprintf(own, "workspace")).problem(422, domain.CodeInvalid)
	if other.text("errors", "0", "pointer") != "/policy/rules/0/matcher/environment" {
		t.Errorf("%s", other.body)
	}
}

// One command in three environments has three approvals, with three hashes, and each says in which it would run: in every route, event and page.
func TestApprovalsOfEnvironments(t *testing.T) {
	h := newTestServer(t)
	hook := h.hook(`,"types":["approval.requested"]`).text("webhook", "id")
	hashes, decide := map[string]bool{}, map[string]string{}
	for _, want := range []struct{ name, risk, user string }{{"workspace", "workspace", ""}, {"app", "machine", ""}, {"host", "host", "operator"}} {
		id := h.ask("POST", "/executions", `{"source": {"type": "internal"}, "prompt": "ask echo x", "environment": "`+want.name+`"}`).want(201).text("id")
		approval, hash := h.pending(id)
		hashes[hash], decide[approval] = true, hash
		digest := h.ask("GET", "/executions/"+id, "").want(200).text("environment", "digest")
		link := h.link(approval, "")
		events := h.ask("GET", "/executions/"+id+"/events", "", "Accept", "application/json").want(200)
		last := fmt.Sprint(events.count("items") - 1)
		for events.text("items", last, "type") != "approval.requested" {
			t.Fatalf("%s", events.body)
		}
		delivery := h.ask("GET", "/webhooks/"+hook+"/deliveries", "").want(200)
		for at, shown := range map[string]any{
			"the approval":  h.ask("GET", "/approvals/"+approval, "").want(200).get("environment"),
			"the inbox":     h.ask("GET", "/approvals", "").want(200).get("items", fmt.Sprint(len(hashes)-1), "environment"),
			"the execution": h.ask("GET", "/executions/"+id+"/approvals", "").want(200).get("items", "0", "environment"),
			"the event":     events.get("items", last, "data", "environment"),
			"the webhook":   delivery.get("items", "0", "body", "data", "environment"),
		} {
			wanted := map[string]any{"name": want.name, "digest": digest, "risk": want.risk, "user": want.user, "asServer": false, "lends": []any{}}
			if diff := cmp.Diff(wanted, shown); diff != "" {
				t.Errorf("%s of %s: %s", at, want.name, diff)
			}
		}
		page := string(h.opened(link, show).want(200).body)
		if !strings.Contains(page, `class="chip `+want.risk+`"`) || strings.Contains(page, `class="host"`) != (want.risk == "host") {
			t.Errorf("%s: %s", want.name, page)
		}
	}
	if len(hashes) != 3 {
		t.Errorf("%d hashes", len(hashes))
	}
	for approval, hash := range decide {
		h.decide(approval, hash, `"decision":"deny"`).want(200)
	}
	audit := h.ask("GET", "/audit?action=approval.decided", "").want(200)
	names := map[string]bool{}
	for i := range audit.count("items") {
		names[audit.text("items", fmt.Sprint(i), "record", "environment", "name")] = audit.text("items", fmt.Sprint(i), "record", "environment", "digest") != ""
	}
	if diff := cmp.Diff(map[string]bool{"workspace": true, "app": true, "host": true}, names); diff != "" {
		t.Errorf("%s: %s", diff, audit.body)
	}
}
