package approvals

import (
	"cmp"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"signoff/internal/domain"
)

// PreviewExact is the narrowest option, which every call has.
const PreviewExact = "exact"

// exactly is the narrowest rule that a decision about a call may leave behind.
func (p Policy) exactly(call domain.ToolCall, hash string) domain.RememberOption {
	option := domain.RememberOption{
		PreviewID: PreviewExact, Matcher: p.here(domain.Matcher{Tool: call.Tool, ArgumentsHash: hash, Class: call.Class, Agent: p.agent}),
		Description: "This will also allow the same call with the same arguments in the same folder.",
	}
	if call.MCP != nil {
		option.Description = "This will also allow the same call with the same arguments in the same folder, as long as the MCP server defines the tool as it does now."
	}
	return option
}

// here is a matcher for the environment of the call, by its present definition.
func (p Policy) here(m domain.Matcher) domain.Matcher {
	if p.Environment != nil {
		m.Environment, m.EnvironmentDigest = p.Environment.Name, p.Environment.Digest()
	}
	return m
}

// options are the rules that a decision about the call may leave behind, the narrowest first. They are made here, from the
// call that would run, and stored with the approval: a decision remembers a shown rule, and not one that a client sends.
//
// Each is for one agent and one class: a yes to an edit is none to a command that an agent calls edit, and a yes to our
// sandboxed bash none to a program that runs commands without a sandbox.
func (j *judging) options(call domain.ToolCall) []domain.RememberOption {
	options := []domain.RememberOption{j.exactly(call, j.hash)}
	judged := *j
	judged.hash, judged.older = "", "" // an option must cover the call, with the targets of its links, by what it says
	offer := func(id string, m domain.Matcher, limits ...string) {
		m.Class, m.Agent = call.Class, j.agent
		m = j.here(m)
		if judged.allows(m) {
			options = append(options, domain.RememberOption{
				PreviewID: id, Matcher: m, Description: strings.Join(append([]string{"This will also allow " + Describe(m) + "."}, limits...), " "),
			})
		}
	}
	if pattern := repeatable(judged.script, call.Action); pattern != "" {
		offer("command", domain.Matcher{Tool: call.Tool, Command: pattern})
	}
	offerPaths(call, j.directory, func(id string, m domain.Matcher) { offer(id, m) })
	if hosts := call.Action.Hosts; len(hosts) == 1 && call.Class == domain.ClassNetwork {
		offer("host", domain.Matcher{Tool: call.Tool, Host: strings.ToLower(hosts[0])})
	}
	switch server := call.Action.Server; {
	case call.MCP != nil:
		offer("tool", domain.Matcher{Tool: call.MCP.Tool, Server: call.MCP.Server}, "If the server changes the definition of the tool, you are asked again.")
		offer("mcpServer", domain.Matcher{Server: call.MCP.Server}, "That is every tool that somebody has approved by now, and this one. Other tools, those whose definition changes, and the reading of resources and prompts go on asking.")
	case j.readsServer():
		offer("tool", domain.Matcher{Tool: call.Tool, Server: server}, "That is all that the server has to read, also later.")
	case server != "":
		offer("tool", domain.Matcher{Tool: call.Tool, Server: server})
		offer("mcpServer", domain.Matcher{Server: server}, "The agent does not say how the server defines its tools, so this includes tools that appear later or change.")
	}
	if slices.Contains(wide, call.Class) {
		offer("tool", domain.Matcher{Tool: call.Tool})
		offer("class", domain.Matcher{})
	}
	return options
}

// wide are the classes of which all calls may be remembered at once. The effects of
// the next command, or of the next unclassified call, are unknown.
var wide = []domain.Class{domain.ClassRead, domain.ClassWrite, domain.ClassNetwork, domain.ClassDelegate}

// offerPaths offers the one file, its folder, and the working directory, for a call that touches files.
func offerPaths(call domain.ToolCall, workingDirectory string, offer func(string, domain.Matcher)) {
	if call.Class != domain.ClassRead && call.Class != domain.ClassWrite || len(call.Action.Paths) == 0 {
		return
	}
	if paths := call.Action.Paths; len(paths) == 1 {
		offer("path", domain.Matcher{Tool: call.Tool, Path: literal(paths[0])})
		if folder := filepath.Dir(paths[0]); folder != workingDirectory && folder != "/" {
			offer("folder", domain.Matcher{Tool: call.Tool, Path: literal(folder) + "/**"})
		}
	}
	if workingDirectory == "" || workingDirectory == "/" {
		return
	}
	for _, path := range call.Action.Paths {
		if !strings.HasPrefix(path, workingDirectory+"/") && path != workingDirectory {
			return
		}
	}
	offer("workingDirectory", domain.Matcher{Tool: call.Tool, Path: literal(workingDirectory) + "/**"})
}

// literal is a path as a glob that means only it.
func literal(path string) string {
	return globs.ReplaceAllString(path, `\$0`)
}

var globs = regexp.MustCompile(`[*?\[\]{}\\]`)

// remembered is the rule that a decision leaves behind; nil where it is for once.
func remembered(approval domain.Approval, decision domain.Decision, answer Answer) *domain.PermissionRule {
	if decision.Remember == domain.RememberOnce {
		return nil
	}
	option := chosen(approval, decision.PreviewID)
	rule := &domain.PermissionRule{
		ID: NewID(), Tenant: approval.Tenant, Scope: decision.Remember, Effect: domain.Allow,
		Matcher: option.Matcher, Approval: approval.ID, By: decision.By, Created: now(), Expires: answer.RememberUntil,
	}
	if decision.Verb == domain.DenyCall {
		rule.Effect = domain.Deny
	}
	switch decision.Remember {
	case domain.RememberExecution:
		rule.Execution = approval.Execution
	case domain.RememberTree:
		rule.Execution = cmp.Or(approval.Root, approval.Execution)
	}
	if option.PreviewID == PreviewExact { // of what runs: the decider may have written other arguments
		rule.Matcher.ArgumentsHash = runs(approval, decision)
	}
	return rule
}

func chosen(approval domain.Approval, previewID string) domain.RememberOption {
	for _, option := range approval.RememberOptions {
		if option.PreviewID == previewID {
			return option
		}
	}
	return domain.RememberOption{ // of an approval that an older version asked
		PreviewID: PreviewExact, Matcher: domain.Matcher{Tool: approval.Call.Tool, ArgumentsHash: approval.ArgumentsHash},
	}
}

// offered checks that the remembered rule was shown, and that the key may write it.
func offered(approval domain.Approval, answer Answer) error {
	switch {
	case answer.Remember == "" || answer.Remember == domain.RememberOnce:
		if answer.PreviewID != "" {
			return domain.Invalid("/remember/previewId", "What is decided once leaves no rule behind.")
		}
		return nil
	case approval.Kind == domain.ApprovalUnknownOutcome:
		return domain.Invalid("/remember", "What became of one call says nothing of the next, so it is not remembered.")
	case !approval.Kind.AnswerableByRule():
		return domain.Invalid("/remember", "An answer to an approval of kind %s is not remembered.", approval.Kind)
	case answer.Remember == domain.RememberGlobal && !answer.MayGlobal:
		return domain.Errorf(domain.CodeForbidden, "A rule for all executions needs a key with the scope policies:write. Nothing was decided.")
	case answer.preview() == PreviewExact:
		return nil
	case answer.Arguments != nil:
		return domain.Invalid("/remember/previewId", "With other arguments than the shown ones, only exactly this call can be remembered.")
	case chosen(approval, answer.PreviewID).PreviewID != answer.PreviewID:
		return domain.Invalid("/remember/previewId", "The approval does not offer %q; it offers %s.", answer.PreviewID, previews(approval))
	default:
		return nil
	}
}

func previews(approval domain.Approval) string {
	ids := []string{}
	for _, option := range approval.RememberOptions {
		ids = append(ids, option.PreviewID)
	}
	if len(ids) == 0 {
		return PreviewExact
	}
	return strings.Join(ids, ", ")
}

func (a Answer) preview() string {
	if a.Remember == "" || a.Remember == domain.RememberOnce {
		return ""
	}
	return cmp.Or(a.PreviewID, PreviewExact)
}
