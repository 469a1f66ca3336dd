package approvals

import (
	"fmt"
	"strings"
	"time"

	"signoff/internal/approvals/definition"
	"signoff/internal/domain"
)

// Pins. The server of an MCP tool says what the tool does, and may say something else tomorrow. So a person's yes to a call pins the definition that
// the person has seen: see [domain.MCPPin]. A call under another definition asks again, and no rule covers it.

// Servers knows how far the operator trusts each MCP server. It is safe for concurrent use.
type Servers interface {
	// Trust is the zero value for a server that is not in the registry.
	Trust(server string) domain.MCPTrust
}

// maxDefinition bounds a kept definition. A longer one is pinned by its hash alone: nobody can be shown how it has changed.
const maxDefinition = 64 << 10

// kept is a definition as approvals and pins keep it.
func kept(canonical []byte) []byte {
	if len(canonical) > maxDefinition {
		return nil
	}
	return canonical
}

// standing compares the definition of the call's tool with its pin; empty for a call of no MCP server, or of an external agent: nobody knows the
// definition that it has seen.
func (j *judging) standing() domain.MCPStanding {
	tool := j.call.MCP
	switch {
	case tool == nil:
		return ""
	case j.Pin == nil || j.Pin.Server != tool.Server || j.Pin.Tool != tool.Tool:
		return domain.MCPToolNew
	case j.Pin.Hash != tool.Definition:
		return domain.MCPToolChanged
	default:
		return domain.MCPToolKnown
	}
}

// review is what a person sees of the call's tool; nil where there is no definition.
func (j *judging) review() *domain.MCPReview {
	if j.call.MCP == nil {
		return nil
	}
	review := &domain.MCPReview{MCPTool: *j.call.MCP, Standing: j.standing()}
	if review.Standing != domain.MCPToolNew {
		review.PinnedHash, review.PinnedAt, review.PinnedBy = j.Pin.Hash, new(j.Pin.Last), new(j.Pin.By)
	}
	if review.Standing == domain.MCPToolChanged {
		review.Changes, review.ChangesShort = definition.Changes(j.Pin.Definition, kept(j.call.MCP.Canonical))
	}
	return review
}

// trust is how far the operator trusts the server of the call.
func (j *judging) trust() domain.MCPTrust {
	if j.Servers == nil || j.call.MCP == nil {
		return domain.MCPTrust{}
	}
	return j.Servers.Trust(j.call.MCP.Server)
}

// readsOnly reports whether the operator takes the server's word that the tool only reads.
func (j *judging) readsOnly() bool {
	return j.trust().Hints && j.call.MCP.Annotations.ReadOnly != nil && *j.call.MCP.Annotations.ReadOnly
}

// coversDefinition reports whether a rule that allows the call was made by somebody who could know the definition of its tool: the tool was pinned
// by then, and the pin is that of the call. Exactly this call has the definition in its hash.
func (j *judging) coversDefinition(rule domain.PermissionRule) bool {
	switch {
	case rule.Matcher.ArgumentsHash != "":
		return true
	case j.readsServer():
		return rule.Matcher.Tool != ""
	case j.call.MCP == nil:
		return true
	case rule.Scope == domain.RememberGlobal && rule.Approval == "" && j.trust().PinOff:
		return true
	default:
		return j.standing() == domain.MCPToolKnown && !j.Pin.First.After(rule.Created)
	}
}

// readsServer reports whether the call reads resources or prompts of an MCP server, or lists them. No definition says what there is to read, so nobody has
// approved any of it by approving tools: only a rule that names the reading tool covers it.
func (j *judging) readsServer() bool {
	return j.agent == internalAgent && j.call.MCP == nil && j.call.Action.Server != ""
}

// changed asks about a tool whose definition is not the pinned one, unless a person has approved exactly this call under this definition.
func (j *judging) changed() (asked Judgement, changed bool) {
	if j.standing() != domain.MCPToolChanged || j.trust().PinOff {
		return Judgement{}, false
	}
	exactly := func(rule domain.PermissionRule) bool {
		return rule.Matcher.ArgumentsHash != "" && j.allows(rule.Matcher)
	}
	if j.first(domain.Allow, exactly) != nil {
		return Judgement{}, false
	}
	reason := fmt.Sprintf("The definition of %s has changed since %s approved it on %s.", j.tool(), j.Pin.By.Name, j.Pin.Last.UTC().Format(time.DateOnly))
	if fields := definition.Fields(j.review().Changes); len(fields) > 0 {
		reason += " It differs in " + shortened(domain.ShowUnseen(strings.Join(fields, ", "))) + "."
	}
	return asking(ByPin, "%s", reason), true
}

// tool names the call's tool in a sentence.
func (j *judging) tool() string {
	return fmt.Sprintf("the tool %q of the MCP server %q", shortened(j.call.MCP.Tool), shortened(j.call.MCP.Server))
}

// uncovered says why a rule that would allow the call does not cover its definition; empty where there is no such rule.
func (j *judging) uncovered() string {
	if j.readsServer() && j.first(domain.Allow, func(rule domain.PermissionRule) bool { return j.allows(rule.Matcher) }) != nil {
		return fmt.Sprintf("A permission rule on an MCP server covers its tools. To read its resources and prompts, a rule has to name %s.", j.call.Tool)
	}
	if j.call.MCP == nil || j.first(domain.Allow, func(rule domain.PermissionRule) bool { return j.allows(rule.Matcher) }) == nil {
		return ""
	}
	return "A permission rule covers the tools of an MCP server that somebody had approved when the rule was made, and " + j.tool() + " was not among them."
}

// pinned is the pin that a person's decision leaves; nil for any decision but a yes to a call of an MCP tool.
func pinned(approval domain.Approval, decision domain.Decision, at time.Time) *domain.MCPPin {
	tool := approval.Call.MCP
	if tool == nil || tool.Definition == "" || approval.Kind != domain.ApprovalToolCall || decision.Verb != domain.Approve {
		return nil
	}
	return &domain.MCPPin{
		Tenant: approval.Tenant, Server: tool.Server, Tool: tool.Tool, Hash: tool.Definition, Definition: kept(tool.Canonical),
		First: at, Last: at, By: decision.By,
	}
}
