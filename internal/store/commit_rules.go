package store

import (
	"fmt"
	"slices"

	"signoff/internal/domain"
)

// brokenRules finds mistakes of the caller.
func brokenRules(rules []domain.PermissionRule) string {
	for _, rule := range rules {
		if why := brokenRule(rule); why != "" {
			return why
		}
	}
	return ""
}

func brokenRule(rule domain.PermissionRule) string {
	switch {
	case !rule.Scope.OfRule():
		return fmt.Sprintf("a rule cannot hold for %q", rule.Scope)
	case rule.Effect != domain.Allow && rule.Effect != domain.Ask && rule.Effect != domain.Deny:
		return fmt.Sprintf("a rule cannot say %q", rule.Effect)
	}
	return ""
}

// ruleList and insertRules are also those of [Store.CreateRule].
const (
	ruleList = `id text, scope text, execution text, tree bigint, effect text, matcher text, approval text, actor text, created bigint,
		expires bigint, tenant text`
	insertRules = `
		insert into permission_rules (id, tenant_id, scope, execution_id, tree, effect, matcher, approval_id, by, created_us,
			expires_us, hits)
		select id, tenant, scope, execution, tree, effect, matcher, approval, actor, created, expires, 0
		from v where true on conflict (id) do nothing returning id`
)

var errRuleTaken = domain.Errorf(domain.CodeConflict, "There is a permission rule with this id.")

// ruleValues is a rule but for its tenant, which the caller knows better. A rule of a tree is a rule of its root that also holds below it.
func ruleValues(rule domain.PermissionRule) ([]any, error) {
	scope, tree := rule.Scope, int64(0)
	if scope == domain.RememberTree {
		scope, tree = domain.RememberExecution, 1
	}
	matcher, err := encode(rule.Matcher)
	if err != nil {
		return nil, err
	}
	by, err := encode(rule.By)
	return []any{text(rule.ID), string(scope), optionalText(string(rule.Execution)), tree, string(rule.Effect), matcher,
		optionalText(string(rule.Approval)), by, rule.Created.UnixMicro(), micros(rule.Expires)}, err
}

func (b *batch) rememberRules() error {
	var rows []row
	for i, c := range b.live {
		for _, rule := range c.Remember {
			if rule.Scope == domain.RememberExecution {
				rule.Execution = c.Execution
			}
			values, err := ruleValues(rule)
			if err != nil {
				return err
			}
			rows = append(rows, row{i, append(values, b.heads[c.Execution].tenant)})
		}
	}
	return b.writeRows(ruleList, rows, errRuleTaken, insertRules)
}

// countHits counts every decision: parallel calls that one rule allows may be in one change. Rules for all of a tenant are hit by many executions at once, so they are
// locked by id, and what a batch counts for one of them is added up: an update takes a row only once.
func (b *batch) countHits() error {
	var rows []row
	for i, c := range b.live {
		for _, rule := range c.Hits {
			rows = append(rows, row{i, []any{text(rule), b.heads[c.Execution].tenant, string(c.Execution)}})
		}
	}
	slices.SortStableFunc(rows, byID)
	return b.insert(`id text, tenant text, execution text`, rows, `,
		hit as (
			select r.id, count(*) as times from v join permission_rules r on r.id = v.id and r.tenant_id = v.tenant
				and `+holdsFor("r", "v.execution")+`
			group by r.id),
		locked as (
			select hit.id, hit.times from hit join permission_rules r on r.id = hit.id
			order by r.id`+b.store.dialect.lock+`)
		update permission_rules as r set hits = r.hits + locked.times, last_hit_us = now_us()
		from locked where r.id = locked.id`)
}
