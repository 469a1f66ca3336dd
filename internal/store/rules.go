package store

import (
	"context"
	"database/sql"
	"strings"

	"signoff/internal/domain"
)

// RuleFilter chooses from the permission rules of a tenant. Zero values choose all that hold.
type RuleFilter struct {
	Execution    domain.ExecutionID
	Scope        domain.RememberScope
	IncludeEnded bool   // also those that were revoked, or have expired
	Cursor       string // Next of the page before
	Limit        int
}

const ruleColumns = `id, tenant_id, case tree when 1 then 'tree' else scope end, execution_id, effect, matcher, approval_id, by, created_us, expires_us, revoked_us,
	hits, last_hit_us`

// holds is the condition of a rule that was neither revoked nor has expired, by the clock of the database.
const holds = `revoked_us is null and (expires_us is null or expires_us > now_us())`

func scanRule(row scanner) (domain.PermissionRule, error) {
	var (
		rule                domain.PermissionRule
		execution, approval sql.NullString
		matcher, by         string
		created             int64
		expires, revoked    sql.NullInt64
		lastHit             sql.NullInt64
	)
	err := row.Scan(&rule.ID, &rule.Tenant, &rule.Scope, &execution, &rule.Effect, &matcher, &approval, &by, &created,
		&expires, &revoked, &rule.Hits, &lastHit)
	if err != nil {
		return rule, err
	}
	rule.Execution, rule.Approval = domain.ExecutionID(execution.String), domain.ApprovalID(approval.String)
	rule.Created, rule.Expires, rule.Revoked, rule.LastHit = timeOf(created), optionalTime(expires), optionalTime(revoked), optionalTime(lastHit)
	if err := decode("by", by, &rule.By); err != nil {
		return rule, err
	}
	return rule, decode("matcher", matcher, &rule.Matcher)
}

// holdsFor is the condition of a rule that concerns an execution: a rule of the execution, of its tree, or of all executions.
func holdsFor(rules, execution string) string {
	return strings.NewReplacer("rules", rules, "$id", execution).Replace(`(rules.execution_id is null or rules.execution_id = $id or
		rules.tree = 1 and rules.execution_id = (select e.root_id from executions e where e.id = $id))`)
}

// Rules returns the rules that hold for an execution, the oldest first: its own rules, those of its tree, and those for all executions of the tenant.
func (s *Store) Rules(ctx context.Context, tenant domain.TenantID, execution domain.ExecutionID) ([]domain.PermissionRule, error) {
	return selectAll(ctx, s, "read the rules of an execution", scanRule, `select `+ruleColumns+` from permission_rules
		where tenant_id = $1 and `+holdsFor("permission_rules", "$2")+` and `+holds+` order by created_us, id`,
		text(string(tenant)), text(string(execution)))
}

// PermissionRule returns one rule, also one that does not hold any more. One of another tenant is not found.
func (s *Store) PermissionRule(ctx context.Context, tenant domain.TenantID, id string) (domain.PermissionRule, error) {
	rule, err := one(ctx, s.read, scanRule, selectRule, text(id), text(string(tenant)))
	return rule, s.found(err, "permission rule")
}

var selectRule = `select ` + ruleColumns + ` from permission_rules where id = $1 and tenant_id = $2 and ` + keptIn("permission_rules")

// PermissionRules lists the rules of a tenant, the newest first.
func (s *Store) PermissionRules(ctx context.Context, tenant domain.TenantID, filter RuleFilter) (Page[domain.PermissionRule], error) {
	var where conditions
	where.add(`tenant_id = $%d and `+keptIn("permission_rules"), text(string(tenant)))
	if filter.Execution != "" {
		where.add(`execution_id = $%d`, text(string(filter.Execution)))
	}
	if filter.Scope != "" {
		where.add(`case tree when 1 then 'tree' else scope end = $%d`, text(string(filter.Scope)))
	}
	if !filter.IncludeEnded {
		where.add(holds)
	}
	return permissionRuleList.page(ctx, s, `select `+ruleColumns+` from permission_rules`, where, filter.Cursor, filter.Limit)
}

var permissionRuleList = listing[domain.PermissionRule]{
	name: "rules", place: "created_us, id", desc: true, scan: scanRule,
	of: func(rule domain.PermissionRule) (int64, string) { return rule.Created.UnixMicro(), rule.ID },
}

// CreateRule stores a rule that somebody wrote and appends the audit record. One for an execution needs that execution of the
// tenant; an id that is taken is a conflict.
func (s *Store) CreateRule(ctx context.Context, rule domain.PermissionRule, record domain.AuditRecord) error {
	if why := brokenRule(rule); why != "" {
		return domain.Errorf(domain.CodeInternal, "The permission rule is not well formed: %s.", why)
	}
	values, err := ruleValues(rule)
	if err != nil {
		return err
	}
	return s.audited(ctx, "create a permission rule", rule.Tenant, record, func(tx *sql.Tx) error {
		if rule.Execution != "" {
			_, err := one(ctx, tx, scanValue[string], `select execution_id from execution_heads h where execution_id = $1 and tenant_id = $2 and `+kept+s.dialect.lock,
				text(string(rule.Execution)), text(string(rule.Tenant)))
			if err := s.found(err, "execution"); err != nil {
				return err
			}
		}
		with, args := s.dialect.with(list{columns: columns(ruleList), rows: [][]any{append(values, text(string(rule.Tenant)))}})
		created, err := collect(ctx, tx, scanValue[string], with+insertRules, args...)
		if err == nil && len(created) == 0 {
			return errRuleTaken
		}
		return err
	})
}

// RevokeRule ends a rule for good, appends the audit record, and returns the rule. Revoking it again changes nothing.
func (s *Store) RevokeRule(ctx context.Context, tenant domain.TenantID, id string, by domain.Actor, record domain.AuditRecord) (domain.PermissionRule, error) {
	who, err := encode(by)
	if err != nil {
		return domain.PermissionRule{}, err
	}
	var rule domain.PermissionRule
	err = s.transact(ctx, "revoke a permission rule", func(tx *sql.Tx) error {
		revoked, err := collect(ctx, tx, scanRule, `
			update permission_rules set revoked_us = now_us(), revoked_by = $3
			where id = $1 and tenant_id = $2 and revoked_us is null returning `+ruleColumns, text(id), text(string(tenant)), who)
		switch {
		case err != nil:
			return err
		case len(revoked) == 0: // by somebody else, or there is none
			rule, err = one(ctx, tx, scanRule, selectRule, text(id), text(string(tenant)))
			return s.found(err, "permission rule")
		}
		rule = revoked[0]
		return s.appendAudit(ctx, tx, tenant, record)
	})
	return rule, err
}
