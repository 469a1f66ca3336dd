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

// CreateRule stores a rule that an operator wrote, and lets the calls that wait for a person be judged by it at once. With
// an idempotency key that was used before, it returns the first answer again (replayed).
// Errors: CodeInvalid, CodeNotFound for an execution that the tenant does not have, CodeIdempotencyMismatch.
func (d *Service) CreateRule(
	ctx context.Context, rule domain.PermissionRule, key, channel string,
) (created domain.PermissionRule, replayed bool, err error) {
	if err := checkRule(rule); err != nil {
		return rule, false, err
	}
	rule.ID, rule.Created = ruleID(rule.Tenant, key), now()
	err = d.store.CreateRule(ctx, rule, audit.Rule("rule.created", rule, rule.By, channel))
	if key != "" && domain.CodeOf(err) == domain.CodeConflict {
		return d.replayRule(ctx, rule)
	}
	if err != nil {
		return rule, false, err
	}
	d.notifySessions(ctx, rule)
	return rule, false, nil
}

// ruleID is a fresh id, or the one that a key stands for: so that the second use of a key meets the first one's rule.
func ruleID(tenant domain.TenantID, key string) string {
	if key == "" {
		return NewID()
	}
	return uuid.NewSHA1(ruleKeys, []byte(string(tenant)+"\x00"+key)).String()
}

// ruleKeys is the name space of the ids that keys stand for (RFC 9562, version 5).
var ruleKeys = uuid.MustParse("6f1d1c52-6a0e-4d0f-9a55-0c8f6f1f7c11")

func (d *Service) replayRule(ctx context.Context, again domain.PermissionRule) (domain.PermissionRule, bool, error) {
	first, err := d.store.PermissionRule(ctx, again.Tenant, again.ID)
	if err != nil {
		return again, false, err
	}
	if first.Scope != again.Scope || first.Execution != again.Execution || first.Effect != again.Effect ||
		first.Matcher != again.Matcher || !sameTime(first.Expires, again.Expires) {
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
	case rule.Scope != domain.RememberExecution && rule.Scope != domain.RememberGlobal:
		return domain.Invalid("/scope", "The scope is execution or global.")
	case (rule.Scope == domain.RememberExecution) != (rule.Execution != ""):
		return domain.Invalid("/executionId", "A rule of the scope execution names one, a global rule names none.")
	case rule.Expires != nil && !rule.Expires.After(time.Now()):
		return domain.Invalid("/expiresAt", "The rule would have expired already.")
	default:
		return CheckMatcher(rule.Matcher)
	}
}

// RevokeRule ends a rule. What it allowed before stands; what comes next is judged without it. Once more is no error.
func (d *Service) RevokeRule(
	ctx context.Context, tenant domain.TenantID, id string, by domain.Actor, channel string,
) (domain.PermissionRule, error) {
	return d.store.RevokeRule(ctx, tenant, id, by, audit.Rule("rule.revoked", domain.PermissionRule{ID: id}, by, channel))
}

// notifySessions wakes the sessions whose open questions a new rule may answer. It is a bell and no more: a session that does not
// hear it keeps its question open, and a person can still decide.
func (d *Service) notifySessions(ctx context.Context, rule domain.PermissionRule) {
	if rule.Effect == domain.Ask {
		return
	}
	filter := store.ApprovalFilter{Status: []domain.ApprovalStatus{domain.ApprovalPending}, Execution: rule.Execution}
	rung := map[domain.ExecutionID]bool{}
	for {
		page, err := d.store.Approvals(ctx, rule.Tenant, filter)
		if err != nil {
			slog.WarnContext(ctx, "open questions are not judged anew by a new rule", "rule", rule.ID, "error", err)
			return
		}
		for _, approval := range page.Items {
			if concerns(rule, approval) && !rung[approval.Execution] {
				rung[approval.Execution] = true
				d.notifySession(ctx, approval.Execution)
			}
		}
		if filter.Cursor = page.Next; filter.Cursor == "" {
			return
		}
	}
}

func (d *Service) notifySession(ctx context.Context, execution domain.ExecutionID) {
	_, err := d.log.Commit(ctx, store.Change{Execution: execution, Notify: true})
	if err != nil && domain.CodeOf(err) != domain.CodeStale { // stale: it has ended meanwhile
		slog.WarnContext(ctx, "a session was not told of a new rule", "execution", execution, "error", err)
	}
}

// concerns tells whether the rule may be about the approval, as far as the row shows it; the session looks closer.
func concerns(rule domain.PermissionRule, approval domain.Approval) bool {
	m := rule.Matcher
	return approval.Kind != domain.ApprovalQuestion && approval.Kind != domain.ApprovalUnknownOutcome &&
		(m.Tool == "" || m.Tool == approval.Call.Tool) &&
		(m.ArgumentsHash == "" || m.ArgumentsHash == approval.ArgumentsHash)
}
