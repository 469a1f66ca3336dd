package storetest

import (
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
)

func pastTheEnd(w *world) {
	id := w.create()
	w.accepted(said(id, 1, 4))
	for _, c := range []struct {
		after int64
		limit int
		want  []int64
	}{
		{0, 2, []int64{1, 2}}, {3, 10, []int64{4, 5}}, {5, 10, nil}, {6, 10, nil}, {math.MaxInt64, 10, nil},
		{math.MaxInt64 - 1, 10, nil}, {-5, 1, []int64{1}}, {math.MinInt64, 2, []int64{1, 2}}, {0, 0, nil}, {0, -1, nil},
		{0, math.MaxInt, []int64{1, 2, 3, 4, 5}}, {4, math.MaxInt, []int64{5}},
	} {
		events := ok(w.s.Events(w.ctx, id, c.after, c.limit))(w)
		var got []int64
		for _, event := range events {
			got = append(got, event.Seq)
		}
		if !slices.Equal(got, c.want) {
			w.Errorf("after %d, at most %d: %v, want %v", c.after, c.limit, got, c.want)
		}
	}
}

// byRunbook: filters, and the newest of each runbook and block, page by page. A deleted execution, or one that has not ended, hides no older output.
func byRunbook(w *world) {
	at := now().Add(-time.Hour)
	add := func(minute int, runbook, block string, kind domain.Kind, end bool) domain.ExecutionID {
		c := creation(domain.ExecutionID(newID()))
		e := &c.Create.Execution
		e.Created, e.Request.RunbookID, e.Request.Kind = at.Add(time.Duration(minute)*time.Minute), runbook, kind
		if block != "" {
			e.Request.Block = &domain.BlockName{ID: block, Name: block}
		}
		w.accepted(c)
		if end {
			w.accepted(ending(c.Execution, 1))
		}
		return c.Execution
	}
	a := add(0, "r", "x", "", true)
	b := add(1, "r", "x", domain.KindAgent, true)
	c := add(2, "r", "x", domain.KindAgent, false)
	d := add(3, "r", "y", domain.KindAgent, true)
	e := add(4, "s", "", domain.KindAssistant, true)
	copied := add(5, "t", "y", domain.KindAgent, true)
	f := add(6, "", "", domain.KindAgent, true)
	gone := add(7, "r", "y", domain.KindAgent, true)
	deletion := record("execution.deleted")
	deletion.Execution = gone
	w.must(w.s.Delete(w.ctx, tenant, gone, deletion))
	for _, test := range []struct {
		filter store.ExecutionFilter
		want   []domain.ExecutionID
	}{
		{store.ExecutionFilter{RunbookID: "r"}, []domain.ExecutionID{d, c, b, a}},
		{store.ExecutionFilter{BlockID: "x"}, []domain.ExecutionID{c, b, a}},
		{store.ExecutionFilter{RunbookID: "s", Kind: domain.KindAssistant}, []domain.ExecutionID{e}},
		{store.ExecutionFilter{Kind: domain.KindAgent}, []domain.ExecutionID{f, copied, d, c, b, a}},
		{store.ExecutionFilter{RunbookID: "r", BlockID: "y", Status: []domain.Status{domain.StatusCompleted}}, []domain.ExecutionID{d}},
		{store.ExecutionFilter{RunbookID: "nothing"}, nil},
		{store.ExecutionFilter{Latest: store.LatestOfRunbook}, []domain.ExecutionID{copied, e, d}},
		{store.ExecutionFilter{RunbookID: "r", Latest: store.LatestOfBlock}, []domain.ExecutionID{d, b}},
		{store.ExecutionFilter{RunbookID: "t", Latest: store.LatestOfBlock}, []domain.ExecutionID{copied}},
		{store.ExecutionFilter{RunbookID: "s", Latest: store.LatestOfBlock}, nil},
	} {
		var got []domain.ExecutionID
		for first := true; first || test.filter.Cursor != ""; first = false {
			test.filter.Limit = 1
			page := ok(w.s.Executions(w.ctx, tenant, test.filter))(w)
			for _, execution := range page.Items {
				got = append(got, execution.ID)
			}
			test.filter.Cursor = page.Next
		}
		if !slices.Equal(got, test.want) {
			w.Errorf("%+v: %v, want %v", test.filter, got, test.want)
		}
	}
}

// stablePages: what was there when the reader began comes exactly once, in order, whatever is added; also where many
// have the same time.
func stablePages(w *world) {
	at := now().Add(-time.Hour)
	add := func(created time.Time) domain.ExecutionID {
		c := creation(domain.ExecutionID(newID()))
		c.Create.Execution.Created = created
		a := approval(c.Execution)
		a.Requested = created
		c.Ask = []domain.Approval{a}
		w.accepted(c)
		return c.Execution
	}
	var there []domain.ExecutionID
	for i := range 25 {
		there = append(there, add(at.Add(time.Duration(i/6)*time.Second)))
	}
	var newest []domain.ExecutionID
	for cursor, first := "", true; first || cursor != ""; first = false {
		page := ok(w.s.Executions(w.ctx, tenant, store.ExecutionFilter{Cursor: cursor, Limit: 4}))(w)
		for _, e := range page.Items {
			newest = append(newest, e.ID)
		}
		cursor = page.Next
		add(now()) // newer than all: before the reader's place
	}
	slices.Reverse(newest)
	if !slices.Equal(newest, there) {
		w.Errorf("executions: %v, want %v", newest, there)
	}

	var oldest []domain.ExecutionID
	for cursor, first := "", true; first || cursor != ""; first = false {
		page := ok(w.s.Approvals(w.ctx, tenant, store.ApprovalFilter{Cursor: cursor, Limit: 4}))(w)
		for _, a := range page.Items {
			oldest = append(oldest, a.Execution)
		}
		cursor = page.Next
		if len(oldest) < 20 {
			add(at.Add(-time.Second)) // older than all
		}
	}
	if len(oldest) < len(there) || !slices.Equal(oldest[:2], there[:2]) && len(slices.Compact(sorted(oldest))) != len(oldest) {
		w.Errorf("approvals: %v", oldest)
	}
	for _, id := range there {
		if n := count(oldest, func(one domain.ExecutionID) bool { return one == id }); n != 1 {
			w.Errorf("the approval of %s came %d times", id, n)
		}
	}

	page := ok(w.s.Executions(w.ctx, tenant, store.ExecutionFilter{Limit: 1 << 30}))(w)
	if page.Next != "" || len(page.Items) < 25 {
		w.Errorf("a page without bounds has %d items, next %q", len(page.Items), page.Next)
	}
}

func malformedCursors(w *world) {
	w.createMany(3)
	page, err := w.s.Executions(w.ctx, tenant, store.ExecutionFilter{Limit: 1})
	w.must(err)
	encode := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	for _, cursor := range []string{"x", "%%%", page.Next + "=", page.Next + "\n", "'; drop table executions; --",
		encode("executions:x:id"), encode("executions:1"), encode("executions:1:"), encode("approvals2:1:a"),
		encode("executions:1:\x00"), encode("executions:99999999999999999999:a"), encode("")} {
		if cursor == "" {
			continue
		}
		_, err := w.s.Executions(w.ctx, tenant, store.ExecutionFilter{Cursor: cursor})
		w.refused(err, domain.CodeMalformed)
		_, err = w.s.Approvals(w.ctx, tenant, store.ApprovalFilter{Cursor: cursor})
		w.refused(err, domain.CodeMalformed)
	}
	_, err = w.s.Approvals(w.ctx, tenant, store.ApprovalFilter{Cursor: page.Next})
	w.refused(err, domain.CodeMalformed)
	_, err = w.s.Executions(w.ctx, tenant, store.ExecutionFilter{Cursor: page.Next})
	w.must(err)
}

func filters(w *world) {
	queued, waiting, acp := w.create(), w.create(), creation(domain.ExecutionID(newID()))
	w.accepted(store.Change{Execution: waiting, Epoch: 1, Update: &store.Update{Status: domain.StatusWaiting}})
	acp.Create.Execution.Request.Source = domain.Source{Type: domain.SourceACP, Command: "codex"}
	w.accepted(acp)
	for _, c := range []struct {
		filter store.ExecutionFilter
		want   []domain.ExecutionID
	}{
		{store.ExecutionFilter{}, []domain.ExecutionID{acp.Execution, waiting, queued}},
		{store.ExecutionFilter{Status: []domain.Status{domain.StatusWaiting}}, []domain.ExecutionID{waiting}},
		{store.ExecutionFilter{Status: []domain.Status{domain.StatusWaiting, domain.StatusQueued}}, []domain.ExecutionID{acp.Execution, waiting, queued}},
		{store.ExecutionFilter{Status: []domain.Status{"bogus"}}, nil},
		{store.ExecutionFilter{SourceType: domain.SourceACP}, []domain.ExecutionID{acp.Execution}},
		{store.ExecutionFilter{Agent: "codex"}, []domain.ExecutionID{acp.Execution}},
		{store.ExecutionFilter{Agent: "code"}, nil},
		{store.ExecutionFilter{SourceType: domain.SourceACP, Status: []domain.Status{domain.StatusWaiting}}, nil},
	} {
		page := ok(w.s.Executions(w.ctx, tenant, c.filter))(w)
		var got []domain.ExecutionID
		for _, e := range page.Items {
			got = append(got, e.ID)
		}
		if !slices.Equal(sorted(got), sorted(c.want)) || page.Next != "" {
			w.Errorf("%+v: %v, want %v", c.filter, got, c.want)
		}
	}

	one, two := w.asked(queued, 0), w.asked(waiting, 0)
	w.accepted(resolved(queued, one, domain.ApprovalDenied, "k"))
	for _, c := range []struct {
		filter store.ApprovalFilter
		want   []domain.ApprovalID
	}{
		{store.ApprovalFilter{}, []domain.ApprovalID{one, two}},
		{store.ApprovalFilter{Status: []domain.ApprovalStatus{domain.ApprovalPending}}, []domain.ApprovalID{two}},
		{store.ApprovalFilter{Execution: queued}, []domain.ApprovalID{one}},
		{store.ApprovalFilter{Execution: queued, Status: []domain.ApprovalStatus{domain.ApprovalPending}}, nil},
	} {
		page := ok(w.s.Approvals(w.ctx, tenant, c.filter))(w)
		var got []domain.ApprovalID
		for _, a := range page.Items {
			got = append(got, a.ID)
		}
		if !slices.Equal(sorted(got), sorted(c.want)) {
			w.Errorf("%+v: %v, want %v", c.filter, got, c.want)
		}
	}
}

func idempotentCreate(w *world) {
	try := func(key string) store.Change {
		c := creation(domain.ExecutionID(newID()))
		c.Create.Idempotency = &store.Idempotency{Key: key, BodyHash: []byte(c.Execution)}
		return c
	}
	check := func(key string, changes []store.Change, results []store.Result) {
		w.Helper()
		e, hash, err := w.s.ExecutionByKey(w.ctx, tenant, key)
		w.must(err)
		for i, result := range results {
			_, err := w.s.Execution(w.ctx, tenant, changes[i].Execution)
			if won := changes[i].Execution == e.ID; won {
				w.must(result.Err)
				w.must(err)
				if string(hash) != string(e.ID) {
					w.Errorf("the hash is of another body")
				}
				continue
			}
			w.refused(result.Err, domain.CodeConflict)
			w.refused(err, domain.CodeNotFound)
		}
	}
	changes := make([]store.Change, 20)
	for i := range changes {
		changes[i] = try("at once")
	}
	check("at once", changes, atOnce(len(changes), func(i int) store.Result {
		results, err := w.replicas[i%2].Commit(w.ctx, changes[i:i+1])
		if err != nil {
			w.Error(err)
			return store.Result{}
		}
		return results[0]
	}))
	for i := range changes {
		changes[i] = try("in one batch")
	}
	results := ok(w.s.Commit(w.ctx, changes))(w)
	check("in one batch", changes, results)
	if page, err := w.s.Executions(w.ctx, tenant, store.ExecutionFilter{}); err != nil || len(page.Items) != 2 {
		w.Errorf("%d executions, %v", len(page.Items), err)
	}

	// Of two with one key the first has the id of an execution that is there: it is out, so the second must be in.
	taken, free := try("second chance"), try("second chance")
	taken.Execution = changes[0].Execution
	if results[0].Err != nil {
		taken.Execution = w.create()
	}
	taken.Create.Execution.ID = taken.Execution
	results = ok(w.s.Commit(w.ctx, []store.Change{taken, free}))(w)
	w.refused(results[0].Err, domain.CodeConflict)
	w.must(results[1].Err)
}

func keyPerTenant(w *world) {
	for _, tenant := range []domain.TenantID{"a", "b"} {
		c := creation(domain.ExecutionID(newID()))
		c.Create.Execution.Tenant = tenant
		c.Create.Idempotency = &store.Idempotency{Key: "k", BodyHash: []byte(tenant)}
		w.accepted(c)
		e, hash, err := w.s.ExecutionByKey(w.ctx, tenant, "k")
		w.must(err)
		if e.ID != c.Execution || string(hash) != string(tenant) {
			w.Errorf("tenant %s got %s", tenant, e.ID)
		}
	}
}

// tenants: every method that takes a tenant, asked by another one.
func tenants(w *world) {
	id := domain.ExecutionID(newID())
	c := creation(id)
	c.Create.Idempotency = &store.Idempotency{Key: "k", BodyHash: []byte{1}}
	w.accepted(c)
	a := w.asked(id, 0)
	w.must(w.s.CreateKey(w.ctx, store.Key{ID: "key", Tenant: tenant, Created: now(), Hash: []byte("h")}))
	own, global := w.written(rule(id)), w.written(rule(""))
	_, err := save(w, w.s, 0, "mine")
	w.must(err)

	const other = domain.TenantID("other")
	_, err = w.s.Execution(w.ctx, other, id)
	w.refused(err, domain.CodeNotFound)
	_, _, err = w.s.ExecutionByKey(w.ctx, other, "k")
	w.refused(err, domain.CodeNotFound)
	_, err = w.s.Approval(w.ctx, other, a)
	w.refused(err, domain.CodeNotFound)
	w.refused(w.s.RevokeKey(w.ctx, other, "key"), domain.CodeNotFound)
	for _, r := range []domain.PermissionRule{own, global} {
		_, err = w.s.PermissionRule(w.ctx, other, r.ID)
		w.refused(err, domain.CodeNotFound)
		_, err = w.s.RevokeRule(w.ctx, other, r.ID, someone, record("rule.revoked"))
		w.refused(err, domain.CodeNotFound)
	}
	if rules, err := w.s.Rules(w.ctx, other, id); err != nil || len(rules) != 0 {
		w.Errorf("rules: %v, %v", rules, err)
	}
	if page, err := w.s.PermissionRules(w.ctx, other, store.RuleFilter{Execution: id}); err != nil || len(page.Items) != 0 {
		w.Errorf("rules: %v, %v", page, err)
	}
	if page, err := w.s.PermissionRules(w.ctx, other, store.RuleFilter{IncludeEnded: true}); err != nil || len(page.Items) != 0 {
		w.Errorf("rules: %v, %v", page, err)
	}
	if memory, err := w.s.Memory(w.ctx, other, runbook); err != nil || memory.Revision != 0 || memory.Content != "" {
		w.Errorf("notes: %+v, %v", memory, err)
	}
	_, err = w.s.SaveMemory(w.ctx, other, noted(1, "theirs"))
	w.refused(err, domain.CodeConflict)
	if entries := w.chain(other); len(entries) != 0 {
		w.Errorf("audit: %+v", entries)
	}
	if entries, err := w.s.Audit(w.ctx, other, store.AuditFilter{Execution: id}); err != nil || len(entries) != 0 {
		w.Errorf("audit: %+v, %v", entries, err)
	}
	if page, err := w.s.Executions(w.ctx, other, store.ExecutionFilter{}); err != nil || len(page.Items) != 0 {
		w.Errorf("executions: %v, %v", page, err)
	}
	if page, err := w.s.Approvals(w.ctx, other, store.ApprovalFilter{Execution: id}); err != nil || len(page.Items) != 0 {
		w.Errorf("approvals: %v, %v", page, err)
	}
	if keys, err := w.s.Keys(w.ctx, other); err != nil || len(keys) != 0 {
		w.Errorf("keys: %v, %v", keys, err)
	}
	w.accepted(creation(domain.ExecutionID(newID())))
	page := ok(w.s.Executions(w.ctx, tenant, store.ExecutionFilter{Limit: 1}))(w)
	if stolen, err := w.s.Executions(w.ctx, other, store.ExecutionFilter{Cursor: page.Next}); err != nil || len(stolen.Items) != 0 {
		w.Errorf("by another tenant's cursor: %v, %v", stolen, err)
	}
	w.accepted(ending(id, 1))
	w.refused(w.s.Delete(w.ctx, other, id, record("execution.deleted")), domain.CodeNotFound)
	_ = ok(w.s.Execution(w.ctx, tenant, id))(w)
	w.hold(id, own, global)
	if memory, err := w.s.Memory(w.ctx, tenant, runbook); err != nil || memory.Content != "mine" {
		w.Errorf("notes: %+v, %v", memory, err)
	}
}

func heads(w *world) {
	ids := w.createMany(3)
	w.accepted(said(ids[1], 0, 2))
	w.accepted(ending(ids[2], 1))
	all := w.heads(append(ids, domain.ExecutionID(newID()), ids[0]))
	if len(all) != 3 {
		w.Fatalf("%d heads", len(all))
	}
	for _, id := range ids {
		head := ok(w.s.Head(w.ctx, id))(w)
		if head != all[id] {
			w.Errorf("%+v is not %+v", all[id], head)
		}
	}
	if want := (store.Head{Execution: ids[1], LastSeq: 3, Epoch: 1, Owner: "one", ForeignWrites: 1}); all[ids[1]] != want {
		w.Errorf("%+v, want %+v", all[ids[1]], want)
	}
	if !all[ids[2]].Terminal || all[ids[0]].Terminal {
		w.Error("terminal is the wrong one")
	}
}

// changedHeads: only what is not as it is known is told, also of more executions than one statement takes.
func changedHeads(w *world) {
	ids := w.createMany(4)
	w.accepted(said(ids[1], 0, 2))
	w.accepted(said(ids[2], 0, 1))
	known := make([]store.KnownHead, 12_000)
	rung := w.heads(ids)
	for i := range known {
		known[i] = store.KnownHead{Execution: ids[0], LastSeq: 1, ForeignWrites: rung[ids[0]].ForeignWrites}
	}
	known[7] = store.KnownHead{Execution: ids[1], LastSeq: 2, ForeignWrites: rung[ids[1]].ForeignWrites}
	known[5_500] = store.KnownHead{Execution: ids[2], LastSeq: 2, ForeignWrites: rung[ids[2]].ForeignWrites - 1}
	known[9_999] = store.KnownHead{Execution: domain.ExecutionID(newID()), LastSeq: 3}
	known[11_999] = store.KnownHead{Execution: ids[3], LastSeq: 5, ForeignWrites: rung[ids[3]].ForeignWrites} // a reading that was older
	found := ok(w.s.ChangedHeads(w.ctx, known))(w)
	slices.SortFunc(found, func(a, b store.ChangedHead) int { return a.Place - b.Place })
	want := []store.ChangedHead{
		{Place: 7, Head: rung[ids[1]]}, {Place: 5_500, Head: rung[ids[2]]},
		{Place: 9_999, Gone: true, Head: store.Head{Execution: known[9_999].Execution}},
	}
	if !slices.Equal(found, want) {
		w.Errorf("%+v, want %+v", found, want)
	}
	if found, err := w.s.ChangedHeads(w.ctx, nil); err != nil || len(found) != 0 {
		w.Errorf("of nothing: %v, %v", found, err)
	}
}

// heads reads those that there are, by asking as somebody who knows nothing.
func (w *world) heads(ids []domain.ExecutionID) map[domain.ExecutionID]store.Head {
	known := make([]store.KnownHead, len(ids))
	for i, id := range ids {
		known[i] = store.KnownHead{Execution: id, ForeignWrites: -1}
	}
	found := ok(w.s.ChangedHeads(w.ctx, known))(w)
	all := map[domain.ExecutionID]store.Head{}
	for _, n := range found {
		if !n.Gone {
			all[n.Execution] = n.Head
		}
	}
	return all
}

func keys(w *world) {
	if has, err := w.s.HasKeys(w.ctx); err != nil || has {
		w.Fatalf("a fresh database has keys: %v, %v", has, err)
	}
	expires := now().Add(time.Hour)
	key := store.Key{ID: "k1", Tenant: tenant, Name: "first", Hash: []byte{0, 255, 1}, Scopes: []string{"a", "b:c"}, Created: now(), Expires: &expires}
	w.must(w.s.CreateKey(w.ctx, key))
	w.must(w.s.CreateKey(w.ctx, store.Key{ID: "k2", Tenant: tenant, Hash: []byte("h"), Created: now()}))
	w.refused(w.s.CreateKey(w.ctx, key), domain.CodeConflict)
	got, err := w.s.KeyByID(w.ctx, "k1")
	w.must(err)
	if fmt.Sprintf("%+v", got.Scopes) != "[a b:c]" || string(got.Hash) != string(key.Hash) || !got.Expires.Equal(expires) ||
		!got.Created.Equal(key.Created) || got.Revoked != nil || got.LastUsed != nil || got.Name != "first" || got.Tenant != tenant {
		w.Errorf("%+v", got)
	}
	w.must(w.s.TouchKey(w.ctx, "k1"))
	first, err := w.s.KeyByID(w.ctx, "k1")
	w.must(err)
	w.must(w.s.TouchKey(w.ctx, "k1"))
	second, err := w.s.KeyByID(w.ctx, "k1")
	w.must(err)
	if first.LastUsed == nil || !first.LastUsed.Equal(*second.LastUsed) {
		w.Errorf("touched: %v, again: %v", first.LastUsed, second.LastUsed)
	}
	w.must(w.s.RevokeKey(w.ctx, tenant, "k1"))
	first, err = w.s.KeyByID(w.ctx, "k1")
	w.must(err)
	w.must(w.s.RevokeKey(w.ctx, tenant, "k1"))
	second, err = w.s.KeyByID(w.ctx, "k1")
	w.must(err)
	if first.Revoked == nil || !first.Revoked.Equal(*second.Revoked) {
		w.Errorf("revoked: %v, again: %v", first.Revoked, second.Revoked)
	}
	w.refused(w.s.RevokeKey(w.ctx, tenant, "k3"), domain.CodeNotFound)
	_, err = w.s.KeyByID(w.ctx, "k3")
	w.refused(err, domain.CodeNotFound)
	if keys, err := w.s.Keys(w.ctx, tenant); err != nil || len(keys) != 2 || keys[0].ID != "k1" {
		w.Errorf("%v, %v", keys, err)
	}
	if has, err := w.s.HasKeys(w.ctx); err != nil || !has {
		w.Errorf("%v, %v", has, err)
	}
}
