package admission

import (
	"fmt"
	"strings"
	"testing"

	"signoff/api"
	"signoff/internal/admission/admissiontest"
	"signoff/internal/domain"
	"signoff/internal/keys"
	"signoff/internal/store"
)

const (
	endedID   = "01890000-0000-7000-8000-000000000001"
	aliveID   = "01890000-0000-7000-8000-000000000002"
	foreignID = "01890000-0000-7000-8000-000000000003"
)

// chained are executions to go on from: one that has ended, one that lives, and one of another tenant.
func chained() executions {
	of := func(tenant domain.TenantID, id domain.ExecutionID, status domain.Status) stored {
		return stored{Execution: domain.Execution{ID: id, Tenant: tenant, Status: status}}
	}
	return executions{
		endedID: of("default", endedID, domain.StatusCompleted), aliveID: of("default", aliveID, domain.StatusStreaming),
		foreignID: of("acme", foreignID, domain.StatusCompleted),
	}
}

func TestBadChains(t *testing.T) {
	a := newAdmission(func(c *Config) { c.Executions = chained() })
	for name, row := range map[string][2]string{
		"context of nobody":          {`"contextFrom":["` + endedID + `","` + someID + `"]`, "/contextFrom/1"},
		"calls of nobody":            {`"contextFrom":[{"executionId":"` + someID + `","include":"toolCalls"}]`, "/contextFrom/0/executionId"},
		"context of somebody else":   {`"contextFrom":["` + foreignID + `"]`, "/contextFrom/0"},
		"context of what is no id":   {`"contextFrom":["x"]`, "/contextFrom/0"},
		"context of a live one":      {`"contextFrom":["` + aliveID + `"]`, "/contextFrom/0"},
		"output of nobody":           {`"outputsFrom":{"a/b":"` + someID + `"}`, "/outputsFrom/a~1b"},
		"output of a live one":       {`"outputsFrom":{"a":"` + aliveID + `"}`, "/outputsFrom/a"},
		"output of somebody else":    {`"outputsFrom":{"a":"` + foreignID + `"}`, "/outputsFrom/a"},
		"output without a name":      {`"outputsFrom":{" ":"` + endedID + `"}`, "/outputsFrom/ "},
		"output with a long name":    {`"outputsFrom":{"` + strings.Repeat("a", 201) + `":"` + endedID + `"}`, "/outputsFrom/" + strings.Repeat("a", 201)},
		"a name that is there, too":  {`"outputsFrom":{"a":"` + endedID + `"},"variables":{"doc":{"named":{"a":{}}}}`, "/outputsFrom/a"},
		"a doc that is none":         {`"outputsFrom":{"a":"` + endedID + `"},"variables":{"doc":1}`, "/variables/doc"},
		"named blocks that are none": {`"outputsFrom":{"a":"` + endedID + `"},"variables":{"doc":{"named":[]}}`, "/variables/doc/named"},
	} {
		_, err := a.admit(t, "{"+valid+","+row[0]+"}")
		refuses(t, badInput{name, "", domain.CodeInvalid, row[1]}, err)
	}
}

// TestTooLongAContextIsRefused before more of it is read than fits.
func TestTooLongAContextIsRefused(t *testing.T) {
	known := executions{}
	var ids []string
	for i := range 3 {
		id := domain.ExecutionID(fmt.Sprintf("01890000-0000-7000-8000-00000000010%d", i))
		said := strings.Repeat("a", 200_000) // by the user, and by the agent again
		known[id] = stored{
			Execution: domain.Execution{ID: id, Tenant: "default", Status: domain.StatusCompleted, Request: domain.Request{Prompt: said}},
			log: []domain.Event{
				domain.NewEvent(id, domain.TurnStarted{Turn: 1}), domain.NewEvent(id, domain.MessageDelta{MessageID: "m1", Text: said}),
				domain.NewEvent(id, domain.MessageCompleted{MessageID: "m1"}),
			},
		}
		for seq := range known[id].log {
			known[id].log[seq].Seq = int64(seq) + 1
		}
		ids = append(ids, `"`+string(id)+`"`)
	}
	a := newAdmission(func(c *Config) { c.Executions = known })
	request := a.admitted(t, `{`+valid+`,"contextFrom":[`+strings.Join(ids[:2], ",")+`]}`)
	if len(request.Context) != 4 || request.Context[0].Role != domain.RoleUser || request.Context[3].Role != domain.RoleAssistant {
		t.Errorf("%d messages", len(request.Context))
	}
	_, err := a.admit(t, `{`+valid+`,"contextFrom":[`+strings.Join(ids, ",")+`]}`)
	refuses(t, badInput{"three of them", "", domain.CodeInvalid, "/contextFrom"}, err)
}

// TestReadingNeedsItsScope: what others said must not come out by way of a prompt.
func TestReadingNeedsItsScope(t *testing.T) {
	a := newAdmission(func(c *Config) { c.Executions = chained() })
	writer := anybody
	writer.Scopes = []string{string(keys.ExecutionsWrite)}
	for _, field := range []string{`"contextFrom":["` + endedID + `"]`, `"outputsFrom":{"a":"` + endedID + `"}`} {
		if _, err := a.Admit(t.Context(), writer, bodyOf(t, "{"+valid+","+field+"}"), nil); domain.CodeOf(err) != domain.CodeForbidden {
			t.Errorf("%s: %v", field, err)
		}
	}
	template := api.RenderTemplate{Template: "x", OutputsFrom: map[string]string{"a": endedID}}
	if _, err := a.RenderTemplate(t.Context(), writer, template); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("a preview: %v", err)
	}
}

// TestAUsedKeyIsNotLookedUpAgain: the sources of a request may be gone by then, and the first answer stands.
func TestAUsedKeyIsNotLookedUpAgain(t *testing.T) {
	known := chained()
	first := known[endedID]
	first.Request.Prompt = "as it was rendered"
	known["k"] = first
	texts := &admissiontest.Templates{}
	a := newAdmission(func(c *Config) { c.Executions, c.Templates = known, texts })
	body := bodyOf(t, `{"source":{"type":"internal"},"prompt":"{{ gone }}","variables":{}}`)
	if again, err := a.Admit(t.Context(), anybody, body, &store.Idempotency{Key: "k"}); err != nil || again.Prompt != "as it was rendered" || texts.Asked.Load() != 0 {
		t.Errorf("%q, rendered %d times: %v", again.Prompt, texts.Asked.Load(), err)
	}
	if _, err := a.Admit(t.Context(), anybody, body, &store.Idempotency{Key: "k2"}); domain.CodeOf(err) != domain.CodeTemplate {
		t.Errorf("another key: %v", err)
	}
}
