package approvals

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/store"
)

// CreateRule stores an operator's rule, and has pending approvals judged by it at once. With an idempotency key that was used
// before, it returns the first answer again (replayed).
// Errors: CodeInvalid, CodeNotFound for an execution that the tenant does not have, CodeIdempotencyMismatch.
func (s *Service) CreateRule(
	ctx context.Context, rule domain.PermissionRule, key, channel string,
) (created domain.PermissionRule, replayed bool, err error) {
	if err := checkRule(rule); err != nil {
		return rule, false, err
	}
	rule.ID, rule.Created = ruleID(rule.Tenant, key), now()
	record := audit.Rule("rule.created", rule, rule.By, channel)
	if rule.Execution != "" {
		execution, err := s.store.Execution(ctx, rule.Tenant, rule.Execution)
		if err != nil {
			return rule, false, err
		}
		if rule.Scope == domain.RememberTree && execution.Root() != execution.ID {
			return rule, false, domain.Invalid("/executionId", "A rule of the scope tree names the root, and that is %s.", execution.Root())
		}
		record = record.InTree(execution)
	}
	err = s.store.CreateRule(ctx, rule, record)
	if key != "" && domain.CodeOf(err) == domain.CodeConflict {
		return s.replayRule(ctx, rule)
	}
	if err != nil {
		return rule, false, err
	}
	s.notifySessions(ctx, rule)
	return rule, false, nil
}

// ruleID is a fresh id, or one derived from the key, so that the second use of a key finds the first one's rule.
func ruleID(tenant domain.TenantID, key string) string {
	if key == "" {
		return NewID()
	}
	return uuid.NewSHA1(ruleKeys, []byte(string(tenant)+"\x00"+key)).String()
}

// ruleKeys is the name space of the ids derived from keys (RFC 9562, version 5).
var ruleKeys = uuid.MustParse("6f1d1c52-6a0e-4d0f-9a55-0c8f6f1f7c11")

func (s *Service) replayRule(ctx context.Context, again domain.PermissionRule) (domain.PermissionRule, bool, error) {
	first, err := s.store.PermissionRule(ctx, again.Tenant, again.ID)
	if err != nil {
		return again, false, err
	}
	again.Matcher.EnvironmentDigest = first.Matcher.EnvironmentDigest // no client sets it
	if first.Scope != again.Scope || first.Execution != again.Execution || first.Effect != again.Effect ||
		!first.Matcher.Equal(again.Matcher) || !sameTime(first.Expires, again.Expires) {
		return again, false, domain.Errorf(domain.CodeIdempotencyMismatch, "This Idempotency-Key was used before with another body.")
	}
	return first, true, nil
}

func sameTime(a, b *time.Time) bool {
	return a == b || (a != nil && b != nil && a.Truncate(time.Microsecond).Equal(b.Truncate(time.Microsecond)))
}

func checkRule(rule domain.PermissionRule) error {
	switch {
	case rule.Effect != domain.Allow && rule.Effect != domain.Ask && rule.Effect != domain.Deny:
		return domain.Invalid("/effect", "The effect is allow, ask or deny.")
	case !rule.Scope.OfRule():
		return domain.Invalid("/scope", "The scope is execution, tree or global.")
	case (rule.Scope == domain.RememberGlobal) != (rule.Execution == ""):
		return domain.Invalid("/executionId", "A rule of the scope execution names one, that of a tree its root, and a global rule names none.")
	case rule.Expires != nil && !rule.Expires.After(time.Now()):
		return domain.Invalid("/expiresAt", "The rule would have expired already.")
	default:
		return CheckMatcher(rule.Matcher)
	}
}

// RevokeRule ends a rule. Its earlier decisions stand; later calls are judged without it. To revoke it again is no error.
func (s *Service) RevokeRule(
	ctx context.Context, tenant domain.TenantID, id string, by domain.Actor, channel string,
) (domain.PermissionRule, error) {
	return s.store.RevokeRule(ctx, tenant, id, by, audit.Rule("rule.revoked", domain.PermissionRule{ID: id}, by, channel))
}

// notifySessions notifies the sessions whose pending approvals a new rule may decide. If a notification is lost, the approval
// stays pending, and a person can still decide.
func (s *Service) notifySessions(ctx context.Context, rule domain.PermissionRule) {
	if rule.Effect == domain.Ask {
		return
	}
	among := store.ApprovalFilter{Execution: rule.Execution}
	if rule.Scope == domain.RememberTree {
		among = store.ApprovalFilter{Root: rule.Execution}
	}
	s.notifyWaiting(ctx, rule.Tenant, among, func(approval domain.Approval) bool { return concerns(rule, approval) })
}

// notifyPinned notifies the sessions that wait for an answer about a tool which somebody has just approved: an older rule may cover it again.
func (s *Service) notifyPinned(ctx context.Context, pin domain.MCPPin) {
	s.notifyWaiting(ctx, pin.Tenant, store.ApprovalFilter{}, func(approval domain.Approval) bool {
		tool := approval.Call.MCP
		return approval.Kind.AnswerableByRule() && tool != nil && tool.Server == pin.Server && tool.Tool == pin.Tool
	})
}

// notifyWaiting notifies the sessions with a pending approval that something concerns. An empty filter is all of the tenant.
func (s *Service) notifyWaiting(ctx context.Context, tenant domain.TenantID, filter store.ApprovalFilter, concerned func(domain.Approval) bool) {
	filter.Status = []domain.ApprovalStatus{domain.ApprovalPending}
	notified := map[domain.ExecutionID]bool{}
	for {
		page, err := s.store.Approvals(ctx, tenant, filter)
		if err != nil {
			slog.WarnContext(ctx, "pending approvals were not judged again", "tenant", tenant, "error", err)
			return
		}
		for _, approval := range page.Items {
			if concerned(approval) && !notified[approval.Execution] {
				notified[approval.Execution] = true
				s.notifySession(ctx, approval.Execution)
			}
		}
		if filter.Cursor = page.Next; filter.Cursor == "" {
			return
		}
	}
}

func (s *Service) notifySession(ctx context.Context, execution domain.ExecutionID) {
	_, err := s.log.Commit(ctx, store.Change{Execution: execution, Notify: true})
	if err != nil && domain.CodeOf(err) != domain.CodeStale { // stale: it has ended meanwhile
		slog.WarnContext(ctx, "a session was not notified of a new rule", "execution", execution, "error", err)
	}
}

// concerns reports whether the rule may cover the approval, judged by its row alone; the session checks the rest.
func concerns(rule domain.PermissionRule, approval domain.Approval) bool {
	m := rule.Matcher
	return approval.Kind.AnswerableByRule() &&
		(m.Tool == "" || m.Tool == toolFor(m, approval.Call)) &&
		(m.ArgumentsHash == "" || m.ArgumentsHash == approval.ArgumentsHash)
}
