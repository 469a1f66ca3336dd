package http

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/admission"
	"signoff/internal/admission/admissiontest"
	"signoff/internal/approvals"
	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/http/contract"
	"signoff/internal/llm"
	"signoff/internal/store"
	"signoff/internal/tools"
)

const (
	aDocument  = admissiontest.Document
	aBlockType = admissiontest.BlockType
	generation = admissiontest.Generation
)

// aGeneration is a request for blocks, with further fields.
func aGeneration(prompt string, more ...string) string {
	return admissiontest.GenerationBody(prompt, more...)
}

const aTool = `{"name":"insert_blocks","description":"Inserts blocks.","schema":{"type":"object"}}`

// TestEditedArgumentsMustFitTheClientsTool, by the schema that the request declared: nobody looks at them after the decider.
func TestEditedArgumentsMustFitTheClientsTool(t *testing.T) {
	models, err := llm.NewRegistry(llm.Config{Models: map[string]llm.Model{"demo": {Provider: "demo"}}, Default: "demo"}, tools.NewRegistry())
	must(t, err)
	h := newTestServer(t, func(c *Config) {
		c.Approvals = approvals.NewService(c.Reader.(*store.Store), c.Log.(*events.Log), ofTheScript{models}) //nolint:forcetypeassert // see newTestServer
	})
	const own = `{"name":"insert_blocks","description":"Inserts blocks.","class":"write","schema":{"type":"object",` +
		`"required":["after"],"additionalProperties":false,"properties":{"after":{"type":"string","pattern":"^b[0-9]$"}}}}`
	id := h.ask("POST", "/executions", `{"source":{"type":"internal"},"prompt":"insert b1","capabilities":{"write":"ask"},"clientTools":[`+own+`]}`).want(201).text("id")
	approval, hash := h.pending(id)
	edit := func(arguments string) answer {
		return h.ask("POST", "/approvals/"+approval, `{"decision":"approve","argumentsHash":"`+hash+`","arguments":`+arguments+`}`)
	}
	for _, arguments := range []string{`{}`, `{"after":7}`, `{"after":"c1"}`, `{"after":"b2","force":true}`, `{"command":"df"}`} {
		if a := edit(arguments).problem(422, domain.CodeInvalid); a.text("errors", "0", "pointer") != "/arguments" {
			t.Errorf("%s: %s", arguments, a.body)
		}
	}
	edit(`{"after":"b2"}`).want(200)
	eventually(t, "the client is given what was decided", func() bool {
		waiting := h.ask("GET", "/executions/"+id, "").want(200)
		return waiting.count("pendingToolCalls") == 1 && waiting.text("pendingToolCalls", "0", "arguments", "after") == "b2"
	})
}

// ofTheScript describes a call with the version that the scripted agent gives to all of its tools.
type ofTheScript struct{ *llm.Registry }

func (o ofTheScript) Describe(request domain.Request, tool string, arguments json.RawMessage) (domain.ToolCall, error) {
	call, err := o.Registry.Describe(request, tool, arguments)
	call.Version = "1"
	return call, err
}

// TestASecretThatCannotBeMasked is an input like any other: 422, and not a bug of ours.
func TestASecretThatCannotBeMasked(t *testing.T) {
	h := newTestServer(t)
	h.ask("POST", "/executions", "{"+valid+`,"blockTypes":[{"type":"a","docs":"`+canary+`"}],"document":{"blocks":[{"x":"`+canary+`"}]}}`).want(201)
	for _, field := range []string{`"runbookId":"` + canary + `"`, aDocument + `,"insertAfter":"b1","defaultShell":"` + canary + `"`} {
		h.ask("POST", "/executions", "{"+valid+","+field+"}").problem(422, domain.CodeSecretExposed)
	}
}

func TestTheGenerationOfBlocksCanBeSwitchedOff(t *testing.T) {
	h := newTestServerWith(t, func(c *admission.Config) { c.Settings.BlockGenerationOff = true })
	h.ask("POST", "/executions", aGeneration("x")).problem(403, domain.CodeFeatureDisabled)
	h.ask("POST", "/executions", "{"+valid+`,"kind":"assistant"}`).want(201)
	if a := h.ask("GET", "/settings", "").want(200); a.get("features", "blockGeneration") != false {
		t.Errorf("%s", a.body)
	}
}

func TestSettingsOfTheOperatorHoldWhereARequestSaysNothing(t *testing.T) {
	granted := domain.Capabilities{Read: domain.Ask, Write: domain.Deny, Execute: domain.Deny, Network: domain.Deny, MCP: domain.Deny, Delegate: domain.Deny}
	h := newTestServerWith(t, func(c *admission.Config) {
		c.Settings = admission.Settings{
			TimeoutSeconds: new(0), ApprovalTimeoutSeconds: new(60), RetryForSeconds: new(7), Capabilities: &granted, Shell: "zsh",
			BlockTypes: []domain.BlockType{{Type: "script", Description: "d", Docs: "# d", PropsSchema: []byte(`{"type":"object"}`)}},
		}
	})
	shown := h.ask("GET", "/settings", "").want(200)
	if shown.get("defaultTimeoutSeconds") != 0.0 || shown.get("defaultApprovalTimeoutSeconds") != 60.0 || shown.get("defaultRetryForSeconds") != 7.0 || shown.text("defaultShell") != "zsh" ||
		shown.text("defaultCapabilities", "write") != "deny" || shown.text("defaultModel") != "demo" || shown.get("features", "blockGeneration") != true ||
		shown.text("blockTypes", "0", "docs") != "# d" || shown.text("blockTypes", "0", "propsSchema", "type") != "object" {
		t.Errorf("%s", shown.body)
	}
	if diff := cmp.Diff([]any{"mock", "absent"}, shown.get("agents")) + cmp.Diff([]any{"demo", "dear"}, shown.get("models")); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]float64{"bodyBytes": contract.MaxBody, "contextFrom": 20, "contextBytes": 1 << 20, "outputsFrom": 100, "blockTypes": 100, "clientTools": 32,
		"fileBytes": 20e6, "promptParts": 50, "promptPictures": 20, "promptFileBytes": 50e6} {
		if shown.get("limits", name) != want {
			t.Errorf("%s is %v", name, shown.get("limits", name))
		}
	}
	a := h.ask("POST", "/executions", "{"+valid+`,"capabilities":{"readFiles":true}}`).want(201)
	if a.get("timeoutSeconds") != 0.0 || a.get("approvalTimeoutSeconds") != 60.0 || a.text("capabilities", "read") != "allow" || a.text("capabilities", "write") != "deny" {
		t.Errorf("%s", a.body)
	}
	own := h.ask("POST", "/executions", "{"+valid+`,"retry":{"forSeconds":0}}`).want(201)
	if a.get("retry", "forSeconds") != 7.0 || own.get("retry", "forSeconds") != 0.0 {
		t.Errorf("repeated for %v and for %v seconds", a.get("retry"), own.get("retry"))
	}
	dry := h.ask("POST", "/policy/evaluate", `{"tool":"bash","arguments":{"command":"df"}}`).want(200)
	if dry.text("decision") != "deny" {
		t.Errorf("a dry run is judged otherwise: %s", dry.body)
	}
	plain := newTestServer(t).ask("GET", "/settings", "").want(200)
	if plain.get("defaultTimeoutSeconds") != 300.0 || plain.get("defaultApprovalTimeoutSeconds") != 3600.0 || plain.get("defaultShell") != nil ||
		plain.text("defaultCapabilities", "read") != "allow" || plain.count("blockTypes") != 0 {
		t.Errorf("%s", plain.body)
	}
}
