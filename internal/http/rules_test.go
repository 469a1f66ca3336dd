package http

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"signoff/internal/domain"
)

// rule writes a rule and returns its id.
func (h *testServer) rule(body string) string {
	h.Helper()
	return h.ask("POST", "/permission-rules", body).want(201).text("id")
}

// rules lists the ids of rules, the newest first.
func (h *testServer) rules(query string) (ids []string) {
	h.Helper()
	a := h.ask("GET", "/permission-rules?"+query, "").want(200)
	for i := range a.count("items") {
		ids = append(ids, a.text("items", fmt.Sprint(i), "id"))
	}
	return ids
}

func TestARuleIsWrittenReadAndRevoked(t *testing.T) {
	h := newTestServer(t)
	made := h.ask("POST", "/permission-rules", `{"scope":"global","effect":"allow","matcher":{"tool":"bash","command":"git log *"},
		"expiresAt":"2999-01-02T03:04:05+01:00"}`).want(201)
	id := made.text("id")
	if made.header.Get("Location") != "/permission-rules/"+id || made.text("effect") != "allow" || made.text("matcher", "command") != "git log *" ||
		made.get("executionId") != nil || made.get("approvalId") != nil || made.get("revokedAt") != nil || made.get("hits") != 0.0 ||
		made.text("expiresAt") != "2999-01-02T02:04:05.000000Z" || made.text("createdBy", "name") != "ann" ||
		!strings.Contains(made.text("description"), "“git log”") {
		t.Errorf("%v %s", made.header, made.body)
	}
	read := h.ask("GET", made.header.Get("Location"), "").want(200)
	if string(read.body) != string(made.body) {
		t.Errorf("made %s\nread %s", made.body, read.body)
	}
	revoked := h.ask("DELETE", "/permission-rules/"+id, "").want(200)
	again := h.ask("DELETE", "/permission-rules/"+id, "").want(200)
	if revoked.text("revokedAt") == "" || string(again.body) != string(revoked.body) {
		t.Errorf("first %s\nagain %s", revoked.body, again.body)
	}
	if a := h.ask("GET", "/permission-rules/"+id, "").want(200); a.text("revokedAt") != revoked.text("revokedAt") {
		t.Errorf("%s", a.body)
	}
	h.ask("DELETE", "/permission-rules/"+someID, "").problem(404, domain.CodeNotFound)
}

func TestARuleIsWrittenOnceUnderOneKey(t *testing.T) {
	h := newTestServer(t)
	const body = `{"scope":"global","effect":"deny","matcher":{"tool":"bash","agent":"internal"},"expiresAt":"2999-01-02T03:04:05Z"}`
	first := h.ask("POST", "/permission-rules", body, "Idempotency-Key", "k").want(201)
	again := h.ask("POST", "/permission-rules", body, "Idempotency-Key", "k").want(201)
	if string(again.body) != string(first.body) || again.header.Get("Idempotency-Replayed") != "true" || first.header.Get("Idempotency-Replayed") != "" {
		t.Errorf("%v\n%s\n%s", again.header, first.body, again.body)
	}
	other := strings.Replace(body, "deny", "ask", 1)
	h.ask("POST", "/permission-rules", other, "Idempotency-Key", "k").problem(409, domain.CodeIdempotencyMismatch)
	if ids := h.rules(""); len(ids) != 1 {
		t.Errorf("%v", ids)
	}
	if foreign := h.ask("POST", "/permission-rules", body, "Idempotency-Key", "k", "Authorization", "Bearer "+h.key("other", everyScope()...)).want(201); foreign.text("id") == first.text("id") {
		t.Error("another tenant's key is the same")
	}
}

func TestRulesAreListed(t *testing.T) {
	h := newTestServer(t)
	first, second := h.create("hang"), h.create("hang")
	var all []string
	for _, body := range []string{
		`{"scope":"global","effect":"deny","matcher":{"path":"/srv/**"}}`,
		`{"scope":"execution","executionId":"` + first + `","effect":"ask","matcher":{"class":"network"}}`,
		`{"scope":"execution","executionId":"` + second + `","effect":"allow","matcher":{"host":"*.example"}}`,
		`{"scope":"global","effect":"allow","matcher":{"mcpServer":"files"}}`,
	} {
		all = append(all, h.rule(body))
		time.Sleep(time.Millisecond)
	}
	slices.Reverse(all)
	h.ask("DELETE", "/permission-rules/"+all[0], "").want(200)
	for query, want := range map[string][]string{
		"":                                       all[1:],
		"ended=false":                            all[1:],
		"ended=true":                             all,
		"scope=global":                           {all[3]},
		"scope=global&ended=true":                {all[0], all[3]},
		"scope=execution":                        {all[1], all[2]},
		"executionId=" + first:                   {all[2]},
		"scope=global&executionId=" + first:      nil,
		"executionId=" + someID:                  nil,
		"executionId=" + url.QueryEscape("' --"): nil,
	} {
		if got := h.rules(query); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", query, got, want)
		}
	}
	page := h.ask("GET", "/permission-rules?limit=3&ended=true", "").want(200)
	rest := h.ask("GET", "/permission-rules?limit=3&ended=true&cursor="+page.text("nextCursor"), "").want(200)
	if page.count("items") != 3 || rest.count("items") != 1 || rest.text("items", "0", "id") != all[3] || rest.get("nextCursor") != nil {
		t.Errorf("%s\n%s", page.body, rest.body)
	}
}

func TestBadRules(t *testing.T) {
	h := newTestServer(t)
	id := h.create("hang")
	const rest = `"effect":"allow","matcher":{"tool":"bash"}`
	for _, row := range []badInput{
		{"without its execution", `{"scope":"execution",` + rest + `}`, 422, domain.CodeInvalid, "/executionId"},
		{"global with an execution", `{"scope":"global","executionId":"` + id + `",` + rest + `}`, 422, domain.CodeInvalid, "/executionId"},
		{"of an unknown execution", `{"scope":"execution","executionId":"` + someID + `",` + rest + `}`, 404, domain.CodeNotFound, ""},
		{"of no execution at all", `{"scope":"execution","executionId":"' or 1=1 --",` + rest + `}`, 404, domain.CodeNotFound, ""},
		{"relative path", `{"scope":"global","effect":"allow","matcher":{"path":"a"}}`, 422, domain.CodeInvalid, "/matcher/path"},
		{"quotes in a command", `{"scope":"global","effect":"allow","matcher":{"command":"echo 'a'"}}`, 422, domain.CodeInvalid, "/matcher/command"},
		{"a secret", `{"scope":"global","effect":"deny","matcher":{"command":"echo ` + canary + `"}}`, 422, domain.CodeInvalid, "/matcher"},
		{"in the past", `{"scope":"global","expiresAt":"2020-01-01T00:00:00Z",` + rest + `}`, 422, domain.CodeInvalid, "/expiresAt"},
	} {
		a := h.ask("POST", "/permission-rules", row.body)
		h.wrong(row, a)
		if strings.Contains(string(a.body), canary) {
			t.Errorf("%s: %s", row.name, a.body)
		}
	}
	if got := h.rules("ended=true"); len(got) != 0 {
		t.Errorf("%v were made", got)
	}
}

// decide answers an approval as somebody who has read it.
func (h *testServer) decide(approval, hash, fields string, extra ...string) answer {
	h.Helper()
	return h.ask("POST", "/approvals/"+approval, `{"argumentsHash":"`+hash+`",`+fields+`}`, extra...)
}

func TestADecisionIsRemembered(t *testing.T) {
	h := newTestServer(t)
	for _, row := range []struct {
		fields, scope, preview, matcher, effect string
		lasts                                   time.Duration // 0: as long as its scope
	}{
		{`"decision":"approve","remember":"execution"`, "execution", "exact", "argumentsHash", "allow", 0},
		{`"decision":"approve","remember":{"scope":"execution"}`, "execution", "exact", "argumentsHash", "allow", 0},
		{`"decision":"approve","remember":{"scope":"execution","previewId":"command","expiresInSeconds":60}`, "execution", "command", "command", "allow", time.Minute},
		{`"decision":"approve","remember":"global"`, "global", "exact", "argumentsHash", "allow", 30 * 24 * time.Hour},
		{`"decision":"deny","remember":{"scope":"global","previewId":"command","expiresInSeconds":31536000}`, "global", "command", "command", "deny", 365 * 24 * time.Hour},
		{`"decision":"deny","remember":"execution"`, "execution", "exact", "argumentsHash", "deny", 0},
	} {
		id := h.create("ask df -h")
		approval, hash := h.pending(id)
		decided := h.decide(approval, hash, row.fields).want(200)
		rule := h.ask("GET", "/permission-rules/"+decided.text("decision", "ruleId"), "").want(200)
		if decided.text("decision", "remember") != row.scope || decided.text("decision", "previewId") != row.preview ||
			rule.text("scope") != row.scope || rule.text("effect") != row.effect || rule.get("matcher", row.matcher) == nil ||
			rule.text("approvalId") != approval || (rule.get("executionId") != nil) != (row.scope == "execution") {
			t.Errorf("%s:\n%s\n%s", row.fields, decided.body, rule.body)
		}
		if got := lasts(t, rule); got.Round(10*time.Second) != row.lasts {
			t.Errorf("%s: holds for %v", row.fields, got)
		}
		h.decide(approval, hash, row.fields).want(200) // lost on its way back, and sent again
		h.ended(id)
		h.ask("DELETE", "/permission-rules/"+rule.text("id"), "").want(200)
	}
}

func lasts(t *testing.T, rule answer) time.Duration {
	t.Helper()
	if rule.get("expiresAt") == nil {
		return 0
	}
	expires, err := time.Parse(time.RFC3339, rule.text("expiresAt"))
	must(t, err)
	created, err := time.Parse(time.RFC3339, rule.text("createdAt"))
	must(t, err)
	return expires.Sub(created)
}

func TestARuleForAllNeedsItsScope(t *testing.T) {
	h := newTestServer(t)
	approval, hash := h.pending(h.create("ask df"))
	decider := h.key("", "approvals:decide")
	for _, remember := range []string{`"global"`, `{"scope":"global","previewId":"command"}`} {
		for _, decision := range []string{"approve", "deny"} {
			h.decide(approval, hash, `"decision":"`+decision+`","remember":`+remember, "Authorization", "Bearer "+decider).problem(403, domain.CodeForbidden)
		}
	}
	if a := h.ask("GET", "/approvals/"+approval, "").want(200); a.text("status") != "pending" || len(h.rules("ended=true")) != 0 {
		t.Errorf("something was decided: %s", a.body)
	}
	h.decide(approval, hash, `"decision":"approve","remember":"execution"`, "Authorization", "Bearer "+decider).want(200)
}

// TestARuleForAllAnswersTheOthers: nobody is asked once more what was answered for all.
func TestARuleForAllAnswersTheOthers(t *testing.T) {
	h := newTestServer(t)
	first, second, third := h.create("ask df -h"), h.create("ask df -i"), h.create("ask uptime")
	approval, hash := h.pending(first)
	sibling, _ := h.pending(second)
	h.pending(third)
	rule := h.decide(approval, hash, `"decision":"approve","remember":{"scope":"global","previewId":"command"}`).want(200).text("decision", "ruleId")
	h.ended(first)
	h.ended(second)
	if a := h.ask("GET", "/approvals/"+sibling, "").want(200); a.text("status") != "approved" || a.text("decision", "ruleId") != rule {
		t.Errorf("%s", a.body)
	}
	if a := h.ask("GET", "/executions/"+third, "").want(200); a.text("status") != "pendingToolApproval" {
		t.Errorf("%s", a.body)
	}
	h.ended(h.create("ask df /"))
	if a := h.ask("GET", "/permission-rules/"+rule, "").want(200); a.get("hits").(float64) < 2 || a.get("lastHitAt") == nil {
		t.Errorf("%s", a.body)
	}
	h.ask("DELETE", "/permission-rules/"+rule, "").want(200)
	h.pending(h.create("ask df /"))
}

func TestARuleOfAnOperatorAnswersWhatWaits(t *testing.T) {
	h := newTestServer(t)
	id := h.create("ask df")
	approval, _ := h.pending(id)
	rule := h.rule(`{"scope":"execution","executionId":"` + id + `","effect":"deny","matcher":{"command":"df"}}`)
	h.ended(id)
	if a := h.ask("GET", "/approvals/"+approval, "").want(200); a.text("status") != "denied" || a.text("decision", "ruleId") != rule {
		t.Errorf("%s", a.body)
	}
}

// ——— the dry run ———

const dryRun = `"tool":"bash","arguments":{"command":"rm -r build"}`

func TestADryRunExplains(t *testing.T) {
	h := newTestServer(t)
	const bashPolicy = `"tools":{"bashPolicy":{"defaultBehavior":"allow","denyBehavior":"%s","rules":[{"name":"deny-destructive","pattern":"^rm\\b","action":"deny"}]}}`
	for _, row := range []struct {
		name, fields, decision, by string
		step                       float64
	}{
		{"by default", ``, "ask", "capability", 8},
		{"allowed", `,"capabilities":{"executeCommands":true,"writeFiles":true}`, "allow", "capability", 7},
		{"allowed to run, but not to write", `,"capabilities":{"executeCommands":true}`, "ask", "capability", 8},
		{"denied", `,"capabilities":{"execute":"deny"}`, "deny", "capability", 1},
		{"not among the tools", `,"tools":{"enabled":["think"]}`, "deny", "tools", 1},
		{"blocked", `,` + fmt.Sprintf(bashPolicy, "block"), "deny", "bashPolicy", 1},
		{"a person is asked", `,` + fmt.Sprintf(bashPolicy, "hitl"), "ask", "bashPolicy", 6},
		{"trusted", `,"safeMode":false`, "allow", "safeModeOff", 5},
		{"a rule of the request allows", `,"policy":{"rules":[{"effect":"allow","matcher":{"tool":"bash"}}]}`, "allow", "rule", 4},
		{"a rule of the request asks", `,"safeMode":false,"policy":{"rules":[{"effect":"ask","matcher":{"tool":"bash"}}]}`, "ask", "rule", 3},
		{"nobody is there", `,"policy":{"unattended":true}`, "deny", "unattended", 9},
	} {
		a := h.ask("POST", "/policy/evaluate", `{`+dryRun+row.fields+`}`).want(200)
		if a.text("decision") != row.decision || a.text("decidedBy") != row.by || a.get("step") != row.step || a.text("reason") == "" ||
			a.text("summary") != "Run rm -r build" || a.text("class") != "execute" || a.text("rememberOptions", "0", "previewId") != "exact" {
			t.Errorf("%s: %s", row.name, a.body)
		}
		last := fmt.Sprint(a.count("trace") - 1)
		if a.get("trace", last, "step") != row.step || a.get("trace", last, "applied") != true {
			t.Errorf("%s: the trace does not end with what decided: %s", row.name, a.body)
		}
	}
	blocked := h.ask("POST", "/policy/evaluate", `{`+dryRun+`,`+fmt.Sprintf(bashPolicy, "block")+`}`).want(200)
	if blocked.text("rule") != "deny-destructive" || blocked.get("ruleId") != nil {
		t.Errorf("%s", blocked.body)
	}
	if disaster := h.ask("POST", "/policy/evaluate", `{"tool":"bash","arguments":{"command":"rm -rf /"},"safeMode":false}`).want(200); disaster.text("decidedBy") != "catastrophic" || disaster.get("step") != 2.0 {
		t.Errorf("%s", disaster.body)
	}
}

// TestADryRunOfAnExecution judges with its settings and with the rules that hold for it, and leaves no trace.
func TestADryRunOfAnExecution(t *testing.T) {
	h := newTestServer(t)
	id := h.ask("POST", "/executions", `{"source":{"type":"internal"},"prompt":"hang","capabilities":{"execute":"deny"}}`).want(201).text("id")
	if a := h.ask("POST", "/policy/evaluate", `{`+dryRun+`,"executionId":"`+id+`"}`).want(200); a.text("decision") != "deny" || a.get("step") != 1.0 {
		t.Errorf("%s", a.body)
	}
	other := h.create("hang")
	rule := h.rule(`{"scope":"execution","executionId":"` + other + `","effect":"allow","matcher":{"tool":"bash"}}`)
	if a := h.ask("POST", "/policy/evaluate", `{`+dryRun+`,"executionId":"`+other+`"}`).want(200); a.text("decidedBy") != "rule" || a.text("ruleId") != rule {
		t.Errorf("%s", a.body)
	}
	if a := h.ask("POST", "/policy/evaluate", `{`+dryRun+`}`).want(200); a.text("decision") != "ask" {
		t.Errorf("the rule of one execution counts for all: %s", a.body)
	}
	if a := h.ask("GET", "/permission-rules/"+rule, "").want(200); a.get("hits") != 0.0 {
		t.Errorf("a dry run counts as a hit: %s", a.body)
	}
	if a := h.ask("GET", "/audit?executionId="+other, "").want(200); strings.Contains(string(a.body), "rm -r build") {
		t.Errorf("a dry run is in the audit: %s", a.body)
	}
}

func TestBadDryRuns(t *testing.T) {
	h := newTestServer(t)
	id := h.create("hang")
	for _, row := range []badInput{
		{"arguments that the tool refuses", `{"tool":"bash","arguments":{}}`, 422, domain.CodeInvalid, "/arguments"},
		{"arguments beyond numbers", `{"tool":"bash","arguments":{"command":"df","n":1e400}}`, 422, domain.CodeInvalid, "/arguments"},
		{"a secret in the arguments", `{"tool":"bash","arguments":{"command":"echo ` + canary + `"}}`, 422, domain.CodeInvalid, "/arguments"},
		{"outside of the workspace", `{` + dryRun + `,"workingDirectory":"../.."}`, 422, domain.CodeInvalid, "/workingDirectory"},
		{"an unknown execution", `{` + dryRun + `,"executionId":"` + someID + `"}`, 404, domain.CodeNotFound, ""},
		{"no execution at all", `{` + dryRun + `,"executionId":"x"}`, 404, domain.CodeNotFound, ""},
		{"capabilities beside an execution", `{` + dryRun + `,"executionId":"` + id + `","capabilities":{}}`, 422, domain.CodeInvalid, "/capabilities"},
		{"tools beside an execution", `{` + dryRun + `,"executionId":"` + id + `","tools":{}}`, 422, domain.CodeInvalid, "/tools"},
		{"a policy beside an execution", `{` + dryRun + `,"executionId":"` + id + `","policy":{}}`, 422, domain.CodeInvalid, "/policy"},
		{"safe mode beside an execution", `{` + dryRun + `,"executionId":"` + id + `","safeMode":true}`, 422, domain.CodeInvalid, "/safeMode"},
		{"secrets beside an execution", `{` + dryRun + `,"executionId":"` + id + `","secrets":[]}`, 422, domain.CodeInvalid, "/secrets"},
		{"a folder beside an execution", `{` + dryRun + `,"executionId":"` + id + `","workingDirectory":"a"}`, 422, domain.CodeInvalid, "/workingDirectory"},
	} {
		a := h.ask("POST", "/policy/evaluate", row.body)
		h.wrong(row, a)
		if strings.Contains(string(a.body), canary) {
			t.Errorf("%s: %s", row.name, a.body)
		}
	}
}

// TestARuleSaysWhatElseItCovers: who allows npm test allows all that npm makes of further arguments, too.
func TestARuleSaysWhatElseItCovers(t *testing.T) {
	h := newTestServer(t)
	warned := func(command, effect string) int {
		a := h.ask("POST", "/permission-rules", `{"scope":"global","effect":"`+effect+`","matcher":{"command":"`+command+`"}}`).want(201)
		if read := h.ask("GET", a.header.Get("Location"), "").want(200); string(read.body) != string(a.body) {
			t.Errorf("made %s\nread %s", a.body, read.body)
		}
		n := a.count("warnings")
		if n > 0 && !strings.Contains(a.text("warnings", "0"), "“npm test” as well, also those that make it run or write something else, such as --script-shell") {
			t.Errorf("%s", a.body)
		}
		return n
	}
	for command, want := range map[string]int{"npm test *": 1, "npm test": 0, "git log *": 0, "ls *": 0} {
		if got := warned(command, "allow"); got != want {
			t.Errorf("%s: %d warnings", command, got)
		}
	}
	if got := warned("npm test *", "deny"); got != 0 {
		t.Errorf("a rule that denies has %d warnings", got)
	}
	for matcher, want := range map[string]int{
		`{"path":"/srv/*/key"}`: 1, `{"path":"/srv/**"}`: 0, `{"path":"/srv/key"}`: 0, `{"path":"/srv/*","class":"write"}`: 1, `{"path":"/srv/*","tool":"write"}`: 0,
		`{"path":"/srv/*","class":"mcp"}`: 0, `{"path":"/srv/*","command":"ls"}`: 0,
	} {
		for effect, want := range map[string]int{"deny": want, "ask": 0, "allow": 0} {
			if got := h.ask("POST", "/permission-rules", `{"scope":"global","effect":"`+effect+`","matcher":`+matcher+`}`).want(201); got.count("warnings") != want {
				t.Errorf("%s %s: %s", effect, matcher, got.body)
			}
		}
	}

	const settings = `"tools":{"bashPolicy":{"defaultBehavior":"deny","rules":[{"name":"look","pattern":"^ls\\b","action":"allow"},{"name":"test","pattern":"^npm test\\b","action":"allow"}]}},
		"policy":{"rules":[{"effect":"allow","matcher":{"command":"make *"}}]}`
	evaluated := h.ask("POST", "/policy/evaluate", `{"tool":"bash","arguments":{"command":"ls"},`+settings+`}`).want(200)
	created := h.ask("POST", "/executions", "{"+valid+","+settings+"}").want(201)
	for at, answered := range map[string]answer{"warnings": evaluated, "policyWarnings": created} {
		if answered.count(at) != 2 || answered.text(at, "0", "pointer") != "/policy/rules/0" || answered.text(at, "1", "pointer") != "/tools/bashPolicy/rules/1" ||
			!strings.Contains(answered.text(at, "1", "message"), "--script-shell") {
			t.Errorf("%s", answered.body)
		}
	}
	if quiet := h.ask("POST", "/policy/evaluate", `{"tool":"bash","arguments":{"command":"npm test"}}`).want(200); quiet.count("warnings") != 0 {
		t.Errorf("%s", quiet.body)
	}
}
