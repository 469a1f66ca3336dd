package http

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"signoff/internal/domain"
)

// actions are what the entries of a page tell of, in their order.
func (a answer) actions() (actions []string) {
	a.Helper()
	for i := range a.count("items") {
		actions = append(actions, a.text("items", fmt.Sprint(i), "action"))
	}
	return actions
}

// TestTheAuditTellsWhoDecided follows one call from its creation to its end.
func TestTheAuditTellsWhoDecided(t *testing.T) {
	h := newTestServer(t)
	id := h.create("ask df")
	approval, hash := h.pending(id)
	h.decide(approval, hash, `"decision":"approve","remember":"execution","reason":"Go on, `+canary+`."`).want(200)
	h.ended(id)
	a := h.ask("GET", "/audit", "").want(200)
	for _, action := range []string{"approval.decided", "rule.created", "toolCall.execute"} {
		at := slices.Index(a.actions(), action)
		if at < 0 {
			t.Fatalf("no %s in %v", action, a.actions())
		}
		item := fmt.Sprint(at)
		if a.text("items", item, "executionId") != id || (at > 0 && a.text("items", item, "previous") != a.text("items", fmt.Sprint(at-1), "hash")) {
			t.Errorf("%s: %s", action, a.body)
		}
	}
	decided := fmt.Sprint(slices.Index(a.actions(), "approval.decided"))
	if a.text("items", decided, "record", "actor", "name") != "ann" || a.text("items", decided, "record", "channel") != "api" ||
		a.text("items", decided, "record", "reason") != "Go on, [masked]." || a.text("items", decided, "record", "argumentsHash") != hash {
		t.Errorf("%s", a.body)
	}
	last := fmt.Sprint(a.count("items") - 1)
	if a.get("head", "seq") != a.get("items", last, "seq") || a.get("head", "hash") != a.get("items", last, "hash") || a.get("nextCursor") != nil ||
		a.text("items", "0", "previous") != "" || a.get("items", "0", "seq") != 1.0 {
		t.Errorf("%s", a.body)
	}
	if strings.Contains(string(a.body), canary) {
		t.Errorf("%s", a.body)
	}
}

func TestTheAuditOutlivesItsExecution(t *testing.T) {
	h := newTestServer(t)
	id := h.create("ask df")
	approval, hash := h.pending(id)
	h.decide(approval, hash, `"decision":"deny"`).want(200)
	h.ended(id)
	before := h.ask("GET", "/audit?executionId="+id, "").want(200)
	h.ask("DELETE", "/executions/"+id, "").want(202)
	h.ask("GET", "/approvals/"+approval, "").problem(404, domain.CodeNotFound)
	after := h.ask("GET", "/audit?executionId="+id, "").want(200)
	told := after.actions()
	if before.count("items") == 0 || !slices.Equal(told[:before.count("items")], before.actions()) || told[len(told)-1] != "execution.deleted" {
		t.Errorf("%v, then %v", before.actions(), told)
	}
}

func TestTheAuditIsReadPageByPage(t *testing.T) {
	h := newTestServer(t)
	for i := range 205 { // more than a page of any size has
		must(t, h.store.AppendAudit(t.Context(), domain.DefaultTenant, domain.AuditRecord{
			Action: fmt.Sprintf("test.%d", i%2), Channel: "cli", Subject: fmt.Sprint(i),
		}))
	}
	for query, want := range map[string]struct {
		count       int
		first, next any
	}{
		"":                                {50, 1.0, "50"},
		"limit=200":                       {200, 1.0, "200"},
		"limit=200&after=200":             {5, 201.0, nil},
		"limit=5&after=200":               {5, 201.0, nil},
		"limit=4&after=200":               {4, 201.0, "204"},
		"after=205":                       {0, nil, nil},
		"after=999999999999999999":        {0, nil, nil},
		"action=test.1&limit=2":           {2, 2.0, "4"},
		"action=test.1&limit=2&after=203": {1, 204.0, nil},
		"action=none":                     {0, nil, nil},
		"executionId=" + someID:           {0, nil, nil},
	} {
		a := h.ask("GET", "/audit?"+query, "").want(200)
		if a.count("items") != want.count || a.get("nextCursor") != want.next || a.get("head", "seq") != 205.0 {
			t.Errorf("%q: %d items, next %v, head %v", query, a.count("items"), a.get("nextCursor"), a.get("head", "seq"))
		}
		if want.first != nil && a.get("items", "0", "seq") != want.first {
			t.Errorf("%q begins with %v", query, a.get("items", "0", "seq"))
		}
	}
	if a := h.ask("GET", "/audit", "", "Authorization", "Bearer "+h.key("acme", everyScope()...)).want(200); a.count("items") != 0 ||
		a.get("head", "seq") != 0.0 || a.text("head", "hash") != "" {
		t.Errorf("%s", a.body)
	}
}
