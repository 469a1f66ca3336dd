package http

import (
	"html"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/webhooks"
)

// opened is a page as a browser gets it. form is what is sent; nil opens it.
func (h *testServer) opened(path string, form url.Values, header ...string) answer {
	h.Helper()
	method, body := "GET", ""
	if form != nil {
		method, body = "POST", form.Encode()
		header = append([]string{"Content-Type", "application/x-www-form-urlencoded"}, header...)
	}
	return h.ask(method, path, body, append(header, "Authorization", "")...)
}

// link is the path of a link to an approval.
func (h *testServer) link(approval, body string) string {
	h.Helper()
	made := h.ask("POST", "/approvals/"+approval+"/links", body).want(201)
	path, isOurs := strings.CutPrefix(made.text("url"), "https://signoff.example")
	if !isOurs || made.text("expiresAt") == "" {
		h.Fatalf("%s", made.body)
	}
	return path
}

// show asks for the card.
var show = url.Values{"decision": {"show"}}

func decision(verb, hash string) url.Values {
	return url.Values{"decision": {verb}, "argumentsHash": {hash}, "reason": {"<why>"}}
}

func TestALinkDecidesOnce(t *testing.T) {
	h := newTestServer(t)
	id := h.create("ask echo <b>\u202e\u200bx")
	approval, hash := h.pending(id)
	path := h.link(approval, `{"for":"ann"}`)
	for range 3 {
		page := h.opened(path, show).want(200)
		for _, shown := range []string{"echo &lt;b&gt;⟨U&#43;202E⟩⟨U&#43;200B⟩x", hash, id, `<form method="post">`, h.root, "Isolation", "None: the operator has switched the sandbox off."} {
			if !strings.Contains(string(page.body), shown) {
				t.Fatalf("the page lacks %q:\n%s", shown, page.body)
			}
		}
		for name, want := range map[string]string{"X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "X-Robots-Tag": "noindex, nofollow"} {
			if page.header.Get(name) != want {
				t.Errorf("%s is %q", name, page.header.Get(name))
			}
		}
		policy := page.header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") || !strings.Contains(policy, "form-action 'self'") || strings.Contains(string(page.body), "<script") {
			t.Errorf("%s", policy)
		}
	}
	if a := h.ask("GET", "/approvals/"+approval, "").want(200); a.text("status") != "pending" {
		t.Fatalf("looking has decided: %s", a.body)
	}
	done := h.opened(path, decision("approve", hash), "Origin", "null").want(200)
	if !strings.Contains(string(done.body), "This is approved") || !strings.Contains(string(done.body), "link for ann") || strings.Contains(string(done.body), "<form") {
		t.Errorf("%s", done.body)
	}
	h.ended(id)
	for _, verb := range []string{"approve", "deny"} {
		late := h.opened(path, decision(verb, hash)).want(409)
		if !strings.Contains(string(late.body), "link for ann") {
			t.Errorf("%s", late.body)
		}
	}
	if page := h.opened(path, show).want(200); strings.Contains(string(page.body), "<form") || strings.Contains(string(page.body), "echo &lt;b&gt;") && strings.Contains(string(page.body), "<pre>") {
		t.Errorf("%s", page.body)
	}
	audit := string(h.ask("GET", "/audit?action=approval.decided", "").want(200).body)
	token := strings.TrimPrefix(path, webhooks.LinkPath)
	if !strings.Contains(audit, `"channel":"link"`) || !strings.Contains(audit, "link for ann") || strings.Contains(audit+h.logs.String(), token) {
		t.Errorf("%s", audit)
	}
	h.ask("POST", "/approvals/"+approval+"/links", "").problem(409, domain.CodeConflict)
}

// Whoever opens a link without a click gets the same page, whatever the link leads to: programs that show a preview of it or look for
// malware keep what they find, and could tell by any difference whether there is something to decide.
func TestOpeningALinkTellsNothing(t *testing.T) {
	h := newTestServer(t)
	open, _ := h.pending(h.create("ask echo my-command"))
	decided, hash := h.pending(h.create("ask echo my-command"))
	links := webhooks.NewLinks([]byte("key"), "")
	over := links.URL(webhooks.Grant{Approval: domain.ApprovalID(open), Tenant: domain.DefaultTenant, Expires: time.Now().Add(-time.Second), Key: strings.Split(h.token, "_")[1]})
	openPath, decidedPath := h.link(open, `{"for":"ann"}`), h.link(decided, `{"for":"bob"}`)
	h.opened(decidedPath, decision("approve", hash)).want(200)
	shell := h.opened(openPath, nil, "Sec-Fetch-Site", "cross-site").want(200)
	for name, path := range map[string]string{
		"again": openPath, "decided": decidedPath, "over": over, "cut": openPath[:len(openPath)-1], "unknown": "/approve/x", "long": "/approve/" + strings.Repeat("x", 3000),
	} {
		for _, agent := range []string{"", "Slackbot-LinkExpanding 1.0", "Mozilla/5.0"} {
			page := h.opened(path, nil, "User-Agent", agent)
			page.header.Del("X-Request-Id")
			page.header.Del("Date")
			shell.header.Del("X-Request-Id")
			shell.header.Del("Date")
			if page.status != 200 || string(page.body) != string(shell.body) || !cmp.Equal(page.header, shell.header) {
				t.Errorf("%s for %q: %d, %s, %s", name, agent, page.status, cmp.Diff(shell.header, page.header), cmp.Diff(string(shell.body), string(page.body)))
			}
		}
	}
	for _, told := range []string{"my-command", "echo", "ann", "bash", "pending", "approved", open} {
		if strings.Contains(string(shell.body), told) {
			t.Errorf("the shell tells %q:\n%s", told, shell.body)
		}
	}
	script := between(string(shell.body), "<script>", "</script>")
	policy := shell.header.Get("Content-Security-Policy")
	if script != shellScript || !strings.Contains(policy, "script-src "+hashOf(script)+"; connect-src 'self'") || !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") {
		t.Errorf("the policy %s does not let this script run, or more than it:\n%s", policy, script)
	}
	if form := between(string(shell.body), "<form", "</form>"); !strings.Contains(form, `method="post"`) || !strings.Contains(form, `name="decision" value="show"`) || strings.Contains(form, "argumentsHash") {
		t.Errorf("without script nothing can be shown: %s", form)
	}
	if a := h.ask("GET", "/approvals/"+open, "").want(200); a.text("status") != "pending" {
		t.Errorf("%s", a.body)
	}
}

// between is what stands between two texts.
func between(text, before, behind string) string {
	_, text, _ = strings.Cut(text, before)
	text, _, _ = strings.Cut(text, behind)
	return text
}

// A command that looks like another one is not signed for by mistake.
func TestTheCardOfALinkMarksLookAlikes(t *testing.T) {
	h := newTestServer(t)
	approval, _ := h.pending(h.create("ask \u0441at /etc\u2215passwd\uff1b echo \u05d0"))
	page := html.UnescapeString(string(h.opened(h.link(approval, ""), show).want(200).body))
	if !strings.Contains(page, "⟨U+0441⟩at /etc⟨U+2215⟩passwd⟨U+FF1B⟩ echo ⟨U+05D0⟩") {
		t.Errorf("%s", page)
	}
}

func TestALinkIsRefused(t *testing.T) {
	h := newTestServer(t)
	approval, hash := h.pending(h.create("ask df"))
	path := h.link(approval, "")
	links := webhooks.NewLinks([]byte("key"), "")
	soon := time.Now().Add(time.Hour)
	key := strings.Split(h.token, "_")[1]
	var pages []string
	for name, other := range map[string]string{
		"forged":    webhooks.NewLinks([]byte("other"), "").URL(webhooks.Grant{Approval: domain.ApprovalID(approval), Tenant: domain.DefaultTenant, Expires: soon, Key: key}),
		"over":      links.URL(webhooks.Grant{Approval: domain.ApprovalID(approval), Tenant: domain.DefaultTenant, Expires: time.Now().Add(-time.Second), Key: key}),
		"foreign":   links.URL(webhooks.Grant{Approval: domain.ApprovalID(approval), Tenant: "acme", Expires: soon, Key: key}),
		"no key":    links.URL(webhooks.Grant{Approval: domain.ApprovalID(approval), Tenant: domain.DefaultTenant, Expires: soon}),
		"no hook":   links.URL(webhooks.Grant{Approval: domain.ApprovalID(approval), Tenant: domain.DefaultTenant, Expires: soon, Webhook: someID}),
		"unknown":   links.URL(webhooks.Grant{Approval: someID, Tenant: domain.DefaultTenant, Expires: soon, Key: key}),
		"malformed": "/approve/x", "cut": path[:len(path)-1], "long": "/approve/" + strings.Repeat("x", 3000),
	} {
		for _, form := range []url.Values{show, decision("approve", hash)} {
			a := h.opened(other, form)
			if a.status != 404 {
				t.Errorf("%s: %d", name, a.status)
			}
			pages = append(pages, string(a.body))
		}
	}
	for _, page := range pages {
		if page != pages[0] {
			t.Errorf("pages differ: %s", page)
		}
	}
	h.opened(path, decision("approve", "wrong")).want(409)
	h.opened(path, url.Values{"decision": {"approve"}}).problem(422, domain.CodeInvalid)
	h.opened(path, url.Values{"argumentsHash": {hash}}).problem(422, domain.CodeInvalid)
	h.opened(path, url.Values{"decision": {"approve", "deny"}, "argumentsHash": {hash}}).problem(400, domain.CodeMalformed)
	h.opened(path, url.Values{"decision": {"maybe"}, "argumentsHash": {hash}}).problem(422, domain.CodeInvalid)
	h.opened(path, url.Values{"decision": {"approve"}, "argumentsHash": {hash}, "by": {"x"}}).problem(422, domain.CodeInvalid)
	h.ask("POST", path, `{"decision":"approve"}`, "Authorization", "").problem(415, domain.CodeUnsupportedMedia)
	for _, header := range [][]string{{"Origin", "https://evil.example"}, {"Origin", "null", "Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "cross-site"}} {
		h.opened(path, decision("approve", hash), header...).problem(403, domain.CodeForeignOrigin)
		h.opened(path, show, header...).problem(403, domain.CodeForeignOrigin)
	}
	h.opened(path, nil, "Host", "evil.example").problem(421, domain.CodeMisdirected)
	if a := h.ask("GET", "/approvals/"+approval, "").want(200); a.text("status") != "pending" {
		t.Errorf("%s", a.body)
	}
	if a := h.opened(path, decision("deny", hash), "Origin", h.url).want(200); !strings.Contains(string(a.body), "This is denied") {
		t.Errorf("%s", a.body)
	}
}

// The name of a link stands in the audit, so it must be what it looks like.
func TestTheNameOfALinkIsLegible(t *testing.T) {
	h := newTestServer(t)
	approval, _ := h.pending(h.create("ask df"))
	for _, name := range []string{" ", `\t`, `ann\nkey root`, `ann\r`, `\u202enna`, `ann\u200b`, `\u3164`, `\u00a0`, `ann\u0000`} {
		a := h.ask("POST", "/approvals/"+approval+"/links", `{"for":"`+name+`"}`).problem(422, domain.CodeInvalid)
		if a.text("errors", "0", "pointer") != "/for" {
			t.Errorf("%s: %s", name, a.body)
		}
	}
	for _, name := range []string{"Ann B.", "Zoë 李 <a@b.example>"} {
		h.link(approval, `{"for":"`+name+`"}`)
	}
}

// Each answer about a lost call is stored as approved, which is not what somebody has said who says that it has failed.
func TestThePageNamesTheResolution(t *testing.T) {
	for resolution, title := range map[domain.Resolution]string{
		"": "This is approved", domain.ResolutionSucceeded: "The answer was: it has succeeded", domain.ResolutionFailed: "The answer was: it has failed",
		domain.ResolutionRetry: "The answer was: ask to run it again",
	} {
		p := resolvedPage(200, domain.Approval{Status: domain.ApprovalApproved, Decision: &domain.Decision{Resolution: resolution}})
		if p.Title != title || strings.Contains(p.Message, "new question") != (resolution == domain.ResolutionRetry) {
			t.Errorf("%q: %q, %q", resolution, p.Title, p.Message)
		}
	}
}

// A link ends with the key that asked for it.
func TestALinkEndsWithItsKey(t *testing.T) {
	h := newTestServer(t)
	approval, _ := h.pending(h.create("ask df"))
	key := strings.Split(h.key("", "approvals:decide"), "_")[1]
	must(t, h.store.RevokeKey(t.Context(), domain.DefaultTenant, key))
	grant := webhooks.Grant{Approval: domain.ApprovalID(approval), Tenant: domain.DefaultTenant, Expires: time.Now().Add(time.Hour), Key: key}
	h.opened(webhooks.NewLinks([]byte("key"), "").URL(grant), show).want(404)
}

func TestALinkToAQuestion(t *testing.T) {
	h := newTestServer(t)
	approval, hash := h.pending(h.create(`question {"message":"Which <host>?"}`))
	path := h.link(approval, "")
	if page := string(h.opened(path, show).want(200).body); !strings.Contains(page, "Which &lt;host&gt;?") || strings.Contains(page, `value="approve"`) {
		t.Errorf("%s", page)
	}
	if page := h.opened(path, decision("approve", hash)).want(409); !strings.Contains(string(page.body), "needs an answer") {
		t.Errorf("%s", page.body)
	}
	h.opened(path, decision("deny", hash)).want(200)
}

func TestWhatIsShownIsSeen(t *testing.T) {
	for in, want := range map[string]string{
		`{"b":1,"a":"x"}`:              "{\n  \"a\": \"x\",\n  \"b\": 1\n}",
		`"\u0072\u006d"`:               `"rm"`,
		`"a\u202eb\u200b\ufe0f\u3164"`: `"a⟨U+202E⟩b⟨U+200B⟩⟨U+FE0F⟩⟨U+3164⟩"`,
		`9007199254740993`:             `9007199254740993`,
		"\"a\u00a0b\"":                 `"a⟨U+00A0⟩b"`,
		"not \u0007 JSON":              "not ⟨U+0007⟩ JSON",
		`"<script>&amp;"`:              `"<script>&amp;"`,
	} {
		if got := prettyJSON([]byte(in)); got != want {
			t.Errorf("%s is shown as %s", in, got)
		}
	}
}

// TestWhatConfinesACall: nothing has ever confined the calls of an external agent, also where an approval is older than the column.
func TestWhatConfinesACall(t *testing.T) {
	agents := domain.Approval{Kind: domain.ApprovalAgentPermission}
	if got := toIsolation(agents); got == nil || got.Name != "none" || !strings.Contains(describeIsolation(agents, got.Name), "runs it itself") {
		t.Errorf("of an agent: %+v", got)
	}
	if got := toIsolation(domain.Approval{Kind: domain.ApprovalToolCall}); got != nil {
		t.Errorf("of an older release: %+v", got)
	}
	if got := describeIsolation(domain.Approval{}, "bubblewrap"); got != "bubblewrap" {
		t.Errorf("in a sandbox: %q", got)
	}
}

// What runs on the host says so before anything else, and a credential is named before the decision.
func TestTheEnvironmentOnThePageOfALink(t *testing.T) {
	on := func(risk domain.View, asServer bool, lends ...string) *domain.ApprovalEnvironment {
		return &domain.ApprovalEnvironment{EnvironmentStamp: domain.EnvironmentStamp{Name: "<ops>"}, Risk: risk, User: "operator", AsServer: asServer, Lends: lends}
	}
	for name, test := range map[string]struct {
		environment *domain.ApprovalEnvironment
		reason      string
		begins      string // the page
		has         []string
		hasNot      string
		left        string // of the reason
	}{
		"none":      {nil, "Because.", "<h1>T</h1>", nil, "chip", "Because."},
		"workspace": {on(domain.ViewWorkspace, false), "Because.", "<h1>T</h1>", []string{`class="chip workspace"`, "&lt;ops&gt; · workspace only"}, "LENDS", "Because."},
		"machine": {on(domain.ViewMachine, false, "KUBECONFIG", "PGPASSFILE"), "Because.", "<h1>T</h1>",
			[]string{`class="chip machine"`, "sees the machine", "LENDS: KUBECONFIG, PGPASSFILE"}, "own calls", "Because."},
		"host": {on(domain.ViewHost, false), "runs on db-3, as operator, without isolation\nBecause.",
			`<p class="host"><strong>Runs on db-3, as operator, without isolation</strong></p>`, []string{`class="chip host"`, "host, no isolation"}, "own calls", "Because."},
		"host, as the server": {on(domain.ViewHost, true), "Because.",
			`<p class="host"><strong>Runs on the host, as operator, without isolation, can approve its own calls</strong></p>`, nil, "LENDS", "Because."},
	} {
		p := page{Title: "T"}
		left := p.setEnvironment(domain.Approval{Environment: test.environment, Reason: test.reason})
		_, body, _ := strings.Cut(string(p.render()), "<main>\n")
		if left != test.left || !strings.HasPrefix(strings.TrimSpace(body), test.begins) || strings.Contains(body, test.hasNot) {
			t.Errorf("%s: the reason %q, %s", name, left, body)
		}
		for _, part := range test.has {
			if !strings.Contains(body, part) {
				t.Errorf("%s lacks %s: %s", name, part, body)
			}
		}
	}
	host := domain.Approval{Kind: domain.ApprovalToolCall, Environment: on(domain.ViewHost, false)}
	if got := describeIsolation(host, domain.IsolationNone); got != "None: its environment has no isolation." {
		t.Error(got)
	}
}
