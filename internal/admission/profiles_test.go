package admission

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/keys"
	"signoff/internal/store"
)

// someProfiles are definitions by name, in version 3. Those of the name "granted…" were made with a key that may use environments and MCP servers.
type someProfiles map[string]string

func (p someProfiles) AgentProfile(_ context.Context, tenant domain.TenantID, name string, version int) (domain.AgentProfile, error) {
	definition, is := p[name]
	if !is || tenant != "default" || (version != 0 && version != 3) {
		return domain.AgentProfile{}, domain.Errorf(domain.CodeNotFound, "There is none.")
	}
	profile := domain.AgentProfile{Tenant: tenant, Name: name, Version: 3, Definition: json.RawMessage(definition)}
	if strings.HasPrefix(name, "granted") {
		profile.Grants = []string{string(keys.EnvironmentsUse), string(keys.MCPUse), string(keys.ProfilesUse)}
	}
	return profile, nil
}

func (p someProfiles) List(ctx context.Context, tenant domain.TenantID, _ string, limit int) (page store.Page[domain.AgentProfile], err error) {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if profile, err := p.AgentProfile(ctx, tenant, name, 0); err == nil && len(page.Items) < limit {
			page.Items = append(page.Items, profile)
		}
	}
	return page, nil
}

const (
	wide = `{"source":{"type":"internal","model":"dear"},"systemPrompt":"You are {{ careful }}.",
		"capabilities":{"read":"allow","write":"ask","execute":"ask","mcp":"ask"},"tools":{"enabled":["bash","think","mcp__files__*"]},
		"environment":{"name":"app"},"mcpServers":["files","github"],"secrets":["github"],"memory":{"enabled":true},
		"budget":{"tokens":1000,"cost":2,"seconds":60},"maxIterations":20,"timeoutSeconds":100,"approvalTimeoutSeconds":200,"outputSchema":{"type":"object"}}`
	plainProfile = `{"source":{"type":"internal"}}`
)

func withProfiles(c *Config) {
	c.Profiles = someProfiles{
		"granted": wide, "plain": plainProfile, "granted-acp": `{"source":{"type":"acp","command":"mock"},"mcpServers":["files"],"timeoutSeconds":0}`,
		"trusted":   `{"source":{"type":"internal"},"capabilities":{"alwaysAllowTools":true}}`,
		"ungranted": `{"source":{"type":"internal"},"environment":{"name":"app"}}`, "unservered": `{"source":{"type":"internal"},"mcpServers":["files"]}`,
		"old-model": `{"source":{"type":"internal","model":"gone"}}`, "old-agent": `{"source":{"type":"acp","command":"gone"}}`,
		"granted-old-environment": `{"source":{"type":"internal"},"environment":{"name":"gone"}}`,
		"granted-old-server":      `{"source":{"type":"internal"},"mcpServers":["gone"]}`, "old-secret": `{"source":{"type":"internal"},"secrets":["gone"]}`,
	}
}

func using(scopes ...string) keys.Principal {
	return keys.Principal{Tenant: "default", Scopes: append([]string{string(keys.ExecutionsWrite)}, scopes...)}
}

// profileBody is a request that uses a profile, with further fields.
func profileBody(name string, more ...string) string {
	return `{"source":{"type":"profile","name":"` + name + `"},` + strings.Join(append([]string{`"prompt":"x"`}, more...), ",") + `}`
}

// TestRequestsHaveWhatTheirProfileGrants: the sender's key needs none of the scopes that the maker's key had.
func TestRequestsHaveWhatTheirProfileGrants(t *testing.T) {
	a := newAdmission(withProfiles)
	request, err := a.Admit(t.Context(), using("profiles:use:granted"), bodyOf(t, profileBody("granted", `"variables":{"x":1}`)), nil)
	must(t, err)
	var definition api.AgentProfileDefinition
	must(t, json.Unmarshal([]byte(wide), &definition))
	body := bodyOfProfile(definition)
	body.Prompt, body.SystemPrompt = &api.PromptInput{Text: "x"}, definition.SystemPrompt
	want, err := a.Admit(t.Context(), using("environments:use", "mcp:use"), body, nil)
	must(t, err)
	want.Model.From = domain.ModelFromProfile
	want.Profile = &domain.ProfileName{Name: "granted", Version: 3, Digest: domain.AgentProfile{Definition: json.RawMessage(wide)}.Digest()}
	if diff := cmp.Diff(want, request); diff != "" {
		t.Error(diff)
	}
	if request.SystemPrompt != "You are {{ careful }}." { // although there are variables
		t.Errorf("%q", request.SystemPrompt)
	}
	block, err := a.Admit(t.Context(), using("profiles:use"), bodyOf(t, aBlock(`"source":{"type":"profile","name":"granted","version":3},"prompt":"x"`)), nil)
	must(t, err)
	want.Block = &domain.BlockName{ID: blockID, Name: defaultBlockName}
	if diff := cmp.Diff(want, block); diff != "" {
		t.Error(diff)
	}
}

func TestRequestsNarrowTheirProfile(t *testing.T) {
	a := newAdmission(withProfiles)
	narrow := func(name string, more ...string) domain.Request {
		t.Helper()
		request, err := a.Admit(t.Context(), using("profiles:use"), bodyOf(t, profileBody(name, more...)), nil)
		must(t, err)
		return request
	}
	got := narrow("granted", `"capabilities":{"read":"ask","executeCommands":false,"mcp":"deny"}`, `"tools":{"enabled":["think","mcp__files__read"]}`,
		`"environment":{"name":"app","readOnly":true,"mounts":[],"hosts":[]}`, `"mcpServers":["files"]`, `"secrets":[]`, `"memory":{"enabled":false}`,
		`"budget":{"tokens":10,"toolCalls":1,"seconds":9}`, `"maxIterations":1`, `"timeoutSeconds":99`, `"approvalTimeoutSeconds":1`,
		`"policy":{"unattended":true,"rules":[{"effect":"deny","matcher":{"tool":"bash"}}]}`, `"safeMode":true`, `"keepOpen":true`)
	c := got.Capabilities
	if c.Read != domain.Ask || c.Write != domain.Ask || c.Execute != domain.Ask || c.MCP != domain.Deny || len(got.Tools.Enabled) != 2 || !got.Environment.ReadOnly ||
		got.Environment.Mounts == nil || len(got.MCPServers) != 1 || len(got.Secrets) != 0 || got.Memory || got.Budget != (domain.Budget{Tokens: 10, Cost: 2, ToolCalls: 1, Seconds: 9}) ||
		got.MaxIterations != 1 || got.TimeoutSeconds != 99 || got.ApprovalTimeoutSeconds != 1 || !got.Unattended || len(got.Rules) != 1 || !got.KeepOpen {
		t.Errorf("%+v", got)
	}
	if got := narrow("plain", `"outputSchema":{"type":"object"}`, `"tools":{"enabled":[]}`); got.OutputSchema == nil || got.Tools.Enabled == nil {
		t.Errorf("%+v", got)
	}
	if got := narrow("granted-acp", `"timeoutSeconds":5`); got.TimeoutSeconds != 5 || got.Source.Command != "mock" {
		t.Errorf("%+v", got)
	}
	chosen := strings.Replace(profileBody("plain"), `"name"`, `"model":"dear","name"`, 1)
	if got, err := a.Admit(t.Context(), using("profiles:use"), bodyOf(t, chosen), nil); err != nil || got.Source.Model != "dear" || got.Model.From != domain.ModelFromRequest {
		t.Errorf("%+v, %v", got, err)
	}
	for more, off := range map[string]bool{`"prompt":"x"`: true, `"safeMode":true`: false, `"capabilities":{"alwaysAllowTools":false}`: false, `"safeMode":false`: true} {
		if got := narrow("trusted", more); got.SafeModeOff != off {
			t.Errorf("with %s: %v", more, got.SafeModeOff)
		}
	}
}

// TestNothingWiderThanTheProfile: each error points at what is too much, and names the profile.
func TestNothingWiderThanTheProfile(t *testing.T) {
	a := newAdmission(withProfiles)
	for field, row := range map[string]struct{ profile, pointer string }{
		`"systemPrompt":"mine"`:                                             {"granted", "/systemPrompt"},
		`"systemPrompt":"own"`:                                              {"plain", "/systemPrompt"},
		`"outputSchema":{"type":"string"}`:                                  {"granted", "/outputSchema"},
		`"tools":{"enabled":["think","write"]}`:                             {"granted", "/tools/enabled/1"},
		`"tools":{"enabled":["mcp__github__x"]}`:                            {"granted", "/tools/enabled/0"},
		`"tools":{"enabled":["mcp__*"]}`:                                    {"granted", "/tools/enabled/0"},
		`"tools":{"bashPolicy":{"defaultBehavior":"allow"}}`:                {"plain", "/tools/bashPolicy"},
		`"capabilities":{"write":"allow"}`:                                  {"granted", "/capabilities/write"},
		`"capabilities":{"executeCommands":true}`:                           {"granted", "/capabilities/executeCommands"},
		`"capabilities":{"network":"allow"}`:                                {"plain", "/capabilities/network"},
		`"capabilities":{"alwaysAllowTools":true}`:                          {"granted", "/capabilities/alwaysAllowTools"},
		`"safeMode":false`:                                                  {"granted", "/safeMode"},
		`"environment":{"name":"machine"}`:                                  {"granted", "/environment"},
		`"environment":{"name":"app"}`:                                      {"plain", "/environment"},
		`"mcpServers":["github","files"]`:                                   {"granted-acp", "/mcpServers/0"},
		`"mcpServers":["files"]`:                                            {"plain", "/mcpServers/0"},
		`"secrets":["github"]`:                                              {"plain", "/secrets/0"},
		`"memory":{"enabled":true}`:                                         {"plain", "/memory/enabled"},
		`"budget":{"tokens":1001}`:                                          {"granted", "/budget/tokens"},
		`"budget":{"cost":2.5}`:                                             {"granted", "/budget/cost"},
		`"budget":{"seconds":61}`:                                           {"granted", "/budget/seconds"},
		`"maxIterations":21`:                                                {"granted", "/maxIterations"},
		`"timeoutSeconds":101`:                                              {"granted", "/timeoutSeconds"},
		`"timeoutSeconds":0`:                                                {"granted", "/timeoutSeconds"},
		`"approvalTimeoutSeconds":0`:                                        {"granted", "/approvalTimeoutSeconds"},
		`"policy":{"rules":[{"effect":"allow","matcher":{"tool":"bash"}}]}`: {"plain", "/policy/rules/0/effect"},
	} {
		_, err := a.Admit(t.Context(), using("profiles:use", "environments:use", "mcp:use"), bodyOf(t, profileBody(row.profile, field)), nil)
		refuses(t, badInput{field, "", domain.CodeInvalid, row.pointer}, err)
		var coded *domain.Error
		if errors.As(err, &coded) && !strings.Contains(coded.Details[0].Message, "the agent profile "+row.profile+" ") && !strings.HasSuffix(coded.Details[0].Message, "the agent profile "+row.profile) {
			t.Errorf("%s: %s", field, coded.Details[0].Message)
		}
	}
	for source, pointer := range map[string]string{
		`"name":"granted","model":"demo"`: "/source/model", `"name":"plain","command":"mock"`: "/source/command", `"name":"plain","fallbacks":["demo"]`: "/source/fallbacks",
		`"name":"plain","settings":{}`: "/source/settings", `"name":"plain","args":[]`: "/source/args", `"version":3`: "/source/name",
	} {
		_, err := a.Admit(t.Context(), using("profiles:use"), bodyOf(t, `{"source":{"type":"profile",`+source+`},"prompt":"x"}`), nil)
		refuses(t, badInput{source, "", domain.CodeInvalid, pointer}, err)
	}
	_, err := a.Admit(t.Context(), using("profiles:use"), bodyOf(t, `{"source":{"type":"internal","name":"plain"},"prompt":"x"}`), nil)
	refuses(t, badInput{"a name without its type", "", domain.CodeInvalid, "/source/name"}, err)
	_, err = a.Admit(t.Context(), using("profiles:use"), bodyOf(t, aBlock(`"source":{"type":"profile","name":"granted"},"prompt":"x","systemPrompt":"mine"`)), nil)
	refuses(t, badInput{"in a block", "", domain.CodeInvalid, "/block/props/systemPrompt"}, err)
}

// TestProfilesThatCannotBeUsed: the server may have changed since the profile was made, and the key may not be allowed to use it.
func TestProfilesThatCannotBeUsed(t *testing.T) {
	a := newAdmission(withProfiles)
	for name, row := range map[string]struct {
		code   domain.Code
		scopes string
	}{
		"never": {domain.CodeUnknownProfile, "profiles:use"}, "plain": {domain.CodeForbidden, "profiles:use:granted profiles:read profiles:write"},
		"old-model": {domain.CodeUnknownModel, "profiles:use"}, "old-agent": {domain.CodeUnknownAgent, "profiles:use"},
		"granted-old-environment": {domain.CodeInvalid, "profiles:use"}, "granted-old-server": {domain.CodeUnknownMCPServer, "profiles:use"},
		"old-secret": {domain.CodeUnknownSecret, "profiles:use"},
		"ungranted":  {domain.CodeForbidden, "profiles:use environments:use"}, "unservered": {domain.CodeForbidden, "profiles:use mcp:use"},
	} {
		_, err := a.Admit(t.Context(), using(strings.Fields(row.scopes)...), bodyOf(t, profileBody(name)), nil)
		refuses(t, badInput{name, "", row.code, "/source/name"}, err)
		if err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := a.Admit(t.Context(), using("profiles:use"), bodyOf(t, `{"source":{"type":"profile","name":"plain","version":2},"prompt":"x"}`), nil)
	refuses(t, badInput{"an unknown version", "", domain.CodeUnknownProfile, "/source/name"}, err)
	stranger := using("profiles:use")
	stranger.Tenant = "acme"
	_, err = a.Admit(t.Context(), stranger, bodyOf(t, profileBody("plain")), nil)
	refuses(t, badInput{"of another tenant", "", domain.CodeUnknownProfile, "/source/name"}, err)
}

// TestProfilesHoldNoMoreThanTheirMakersKey: a definition is judged as a request.
func TestProfilesHoldNoMoreThanTheirMakersKey(t *testing.T) {
	a := newAdmission(withProfiles)
	read := func(text string) (definition api.AgentProfileDefinition) {
		t.Helper()
		must(t, json.Unmarshal([]byte(text), &definition))
		return definition
	}
	_, err := a.AdmitProfile(t.Context(), using("environments:use", "mcp:use"), "/definition", read(wide))
	must(t, err)
	for _, row := range []struct {
		definition string
		code       domain.Code
		pointer    string
	}{
		{wide, domain.CodeForbidden, "/definition/mcpServers"},
		{`{"source":{"type":"internal"},"environment":{"name":"app"}}`, domain.CodeForbidden, "/definition/environment"},
		{`{"source":{"type":"internal","model":"gone"}}`, domain.CodeUnknownModel, "/definition/source/model"},
		{`{"source":{"type":"profile","name":"plain"}}`, domain.CodeInvalid, "/definition/source/type"},
		{`{"source":{"type":"acp","command":"absent"}}`, domain.CodeAgentUnavailable, "/definition/source/command"},
		{`{"source":{"type":"internal"},"tools":{"enabled":["nosuch"]}}`, domain.CodeInvalid, "/definition/tools/enabled/0"},
		{`{"source":{"type":"internal"},"outputSchema":{"type":1}}`, domain.CodeInvalid, "/definition/outputSchema"},
	} {
		_, err := a.AdmitProfile(t.Context(), using(), "/definition", read(row.definition))
		refuses(t, badInput{row.definition, "", row.code, row.pointer}, err)
	}
	stored, err := a.AdmitProfile(t.Context(), using(), "/definition", read(`{"source":{"type":"acp","command":"mock","args":["--acp"]},"systemPrompt":"key `+canary+`"}`))
	if err != nil || strings.Contains(string(stored), canary) || strings.Contains(string(stored), "args") {
		t.Errorf("%s, %v", stored, err)
	}
}
