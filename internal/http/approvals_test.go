package http

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"signoff/internal/domain"
)

func TestOneOf32RacingDecidersWins(t *testing.T) {
	h := newTestServer(t)
	id := h.create("ask df")
	approval, hash := h.pending(id)
	won, lost := 0, 0
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			a := h.ask("POST", "/approvals/"+approval, fmt.Sprintf(
				`{"decision":"approve","argumentsHash":"%s","arguments":{"command":"df %d"}}`, hash, i))
			mu.Lock()
			defer mu.Unlock()
			switch a.status {
			case 200:
				won++
			case 409:
				lost++
				if a.problem(409, domain.CodeAlreadyDecided).text("approval", "decision", "decidedBy", "name") != "ann" {
					t.Errorf("%s", a.body)
				}
			default:
				t.Errorf("%d %s", a.status, a.body)
			}
		})
	}
	all.Wait()
	if won != 1 || lost != 31 {
		t.Errorf("%d won, %d lost", won, lost)
	}
	h.ended(id)
	winner := h.ask("GET", "/approvals/"+approval, "").want(200)
	arguments, err := json.Marshal(winner.get("decision", "arguments"))
	must(t, err)
	again := fmt.Sprintf(`{"decision":"approve","argumentsHash":"%s","arguments":%s}`, hash, arguments)
	h.ask("POST", "/approvals/"+approval, again).want(200)
	h.ask("POST", "/approvals/"+approval, `{"decision":"deny"}`).problem(409, domain.CodeAlreadyDecided)
}

func TestWhatWasNotSeenIsNotApproved(t *testing.T) {
	h := newTestServer(t)
	id := h.create("ask df")
	approval, hash := h.pending(id)
	careful := h.key("", "approvals:decide")
	a := h.ask("POST", "/approvals/"+approval, `{"decision":"approve"}`, "Authorization", "Bearer "+careful).
		problem(428, domain.CodeHashRequired)
	if a.text("approval", "argumentsHash") != hash {
		t.Errorf("%s", a.body)
	}
	a = h.ask("POST", "/approvals/"+approval, `{"decision":"approve","argumentsHash":"00"}`).problem(409, domain.CodeArgumentsHash)
	if a.text("approval", "status") != "pending" {
		t.Errorf("%s", a.body)
	}
	h.ask("POST", "/approvals/"+approval, `{"decision":"approve"}`).want(200) // the key may decide unseen
	h.ended(id)
}

func TestDenyEditAndRemember(t *testing.T) {
	h := newTestServer(t)
	id := h.create("ask df")
	approval, hash := h.pending(id)
	path := "/approvals/" + approval
	h.ask("POST", path, `{"decision":"deny","arguments":{"command":"ls"}}`).problem(422, domain.CodeInvalid)
	a := h.ask("POST", path, `{"decision":"approve","argumentsHash":"`+hash+`","arguments":{"cmd":"ls"}}`).problem(422, domain.CodeInvalid)
	if a.text("errors", "0", "pointer") != "/arguments" {
		t.Errorf("%s", a.body)
	}
	a = h.ask("POST", path, `{"decision":"deny","reason":"Not on a Friday.","remember":{"scope":"once"}}`).want(200)
	if a.get("decision", "ruleId") != nil {
		t.Errorf("a rule for once: %s", a.body)
	}
	if a.text("status") != "denied" || a.text("decision", "reason") != "Not on a Friday." || a.text("decision", "remember") != "once" {
		t.Errorf("%s", a.body)
	}
	h.ended(id)

	id = h.create("ask df")
	approval, hash = h.pending(id)
	a = h.ask("POST", "/approvals/"+approval, `{"decision":"approve","argumentsHash":"`+hash+`","arguments":{"command":"df /"},"remember":"execution"}`).want(200)
	if a.text("decision", "arguments", "command") != "df /" || a.text("decision", "argumentsHash") == hash || a.text("decision", "remember") != "execution" {
		t.Errorf("%s", a.body)
	}
	h.ended(id)
}

// TestOnlyALostCallIsResolved: how one is, see internal/approvals.
func TestOnlyALostCallIsResolved(t *testing.T) {
	h := newTestServer(t)
	approval, hash := h.pending(h.create("ask df"))
	for body, pointer := range map[string]string{
		`{"decision":"approve","resolution":"retry","argumentsHash":"` + hash + `"}`: "/resolution",
		`{"resolution":"succeeded","argumentsHash":"` + hash + `"}`:                  "/resolution",
		`{"decision":"approve","resolution":"maybe"}`:                                "/resolution",
		`{"argumentsHash":"` + hash + `"}`:                                           "/decision",
	} {
		a := h.ask("POST", "/approvals/"+approval, body).problem(422, domain.CodeInvalid)
		if a.text("errors", "0", "pointer") != pointer {
			t.Errorf("%s: %s", body, a.body)
		}
	}
	a := h.ask("POST", "/approvals/"+approval, `{"decision":"deny"}`).want(200)
	if a.get("decision", "resolution") != nil {
		t.Errorf("%s", a.body)
	}
}

func TestTooLateIs410(t *testing.T) {
	h := newTestServer(t)
	body := `{"source":{"type":"internal"},"prompt":"ask df","approvalTimeoutSeconds":1}`
	id := h.ask("POST", "/executions", body).want(201).text("id")
	approval, hash := h.pending(id)
	h.ended(id)
	a := h.ask("POST", "/approvals/"+approval, `{"decision":"approve","argumentsHash":"`+hash+`"}`).problem(410, domain.CodeApprovalExpired)
	if a.text("approval", "status") != "expired" || a.get("approval", "decision") != nil {
		t.Errorf("%s", a.body)
	}

	id = h.create("ask df")
	approval, hash = h.pending(id)
	h.ask("POST", "/executions/"+id+"/cancel", "", "Prefer", "wait=30").want(200)
	h.ask("POST", "/approvals/"+approval, `{"decision":"approve","argumentsHash":"`+hash+`"}`).problem(410, domain.CodeApprovalCancelled)
}

func TestTheInboxIsReadPageByPage(t *testing.T) {
	h := newTestServer(t)
	for range 3 {
		h.pending(h.create("ask df"))
		time.Sleep(time.Millisecond)
	}
	first := h.ask("GET", "/approvals?limit=2", "").want(200)
	second := h.ask("GET", "/approvals?limit=2&cursor="+first.text("nextCursor"), "").want(200)
	if first.count("items") != 2 || second.count("items") != 1 || second.get("nextCursor") != nil {
		t.Errorf("%s\n%s", first.body, second.body)
	}
}

const offered = `[{"optionId":"once","name":"Allow once","kind":"allow_once","_meta":{"colour":"green"}},` +
	`{"optionId":"ever","name":"Always","kind":"allow_always"},{"optionId":"no","name":"Reject","kind":"reject_once"}]`

func TestTheOptionsOfAnAgent(t *testing.T) {
	h := newTestServer(t)
	id := h.create("permit " + offered)
	approval, hash := h.pending(id)
	path := "/approvals/" + approval
	shown := h.ask("GET", path, "").want(200)
	if shown.text("kind") != "agentPermission" || shown.count("options") != 3 || shown.get("question") != nil ||
		shown.text("options", "0", "_meta", "colour") != "green" || !strings.Contains(shown.text("optionsNote"), "remembered by the agent, not by Signoff") {
		t.Errorf("%s", shown.body)
	}
	if listed := h.ask("GET", "/executions/"+id, "").want(200); listed.text("pendingApprovals", "0", "kind") != "agentPermission" {
		t.Errorf("%s", listed.body)
	}
	for name, row := range map[string]struct{ fields, pointer string }{
		"not offered":          {`"decision":"approve","optionId":"yes"`, "/optionId"},
		"against the decision": {`"decision":"approve","optionId":"no"`, "/optionId"},
		"an answer":            {`"decision":"approve","answer":{"a":1}`, "/answer"},
		"edited arguments":     {`"decision":"approve","arguments":{"command":"ls"}`, "/arguments"},
	} {
		a := h.ask("POST", path, `{"argumentsHash":"`+hash+`",`+row.fields+`}`).problem(422, domain.CodeInvalid)
		if a.text("errors", "0", "pointer") != row.pointer {
			t.Errorf("%s: %s", name, a.body)
		}
	}
	decided := h.ask("POST", path, `{"decision":"approve","argumentsHash":"`+hash+`","optionId":"ever"}`).want(200)
	if decided.text("decision", "optionId") != "ever" || decided.get("decision", "answer") != nil || decided.text("decision", "remember") != "once" {
		t.Errorf("%s", decided.body)
	}
	h.ask("POST", path, `{"decision":"approve","argumentsHash":"`+hash+`","optionId":"once"}`).problem(409, domain.CodeAlreadyDecided)
	if ended := h.ended(id); ended.text("output", "text") != "approved ever" {
		t.Errorf("%s", ended.body)
	}
	for _, frame := range h.follow(id).all() {
		if frame.event == "approval.requested" && !strings.Contains(frame.data, `"options":`+offered) {
			t.Errorf("the options are not as the agent sent them: %s", frame.data)
		}
	}
}

func TestANoteOnlyWhereAnOptionIsRemembered(t *testing.T) {
	for options, noted := range map[string]bool{
		offered: true,
		`[{"optionId":"a","kind":"allow_once"},{"optionId":"never","kind":"reject_always"}]`: true,
		`[{"optionId":"a","kind":"allow_once"},{"optionId":"b","kind":"reject_once"}]`:       false,
		`[]`: false, ``: false,
	} {
		approval := domain.Approval{Kind: domain.ApprovalAgentPermission}
		if options != "" {
			approval.Options = json.RawMessage(options)
		}
		if shown := toApproval(approval); (shown.OptionsNote != nil) != noted {
			t.Errorf("%s: %v", options, shown.OptionsNote)
		}
	}
}

func TestAQuestionIsAnsweredInItsForm(t *testing.T) {
	h := newTestServer(t)
	const form = `{"message":"Which host?","schema":{"type":"object","properties":{"host":{"type":"string"}},"required":["host"]}}`
	id := h.create("question " + form)
	approval, hash := h.pending(id)
	path := "/approvals/" + approval
	shown := h.ask("GET", path, "").want(200)
	if shown.text("kind") != "question" || shown.text("question", "message") != "Which host?" || shown.get("options") != nil ||
		shown.get("optionsNote") != nil || shown.text("question", "schema", "type") != "object" {
		t.Errorf("%s", shown.body)
	}
	a := h.ask("POST", path, `{"decision":"approve","argumentsHash":"`+hash+`","answer":{"host":7}}`).problem(422, domain.CodeInvalid)
	if a.text("errors", "0", "pointer") != "/answer" && a.text("errors", "0", "pointer") != "/answer/host" {
		t.Errorf("%s", a.body)
	}
	decided := h.ask("POST", path, `{"decision":"approve","argumentsHash":"`+hash+`","answer":{"host":"db-1"}}`).want(200)
	if decided.text("decision", "answer", "host") != "db-1" || decided.get("decision", "optionId") != nil {
		t.Errorf("%s", decided.body)
	}
	if ended := h.ended(id); ended.text("output", "text") != `approved {"host":"db-1"}` {
		t.Errorf("%s", ended.body)
	}
}
