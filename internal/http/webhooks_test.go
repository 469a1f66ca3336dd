package http

import (
	"strings"
	"testing"

	"signoff/internal/domain"
)

const hookURL = "https://hooks.example/in"

func (h *testServer) hook(fields string) answer {
	h.Helper()
	return h.ask("POST", "/webhooks", `{"url":"`+hookURL+`"`+fields+`}`).want(201)
}

func TestAWebhooksLife(t *testing.T) {
	h := newTestServer(t)
	created := h.hook(`,"description":"<phone>","types":["approval.requested"],"links":true`)
	id, secret := created.text("webhook", "id"), created.text("secret")
	if !strings.HasPrefix(secret, "whsec_") || created.header.Get("Location") != "/webhooks/"+id || created.text("webhook", "types", "0") != "approval.requested" {
		t.Errorf("%s", created.body)
	}
	plain := h.hook(``)
	if plain.count("webhook", "types") != len(domain.NotificationTypes) || plain.text("secret") == secret {
		t.Errorf("%s", plain.body)
	}
	h.ask("GET", "/webhooks/"+id, "").want(200)
	if all := h.ask("GET", "/webhooks", "").want(200); all.count("items") != 2 || strings.Contains(string(all.body), "whsec_") {
		t.Errorf("%s", all.body)
	}
	rotated := h.ask("POST", "/webhooks/"+id+"/rotate-secret", "").want(200)
	given := "whsec_" + strings.Repeat("A", 32)
	if again := h.ask("POST", "/webhooks/"+id+"/rotate-secret", `{"secret":"`+given+`"}`).want(200); again.text("secret") != given {
		t.Errorf("%s", again.body)
	}
	tested := h.ask("POST", "/webhooks/"+id+"/test", "").want(202)
	page := h.ask("GET", "/webhooks/"+id+"/deliveries?state=pending", "").want(200)
	if page.count("items") != 1 || page.text("items", "0", "id") != tested.text("id") || page.text("items", "0", "body", "type") != "webhook.test" {
		t.Errorf("%s", page.body)
	}
	h.ask("POST", "/webhooks/"+id+"/deliveries/"+tested.text("id")+"/redeliver", "").want(202)
	h.ask("POST", "/webhooks/"+id+"/deliveries/msg_x/redeliver", "").problem(404, domain.CodeNotFound)
	h.ask("GET", "/webhooks/"+id+"/deliveries?cursor=x", "").problem(400, domain.CodeMalformed)
	h.ask("POST", "/webhooks/"+id+"/enable", "").want(200)
	h.ask("DELETE", "/webhooks/"+id, "").want(204)
	h.ask("GET", "/webhooks/"+id, "").problem(404, domain.CodeNotFound)
	audit := h.ask("GET", "/audit", "").want(200)
	for _, action := range []string{"webhook.created", "webhook.rotated", "webhook.redelivered", "webhook.enabled", "webhook.deleted"} {
		if !strings.Contains(string(audit.body), action) {
			t.Errorf("the audit does not tell of %s", action)
		}
	}
	for _, kept := range []string{secret, given, rotated.text("secret")} {
		if strings.Contains(string(audit.body), kept) || strings.Contains(h.logs.String(), kept) {
			t.Error("a secret is in the audit or in the log")
		}
	}
}

func TestWebhooksThatAreRefused(t *testing.T) {
	h := newTestServer(t)
	for body, pointer := range map[string]string{
		`{"url":"http://hooks.example/"}`:                                   "/url",
		`{"url":"https://hooks.example/` + strings.Repeat("x", 2000) + `"}`: "/url",
		`{"url":"https://hooks.example/` + canary + `"}`:                    "/url",
		`{"url":"` + hookURL + `","description":" "}`:                       "/description",
		`{"url":"` + hookURL + `","description":"a\nb"}`:                    "/description",
		`{"url":"` + hookURL + `","description":"a\u202eb"}`:                "/description",
		`{"url":"` + hookURL + `","secret":"whsec_short"}`:                  "/secret",
	} {
		a := h.ask("POST", "/webhooks", body).problem(422, domain.CodeInvalid)
		if a.text("errors", "0", "pointer") != pointer || strings.Contains(string(a.body), "whsec_short") {
			t.Errorf("%s: %s", body, a.body)
		}
	}
	h.ask("POST", "/webhooks", `{"url":"http://127.0.0.1:9000/in"}`).want(201)
	for range 19 {
		h.hook("")
	}
	h.ask("POST", "/webhooks", `{"url":"`+hookURL+`"}`).problem(409, domain.CodeConflict)
}

// Who may only look after webhooks must not be able to have links sent to himself that decide.
func TestLinksNeedTheScopeToDecide(t *testing.T) {
	h := newTestServer(t)
	key := h.key("", "webhooks:write")
	h.ask("POST", "/webhooks", `{"url":"`+hookURL+`","links":true}`, "Authorization", "Bearer "+key).problem(403, domain.CodeForbidden)
	h.ask("POST", "/webhooks", `{"url":"`+hookURL+`"}`, "Authorization", "Bearer "+key).want(201)
}
