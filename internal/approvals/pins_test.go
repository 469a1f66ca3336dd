package approvals_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"signoff/internal/approvals"
	"signoff/internal/domain"
	"signoff/internal/store"
)

// defined is a tool whose server describes it so.
func defined(server, tool, description string) *domain.MCPTool {
	canonical := domain.Encode(map[string]any{"description": description, "inputSchema": map[string]any{"type": "object"}, "name": tool})
	digest := sha256.Sum256(canonical)
	return &domain.MCPTool{Server: server, Tool: tool, Definition: hex.EncodeToString(digest[:]), Canonical: canonical}
}

func calling(tool *domain.MCPTool, arguments string) domain.ToolCall {
	return domain.ToolCall{
		ID: "c", Tool: "mcp__" + tool.Server + "__" + tool.Tool, Class: domain.ClassMCP, Arguments: json.RawMessage(arguments),
		Action: domain.Action{Server: tool.Server}, MCP: tool,
	}
}

func pinOf(tool *domain.MCPTool, first time.Time) *domain.MCPPin {
	return &domain.MCPPin{
		Server: tool.Server, Tool: tool.Tool, Hash: tool.Definition, Definition: tool.Canonical, First: first, Last: first, By: alice,
	}
}

// trusts are servers by their names.
type trusts map[string]domain.MCPTrust

func (t trusts) Trust(server string) domain.MCPTrust { return t[server] }

func TestTheDefinitionIsPartOfTheHash(t *testing.T) {
	plain := calling(defined("github", "read", "Reads."), `{}`)
	one := hash(t, plain, "/w")
	plain.MCP = defined("github", "read", "Reads, and sends.")
	if hash(t, plain, "/w") == one {
		t.Error("two definitions have one hash")
	}
	plain.MCP = nil
	if hash(t, plain, "/w") == one {
		t.Error("a call without a definition has the hash of one with it")
	}
	// An earlier release has computed this for all other calls: what was approved then stays approved.
	if got, want := hash(t, call(`{"command":"ls"}`), "/w"), digestOf(`{"arguments":{"command":"ls"},"environment":[],"tool":"bash","version":"1","workingDirectory":"/w"}`); got != want {
		t.Errorf("the hash of other calls is %s, want %s", got, want)
	}
}

func digestOf(text string) string {
	digest := sha256.Sum256([]byte(text))
	return hex.EncodeToString(digest[:])
}

func TestPins(t *testing.T) {
	allowed := func(m domain.Matcher, created time.Time) domain.PermissionRule {
		r := rule(domain.Allow, m)
		r.Created, r.Approval, r.Scope = created, "a", domain.RememberGlobal
		return r
	}
	operators := func(m domain.Matcher) domain.PermissionRule {
		r := allowed(m, now)
		r.Approval = ""
		return r
	}
	read, changed := defined("github", "read", "Reads."), defined("github", "read", "Reads, and sends.")
	readsOnly := *read
	readsOnly.Annotations.ReadOnly = new(true)
	server, byTool := domain.Matcher{Server: "github"}, domain.Matcher{Server: "github", Tool: "read"}
	mcpAllowed := func(r *domain.Request) { r.Capabilities.MCP = domain.Allow }
	for name, test := range map[string]struct {
		tool    *domain.MCPTool
		pin     *domain.MCPPin
		rules   []domain.PermissionRule
		trust   domain.MCPTrust
		request func(*domain.Request)
		want    domain.Verdict
		by      approvals.Source
		why     string
	}{
		"a new tool asks":                            {tool: read, want: domain.Ask, by: approvals.ByCapability, why: "Nobody has approved"},
		"a known tool asks, too":                     {tool: read, pin: pinOf(read, before), want: domain.Ask, by: approvals.ByCapability},
		"a rule covers what was pinned":              {tool: read, pin: pinOf(read, before), rules: []domain.PermissionRule{allowed(server, now)}, want: domain.Allow, by: approvals.ByRule},
		"by the decision itself":                     {tool: read, pin: pinOf(read, now), rules: []domain.PermissionRule{allowed(byTool, now)}, want: domain.Allow, by: approvals.ByRule},
		"but not what was pinned later":              {tool: read, pin: pinOf(read, now), rules: []domain.PermissionRule{allowed(server, before)}, want: domain.Ask, by: approvals.ByCapability, why: "was not among them"},
		"nor what nobody has pinned":                 {tool: read, rules: []domain.PermissionRule{allowed(server, now)}, want: domain.Ask, by: approvals.ByCapability, why: "was not among them"},
		"nor the pin of another tool":                {tool: read, pin: pinOf(defined("github", "write", "Reads."), before), rules: []domain.PermissionRule{allowed(server, now)}, want: domain.Ask, by: approvals.ByCapability},
		"nor a rule of a class":                      {tool: read, rules: []domain.PermissionRule{allowed(domain.Matcher{Class: domain.ClassMCP}, now)}, want: domain.Ask, by: approvals.ByCapability},
		"a change asks despite a rule":               {tool: changed, pin: pinOf(read, before), rules: []domain.PermissionRule{allowed(server, now)}, want: domain.Ask, by: approvals.ByPin, why: "differs in description"},
		"despite the capability":                     {tool: changed, pin: pinOf(read, before), request: mcpAllowed, want: domain.Ask, by: approvals.ByPin},
		"despite full trust":                         {tool: changed, pin: pinOf(read, before), request: trusting, want: domain.Ask, by: approvals.ByPin},
		"and is refused where nobody is there":       {tool: changed, pin: pinOf(read, before), request: func(r *domain.Request) { trusting(r); unattended(r) }, want: domain.Deny, by: approvals.ByUnattended},
		"a denying rule wins over a change":          {tool: changed, pin: pinOf(read, before), rules: []domain.PermissionRule{rule(domain.Deny, server)}, want: domain.Deny, by: approvals.ByRule},
		"a denied capability, too":                   {tool: changed, pin: pinOf(read, before), request: noMCP, want: domain.Deny, by: approvals.ByCapability},
		"a new tool runs by the capability":          {tool: read, request: mcpAllowed, want: domain.Allow, by: approvals.ByCapability},
		"and by full trust":                          {tool: read, request: trusting, want: domain.Allow, by: approvals.BySafeMode},
		"exactly this call under this definition":    {tool: changed, pin: pinOf(read, before), rules: []domain.PermissionRule{allowed(domain.Matcher{ArgumentsHash: hashed}, before)}, want: domain.Allow, by: approvals.ByRule},
		"an operator's rule is held to pins":         {tool: read, rules: []domain.PermissionRule{operators(server)}, want: domain.Ask, by: approvals.ByCapability},
		"but with pin: off it covers what is new":    {tool: read, trust: domain.MCPTrust{PinOff: true}, rules: []domain.PermissionRule{operators(server)}, want: domain.Allow, by: approvals.ByRule},
		"and what has changed":                       {tool: changed, pin: pinOf(read, before), trust: domain.MCPTrust{PinOff: true}, rules: []domain.PermissionRule{operators(server)}, want: domain.Allow, by: approvals.ByRule},
		"which a remembered rule never does":         {tool: changed, pin: pinOf(read, before), trust: domain.MCPTrust{PinOff: true}, rules: []domain.PermissionRule{allowed(server, now)}, want: domain.Ask, by: approvals.ByCapability},
		"a rule of the request, written after a pin": {tool: read, pin: pinOf(read, before), request: ruled(byTool), want: domain.Allow, by: approvals.ByRule},
		"a rule of the request, written before it":   {tool: read, pin: pinOf(read, now.Add(time.Second)), request: ruled(byTool), want: domain.Ask, by: approvals.ByCapability},
		"the list of tools is about our own":         {tool: read, request: func(r *domain.Request) { onlyRead(r); r.Capabilities.MCP = domain.Allow }, want: domain.Allow, by: approvals.ByCapability},
		"a hint decides nothing":                     {tool: &readsOnly, want: domain.Ask, by: approvals.ByCapability},
		"unless the operator trusts it":              {tool: &readsOnly, trust: domain.MCPTrust{Hints: true}, want: domain.Allow, by: approvals.ByCapability},
		"who denies reading":                         {tool: &readsOnly, trust: domain.MCPTrust{Hints: true}, request: noRead, want: domain.Deny, by: approvals.ByCapability},
		"or MCP servers":                             {tool: &readsOnly, trust: domain.MCPTrust{Hints: true}, request: noMCP, want: domain.Deny, by: approvals.ByCapability},
		"a rule may deny reading":                    {tool: &readsOnly, trust: domain.MCPTrust{Hints: true}, rules: []domain.PermissionRule{rule(domain.Deny, domain.Matcher{Class: domain.ClassRead})}, want: domain.Deny, by: approvals.ByRule},
		"a changed hint is a change":                 {tool: &readsOnly, pin: pinOf(changed, before), trust: domain.MCPTrust{Hints: true}, want: domain.Ask, by: approvals.ByPin},
		"a rule by the name that the model knows":    {tool: read, pin: pinOf(read, before), rules: []domain.PermissionRule{allowed(domain.Matcher{Tool: "mcp__github__read"}, now)}, want: domain.Allow, by: approvals.ByRule},
		"a tool of our own with that name":           {tool: read, pin: pinOf(read, before), rules: []domain.PermissionRule{allowed(domain.Matcher{Tool: "read"}, now)}, want: domain.Ask, by: approvals.ByCapability},
	} {
		t.Run(name, func(t *testing.T) {
			request := requested(inSrv)
			if test.request != nil {
				test.request(&request)
			}
			policy, err := approvals.NewPolicy(request)
			if err != nil {
				t.Fatal(err)
			}
			policy = policy.WrittenAt(now)
			policy.Rules, policy.Pin, policy.Servers = test.rules, test.pin, trusts{"github": test.trust}
			got := policy.Judge(t.Context(), calling(test.tool, `{}`), hashed, now)
			if got.Verdict != test.want || got.By != test.by || !strings.Contains(got.Reason, test.why) {
				t.Errorf("%s by %s: %s", got.Verdict, got.By, got.Reason)
			}
			traced(t, got)
			if got.MCP == nil || got.MCP.Definition != test.tool.Definition {
				t.Errorf("a person sees %+v", got.MCP)
			}
		})
	}
}

func ruled(m domain.Matcher) func(*domain.Request) {
	return func(r *domain.Request) { r.Rules = []domain.RequestRule{{Effect: domain.Allow, Matcher: m}} }
}

// TestAReviewComparesTheDefinitions also shows that a definition which is too long to be kept is told apart by its hash.
func TestAReviewComparesTheDefinitions(t *testing.T) {
	was, is := defined("github", "read", "Reads."), defined("github", "read", "Reads, and sends.")
	huge := defined("github", "read", strings.Repeat("x", 100<<10))
	policy, _ := approvals.NewPolicy(requested())
	policy.Pin = pinOf(was, before)
	got := policy.Judge(t.Context(), calling(is, `{}`), hashed, now).MCP
	if got.Standing != domain.MCPToolChanged || got.PinnedHash != was.Definition || !got.PinnedAt.Equal(before) || *got.PinnedBy != alice ||
		len(got.Changes) != 1 || got.Changes[0].Field != "/description" || *got.Changes[0].Before != "Reads." || *got.Changes[0].After != "Reads, and sends." {
		t.Errorf("%+v", got)
	}
	judged := policy.Judge(t.Context(), calling(huge, `{}`), hashed, now)
	if got := judged.MCP; judged.By != approvals.ByPin || got.Standing != domain.MCPToolChanged || got.Changes != nil || !got.ChangesShort {
		t.Errorf("%s: %+v", judged.By, got)
	}
	question := domain.Question{Kind: domain.ApprovalToolCall, Call: calling(huge, `{}`)}
	if a := approvals.New(domain.Execution{}, question, hashed, judged, 0, now); a.Call.MCP.Canonical != nil || a.Call.MCP.Definition != huge.Definition || a.MCP == nil {
		t.Errorf("the approval keeps %d bytes", len(a.Call.MCP.Canonical))
	}
}

// TestTheOptionsOfAnMCPTool: their texts say what they cover, and that differs from what a rule for an external agent does.
func TestTheOptionsOfAnMCPTool(t *testing.T) {
	options := rememberOptions(t, requested(inSrv), calling(defined("github", "read", "Reads."), `{}`), hashed)
	var ids []string
	for _, option := range options {
		ids = append(ids, option.PreviewID)
	}
	if !slices.Equal(ids, []string{"exact", "tool", "mcpServer"}) || options[1].Matcher.Tool != "read" || options[2].Matcher.Tool != "" {
		t.Fatalf("%+v", options)
	}
	for i, want := range []string{"as long as the MCP server defines the tool as it does now", "If the server changes the definition of the tool, you are asked again.", "the reading of resources and prompts go on asking."} {
		if !strings.Contains(options[i].Description, want) {
			t.Errorf("%s: %s", options[i].PreviewID, options[i].Description)
		}
	}
	theirs := rememberOptions(t, requested(inSrv, external), issueTool, hashed)
	if last := theirs[len(theirs)-1]; last.PreviewID != "mcpServer" || !strings.Contains(last.Description, "tools that appear later or change") {
		t.Errorf("%+v", last)
	}
}

// registry is a tenant under a random sequence: its pins and rules as the service writes them, and beside them who has approved which definition.
type registry struct {
	rows
	pins     map[string]domain.MCPPin
	servers  trusts
	tools    []*domain.MCPTool // as the server defines them now
	rounds   int
	latest   map[string]string   // tool → the definition that a person has approved last
	approved map[string][]string // tool → all definitions that a person has approved
	known    map[string][]string // rule → the tools that somebody had approved when it was made
	exact    map[string]string   // rule → the definition in it, of exactly one call
}

func (r *registry) MCPPin(_ context.Context, _ domain.TenantID, server, tool string) (*domain.MCPPin, error) {
	if pin, there := r.pins[server+"/"+tool]; there {
		return &pin, nil
	}
	return nil, nil //nolint:nilnil // as the store does
}

func (r *registry) Commit(ctx context.Context, change store.Change) (store.Result, error) {
	for _, pin := range change.Pins {
		at := pin.Server + "/" + pin.Tool
		if first, there := r.pins[at]; there {
			pin.First = first.First
		}
		r.pins[at] = pin
	}
	r.rules = append(r.rules, change.Remember...)
	return r.rows.Commit(ctx, change)
}

func (r *registry) names() (all []string) {
	for name := range r.approved {
		all = append(all, name)
	}
	return all
}

// TestNoCallRunsByARuleUnderADefinitionThatNobodyApproved: whatever a server changes, renames and adds, and whoever says yes and remembers what.
func TestNoCallRunsByARuleUnderADefinitionThatNobodyApproved(t *testing.T) {
	counts := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		r := &registry{
			pins: map[string]domain.MCPPin{}, servers: trusts{"off": {PinOff: true}}, latest: map[string]string{}, approved: map[string][]string{},
			known: map[string][]string{}, exact: map[string]string{},
		}
		service := approvals.NewService(r, r, r)
		for _, server := range []string{"on", "off"} {
			r.tools = append(r.tools, defined(server, "t0", "As it was."))
		}
		pick := func() int { return rapid.IntRange(0, len(r.tools)-1).Draw(t, "tool") }
		request := requested()
		t.Repeat(map[string]func(*rapid.T){
			"change": func(t *rapid.T) {
				i := pick()
				r.tools[i] = defined(r.tools[i].Server, r.tools[i].Tool, rapid.SampledFrom([]string{"As it was.", "Worse.", "Worst."}).Draw(t, "definition"))
			},
			"rename": func(t *rapid.T) {
				i := pick()
				r.rounds++
				renamed := *r.tools[i]
				renamed.Tool = fmt.Sprintf("t%d", r.rounds)
				r.tools[i] = defined(renamed.Server, renamed.Tool, "As it was.")
			},
			"new tool": func(t *rapid.T) {
				if len(r.tools) >= 3 {
					t.Skip("most of them would be called once")
				}
				r.rounds++
				r.tools = append(r.tools, defined(r.tools[pick()].Server, fmt.Sprintf("t%d", r.rounds), "As it was."))
			},
			"rule": func(t *rapid.T) {
				tool := r.tools[pick()]
				matcher := domain.Matcher{Server: tool.Server}
				if rapid.Bool().Draw(t, "narrow") {
					matcher.Tool = tool.Tool
				}
				written, _, err := service.CreateRule(t.Context(), domain.PermissionRule{Scope: domain.RememberGlobal, Effect: domain.Allow, Matcher: matcher, By: bob}, "", "api")
				if err != nil {
					t.Fatal(err)
				}
				r.known[written.ID] = r.names()
				time.Sleep(2 * time.Microsecond) // so that what comes next is later
			},
			"call": func(t *rapid.T) {
				i := pick()
				tool := r.tools[i]
				name := tool.Server + "/" + tool.Tool
				c := calling(tool, rapid.SampledFrom([]string{`{}`, `{"a":1}`}).Draw(t, "arguments"))
				h, err := approvals.Hash(c, "", nil)
				if err != nil {
					t.Fatal(err)
				}
				policy, _ := approvals.NewPolicy(request)
				policy.Rules, policy.Servers = r.rules, r.servers
				policy.Pin, _ = r.MCPPin(t.Context(), "", tool.Server, tool.Tool)
				got := policy.Judge(t.Context(), c, h, time.Now())
				counts[string(got.Verdict)+" by "+string(got.By)]++
				r.check(t, name, tool, got)
				if got.Verdict != domain.Ask || rapid.IntRange(0, 3).Draw(t, "answer") == 0 {
					return
				}
				answer := approvals.Answer{Verb: domain.Approve, ArgumentsHash: h, By: alice, MayGlobal: true}
				if rapid.Bool().Draw(t, "remember") {
					answer.Remember = domain.RememberGlobal
					answer.PreviewID = rapid.SampledFrom([]string{"exact", "tool", "mcpServer"}).Draw(t, "preview")
				}
				r.approval = approvals.New(domain.Execution{}, domain.Question{Kind: domain.ApprovalToolCall, Call: c}, h, got, 0, time.Now())
				before := len(r.rules)
				if _, err := service.Decide(t.Context(), "", r.approval.ID, answer); err != nil {
					t.Fatal(err)
				}
				r.latest[name], r.approved[name] = tool.Definition, append(r.approved[name], tool.Definition)
				for _, rule := range r.rules[before:] {
					r.known[rule.ID] = r.names()
					if rule.Matcher.ArgumentsHash != "" {
						r.exact[rule.ID] = tool.Definition
					}
				}
				if rapid.Bool().Draw(t, "and changes") {
					r.tools[i] = defined(tool.Server, tool.Tool, rapid.SampledFrom([]string{"As it was.", "Worse.", "Worst."}).Draw(t, "definition"))
				}
				time.Sleep(2 * time.Microsecond)
			},
		})
	})
	for _, what := range []string{"allow by rule", "ask by pin", "ask by capability"} {
		if counts[what] < 20 {
			t.Errorf("%q came %d times: %v", what, counts[what], counts)
		}
	}
}

// check holds a judgement to what people have approved.
func (r *registry) check(t *rapid.T, name string, tool *domain.MCPTool, got approvals.Judgement) {
	t.Helper()
	latest, everApproved := r.latest[name]
	off := r.servers[tool.Server].PinOff
	for _, rule := range r.rules { // whether an older rule covers the tool again
		m := rule.Matcher
		if m.ArgumentsHash == "" && m.Server == tool.Server && (m.Tool == "" || m.Tool == tool.Tool) && slices.Contains(r.known[rule.ID], name) && latest == tool.Definition && got.By != approvals.ByRule {
			t.Fatalf("%s asks, although %s covers it: %s", name, rule.ID, got.Reason)
		}
	}
	if everApproved && latest != tool.Definition && !off && got.Verdict == domain.Allow && got.Decider.Matcher.ArgumentsHash == "" {
		t.Fatalf("%s runs although its definition has changed", name)
	}
	if got.Verdict != domain.Allow {
		return
	}
	rule := got.Decider
	switch {
	case off && rule.Approval == "":
	case rule.Matcher.ArgumentsHash != "":
		if r.exact[rule.ID] != tool.Definition {
			t.Fatalf("%s runs by a rule for a call under another definition", name)
		}
	case !slices.Contains(r.approved[name], tool.Definition):
		t.Fatalf("%s runs by a rule, and nobody has approved its definition", name)
	case latest != tool.Definition || !slices.Contains(r.known[rule.ID], name):
		t.Fatalf("%s runs by the rule %s, which does not cover it", name, rule.ID)
	}
}

// TestADecisionPins: a yes to a call does, and covers the tool by the rule that it leaves; nothing else does.
func TestADecisionPins(t *testing.T) {
	tool := defined("github", "read", "Reads.")
	for name, test := range map[string]struct {
		kind   domain.ApprovalKind
		answer approvals.Answer
		pins   bool
	}{
		"a yes":             {domain.ApprovalToolCall, approvals.Answer{Verb: domain.Approve, Unseen: true}, true},
		"a remembered yes":  {domain.ApprovalToolCall, approvals.Answer{Verb: domain.Approve, Unseen: true, Remember: domain.RememberExecution, PreviewID: "mcpServer"}, true},
		"an edited yes":     {domain.ApprovalToolCall, approvals.Answer{Verb: domain.Approve, Unseen: true, Arguments: json.RawMessage(`{"a":1}`)}, true},
		"a no":              {domain.ApprovalToolCall, approvals.Answer{Verb: domain.DenyCall, Remember: domain.RememberExecution}, false},
		"an answer":         {domain.ApprovalQuestion, approvals.Answer{Verb: domain.Approve, Unseen: true, Answer: json.RawMessage(`{}`)}, false},
		"a finding":         {domain.ApprovalUnknownOutcome, approvals.Answer{Resolution: domain.ResolutionSucceeded, Unseen: true}, false},
		"an order to retry": {domain.ApprovalUnknownOutcome, approvals.Answer{Resolution: domain.ResolutionRetry, Unseen: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := calling(tool, `{}`)
			h := hash(t, c, "")
			policy, _ := approvals.NewPolicy(requested())
			judged := policy.Judge(t.Context(), c, h, time.Now())
			r := &rows{approval: approvals.New(domain.Execution{}, domain.Question{Kind: test.kind, Call: c}, h, judged, 0, time.Now())}
			other := r.approval
			other.Execution = "other"
			r.waiting = []domain.Approval{other}
			test.answer.By = alice
			if _, err := approvals.NewService(r, r, r).Decide(t.Context(), "", "a", test.answer); err != nil {
				t.Fatal(err)
			}
			change := r.changes[0]
			if !test.pins {
				if len(change.Pins) > 0 || len(r.rung) > 0 {
					t.Errorf("it pins %+v", change.Pins)
				}
				return
			}
			pin := change.Pins[0]
			if pin.Hash != tool.Definition || string(pin.Definition) != string(tool.Canonical) || pin.By != alice || !pin.First.Equal(pin.Last) || time.Since(pin.First) > time.Minute {
				t.Errorf("%+v", pin)
			}
			for _, rule := range change.Remember {
				if pin.First.After(rule.Created) {
					t.Errorf("the rule of %v does not cover the tool that is pinned at %v", rule.Created, pin.First)
				}
			}
			if len(r.rung) != 1 { // an older rule may cover its call now
				t.Errorf("%v of the sessions that wait about the tool are notified", r.rung)
			}
		})
	}
}

func TestEditedArgumentsFitTheDefinition(t *testing.T) {
	tool := defined("github", "read", "Reads.")
	tool.Canonical = json.RawMessage(`{"inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}`)
	for arguments, pointer := range map[string]string{`{"path":"/b"}`: "", `{"path":1}`: "/arguments/path", `{}`: "/arguments"} {
		c := calling(tool, `{"path":"/a"}`)
		h := hash(t, c, "")
		r := &rows{approval: approvals.New(domain.Execution{}, domain.Question{Kind: domain.ApprovalToolCall, Call: c}, h, asks, 0, time.Now())}
		_, err := approvals.NewService(r, r, r).Decide(t.Context(), "", "a", approvals.Answer{Verb: domain.Approve, Unseen: true, Arguments: json.RawMessage(arguments), By: alice})
		if pointer == "" {
			c.Arguments = json.RawMessage(arguments)
			if err != nil || r.changes[0].Resolve[0].Decision.ArgumentsHash != hash(t, c, "") {
				t.Errorf("%s: %v", arguments, err)
			}
			continue
		}
		var refused *domain.Error
		if !errors.As(err, &refused) || len(refused.Details) != 1 || !strings.HasPrefix(refused.Details[0].Pointer, pointer) {
			t.Errorf("%s: %v", arguments, err)
		}
	}
}
