package http

import (
	"context"
	"time"

	"signoff/api"
	"signoff/internal/approvals"
	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/store"
)

type listPermissionRules struct {
	ExecutionID domain.ExecutionID   `query:"executionId"`
	Scope       domain.RememberScope `query:"scope"`
	Ended       bool                 `query:"ended"`
	paged
}

// listPermissionRules shows a page, the newest first.
func (s *Server) listPermissionRules(ctx context.Context, request listPermissionRules) (responder, error) {
	page, err := s.reader.PermissionRules(ctx, who(ctx).Tenant, store.RuleFilter{
		Execution: request.ExecutionID, Scope: request.Scope, IncludeEnded: request.Ended, Cursor: request.Cursor, Limit: request.Limit,
	})
	if err != nil {
		return nil, err
	}
	items := make([]api.PermissionRule, len(page.Items))
	for i, rule := range page.Items {
		items[i] = toRule(rule)
	}
	return okJSON(api.PermissionRulePage{Items: items, NextCursor: textOrNull(page.Next)}), nil
}

// getPermissionRule shows one, also when it holds no more.
func (s *Server) getPermissionRule(ctx context.Context, request named) (responder, error) {
	rule, err := s.reader.PermissionRule(ctx, who(ctx).Tenant, request.ID)
	return okJSON(toRule(rule)), err
}

type createPermissionRule struct {
	Key  string `header:"Idempotency-Key"`
	Body api.CreatePermissionRule
}

// createPermissionRule writes a rule that is not a remembered decision.
func (s *Server) createPermissionRule(ctx context.Context, request createPermissionRule) (responder, error) {
	by, body := who(ctx), request.Body
	rule := domain.PermissionRule{
		Tenant: by.Tenant, Scope: body.Scope, Execution: domain.ExecutionID(api.Or(body.ExecutionId, "")),
		Effect: body.Effect, Matcher: body.Matcher, By: by.Actor,
	}
	if body.ExpiresAt != nil {
		rule.Expires = new(time.Time(*body.ExpiresAt).UTC())
	}
	if err := s.admission.Literal("/matcher", rule.Matcher); err != nil {
		return nil, err
	}
	rule, replayed, err := s.approvals.CreateRule(ctx, rule, request.Key, audit.ByAPI)
	if err != nil {
		return nil, err
	}
	return createdJSON("/permission-rules/"+rule.ID, toRule(rule)).with(replayedHeader(replayed)), nil
}

// revokePermissionRule ends a rule.
func (s *Server) revokePermissionRule(ctx context.Context, request named) (responder, error) {
	by := who(ctx)
	rule, err := s.approvals.RevokeRule(ctx, by.Tenant, request.ID, by.Actor, audit.ByAPI)
	return okJSON(toRule(rule)), err
}

type evaluatePolicy struct {
	Body api.EvaluatePolicy
}

// evaluatePolicy is the dry run.
func (s *Server) evaluatePolicy(ctx context.Context, request evaluatePolicy) (responder, error) {
	evaluation, err := s.admission.AdmitEvaluation(who(ctx), request.Body)
	if err != nil {
		return nil, err
	}
	judgement, call, err := s.approvals.Evaluate(ctx, evaluation)
	if err != nil {
		return nil, err
	}
	decision := toPolicyDecision(judgement, call)
	decision.Warnings = listed(approvals.RequestWarnings(evaluation.Request))
	return okJSON(decision), nil
}

// ——— out ———

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

// listed is a list that is empty rather than missing.
func listed[S ~[]T, T any](list S) S {
	if list == nil {
		return S{}
	}
	return list
}

func toTool(t ToolInfo) api.Tool {
	return api.Tool{Name: t.Name, Version: t.Version, Class: t.Class, Description: t.Description, Schema: t.Schema}
}
