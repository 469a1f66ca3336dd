package admission

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"signoff/api"
	"signoff/internal/domain"
)

func withChildren(c *Config) {
	c.Workspace = anyFolder("/data")
	c.Profiles = someProfiles{
		"granted-dba": `{"description":"Looks.","source":{"type":"internal","model":"dear"},"systemPrompt":"Be {{ careful }}.","capabilities":{"read":"allow","write":"allow",
			"execute":"allow","network":"allow","mcp":"ask","alwaysAllowTools":true},"tools":{"enabled":["bash","think","mcp__files__*","mcp__github__list"],
			"bashPolicy":{"defaultBehavior":"deny"}},"mcpServers":["files","github"],"secrets":["github"],"budget":{"tokens":1000},"timeoutSeconds":60}`,
		"granted-app": `{"source":{"type":"internal"},"environment":{"name":"app","hosts":["a.corp.example"]}}`,
		"granted-lead": `{"source":{"type":"internal"},"delegation":{"profiles":["granted-dba","granted-app"],"cancelOnEnd":true,
			"ceiling":{"capabilities":{"write":"allow"},"environments":["workspace","app"],"mcpServers":["github"],"secrets":["github"]}}}`,
		"granted-answer": `{"source":{"type":"internal"},"outputSchema":{"type":"object"}}`,
		"granted-coder":  `{"source":{"type":"acp","command":"isolated","mode":"code"},"capabilities":{"write":"allow"}}`,
		"plain":          plainProfile, "frozen": `{"source":{"type":"internal"},"capabilities":{"write":"deny"}}`,
		"old-model": `{"source":{"type":"internal","model":"gone"}}`,
	}
}

// anyFolder is a workspace that takes absolute paths as well.
type anyFolder string

func (f anyFolder) Resolve(directory string, mounts ...string) (string, error) {
	if within(string(f), directory) {
		return directory, nil
	}
	return folder(f).Resolve(directory, mounts...)
}

func (f anyFolder) InDefault(absolute string) bool { return folder(f).InDefault(absolute) }

func (f anyFolder) RootOf(absolute string) string { return folder(f).RootOf(absolute) }

func within(folder, path string) bool { return strings.HasPrefix(path+"/", folder+"/") }

// lead is an execution that may delegate everything, with changes.
func lead(change ...func(*domain.Execution)) domain.Execution {
	most := domain.Capabilities{
		Read: domain.Allow, Write: domain.Allow, Execute: domain.Allow, Network: domain.Allow, MCP: domain.Allow, Delegate: domain.Allow, Host: domain.Ask,
	}
	e := domain.Execution{ID: someID, Tenant: "default", Request: domain.Request{
		Source: domain.Source{Type: domain.SourceInternal, Model: "chief"}, Prompt: "Lead.", WorkingDirectory: "/data/a", RunbookID: "rb",
		Environment: domain.EnvironmentChoice{Name: "workspace", Digest: "of then"}, Metadata: map[string]string{"ticket": "1"}, RetentionDays: new(9),
		Delegation: &domain.Delegation{Sources: true, Ceiling: domain.Ceiling{
			Capabilities: most, MCPServers: []string{"files", "github"}, Secrets: []string{"github"},
			Environments: []domain.EnvironmentChoice{{Name: "workspace"}, {Name: "app"}, {Name: "host"}},
		}},
	}}
	for _, c := range change {
		c(&e)
	}
	return e
}

func (a *Admission) child(t *testing.T, parent domain.Execution, arguments string) (domain.Request, error) {
	t.Helper()
	var wanted domain.DelegateArguments
	must(t, json.Unmarshal([]byte(arguments), &wanted))
	if wanted.Prompt == "" {
		wanted.Prompt = "Look."
	}
	return a.Child(t.Context(), parent, "call_1", wanted, nil)
}

// TestAChildReadsByDefault: it is the profile without the right to write, in the place of its parent, and in safe mode.
func TestAChildReadsByDefault(t *testing.T) {
	a := newAdmission(withChildren)
	got, err := a.child(t, lead(), `{"profile":"granted-dba","prompt":"Which {{ tables }} grow?","budget":{"tokens":10,"toolCalls":3},"capabilities":{"network":"ask"}}`)
	must(t, err)
	want := domain.Capabilities{
		Read: domain.Allow, Write: domain.Deny, Execute: domain.Allow, Network: domain.Ask, MCP: domain.Ask, Delegate: domain.Deny, Host: domain.Ask,
	}
	parent := domain.Parent{Execution: someID, ToolCallID: "call_1", Root: someID, Depth: 1, Name: "granted-dba", Ancestors: []domain.Ancestor{
		{Execution: someID, Name: "chief", Asked: "Lead.", Ceiling: lead().Request.Delegation.Ceiling},
	}}
	for name, pair := range map[string][2]any{
		"capabilities": {got.Capabilities, want}, "environment": {got.Environment.Name, "workspace"}, "read-only": {got.Environment.ReadOnly, true},
		"prompt": {got.Prompt, "Which {{ tables }} grow?"}, "system prompt": {got.SystemPrompt, "Be {{ careful }}."}, "safe mode off": {got.SafeModeOff, false},
		"budget": {got.Budget, domain.Budget{Tokens: 10, ToolCalls: 3}}, "keepOpen": {got.KeepOpen, true}, "idle": {got.IdleTimeoutSeconds, defaultIdleTimeout},
		"directory": {got.WorkingDirectory, "/data/a"}, "runbook": {got.RunbookID, "rb"}, "metadata": {got.Metadata, map[string]string{"ticket": "1"}},
		"retention": {*got.RetentionDays, 9}, "requires": {got.Requires, domain.RequiresDelegation}, "delegation": {got.Delegation, (*domain.Delegation)(nil)},
		"tools": {got.Tools.Enabled, []string{"bash", "think", "mcp__files__*", "mcp__github__list"}}, "servers": {got.MCPServers, []string{"files", "github"}},
		"secrets": {got.Secrets, []string{"github"}}, "parent": {*got.Parent, parent}, "profile": {got.Profile.Name, "granted-dba"},
		"model": {got.Source.Model, "dear"}, "from": {got.Model.From, domain.ModelFromProfile}, "time": {got.TimeoutSeconds, 60}, "kind": {got.Kind, domain.KindAgent},
		"bash policy": {got.Tools.BashPolicy.DefaultBehavior, domain.Deny},
	} {
		if fmt.Sprintf("%+v", pair[0]) != fmt.Sprintf("%+v", pair[1]) {
			t.Errorf("%s: %+v, not %+v", name, pair[0], pair[1])
		}
	}
	got, err = a.child(t, lead(func(e *domain.Execution) { e.Request.Unattended = true }), `{"profile":"granted-dba","write":true,"tools":["bash"]}`)
	must(t, err)
	if got.Capabilities.Write != domain.Allow || got.Environment.ReadOnly || !got.Parent.Writes || !got.Unattended || !slices.Equal(got.Tools.Enabled, []string{"bash"}) {
		t.Errorf("%+v", got)
	}
}

// TestAChildWithoutAProfile has the server's defaults and no servers or secrets. Commands, like writing, are asked for by name.
func TestAChildWithoutAProfile(t *testing.T) {
	a := newAdmission(withChildren)
	for arguments, want := range map[string]string{
		`{"source":{"type":"internal"}}`: "demo allow deny deny ask workspace true",
		`{"source":{"type":"internal","model":"dear"},"capabilities":{"network":"allow","read":"ask"}}`: "dear ask deny deny allow workspace true",
		`{"source":{"type":"internal"},"capabilities":{"execute":"allow"},"environment":"app"}`:         "demo allow deny allow ask app true",
		`{"source":{"type":"internal"},"write":true}`:                                                   "demo allow ask deny ask workspace false",
		`{"source":{"type":"internal"},"capabilities":{"write":"allow"},"environment":"host"}`:          "demo allow allow deny ask host false",
		`{"source":{"type":"internal"},"environment":"host"}`:                                           "demo allow deny deny ask host false",
		`{"source":{"type":"acp","command":"mock"}}`:                                                    "mock allow deny deny ask workspace true",
		`{"source":{"type":"acp","command":"isolated"},"write":true}`:                                   "isolated allow ask deny ask app false",
	} {
		got, err := a.child(t, lead(), arguments)
		must(t, err)
		c := got.Capabilities
		is := fmt.Sprint(got.Source.Model, got.Source.Command, " ", c.Read, " ", c.Write, " ", c.Execute, " ", c.Network, " ", got.Environment.Name, " ", got.Environment.ReadOnly)
		if is != want || got.MCPServers != nil || got.Secrets != nil || got.Delegation != nil || got.Parent.Name != got.Source.Model+got.Source.Command {
			t.Errorf("%s: %s, not %s; %+v", arguments, is, want, got)
		}
	}
}

// TestWhatAChildIsRefused: what the call asks for beyond the ceiling is refused with the parent's name.
func TestWhatAChildIsRefused(t *testing.T) {
	a := newAdmission(withChildren)
	narrow := func(change func(*domain.Delegation)) domain.Execution {
		return lead(func(e *domain.Execution) { change(e.Request.Delegation) })
	}
	reads := narrow(func(d *domain.Delegation) {
		d.Ceiling.Capabilities.Write, d.Ceiling.Capabilities.Execute, d.Ceiling.Capabilities.Network = domain.Deny, domain.Ask, domain.Deny
		d.Ceiling.Tools.Enabled = []string{"think", "mcp__files__*"}
		d.Ceiling.Environments = d.Ceiling.Environments[:1]
	})
	named := narrow(func(d *domain.Delegation) { d.Profiles, d.Sources = []string{"plain", "granted-dba"}, false })
	priced := lead(func(e *domain.Execution) { e.Request.Budget.Cost = 1 })
	for _, row := range []struct {
		parent    domain.Execution
		arguments string
		code      domain.Code
		says      string
	}{
		{lead(func(e *domain.Execution) { e.Request.Delegation = nil }), `{"profile":"plain"}`, domain.CodePolicyDenied, "chief may not delegate"},
		{reads, `{"profile":"plain","write":true}`, domain.CodePolicyDenied, "ceiling of chief says deny for the capability write"},
		{reads, `{"profile":"plain","capabilities":{"write":"ask"}}`, domain.CodePolicyDenied, "ceiling of chief says deny for the capability write"},
		{reads, `{"profile":"granted-dba","capabilities":{"execute":"allow"}}`, domain.CodePolicyDenied, "ceiling of chief says ask for the capability execute"},
		{reads, `{"source":{"type":"internal"},"capabilities":{"network":"ask"}}`, domain.CodePolicyDenied, "ceiling of chief says deny for the capability network"},
		{reads, `{"profile":"plain","tools":["think","bash"]}`, domain.CodePolicyDenied, `ceiling of chief does not have the tool "bash"; it has: think, mcp__files__*`},
		{reads, `{"source":{"type":"acp","command":"mock"}}`, domain.CodePolicyDenied, "ceiling of chief lists the tools"},
		{reads, `{"source":{"type":"internal"},"environment":"app"}`, domain.CodePolicyDenied, `ceiling of chief does not have the environment "app"; it has: workspace`},
		{reads, `{"profile":"granted-app"}`, domain.CodePolicyDenied, `the environment "app", which the ceiling of chief does not have`},
		{named, `{"source":{"type":"internal"}}`, domain.CodePolicyDenied, "chief may ask agent profiles only: plain, granted-dba"},
		{named, `{"profile":"granted-app"}`, domain.CodePolicyDenied, `chief may not ask the agent profile "granted-app"; it may ask: plain, granted-dba`},
		{lead(), `{"profile":"never"}`, domain.CodeUnknownProfile, `no agent profile "never"`},
		{lead(), `{"profile":"old-model"}`, domain.CodeUnknownModel, "The agent profile old-model cannot be used here"},
		{lead(), `{"source":{"type":"internal","model":"gone"}}`, domain.CodeUnknownModel, "there are demo, dear"},
		{lead(), `{"source":{"type":"acp","command":"absent"}}`, domain.CodeAgentUnavailable, "not installed"},
		{lead(), `{"source":{"type":"profile"}}`, domain.CodeInvalidArguments, "internal or acp"},
		{lead(), `{}`, domain.CodeInvalidArguments, "One of profile and source"},
		{lead(), `{"profile":"plain","capabilities":{"read":"allow","network":"allow","execute":"allow"}}`, domain.CodeInvalidArguments, "capabilities/execute is more than the agent profile plain grants"},
		{lead(), `{"profile":"frozen","write":true}`, domain.CodePolicyDenied, "profile frozen does not write"},
		{lead(), `{"profile":"granted-dba","budget":{"tokens":1001}}`, domain.CodeInvalidArguments, "budget/tokens"},
		{lead(), `{"profile":"granted-answer","outputSchema":{"type":"string"}}`, domain.CodeInvalidArguments, "outputSchema"},
		{lead(), `{"profile":"plain","outputSchema":{"type":5}}`, domain.CodeInvalidArguments, "Schema"},
		{lead(), `{"profile":"plain","tools":["nosuch"]}`, domain.CodeInvalidArguments, `no tool "nosuch"`},
		{lead(), `{"profile":"granted-app","environment":"workspace"}`, domain.CodePolicyDenied, `works in the environment "app"`},
		{lead(), `{"source":{"type":"acp","command":"isolated"},"environment":"workspace"}`, domain.CodePolicyDenied, `works in the environment "app"`},
		{lead(), `{"source":{"type":"internal"},"environment":"host","capabilities":{"execute":"ask"}}`, domain.CodePolicyDenied, "Nothing keeps a command from writing"},
		{lead(func(e *domain.Execution) { e.Request.WorkingDirectory = "/srv/app/x" }), `{"profile":"plain"}`, domain.CodeInvalidArguments, "outside of the workspace"},
		{priced, `{"profile":"plain"}`, domain.CodePolicyDenied, "cost of the model demo is unknown"},
		{lead(), `{"profile":"plain","budget":{"cost":1}}`, domain.CodeInvalidArguments, "cost of the model demo is unknown"},
	} {
		request, err := a.child(t, row.parent, row.arguments)
		if domain.CodeOf(err) != row.code || !strings.Contains(domain.FailureOf(err).Message, row.says) || strings.Contains(domain.FailureOf(err).Message, "see errors") {
			t.Errorf("%s: %v, want %s: %s", row.arguments, err, row.code, row.says)
		}
		if request.Parent != nil || request.Prompt != "" {
			t.Errorf("%s: there is half a request beside the error: %+v", row.arguments, request)
		}
	}
	if _, err := a.child(t, priced, `{"profile":"granted-dba"}`); err != nil {
		t.Errorf("a model with a price is refused: %v", err)
	}
	if _, err := a.child(t, lead(func(e *domain.Execution) { e.Request.WorkingDirectory = "/srv/app/x" }), `{"profile":"granted-app"}`); err != nil {
		t.Errorf("a folder of the child's own environment is refused: %v", err)
	}
}

// TestGrandchildren: what a profile delegates, within what its parent may delegate, and no deeper than there may be children.
func TestGrandchildren(t *testing.T) {
	a := newAdmission(withChildren)
	root := lead(func(e *domain.Execution) {
		e.Request.Delegation.Profiles, e.Request.Delegation.Sources = []string{"granted-lead", "granted-dba"}, false
		e.Request.Delegation.Ceiling.Capabilities.Execute = domain.Ask
		e.Request.Delegation.Ceiling.Environments = []domain.EnvironmentChoice{{Name: "workspace"}, {Name: "app", Hosts: []string{}}}
		e.Request.Delegation.Ceiling.Secrets = nil
		e.Request.Budget.Cost = 3
	})
	a.config.Executions = executions{root.ID: {Execution: root}}
	a.config.Models = pricey{a.config.Models}
	request, err := a.child(t, root, `{"profile":"granted-lead"}`)
	must(t, err)
	d := request.Delegation
	if d == nil || !slices.Equal(d.Profiles, []string{"granted-dba"}) || d.Sources || !d.CancelOnEnd || d.Ceiling.Capabilities.Write != domain.Allow ||
		d.Ceiling.Capabilities.Execute != domain.Ask || !slices.Equal(d.Ceiling.MCPServers, []string{"github"}) || len(d.Ceiling.Secrets) > 0 ||
		len(d.Ceiling.Environments) != 2 || d.Ceiling.Environments[1].Hosts == nil {
		t.Fatalf("%+v", d)
	}
	child := root.Delegated(domain.ExecutionID(someID[:len(someID)-1]+"1"), request, root.Created)
	got, err := a.child(t, child, `{"profile":"granted-dba"}`)
	must(t, err)
	p := got.Parent
	if p.Depth != 2 || p.Root != root.ID || p.Execution != child.ID || len(p.Ancestors) != 2 || p.Ancestors[0].Name != "chief" || p.Ancestors[1].Name != "granted-lead" ||
		got.Delegation != nil || got.Capabilities.Execute != domain.Ask || len(got.Secrets) > 0 || !slices.Equal(got.MCPServers, []string{"github"}) {
		t.Errorf("%+v %+v", p, got)
	}
	request.Delegation.Profiles = []string{"granted-lead"}
	child.Request = request
	if got, err = a.child(t, child, `{"profile":"granted-lead"}`); err != nil || got.Delegation != nil {
		t.Errorf("a grandchild may delegate: %+v, %v", got.Delegation, err)
	}
	a.config.Models = a.config.Models.(pricey).Models
	if _, err := a.child(t, child, `{"profile":"granted-lead"}`); domain.CodeOf(err) != domain.CodePolicyDenied {
		t.Errorf("below a budget of money, a model of unknown cost is taken: %v", err)
	}
}

// pricey knows the cost of every model.
type pricey struct{ Models }

func (pricey) Priced(string) bool { return true }

// TestNoChildHasMoreThanTheBudgetOfItsParent: the tokens and the cost of a root are shared, and so not inherited.
func TestNoChildHasMoreThanTheBudgetOfItsParent(t *testing.T) {
	a := newAdmission(withChildren)
	a.config.Models = pricey{a.config.Models}
	root := lead(func(e *domain.Execution) {
		e.Request.Budget = domain.Budget{Tokens: 900, Cost: 3, ToolCalls: 5, Seconds: 60}
	})
	a.config.Executions = executions{root.ID: {Execution: root}}
	request, err := a.child(t, root, `{"profile":"granted-lead"}`)
	must(t, err)
	request.Budget, request.Delegation.Sources = domain.Budget{Tokens: 900, Cost: 3, ToolCalls: 5}, true
	below := root.Delegated(domain.ExecutionID(someID[:len(someID)-1]+"1"), request, root.Created)
	for _, one := range []struct {
		parent domain.Execution
		asked  string
		want   domain.Budget
	}{
		{root, `{}`, domain.Budget{ToolCalls: 5, Seconds: 60}},
		{root, `{"tokens":1000,"toolCalls":9,"seconds":10}`, domain.Budget{Tokens: 1000, ToolCalls: 5, Seconds: 10}},
		{below, `{}`, domain.Budget{Tokens: 900, Cost: 3, ToolCalls: 5}},
		{below, `{"tokens":1000,"cost":1,"toolCalls":2,"seconds":10}`, domain.Budget{Tokens: 900, Cost: 1, ToolCalls: 2, Seconds: 10}},
	} {
		got, err := a.child(t, one.parent, `{"source":{"type":"internal","model":"dear"},"budget":`+one.asked+`}`)
		must(t, err)
		if got.Budget != one.want || got.Budget.Seconds > 0 != (got.Requires >= domain.RequiresBudgetSeconds) {
			t.Errorf("%s: %+v, not %+v; it requires %d", one.asked, got.Budget, one.want, got.Requires)
		}
	}
}

// TestTheContextOfAChild is bounded, and has no secrets.
func TestTheContextOfAChild(t *testing.T) {
	a := newAdmission(withChildren)
	call := func(i int, result string) []domain.ContextMessage {
		id := domain.ContextCallID(i)
		return []domain.ContextMessage{
			{Role: domain.RoleAssistant, ToolCalls: []domain.ContextCall{{ID: id, Tool: "bash", Arguments: json.RawMessage(`{"command":"echo ` + canary + `"}`)}}},
			{Role: domain.RoleTool, ToolCallID: id, Content: result},
		}
	}
	earlier := []domain.ContextMessage{{Role: domain.RoleUser, Content: "The key is " + canary}}
	for i := range 100 {
		earlier = append(earlier, call(i+1, strings.Repeat("x", 100_000))...)
	}
	whole := string(domain.Encode(earlier))
	wanted := domain.DelegateArguments{Profile: "plain", Prompt: "Look.", Context: domain.ContextItems}
	got, err := a.Child(t.Context(), lead(), "call_1", wanted, earlier)
	must(t, err)
	size := 0
	for _, m := range got.Context {
		size += len(m.Content)
	}
	newest, oldest := got.Context[len(got.Context)-1].Content, got.Context[2].Content
	if len(got.Context) != len(earlier) || size > MaxContext || strings.Contains(string(domain.Encode(got)), canary) || oldest != resultLeftOut || len(newest) < maxContextResult {
		t.Errorf("%d messages with %d bytes; the oldest result is %.100q, the newest has %d bytes", len(got.Context), size, oldest, len(newest))
	}
	if !slices.Equal(got.ContextFrom, []domain.ExecutionID{someID}) || string(domain.Encode(earlier)) != whole {
		t.Errorf("from %v; or what the caller has was changed", got.ContextFrom)
	}
	_, err = a.Child(t.Context(), lead(), "call_1", wanted, []domain.ContextMessage{{Role: domain.RoleUser, Content: strings.Repeat("x", MaxContext+1)}})
	if domain.CodeOf(err) != domain.CodeInvalidArguments {
		t.Errorf("a conversation that is too long: %v", err)
	}
	wanted.Context = domain.ContextNone
	if got, err = a.Child(t.Context(), lead(), "call_1", wanted, earlier); err != nil || got.Context != nil || got.ContextFrom != nil {
		t.Errorf("%+v, %v", got.Context, err)
	}
}

// TestNoChildHasMoreThanItsParentMayDelegate, whatever the ceiling, the profile and the call are. One that is refused has nothing.
func TestNoChildHasMoreThanItsParentMayDelegate(t *testing.T) {
	verdicts := []domain.Verdict{domain.Deny, domain.Ask, domain.Allow}
	children, writing, delegating := 0, 0, 0
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 7))
		capabilities := func() (c domain.Capabilities) {
			all := map[domain.Class]domain.Verdict{}
			for _, class := range domain.Classes {
				all[class] = verdicts[r.IntN(3)]
			}
			if all[domain.ClassHost] == domain.Allow {
				all[domain.ClassHost] = domain.Ask
			}
			return c.With(all)
		}
		some := func(names ...string) []string {
			return slices.DeleteFunc(slices.Clone(names), func(string) bool { return r.IntN(2) == 0 })
		}
		choices := func() (list []domain.EnvironmentChoice) {
			for _, name := range some("workspace", "app", "host") {
				choice := domain.EnvironmentChoice{Name: name}
				if name != "host" {
					choice.ReadOnly = r.IntN(3) == 0
				}
				if name == "app" && r.IntN(2) == 0 {
					choice.Mounts, choice.Hosts = append([]string{}, some("/srv/app", "/var/log/app")...), append([]string{}, some("*.corp.example", "a.corp.example")...)
				}
				list = append(list, choice)
			}
			return list
		}
		tools := func(servers []string) []string {
			if r.IntN(3) == 0 {
				return nil
			}
			list := append([]string{}, some("bash", "think", "crystal_ball")...)
			for _, server := range servers {
				list = append(list, some("mcp__"+server+"__*", "mcp__"+server+"__read")...)
			}
			return list
		}
		ceiling := domain.Ceiling{Capabilities: capabilities(), MCPServers: some("files", "github"), Secrets: some("github"), Environments: choices()}
		ceiling.Tools.Enabled = tools(ceiling.MCPServers)
		parent := lead(func(e *domain.Execution) {
			e.Request.Delegation.Ceiling = ceiling
			e.Request.Environment.Name = []string{"workspace", "app"}[r.IntN(2)]
		})

		definition := api.AgentProfileDefinition{Source: api.Source{Source: domain.Source{Type: domain.SourceInternal}}}
		if r.IntN(4) == 0 {
			definition.Source.Source = domain.Source{Type: domain.SourceACP, Command: []string{"mock", "isolated"}[r.IntN(2)]}
			definition.McpServers = new(some("files"))
		} else {
			definition.McpServers, definition.Secrets = new(some("files", "github")), new(some("github"))
			if enabled := tools(*definition.McpServers); enabled != nil {
				definition.Tools = &api.ToolSettings{Enabled: enabled}
			}
			if r.IntN(2) == 0 {
				definition.Delegation = &api.Delegation{Ceiling: &api.DelegationCeiling{Capabilities: namedCapabilities(capabilities())}}
			}
		}
		definition.Capabilities = namedCapabilities(capabilities())
		if list := choices(); len(list) > 0 && r.IntN(2) == 0 {
			definition.Environment = &list[0]
		}
		wanted := domain.DelegateArguments{Profile: "granted", Prompt: "x", Write: r.IntN(2) == 0}
		if r.IntN(3) == 0 {
			wanted.Capabilities = map[domain.Class]domain.Verdict{domain.Classes[r.IntN(6)]: verdicts[r.IntN(3)]}
		}
		if r.IntN(5) == 0 {
			wanted.Profile, wanted.Source = "", &domain.Source{Type: domain.SourceInternal}
		}
		a := newAdmission(withChildren, func(c *Config) { c.Profiles = someProfiles{"granted": string(domain.Encode(definition))} })
		got, err := a.Child(t.Context(), parent, "call_1", wanted, nil)
		if err != nil {
			if domain.CodeOf(err) == domain.CodeInternal {
				t.Fatalf("seed %d: %v", seed, err)
			}
			continue
		}
		children++
		if problem := beyond(got, ceiling, wanted); problem != "" {
			t.Fatalf("seed %d: %s\nceiling %s\ndefinition %s\nwanted %s\ngot %s", seed, problem, domain.Encode(ceiling), domain.Encode(definition), domain.Encode(wanted), domain.Encode(got))
		}
		if got.Capabilities.Write != domain.Deny {
			writing++
		}
		if got.Delegation != nil {
			delegating++
		}
	}
	if children < 150 || writing < 40 || delegating < 10 {
		t.Errorf("only %d children, %d that write, %d that delegate: this proves little", children, writing, delegating)
	}
}

// beyond says what a child has that its ceiling does not have.
func beyond(got domain.Request, ceiling domain.Ceiling, wanted domain.DelegateArguments) string {
	own := ownCeiling(got)
	sets := map[string]domain.Ceiling{"its own": own}
	if got.Delegation != nil {
		sets["its ceiling"] = got.Delegation.Ceiling
	}
	for name, set := range sets {
		for _, class := range domain.Classes {
			if set.Capabilities.Of(class).Exceeds(ceiling.Capabilities.Of(class)) {
				return name + ": " + string(class)
			}
			if explicit, named := wanted.Capabilities[class]; named && name == "its own" && got.Capabilities.Of(class).Exceeds(explicit) {
				return name + ": more than was asked for of " + string(class)
			}
		}
		for _, server := range set.MCPServers {
			if !slices.Contains(ceiling.MCPServers, server) {
				return name + ": server " + server
			}
		}
		for _, secret := range set.Secrets {
			if !slices.Contains(ceiling.Secrets, secret) {
				return name + ": secret " + secret
			}
		}
		if ceiling.Tools.Enabled != nil {
			if set.Tools.Enabled == nil {
				return name + ": all tools"
			}
			for _, tool := range set.Tools.Enabled {
				if !enables(ceiling.Tools.Enabled, tool) {
					return name + ": tool " + tool
				}
			}
		}
		for _, choice := range set.Environments {
			most := environmentNamed(ceiling, choice.Name)
			if most == nil {
				return name + ": environment " + choice.Name
			}
			if met := meetChoices(*most, choice); string(domain.Encode(met)) != string(domain.Encode(choice)) {
				sorted := func(c domain.EnvironmentChoice) string {
					slices.Sort(c.Mounts)
					slices.Sort(c.Hosts)
					return string(domain.Encode(c))
				}
				if sorted(met) != sorted(choice) {
					return name + ": of the environment " + choice.Name
				}
			}
		}
	}
	switch {
	case got.SafeModeOff:
		return "full trust"
	case !wanted.Writes() && got.Capabilities.Write != domain.Deny:
		return "it writes"
	case !wanted.Writes() && !got.Environment.ReadOnly && (got.Environment.Name != "host" || got.Capabilities.Execute != domain.Deny):
		return "its commands write"
	}
	return ""
}

// TestWhomAModelCanAsk: the profiles that it may ask, with what they have under its ceiling, and the sources.
func TestWhomAModelCanAsk(t *testing.T) {
	a := newAdmission(withChildren)
	names := func(e domain.Execution) string {
		options, err := a.DelegateOptions(t.Context(), e)
		must(t, err)
		var list []string
		for _, option := range options {
			list = append(list, strings.TrimSpace(option.Profile+" "+option.Source.Model+option.Source.Command))
		}
		return strings.Join(list, ", ")
	}
	for want, change := range map[string]func(*domain.Delegation){
		"frozen, granted-answer, granted-app, granted-coder isolated, granted-dba dear, granted-lead, old-model gone, plain, demo, dear, isolated, mock": func(*domain.Delegation) {},
		"plain, granted-dba dear": func(d *domain.Delegation) { d.Profiles, d.Sources = []string{"plain", "gone", "granted-dba"}, false },
		"demo, dear": func(d *domain.Delegation) {
			d.Profiles, d.Ceiling.Tools.Enabled = []string{"granted-coder"}, []string{"bash"}
		},
		"": func(d *domain.Delegation) { d.Profiles, d.Sources = []string{}, false },
	} {
		if got := names(lead(func(e *domain.Execution) { change(e.Request.Delegation) })); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
	if got := names(domain.Execution{}); got != "" {
		t.Errorf("%s, and it may not delegate", got)
	}
	options, err := a.DelegateOptions(t.Context(), lead(func(e *domain.Execution) {
		e.Request.Delegation.Profiles, e.Request.Delegation.Ceiling.Capabilities.Network = []string{"granted-dba"}, domain.Ask
	}))
	must(t, err)
	if dba := options[0]; dba.Description != "Looks." || dba.Capabilities.Network != domain.Ask || dba.Capabilities.Write != domain.Allow {
		t.Errorf("%+v", dba)
	}
}
