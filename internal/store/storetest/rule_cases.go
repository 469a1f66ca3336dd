package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/store"
)

var someone = domain.Actor{KeyID: "k", Name: "<me>"}

// written stores a rule that nobody's decision left behind.
func (w *world) written(rule domain.PermissionRule) domain.PermissionRule {
	w.Helper()
	w.must(w.s.CreateRule(w.ctx, rule, record("rule.created")))
	return rule
}

func (w *world) revoke(id string) domain.PermissionRule {
	w.Helper()
	revoked := ok(w.s.RevokeRule(w.ctx, tenant, id, someone, record("rule.revoked")))(w)
	return revoked
}

func (w *world) rule(id string) domain.PermissionRule {
	w.Helper()
	rule := ok(w.s.PermissionRule(w.ctx, tenant, id))(w)
	return rule
}

// hold fails the test where other rules than those hold for an execution, or in another order.
func (w *world) hold(id domain.ExecutionID, want ...domain.PermissionRule) {
	w.Helper()
	rules := ok(w.s.Rules(w.ctx, tenant, id))(w)
	if !slices.Equal(ruleIDs(rules), ruleIDs(want)) {
		w.Fatalf("%v hold, want %v", ruleIDs(rules), ruleIDs(want))
	}
}

func ruleIDs(rules []domain.PermissionRule) []string {
	ids := []string{}
	for _, rule := range rules {
		ids = append(ids, rule.ID)
	}
	return ids
}

func ruleRoundTrip(w *world) {
	id := w.create()
	expires := now().Add(time.Hour)
	own, global, remembered := rule(id), rule(""), rule("")
	remembered.Matcher = domain.Matcher{Server: "s", Arguments: map[string]string{"/a~1b": "<**>", "c": "d"}}
	own.Effect, own.Matcher = domain.Deny, domain.Matcher{Path: "/w/<**>", Class: domain.ClassWrite}
	global.Effect, global.Expires, global.By = domain.Ask, &expires, someone
	global.Matcher = domain.Matcher{ArgumentsHash: "h", Tool: "t", Command: "git \"log\" *", Server: "s\u2028"}
	remembered.Approval, remembered.By = "a", someone
	remembered.Tenant = "is told by the execution"
	w.written(own)
	w.written(global)
	w.accepted(store.Change{Execution: id, Remember: []domain.PermissionRule{remembered}})
	remembered.Tenant = tenant
	for _, want := range []domain.PermissionRule{own, global, remembered} {
		if diff := cmp.Diff(want, w.rule(want.ID)); diff != "" {
			w.Error(diff)
		}
	}
	w.hold(id, own, global, remembered)
	w.hold(w.create(), global, remembered)
}

func rulesThatHold(w *world) {
	id := w.create()
	at := ok(w.s.Now(w.ctx))(w)
	expiring := func(after time.Duration) domain.PermissionRule {
		r, until := rule(""), at.Add(after)
		r.Expires = &until
		return w.written(r)
	}
	over, open, never, gone := expiring(-time.Second), expiring(time.Hour), w.written(rule(id)), w.written(rule(id))
	w.written(rule(w.create()))
	w.hold(id, open, never, gone)
	w.revoke(gone.ID)
	w.hold(id, open, never)
	if got := w.rule(over.ID); got.Revoked != nil || got.Expires == nil {
		w.Errorf("what has expired is still there to be read: %+v", got)
	}

	at = ok(w.s.Now(w.ctx))(w)
	soon := expiring(30 * time.Millisecond)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		rules := ok(w.s.Rules(w.ctx, tenant, id))(w)
		after := ok(w.s.Now(w.ctx))(w)
		if len(rules) == 2 {
			if after.Before(*soon.Expires) {
				w.Errorf("it expires %v, and was gone at %v", soon.Expires, after)
			}
			break
		}
		if time.Now().After(end) {
			w.Fatal("a rule does not expire")
		}
	}
}

func ruleLists(w *world) {
	one, two := w.create(), w.create()
	var all []domain.PermissionRule // the newest first
	at := now().Add(-time.Hour)
	for i := range 9 {
		r := rule([]domain.ExecutionID{"", one, two}[i%3])
		r.Created = at.Add(time.Duration(i/4) * time.Second) // several of one time
		all = append([]domain.PermissionRule{w.written(r)}, all...)
	}
	w.revoke(all[1].ID)
	past := at.Add(-time.Hour)
	expired := rule(one)
	expired.Expires, expired.Created = &past, at.Add(-time.Second)
	all = append(all, w.written(expired))
	is := func(id domain.ExecutionID, ended bool) []domain.PermissionRule {
		return slices.DeleteFunc(slices.Clone(all), func(r domain.PermissionRule) bool {
			return id != "any" && r.Execution != id || !ended && (r.ID == all[1].ID || r.ID == expired.ID)
		})
	}
	for _, c := range []struct {
		filter store.RuleFilter
		want   []domain.PermissionRule
	}{
		{store.RuleFilter{}, is("any", false)},
		{store.RuleFilter{IncludeEnded: true}, is("any", true)},
		{store.RuleFilter{Execution: one}, is(one, false)},
		{store.RuleFilter{Execution: one, IncludeEnded: true}, is(one, true)},
		{store.RuleFilter{Scope: domain.RememberGlobal}, is("", false)},
		{store.RuleFilter{Scope: domain.RememberGlobal, Execution: one}, nil},
		{store.RuleFilter{Scope: "bogus"}, nil},
	} {
		for _, c.filter.Limit = range []int{0, 1, 2} {
			if got := w.allRules(c.filter); !slices.Equal(ruleIDs(got), ruleIDs(c.want)) {
				w.Errorf("%+v: %v, want %v", c.filter, ruleIDs(got), ruleIDs(c.want))
			}
		}
	}
	executions, err := w.s.Executions(w.ctx, tenant, store.ExecutionFilter{Limit: 1})
	w.must(err)
	_, err = w.s.PermissionRules(w.ctx, tenant, store.RuleFilter{Cursor: executions.Next})
	w.refused(err, domain.CodeMalformed)
}

// allRules reads page after page.
func (w *world) allRules(filter store.RuleFilter) (all []domain.PermissionRule) {
	w.Helper()
	for {
		page := ok(w.s.PermissionRules(w.ctx, tenant, filter))(w)
		all = append(all, page.Items...)
		if filter.Cursor = page.Next; filter.Cursor == "" {
			return all
		}
	}
}

// rulesOfTrees: an execution below has the rules of its root's tree, and counts their hits; those of its parent alone it has not.
func rulesOfTrees(w *world) {
	root, other := w.create(), w.create()
	child := w.delegated(root)
	grandchild := w.delegated(child)
	written, remembered := rule(root), rule(root)
	written.Scope, remembered.Scope = domain.RememberTree, domain.RememberTree
	remembered.Approval = "a"
	w.written(written)
	w.accepted(store.Change{Execution: child, Remember: []domain.PermissionRule{remembered}})
	own := w.written(rule(child))
	for _, id := range []domain.ExecutionID{root, grandchild} {
		w.hold(id, written, remembered)
	}
	w.hold(child, written, remembered, own)
	w.hold(other)
	for _, want := range []domain.PermissionRule{written, remembered} {
		if diff := cmp.Diff(want, w.rule(want.ID)); diff != "" {
			w.Error(diff)
		}
	}
	for _, id := range []domain.ExecutionID{root, grandchild, other} {
		w.accepted(store.Change{Execution: id, Hits: []string{written.ID, own.ID}})
	}
	if tree, alone := w.rule(written.ID).Hits, w.rule(own.ID).Hits; tree != 2 || alone != 0 {
		w.Errorf("%d hits of the tree's rule, %d of that of one execution", tree, alone)
	}
	for scope, want := range map[domain.RememberScope][]domain.PermissionRule{
		domain.RememberTree: {remembered, written}, domain.RememberExecution: {own}, domain.RememberGlobal: nil,
	} {
		if got := w.allRules(store.RuleFilter{Scope: scope}); !slices.Equal(ruleIDs(got), ruleIDs(want)) {
			w.Errorf("%s: %v", scope, ruleIDs(got))
		}
	}
}

// rulesAreRefused: what cannot be written leaves neither a rule nor an entry.
func rulesAreRefused(w *world) {
	id := w.create()
	taken := w.written(rule(id))
	foreign, unknown, odd, wild, bogus := rule(id), rule("nowhere"), rule(id), rule(id), rule(id)
	foreign.Tenant, bogus.Scope, wild.Scope, odd.Effect = "other", "always", domain.RememberOnce, "maybe"
	w.unaudited(func() {
		for _, c := range []struct {
			rule domain.PermissionRule
			code domain.Code
		}{
			{foreign, domain.CodeNotFound}, {unknown, domain.CodeNotFound}, {taken, domain.CodeConflict},
			{bogus, domain.CodeInternal}, {wild, domain.CodeInternal}, {odd, domain.CodeInternal},
		} {
			w.untouched(id, func() { w.refused(w.s.CreateRule(w.ctx, c.rule, record("rule.created")), c.code) })
		}
		for _, record := range []domain.AuditRecord{{}, {Action: "a", Details: json.RawMessage(`{`)}} {
			w.untouched(id, func() {
				w.refused(w.s.CreateRule(w.ctx, rule(id), record), domain.CodeInternal)
				_, err := w.s.RevokeRule(w.ctx, tenant, taken.ID, someone, record)
				w.refused(err, domain.CodeInternal)
			})
		}
		_, err := w.s.RevokeRule(w.ctx, tenant, "nowhere", someone, record("rule.revoked"))
		w.refused(err, domain.CodeNotFound)
	})
	w.hold(id, taken)
}

// revokedOnce: of those who revoke at once one is in the audit, and all are told the same.
func revokedOnce(w *world) {
	r := w.written(rule(""))
	before := len(w.chain(tenant))
	revoked := atOnce(12, func(i int) domain.PermissionRule {
		got, err := w.replicas[i%2].RevokeRule(w.ctx, tenant, r.ID, someone, record("rule.revoked"))
		if err != nil {
			w.Error(err)
		}
		return got
	})
	stored := w.rule(r.ID)
	if stored.Revoked == nil || stored.Revoked.After(time.Now().Add(time.Hour)) {
		w.Fatalf("%+v", stored)
	}
	for _, got := range revoked {
		if diff := cmp.Diff(stored, got); diff != "" {
			w.Error(diff)
		}
	}
	if n := len(w.chain(tenant)) - before; n != 1 {
		w.Errorf("%d entries tell of it", n)
	}
}

func hitsAreCounted(w *world) {
	one, two := w.create(), w.create()
	own, global, theirs := w.written(rule(one)), w.written(rule("")), w.written(rule(two))
	foreign := rule("")
	foreign.Tenant = "other"
	w.written(foreign)
	hit := func(id domain.ExecutionID, rules ...string) store.Change {
		return store.Change{Execution: id, Epoch: 1, Hits: rules}
	}
	check := func(r domain.PermissionRule, want int64) {
		w.Helper()
		if got := w.rule(r.ID); got.Hits != want || (got.LastHit != nil) != (want > 0) {
			w.Errorf("hit %d times, the last time %v, want %d", got.Hits, got.LastHit, want)
		}
	}
	w.accepted(hit(one, global.ID, own.ID, global.ID, "gone", theirs.ID, foreign.ID))
	check(own, 1)
	check(global, 2)
	check(theirs, 0)
	if got, err := w.s.PermissionRule(w.ctx, "other", foreign.ID); err != nil || got.Hits != 0 {
		w.Errorf("another tenant's rule: %+v, %v", got, err)
	}
	results := ok(w.s.Commit(w.ctx, []store.Change{hit(one, global.ID), hit(two, global.ID, theirs.ID), hit(w.create(), global.ID)}))(w)
	for _, result := range results {
		w.must(result.Err)
	}
	check(global, 5)
	check(theirs, 1)
	first := *w.rule(global.ID).LastHit
	stale := hit(one, global.ID)
	stale.Epoch = 2
	w.untouched(one, func() { w.refused(w.commit(stale).Err, domain.CodeStale) })
	w.accepted(hit(one, global.ID))
	if last := *w.rule(global.ID).LastHit; last.Before(first) {
		w.Errorf("hit at %v, then at %v", first, last)
	}
	own.ID = newID() // a decision leaves a rule, and its call is the first that the rule covers
	c := hit(one, own.ID)
	c.Remember = []domain.PermissionRule{own}
	w.accepted(c)
	check(own, 1)
}

// hitsAtOnce: replicas hit the same rules in opposite orders, and revoke them.
func hitsAtOnce(w *world) {
	const writers, rounds = 8, 10
	ids := w.createMany(writers)
	var rules []string
	for range 6 {
		rules = append(rules, w.written(rule("")).ID)
	}
	for _, err := range atOnce(writers, func(i int) error {
		mine := slices.Clone(rules)
		if i%2 == 1 {
			slices.Reverse(mine)
		}
		for round := range rounds {
			c := said(ids[i], 1, 1)
			c.Hits, c.Audit = mine, []domain.AuditRecord{record("toolCall.bash")}
			if _, err := w.replicas[i%2].Commit(w.ctx, []store.Change{c}); err != nil {
				return err
			}
			if _, err := w.replicas[i%2].RevokeRule(w.ctx, tenant, mine[round%len(mine)], someone, record("rule.revoked")); err != nil {
				return err
			}
		}
		return nil
	}) {
		w.must(err)
	}
	for _, id := range rules {
		if got := w.rule(id); got.Hits != writers*rounds {
			w.Errorf("%d hits, want %d", got.Hits, writers*rounds)
		}
	}
	w.chain(tenant)
}

func ruleUnderDelete(w *world) {
	for range 10 {
		id := w.create()
		w.accepted(ending(id, 1))
		for _, err := range atOnce(6, func(i int) error {
			if i == 0 {
				return w.replicas[0].Delete(w.ctx, tenant, id, record("execution.deleted"))
			}
			err := w.replicas[i%2].CreateRule(w.ctx, rule(id), record("rule.created"))
			if err != nil && domain.CodeOf(err) != domain.CodeNotFound {
				return fmt.Errorf("a rule of an execution that goes: %w", err)
			}
			return nil
		}) {
			w.must(err)
		}
		w.removed(id)
		w.hold(id)
	}
	w.chain(tenant)
}
