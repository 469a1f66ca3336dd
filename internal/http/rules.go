package http

import (
	"context"
	"time"

	"signoff/api"
	"signoff/internal/admission"
	"signoff/internal/approvals"
	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/store"
)

// RuleReader reads permission rules. A rule of another tenant is domain.CodeNotFound.
type RuleReader interface {
	PermissionRule(ctx context.Context, tenant domain.TenantID, id string) (domain.PermissionRule, error)
	PermissionRules(ctx context.Context, tenant domain.TenantID, filter store.RuleFilter) (store.Page[domain.PermissionRule], error)
}

// ruleHandlers answer the routes of permission rules and the dry run of the policy.
type ruleHandlers struct {
	reader    RuleReader
	approvals Approvals
	admission *admission.Admission
}

type listRules struct {
	ExecutionID domain.ExecutionID   `query:"executionId"`
	Scope       domain.RememberScope `query:"scope"`
	Ended       bool                 `query:"ended"`
	paged
}

// list returns a page, newest first.
func (h ruleHandlers) list(ctx context.Context, request listRules) (responder, error) {
	page, err := h.reader.PermissionRules(ctx, principalOf(ctx).Tenant, store.RuleFilter{
		Execution: request.ExecutionID, Scope: request.Scope, IncludeEnded: request.Ended, Cursor: request.Cursor, Limit: request.Limit,
	})
	return okJSON(api.PermissionRulePage{Items: mapped(page.Items, toRule), NextCursor: textOrNull(page.Next)}), err
}

// get returns one rule, even if it is revoked or expired.
func (h ruleHandlers) get(ctx context.Context, request namedPath) (responder, error) {
	rule, err := h.reader.PermissionRule(ctx, principalOf(ctx).Tenant, request.ID)
	return okJSON(toRule(rule)), err
}

type createRule struct {
	Key  string `header:"Idempotency-Key"`
	Body api.CreatePermissionRule
}

// create stores a rule that no decision left behind.
func (h ruleHandlers) create(ctx context.Context, request createRule) (responder, error) {
	by, body := principalOf(ctx), request.Body
	rule := domain.PermissionRule{
		Tenant: by.Tenant, Scope: body.Scope, Execution: domain.ExecutionID(api.Or(body.ExecutionId, "")),
		Effect: body.Effect, Matcher: body.Matcher, By: by.Actor,
	}
	if body.ExpiresAt != nil {
		rule.Expires = new(time.Time(*body.ExpiresAt).UTC())
	}
	if err := h.admission.AdmitMatcher(&rule.Matcher); err != nil {
		return nil, err
	}
	rule, replayed, err := h.approvals.CreateRule(ctx, rule, request.Key, audit.ByAPI)
	return createdJSON("/permission-rules/"+rule.ID, toRule(rule)).with(replayedHeader(replayed)), err
}

func (h ruleHandlers) revoke(ctx context.Context, request namedPath) (responder, error) {
	by := principalOf(ctx)
	rule, err := h.approvals.RevokeRule(ctx, by.Tenant, request.ID, by.Actor, audit.ByAPI)
	return okJSON(toRule(rule)), err
}

type evaluatePolicy struct {
	Body api.EvaluatePolicy
}

// evaluate is the dry run.
func (h ruleHandlers) evaluate(ctx context.Context, request evaluatePolicy) (responder, error) {
	evaluation, err := h.admission.AdmitEvaluation(principalOf(ctx), request.Body)
	if err != nil {
		return nil, err
	}
	judgement, call, err := h.approvals.Evaluate(ctx, evaluation)
	if err != nil {
		return nil, err
	}
	decision := toPolicyDecision(judgement, call)
	decision.Warnings = listed(approvals.RequestWarnings(evaluation.Request))
	return okJSON(decision), nil
}

func toRule(r domain.PermissionRule) api.PermissionRule {
	return api.PermissionRule{
		Id: r.ID, Scope: r.Scope, ExecutionId: textOrNull(string(r.Execution)), Effect: r.Effect,
		Matcher: r.Matcher, Description: approvals.Describe(r.Matcher), Warnings: listed(approvals.Warnings(r.Effect, r.Matcher)), ApprovalId: textOrNull(string(r.Approval)),
		CreatedAt: api.Time(r.Created), CreatedBy: r.By, ExpiresAt: timeOrNull(r.Expires),
		RevokedAt: timeOrNull(r.Revoked), Hits: r.Hits, LastHitAt: timeOrNull(r.LastHit),
	}
}

func toPolicyDecision(j approvals.Judgement, call domain.ToolCall) api.PolicyDecision {
	out := api.PolicyDecision{
		Decision: j.Verdict, Step: j.Step, DecidedBy: api.DecidedBy(j.By), RuleId: textOrNull(j.RuleID),
		Rule: textOrNull(j.Rule), Reason: j.Reason, Summary: call.Summary, Class: string(call.Class),
		RememberOptions: listed(j.Options),
	}
	for _, step := range j.Trace {
		out.Trace = append(out.Trace, api.PolicyStep{Step: step.Number, Name: step.Name, Applied: step.Applied, Detail: step.Detail})
	}
	return out
}
