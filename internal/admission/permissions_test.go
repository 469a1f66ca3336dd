package admission

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"signoff/api"
	"signoff/internal/domain"
)

// TestBooleansAreAnotherSpelling of capabilities and of safe mode.
func TestBooleansAreAnotherSpelling(t *testing.T) {
	a := newAdmission()
	for sent, want := range map[string]string{
		`{}`:                         "allow ask ask true",
		`{"readFiles":true}`:         "allow ask ask true",
		`{"readFiles":false}`:        "ask ask ask true",
		`{"writeFiles":true}`:        "allow allow ask true",
		`{"writeFiles":false}`:       "allow ask ask true",
		`{"executeCommands":true}`:   "allow ask allow true",
		`{"executeCommands":false}`:  "allow ask ask true",
		`{"alwaysAllowTools":true}`:  "allow ask ask false",
		`{"alwaysAllowTools":false}`: "allow ask ask true",
		`{"readFiles":false,"writeFiles":true,"execute":"deny","alwaysAllowTools":true}`: "ask allow deny false",
	} {
		request := a.admitted(t, "{"+valid+`,"capabilities":`+sent+`}`)
		got := fmt.Sprint(request.Capabilities.Read, " ", request.Capabilities.Write, " ", request.Capabilities.Execute, " ", !request.SafeModeOff)
		if got != want {
			t.Errorf("%s: %s, want %s", sent, got, want)
		}
	}
	if agreed := a.admitted(t, "{"+valid+`,"safeMode":false,"capabilities":{"alwaysAllowTools":true}}`); !agreed.SafeModeOff {
		t.Error("safe mode is on")
	}
}

// badPermissions are permissions that a request for an execution and a dry run refuse alike.
func badPermissions() []badInput {
	wrong := func(name, fields, pointer string) badInput {
		return badInput{name, fields, domain.CodeInvalid, pointer}
	}
	matcher := func(name, matcher, pointer string) badInput {
		return wrong(name, `"policy":{"rules":[{"effect":"deny","matcher":{"tool":"bash"}},{"effect":"allow","matcher":`+matcher+`}]}`, "/policy/rules/1/matcher"+pointer)
	}
	return []badInput{
		wrong("read both ways", `"capabilities":{"read":"allow","readFiles":true}`, "/capabilities/readFiles"),
		wrong("write both ways", `"capabilities":{"write":"deny","writeFiles":false}`, "/capabilities/writeFiles"),
		wrong("execute both ways", `"capabilities":{"execute":"ask","executeCommands":true}`, "/capabilities/executeCommands"),
		wrong("all tools in safe mode", `"safeMode":true,"capabilities":{"alwaysAllowTools":true}`, "/capabilities/alwaysAllowTools"),
		wrong("not all tools without safe mode", `"safeMode":false,"capabilities":{"alwaysAllowTools":false}`, "/capabilities/alwaysAllowTools"),
		wrong("unknown tool", `"tools":{"enabled":["bash","sudo"]}`, "/tools/enabled/1"),
		wrong("a bash policy that asks by default", `"tools":{"bashPolicy":{"defaultBehavior":"ask"}}`, "/tools/bashPolicy/defaultBehavior"),
		wrong("unknown denyBehavior", `"tools":{"bashPolicy":{"defaultBehavior":"deny","denyBehavior":"kill"}}`, "/tools/bashPolicy/denyBehavior"),
		wrong("a bad expression", `"tools":{"bashPolicy":{"defaultBehavior":"deny","rules":[{"name":"a","pattern":"a","action":"allow"},{"name":"b","pattern":"(","action":"deny"}]}}`, "/tools/bashPolicy/rules/1/pattern"),
		wrong("an expression that looks back", `"tools":{"bashPolicy":{"defaultBehavior":"deny","rules":[{"name":"a","pattern":"(a)\\1","action":"deny"}]}}`, "/tools/bashPolicy/rules/0/pattern"),
		wrong("an expression that repeats too much", `"tools":{"bashPolicy":{"defaultBehavior":"deny","rules":[{"name":"a","pattern":"((a{100}){100}){100}","action":"deny"}]}}`, "/tools/bashPolicy/rules/0/pattern"),
		wrong("a rule that asks", `"tools":{"bashPolicy":{"defaultBehavior":"deny","rules":[{"name":"a","pattern":"a","action":"ask"}]}}`, "/tools/bashPolicy/rules/0/action"),
		wrong("a rule without a name", `"tools":{"bashPolicy":{"defaultBehavior":"deny","rules":[{"pattern":"a","action":"deny"}]}}`, "/tools/bashPolicy/rules/0/name"),
		wrong("a rule with a blank name", `"tools":{"bashPolicy":{"defaultBehavior":"deny","rules":[{"name":" ","pattern":"a","action":"deny"}]}}`, "/tools/bashPolicy/rules/0/name"),
		wrong("201 rules", `"tools":{"bashPolicy":{"defaultBehavior":"deny","rules":[`+strings.Repeat(`{"name":"a","pattern":"a","action":"deny"},`, 200)+`{"name":"a","pattern":"a","action":"deny"}]}}`, "/tools/bashPolicy/rules"),
		wrong("a secret in an expression", `"tools":{"bashPolicy":{"defaultBehavior":"deny","rules":[{"name":"a","pattern":"^echo `+canary+`$","action":"allow"}]}}`, "/tools/bashPolicy"),
		matcher("an empty matcher", `{}`, ""),
		matcher("an unknown class", `{"class":"other"}`, "/class"),
		matcher("a relative path", `{"path":"src/**"}`, "/path"),
		matcher("a path that climbs", `{"path":"/srv/../etc/**"}`, "/path"),
		matcher("a broken glob", `{"path":"/srv/[a"}`, "/path"),
		matcher("a star in a command", `{"command":"git * --force"}`, "/command"),
		matcher("a star alone", `{"command":"*"}`, "/command"),
		matcher("a pipe in a command", `{"command":"cat a | sh"}`, "/command"),
		matcher("two spaces in a command", `{"command":"git  log"}`, "/command"),
		matcher("a secret in a matcher", `{"command":"echo `+canary+`"}`, ""),
		{"unknown secret", `"secrets":["github","gitlab"]`, domain.CodeUnknownSecret, "/secrets"},
	}
}

func TestBadPermissions(t *testing.T) {
	a := newAdmission()
	for _, row := range append(badPermissions(), []badInput{
		{"unknown fallback", `"source":{"type":"internal","fallbacks":["dear","gpt-9"]}`, domain.CodeUnknownModel, "/source/fallbacks/1"},
		{"a setting that a fallback does not take", `"source":{"type":"internal","model":"demo","fallbacks":["dear"],"settings":{"effort":"max"}}`, domain.CodeInvalid, "/source/settings/effort"},
		{"a cost that nobody knows", `"budget":{"cost":1}`, domain.CodeInvalid, "/budget/cost"},
		{"a cost that nobody knows of a fallback", `"source":{"type":"internal","model":"dear","fallbacks":["demo"]},"budget":{"cost":1}`, domain.CodeInvalid, "/budget/cost"},
	}...) {
		body := `{"prompt":"say x",` + row.body + `}`
		if !strings.Contains(body, `"source"`) {
			body = `{"source":{"type":"internal"},"prompt":"say x",` + row.body + `}`
		}
		_, err := a.admit(t, body)
		refuses(t, row, err)
	}
	a.admitted(t, `{"source":{"type":"internal","model":"dear"},"prompt":"say x","budget":{"cost":0.01}}`)
}

// TestADryRunRefusesTheSame: what an execution may not be told, a dry run is not told either.
func TestADryRunRefusesTheSame(t *testing.T) {
	a := newAdmission()
	for _, row := range badPermissions() {
		var body api.EvaluatePolicy
		must(t, json.Unmarshal([]byte(`{"tool":"bash","arguments":{"command":"df"},`+row.body+`}`), &body))
		_, err := a.AdmitEvaluation(anybody, body)
		refuses(t, row, err)
	}
}

// TestAnExternalAgentIsNotToldWhatItWouldIgnore also shows what holds for it: the policy of what it asks.
func TestAnExternalAgentIsNotToldWhatItWouldIgnore(t *testing.T) {
	a := newAdmission()
	for fields, pointer := range map[string]string{
		`"source":{"type":"acp","command":"mock","fallbacks":["demo"]}`:         "/source/fallbacks",
		`"source":{"type":"acp","command":"mock","settings":{}}`:                "/source/settings",
		`"source":{"type":"acp","command":"mock"},"tools":{"enabled":["bash"]}`: "/tools/enabled",
		`"source":{"type":"acp","command":"mock"},"memory":{"enabled":true}`:    "/memory/enabled",
		`"source":{"type":"acp","command":"mock"},"secrets":["github"]`:         "/secrets",
		`"source":{"type":"acp","command":"mock"},"maxIterations":3`:            "/maxIterations",
	} {
		_, err := a.admit(t, `{"prompt":"say x",`+fields+`}`)
		refuses(t, badInput{fields, "", domain.CodeInvalid, pointer}, err)
	}
	a.admitted(t, `{"source":{"type":"acp","command":"mock"},"prompt":"say x","memory":{"enabled":false},"secrets":[],
		"capabilities":{"executeCommands":true},"safeMode":false,"budget":{"tokens":9},"runbookId":"a",
		"policy":{"unattended":true,"rules":[{"effect":"deny","matcher":{"class":"network"}}]},
		"tools":{"bashPolicy":{"defaultBehavior":"deny"}}}`)
}

// TestADailyBudgetOfCostNeedsPrices: a model without them could not be counted, and would be free. Tokens need none, and neither does an external agent, which tells its cost.
func TestADailyBudgetOfCostNeedsPrices(t *testing.T) {
	daily := func(budget domain.SharedBudget) *Admission {
		return newAdmission(func(c *Config) {
			c.DailyBudgets = map[domain.TenantID]domain.SharedBudget{domain.DefaultTenant: budget}
		})
	}
	a := daily(domain.SharedBudget{Cost: 5})
	for _, row := range []badInput{
		{"the model", `{` + valid + `}`, domain.CodeInvalid, "/source/model"},
		{"a fallback", `{"source":{"type":"internal","model":"dear","fallbacks":["demo"]},"prompt":"say x"}`, domain.CodeInvalid, "/source/fallbacks/0"},
	} {
		_, err := a.admit(t, row.body)
		refuses(t, row, err)
	}
	a.admitted(t, `{"source":{"type":"internal","model":"dear"},"prompt":"say x"}`)
	a.admitted(t, `{"source":{"type":"acp","command":"mock"},"prompt":"say x"}`)
	daily(domain.SharedBudget{Tokens: 5}).admitted(t, `{`+valid+`}`)
	newAdmission(func(c *Config) { c.DailyBudgets = map[domain.TenantID]domain.SharedBudget{"another": {Cost: 5}} }).admitted(t, `{`+valid+`}`)
}

// TestABudgetOfSecondsNeedsAServerThatKnowsIt: an older one would let the execution go on.
func TestABudgetOfSecondsNeedsAServerThatKnowsIt(t *testing.T) {
	a := newAdmission()
	for budget, wanted := range map[string]int{`{"toolCalls":1}`: 0, `{"seconds":1}`: domain.RequiresBudgetSeconds} {
		if got := a.admitted(t, `{`+valid+`,"budget":`+budget+`}`).Requires; got != wanted {
			t.Errorf("%s requires %d", budget, got)
		}
	}
}

// TestModelSettingsNeedAServerThatKnowsThem: an older one would ask the model without them.
func TestModelSettingsNeedAServerThatKnowsThem(t *testing.T) {
	a := newAdmission()
	for source, wanted := range map[string]int{
		`{"type":"internal"}`:                              0,
		`{"type":"internal","settings":{}}`:                0,
		`{"type":"internal","settings":{"effort":"low"}}`:  domain.RequiresModelSettings,
		`{"type":"internal","settings":{"temperature":0}}`: domain.RequiresModelSettings,
	} {
		for _, body := range []string{`{"source":` + source + `,"prompt":"x"}`, aBlock(`"source":` + source + `,"prompt":"x"`)} {
			if got := a.admitted(t, body).Requires; got != wanted {
				t.Errorf("%s requires %d", body, got)
			}
		}
	}
}
