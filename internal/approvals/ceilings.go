package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"signoff/internal/domain"
)

// ceiling is the ceiling of an execution above the judged one, as a policy. It denies and asks; calls that it allows are still judged by the child's own policy.
type ceiling struct {
	name    string   // of that execution
	servers []string // MCP servers
	policy  Policy
}

// ceilingsOf reads the ceilings above a request. A ceiling that cannot be read refuses every call, and is returned with the error.
func ceilingsOf(request domain.Request, own Policy) (ceilings []ceiling, err error) {
	if request.Parent == nil {
		return nil, nil
	}
	for _, ancestor := range request.Parent.Ancestors {
		c := ancestor.Ceiling
		policy, unread := newPolicy(domain.Request{Capabilities: c.Capabilities, Tools: c.Tools, Secrets: c.Secrets, Rules: c.Rules})
		policy.agent, policy.directory, policy.clients = own.agent, own.directory, own.clients
		ceilings, err = append(ceilings, ceiling{ancestor.Name, c.MCPServers, policy}), errors.Join(err, unread)
	}
	return ceilings, err
}

// policyOf is the policy of a ceiling for calls of the judged execution in its environment.
func (p Policy) policyOf(c ceiling) Policy {
	bounded := c.policy
	bounded.Rules, bounded.Isolation, bounded.Environment, bounded.Servers, bounded.Pin = p.Rules, p.Isolation, p.Environment, p.Servers, p.Pin
	return bounded
}

// bound is the own policy's judgement, or that of the strictest ceiling if it is stricter.
func (p Policy) bound(ctx context.Context, own Judgement, call domain.ToolCall, hash string, now time.Time) Judgement {
	bound := own
	for _, c := range p.ceilings {
		judged := c.judge(ctx, p.policyOf(c), call, hash, now)
		if bound.Verdict.Exceeds(judged.Verdict) {
			bound.Verdict, bound.Step, bound.Reason, bound.Trace, bound.Rule = judged.Verdict, judged.Step, judged.Reason, judged.Trace, judged.Rule
			bound.By, bound.RuleID, bound.Decider = ByCeiling, "", nil
		}
	}
	return (&judging{Policy: p}).attended(bound)
}

// judge is the judgement of a ceiling, with its name in the reason.
func (c ceiling) judge(ctx context.Context, policy Policy, call domain.ToolCall, hash string, now time.Time) Judgement {
	judged := c.checkServer(call)
	if judged.Verdict == "" {
		judged = policy.ownJudgement(ctx, call, hash, now)
	}
	if judged.Verdict == domain.Allow {
		return judged
	}
	says := "asks about this"
	if judged.Verdict == domain.Deny {
		says = "denies this"
	}
	judged.Reason = fmt.Sprintf("The ceiling of %s %s: %s", c.name, says, judged.Reason)
	judged.Trace = slices.Clone(judged.Trace)
	judged.Trace[len(judged.Trace)-1].Detail = judged.Reason
	return judged
}

// checkServer refuses a call for an MCP server that the ceiling does not have.
func (c ceiling) checkServer(call domain.ToolCall) Judgement {
	server := call.Action.Server
	if call.MCP != nil {
		server = call.MCP.Server
	}
	if server == "" || slices.Contains(c.servers, server) {
		return Judgement{}
	}
	refused := refusal(ByTools, "The MCP server %s is not among its servers.", server)
	refused.Step, refused.Trace = 1, []Step{{Number: 1, Name: steps[0].name, Applied: true, Detail: refused.Reason}}
	return refused
}

// deniedByCeilings lists the paths that the rules of the ceilings deny to a command.
func (p Policy) deniedByCeilings(ctx context.Context, command domain.Command, now time.Time) (all []domain.Denied, err error) {
	for _, c := range p.ceilings {
		policy := p.policyOf(c)
		policy.Rules = nil // the own policy has these rules, too
		denied, err := policy.deniedByRules(ctx, command, now)
		if err != nil {
			return nil, err
		}
		for _, path := range denied {
			if !slices.Contains(all, path) { // two ceilings often have the same rule
				all = append(all, path)
			}
		}
	}
	return all, nil
}
