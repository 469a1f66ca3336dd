package http

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// taken is what the server asked the sessions to start.
type taken struct {
	Sessions
	request domain.Request
}

func (k *taken) Start(
	ctx context.Context, tenant domain.TenantID, by domain.Actor, request domain.Request, key *store.Idempotency,
) (domain.Execution, bool, error) {
	k.request = request
	return k.Sessions.Start(ctx, tenant, by, request, key)
}

func TestEarlierConversationsGoInFront(t *testing.T) {
	k := &taken{}
	h := newTestServer(t, func(c *Config) { k.Sessions, c.Sessions = c.Sessions, k })
	spoken := h.open("say one")
	h.ask("POST", "/executions/"+spoken+"/prompts", `{"prompt":"say two"}`).want(202)
	h.idle(spoken, 2)
	h.ask("POST", "/executions/"+spoken+"/close", "", "Prefer", "wait=30").want(200)
	asked := h.ask("POST", "/executions", `{"source":{"type":"internal"},"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"hello"},{"role":"user","content":"ask df"}]}`).want(201).text("id")
	approval, hash := h.pending(asked)
	h.ask("POST", "/approvals/"+approval, `{"decision":"approve","argumentsHash":"`+hash+`"}`).want(200)
	h.ended(asked)

	written := h.generated()
	h.ask("POST", "/executions/"+written+"/close", "", "Prefer", "wait=30").want(200)

	a := h.ask("POST", "/executions", fmt.Sprintf(`{%s,"contextFrom":[%q,%q,%q]}`, valid, spoken, asked, written)).want(201)
	if diff := cmp.Diff([]any{spoken, asked, written}, a.get("contextFrom")); diff != "" {
		t.Error(diff)
	}
	user := func(text string) domain.ContextMessage {
		return domain.ContextMessage{Role: domain.RoleUser, Content: text}
	}
	agent := func(text string) domain.ContextMessage {
		return domain.ContextMessage{Role: domain.RoleAssistant, Content: text}
	}
	want := []domain.ContextMessage{
		user("say one"), agent("done: one"), user("say two"), agent("done: two"),
		user("hi"), agent("hello"), user("ask df"), agent("done: df"), // the call itself is not told again
		user(`blocks [{"type":"script","props":{"code":"df"}}]`), // nor are the blocks
	}
	if diff := cmp.Diff(want, k.request.Context); diff != "" {
		t.Error(diff)
	}

	whole := `{"executionId":"` + asked + `","include":"toolCalls"}`
	a = h.ask("POST", "/executions", fmt.Sprintf(`{%s,"contextFrom":[%s,{"executionId":%q}]}`, valid, whole, spoken)).want(201)
	if diff := cmp.Diff([]any{map[string]any{"executionId": asked, "include": "toolCalls"}, spoken}, a.get("contextFrom")); diff != "" {
		t.Error(diff)
	}
	call := agent("")
	call.ToolCalls = []domain.ContextCall{{ID: "earlier_1", Tool: "bash", Arguments: json.RawMessage(`{"command":"df"}`)}}
	want = []domain.ContextMessage{
		user("hi"), agent("hello"), user("ask df"), call, {Role: domain.RoleTool, Content: `{"command":"df"}`, ToolCallID: "earlier_1"}, agent("done: df"),
		user("say one"), agent("done: one"), user("say two"), agent("done: two"),
	}
	if diff := cmp.Diff(want, k.request.Context); diff != "" || k.request.Requires < domain.RequiresContextCalls {
		t.Errorf("requires %d: %s", k.request.Requires, diff)
	}
	h.ask("POST", "/executions", fmt.Sprintf(`{%s,"contextFrom":[%s,%q]}`, valid, whole, asked)).problem(422, domain.CodeInvalid)
}

func TestEarlierOutputsAreThereByName(t *testing.T) {
	h := newTestServer(t)
	first := h.create("say one")
	h.ended(first)
	block := h.ask("POST", "/executions", aBlock(`"name":"query","source":{"type":"internal"},"prompt":"say two"`)).want(201).text("id")
	h.ended(block)
	cancelled := h.create("hang")
	h.ask("POST", "/executions/"+cancelled+"/cancel", "", "Prefer", "wait=30").want(200)
	failed := h.create("fail the model is ill")
	h.ended(failed)
	structured := h.ask("POST", "/executions", `{"source":{"type":"internal"},"prompt":"only {\"full\":\"sda\"}","outputSchema":{"type":"object"}}`).want(201).text("id")
	h.ended(structured)
	for name, row := range map[string]struct{ template, more, want string }{
		"an error":           {"error", `"outputsFrom":{"q":"` + failed + `"}`, "the model is ill"},
		"a value":            {"structured.full", `"outputsFrom":{"q":"` + structured + `"}`, "sda"},
		"no value":           {"structured", `"outputsFrom":{"q":"` + first + `"}`, ""},
		"the text":           {"text", `"outputsFrom":{"q":"` + first + `"}`, "done: one"},
		"success":            {"success", `"outputsFrom":{"q":"` + first + `"}`, "true"},
		"why it ended":       {"finishReason", `"outputsFrom":{"q":"` + cancelled + `"}`, "cancelled"},
		"no success":         {"success", `"outputsFrom":{"q":"` + cancelled + `"}`, "false"},
		"tokens are unknown": {"inputTokens", `"outputsFrom":{"q":"` + first + `"}`, ""},
		"beside variables":   {"text", `"outputsFrom":{"q":"` + first + `"},"variables":{"doc":{"x":1,"named":{"other":{}}}}`, "done: one"},
	} {
		body := `{"source":{"type":"internal"},"prompt":"say <{{ doc.named.q.output.` + row.template + ` }}>",` + row.more + "}"
		if a := h.ask("POST", "/executions", body).want(201); a.text("prompt") != "say <"+row.want+">" || a.text("outputsFrom", "q") == "" {
			t.Errorf("%s: %s", name, a.body)
		}
	}
	prompt := `"source":{"type":"internal"},"prompt":"say {{ doc.named.query.output.text }}"`
	if a := h.ask("POST", "/executions", fmt.Sprintf(`{%s,"contextFrom":[%q],"variables":{}}`, prompt, block)).want(201); a.text("prompt") != "say done: two" {
		t.Errorf("the name of a block: %s", a.body)
	}
	given := fmt.Sprintf(`{%s,"contextFrom":[%q],"outputsFrom":{"query":%q}}`, prompt, block, first)
	if a := h.ask("POST", "/executions", given).want(201); a.text("prompt") != "say done: one" {
		t.Errorf("a name that was given counts before that of a block: %s", a.body)
	}
}

// TestWhatIsNotThereIsNotTakenOver: somebody else's execution is answered like none.
func TestWhatIsNotThereIsNotTakenOver(t *testing.T) {
	h := newTestServer(t)
	foreign := h.ask("POST", "/executions", "{"+valid+"}", "Authorization", "Bearer "+h.key("acme", everyScope()...)).want(201).text("id")
	for name, row := range map[string][2]string{
		"context of somebody else": {`"contextFrom":["` + foreign + `"]`, "/contextFrom/0"},
		"output of somebody else":  {`"outputsFrom":{"a":"` + foreign + `"}`, "/outputsFrom/a"},
	} {
		body := "{" + valid + "," + row[0] + "}"
		h.wrong(badInput{name, body, 422, domain.CodeInvalid, row[1]}, h.ask("POST", "/executions", body))
	}
}

// TestWhoMayOnlyCreateReadsNothing: what others said must not come out by way of a prompt.
func TestWhoMayOnlyCreateReadsNothing(t *testing.T) {
	h := newTestServer(t)
	id := h.create("say one")
	h.ended(id)
	writer := "Bearer " + h.key("", "executions:write")
	for _, field := range []string{`"contextFrom":["` + id + `"]`, `"outputsFrom":{"a":"` + id + `"}`} {
		h.ask("POST", "/executions", "{"+valid+","+field+"}", "Authorization", writer).problem(403, domain.CodeForbidden)
	}
	h.ask("POST", "/templates/render", `{"template":"x","outputsFrom":{"a":"`+id+`"}}`, "Authorization", writer).problem(403, domain.CodeForbidden)
	both := "Bearer " + h.key("", "executions:write", "executions:read")
	h.ask("POST", "/executions", `{`+valid+`,"contextFrom":["`+id+`"]}`, "Authorization", both).want(201)
}
