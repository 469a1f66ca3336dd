package admission

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
)

func withDelegates(c *Config) {
	c.Profiles = someProfiles{
		"reader": `{"source":{"type":"internal"}}`,
		"lead":   `{"source":{"type":"internal"},"capabilities":{"execute":"deny"},"delegation":{}}`,
		"granted-lead": `{"source":{"type":"internal"},"capabilities":{"read":"deny","write":"deny","execute":"deny"},"delegation":{"profiles":["reader","lead"],
			"ceiling":{"capabilities":{"read":"allow","write":"ask","execute":"ask"},"tools":{"enabled":["bash","mcp__files__*"]},"mcpServers":["files"],
			"rules":[{"effect":"deny","matcher":{"tool":"bash"}}],"environments":["workspace",{"name":"app","hosts":["*.corp.example"]}]}}}`,
		"ungranted-lead": `{"source":{"type":"internal"},"delegation":{"ceiling":{"environments":["app"]}}}`,
		"mcp-lead":       `{"source":{"type":"internal"},"delegation":{"ceiling":{"mcpServers":["files"]}}}`,
	}
}

// TestChildrenHaveAtMostWhatTheirParentHas, unless the request says more.
func TestChildrenHaveAtMostWhatTheirParentHas(t *testing.T) {
	a := newAdmission(withDelegates)
	const own = `"capabilities":{"read":"ask","write":"deny"},"tools":{"enabled":["bash"]},"mcpServers":["files"],"secrets":["github"],
		"environment":{"name":"workspace","readOnly":true},"safeMode":false,
		"policy":{"rules":[{"effect":"allow","matcher":{"tool":"bash"}},{"effect":"deny","matcher":{"tool":"think"}},{"effect":"ask","matcher":{"class":"read"}}]}`
	got, err := a.Admit(t.Context(), using("mcp:use", "profiles:use"), bodyOf(t, "{"+valid+","+own+`,"delegation":{}}`), nil)
	must(t, err)
	want := &domain.Delegation{Sources: true, Ceiling: domain.Ceiling{
		Capabilities: got.Capabilities, Tools: got.Tools, Rules: got.Rules[1:], MCPServers: []string{"files"}, Secrets: []string{"github"},
		Environments: []domain.EnvironmentChoice{{Name: "workspace", ReadOnly: true}},
	}}
	if diff := cmp.Diff(want, got.Delegation); diff != "" || got.Requires != domain.RequiresDelegation {
		t.Errorf("requires %d\n%s", got.Requires, diff)
	}
	further := `{"effect":"deny","matcher":{"host":"x.example"}}`
	got, err = a.Admit(t.Context(), using("mcp:use", "profiles:use"), bodyOf(t, "{"+valid+","+own+`,"delegation":{"ceiling":{"rules":[`+further+`]}}}`), nil)
	must(t, err)
	if rules := got.Delegation.Ceiling.Rules; len(rules) != 3 || rules[0].Matcher.Host != "x.example" || rules[1].Matcher.Tool != "think" {
		t.Errorf("a ceiling with rules of its own has %+v", rules)
	}
	if got := a.admitted(t, "{"+valid+"}"); got.Delegation != nil {
		t.Errorf("%+v although nobody asked for it", got.Delegation)
	}
}

// TestACoordinatorHoldsNothingItself: the ceiling is another set than its own. The key names the profiles, where it may not use all.
func TestACoordinatorHoldsNothingItself(t *testing.T) {
	a := newAdmission(withDelegates)
	const nothing = `"capabilities":{"read":"deny","write":"deny","execute":"deny","network":"deny","mcp":"deny","host":"deny"},"tools":{"enabled":[]}`
	got, err := a.Admit(t.Context(), using("mcp:use:files", "environments:use", "profiles:use:reader"), bodyOf(t, "{"+valid+","+nothing+`,"delegation":{"cancelOnEnd":true,
		"ceiling":{"capabilities":{"readFiles":true,"write":"ask"},"tools":{"enabled":["bash","crystal_ball","mcp__files__read"],"bashPolicy":{"defaultBehavior":"deny"}},
		"rules":[{"effect":"ask","matcher":{"path":"/work/**","environment":"app"}}],
		"mcpServers":["files"],"secrets":["github"],"environments":[{"name":"app","hosts":[]},"workspace"]}}}`), nil)
	must(t, err)
	capabilities := got.Capabilities
	capabilities.Read, capabilities.Write = domain.Allow, domain.Ask
	want := &domain.Delegation{Profiles: []string{"reader"}, Sources: true, CancelOnEnd: true, Ceiling: domain.Ceiling{
		Capabilities: capabilities,
		Tools: domain.ToolSettings{
			Enabled:    []string{"bash", "crystal_ball", "mcp__files__read"},
			BashPolicy: &domain.BashPolicy{DefaultBehavior: domain.Deny, DenyBehavior: domain.DenyHITL, Rules: []domain.BashRule{}},
		},
		Rules:      []domain.RequestRule{{Effect: domain.Ask, Matcher: domain.Matcher{Path: "/work/**", Environment: "app"}}},
		MCPServers: []string{"files"}, Secrets: []string{"github"},
		Environments: []domain.EnvironmentChoice{{Name: "app", Hosts: []string{}}, {Name: "workspace"}},
	}}
	if diff := cmp.Diff(want, got.Delegation); diff != "" {
		t.Error(diff)
	}
}

func TestNoMoreIsDelegatedThanTheKeyMayGive(t *testing.T) {
	a := newAdmission(withDelegates)
	ceiling := func(fields string) string { return `"delegation":{"ceiling":{` + fields + `}}` }
	for _, row := range []badInput{
		{"an assistant", `"kind":"assistant","delegation":{}`, domain.CodeInvalid, "/delegation"},
		{"a profile that the key may not use", `"delegation":{"profiles":["reader","lead"]}`, domain.CodeForbidden, "/delegation/profiles/1"},
		{"a profile that does not exist", `"delegation":{"profiles":["reader","gone"]}`, domain.CodeUnknownProfile, "/delegation/profiles/1"},
		{"an MCP server that the key may not use", ceiling(`"mcpServers":["files","github"]`), domain.CodeUnknownMCPServer, ceilingAt + "/mcpServers/1"},
		{"an environment that the key may not use", ceiling(`"environments":["workspace","app"]`), domain.CodeForbidden, ceilingAt + "/environments/1"},
		{"an unknown secret", ceiling(`"secrets":["gone"]`), domain.CodeUnknownSecret, ceilingAt + "/secrets"},
		{"an unknown tool", ceiling(`"tools":{"enabled":["bash","sudo"]}`), domain.CodeInvalid, ceilingAt + "/tools/enabled/1"},
		{"a tool of a server that children do not have", ceiling(`"mcpServers":[],"tools":{"enabled":["mcp__files__read"]}`), domain.CodeInvalid, ceilingAt + "/tools/enabled/0"},
		{"the same environment twice", ceiling(`"environments":["workspace",{"name":"workspace","readOnly":true}]`), domain.CodeInvalid, ceilingAt + "/environments/1"},
		{"a host that the environment does not have", ceiling(`"environments":[{"name":"workspace","hosts":["a.example"]}]`), domain.CodeInvalid, ceilingAt + "/environments/0/hosts/0"},
		{"a rule that allows", ceiling(`"rules":[{"effect":"allow","matcher":{"tool":"bash"}}]`), domain.CodeInvalid, ceilingAt + "/rules/0/effect"},
		{"a rule about everything", ceiling(`"rules":[{"effect":"deny","matcher":{}}]`), domain.CodeInvalid, ceilingAt + "/rules/0/matcher"},
		{"a rule about another environment", ceiling(`"rules":[{"effect":"deny","matcher":{"tool":"bash","environment":"app"}}]`), domain.CodeInvalid, ceilingAt + "/rules/0/matcher/environment"},
		{"a secret in a rule", ceiling(`"rules":[{"effect":"deny","matcher":{"command":"echo ` + canary + `"}}]`), domain.CodeInvalid, ceilingAt + "/rules/0/matcher"},
		{"a secret in a bash policy", ceiling(`"tools":{"bashPolicy":{"defaultBehavior":"deny","rules":[{"name":"a","pattern":"` + canary + `","action":"deny"}]}}`), domain.CodeInvalid, ceilingAt + "/tools/bashPolicy"},
		{"a bad expression", ceiling(`"tools":{"bashPolicy":{"defaultBehavior":"deny","rules":[{"name":"a","pattern":"(","action":"deny"}]}}`), domain.CodeInvalid, ceilingAt + "/tools/bashPolicy/rules/0/pattern"},
		{"a class both ways", ceiling(`"capabilities":{"read":"ask","readFiles":true}`), domain.CodeInvalid, ceilingAt + "/capabilities/readFiles"},
		{"full trust", ceiling(`"capabilities":{"alwaysAllowTools":true}`), domain.CodeInvalid, ceilingAt + "/capabilities/alwaysAllowTools"},
	} {
		by := using("mcp:use:files", "profiles:use:reader", "profiles:use:gone")
		_, err := a.Admit(t.Context(), by, bodyOf(t, "{"+valid+","+row.body+"}"), nil)
		refuses(t, row, err)
	}
	_, err := a.admit(t, `{"source":{"type":"acp","command":"mock"},"prompt":"x","delegation":{}}`)
	refuses(t, badInput{"an external agent", "", domain.CodeInvalid, "/delegation"}, err)
}

// TestAProfileSaysWhatItsExecutionsDelegate: its maker's key counts, and requests narrow it.
func TestAProfileSaysWhatItsExecutionsDelegate(t *testing.T) {
	a := newAdmission(withDelegates)
	admit := func(name string, more ...string) (domain.Request, error) {
		return a.Admit(t.Context(), using("profiles:use:"+name), bodyOf(t, profileBody(name, more...)), nil)
	}
	got, err := admit("lead", `"capabilities":{"read":"ask"}`)
	must(t, err)
	if d := got.Delegation; d == nil || d.Profiles == nil || len(d.Profiles) > 0 || d.Ceiling.Capabilities.Read != domain.Ask || d.Ceiling.Capabilities.Execute != domain.Deny {
		t.Errorf("%+v", d)
	}
	whole, err := admit("granted-lead")
	must(t, err)
	got, err = admit("granted-lead", `"delegation":{"profiles":["reader"],"cancelOnEnd":true,"ceiling":{"capabilities":{"execute":"deny","writeFiles":false},
		"tools":{"enabled":["bash"]},"mcpServers":[],"rules":[{"effect":"ask","matcher":{"class":"read"}}],"environments":[{"name":"app","readOnly":true}]}}`)
	must(t, err)
	want := *whole.Delegation
	want.Profiles, want.CancelOnEnd = []string{"reader"}, true
	want.Ceiling.Capabilities.Execute, want.Ceiling.Tools.Enabled, want.Ceiling.MCPServers = domain.Deny, []string{"bash"}, []string{}
	want.Ceiling.Rules = append([]domain.RequestRule{{Effect: domain.Ask, Matcher: domain.Matcher{Class: domain.ClassRead}}}, want.Ceiling.Rules...)
	want.Ceiling.Environments = []domain.EnvironmentChoice{{Name: "app", ReadOnly: true, Hosts: []string{"*.corp.example"}}}
	if diff := cmp.Diff(&want, got.Delegation); diff != "" {
		t.Error(diff)
	}
	ceiling := func(fields string) string { return `"delegation":{"ceiling":{` + fields + `}}` }
	for _, row := range []badInput{
		{"reader", `"delegation":{}`, domain.CodeInvalid, "/delegation"},
		{"granted-lead", `"delegation":{"profiles":["reader","other"]}`, domain.CodeInvalid, "/delegation/profiles/1"},
		{"granted-lead", ceiling(`"capabilities":{"writeFiles":true}`), domain.CodeInvalid, ceilingAt + "/capabilities/writeFiles"},
		{"granted-lead", ceiling(`"capabilities":{"network":"allow"}`), domain.CodeInvalid, ceilingAt + "/capabilities/network"},
		{"granted-lead", ceiling(`"tools":{"enabled":["think"]}`), domain.CodeInvalid, ceilingAt + "/tools/enabled/0"},
		{"granted-lead", ceiling(`"tools":{"bashPolicy":{"defaultBehavior":"allow"}}`), domain.CodeInvalid, ceilingAt + "/tools/bashPolicy"},
		{"granted-lead", ceiling(`"mcpServers":["github"]`), domain.CodeInvalid, ceilingAt + "/mcpServers/0"},
		{"granted-lead", ceiling(`"secrets":["github"]`), domain.CodeInvalid, ceilingAt + "/secrets/0"},
		{"granted-lead", ceiling(`"environments":["host"]`), domain.CodeInvalid, ceilingAt + "/environments/0"},
		{"granted-lead", ceiling(`"environments":[{"name":"app","hosts":["x.example"]}]`), domain.CodeInvalid, ceilingAt + "/environments/0/hosts/0"},
		{"granted-lead", ceiling(`"environments":[{"name":"app","mounts":["/x"]}]`), domain.CodeInvalid, ceilingAt + "/environments/0/mounts/0"},
		{"granted-lead", ceiling(`"rules":[{"effect":"deny","matcher":{}}]`), domain.CodeInvalid, ceilingAt + "/rules/0/matcher"},
		{"ungranted-lead", `"timeoutSeconds":9`, domain.CodeForbidden, "/source/name"},
		{"mcp-lead", `"timeoutSeconds":9`, domain.CodeForbidden, "/source/name"},
	} {
		_, err := admit(row.name, row.body)
		refuses(t, row, err)
	}
}
