package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// Chain reads the whole audit of a tenant, and fails the test where it is not 1..n, where an entry does not follow from
// the one before or is filed under something else than its record names, or where the head says otherwise.
func Chain(tb testing.TB, s *store.Store, tenant domain.TenantID) []domain.AuditEntry {
	tb.Helper()
	seq, hash, err := s.AuditHead(context.Background(), tenant)
	if err != nil {
		tb.Fatal(err)
	}
	var entries []domain.AuditEntry
	for int64(len(entries)) < seq {
		page, err := s.Audit(context.Background(), tenant, store.AuditFilter{After: int64(len(entries)), Limit: 1000})
		if err != nil {
			tb.Fatal(err)
		}
		if len(page) == 0 {
			tb.Fatalf("the audit of %s ends at %d, its head says %d", tenant, len(entries), seq)
		}
		entries = append(entries, page...)
	}
	last := domain.AuditEntry{}
	for _, e := range entries {
		if e.Tenant != tenant || e.Seq != last.Seq+1 || e.Previous != last.Hash || e.Hash != e.Link() || !e.Agrees() || e.Time.Before(last.Time) {
			tb.Fatalf("%+v\ndoes not follow\n%+v", e, last)
		}
		last = e
	}
	if last.Seq < seq || last.Seq == seq && last.Hash != hash {
		tb.Fatalf("the head is %d %s, the last entry is %+v", seq, hash, last)
	}
	return entries
}

func (w *world) chain(tenant domain.TenantID) []domain.AuditEntry {
	w.Helper()
	return Chain(w, w.s, tenant)
}

// auditedSoFar is the number of entries, as their head tells it.
func (w *world) auditedSoFar() int64 {
	w.Helper()
	seq, _, err := w.s.AuditHead(w.ctx, tenant)
	w.must(err)
	return seq
}

// unaudited runs do and fails the test where the audit has anything of it.
func (w *world) unaudited(do func()) {
	w.Helper()
	before := len(w.chain(tenant))
	do()
	if after := w.chain(tenant)[before:]; len(after) > 0 {
		w.Fatalf("the audit tells of what did not happen: %s", after[0].Record)
	}
}

func auditRoundTrip(w *world) {
	id := w.create()
	full := domain.AuditRecord{Action: "toolCall.bash", Execution: "another", RunbookID: "r", Subject: "s", Tool: "bash",
		Class: domain.ClassExecute, ArgumentsHash: "h", Details: json.RawMessage(`{ "b" : "<\u0000>", "a" :1.0e1 }`), DecidedBy: "rule",
		RuleID: "rule", Reason: "r", Actor: &someone, Channel: "session", Outcome: "ok", Summary: "a<b\u2028", DurationMs: 7}
	before := ok(w.s.Now(w.ctx))(w)
	c := said(id, 1, 1)
	c.Audit = []domain.AuditRecord{full, record("second")}
	w.accepted(c)
	odd := record("a\x00")
	odd.Summary, odd.Execution = "\xff", "\xff\xffx"
	w.must(w.s.AppendAudit(w.ctx, tenant, record("third"), odd))
	w.must(w.s.AppendAudit(w.ctx, tenant))
	w.must(w.s.AppendAudit(w.ctx, "t\x00", record("first")))
	after := ok(w.s.Now(w.ctx))(w)

	second := record("second")
	second.Execution = id // a change tells of its own execution
	chain := w.chain(tenant)
	odd.Action, odd.Execution = "a\uFFFD", "\uFFFDx" // as in the columns
	for i, want := range []domain.AuditRecord{full, second, record("third"), odd} {
		if got := string(chain[i].Record); got != string(domain.Encode(want)) {
			w.Errorf("wrote %s, read %s", domain.Encode(want), got)
		}
		if chain[i].Time.Before(before) || chain[i].Time.After(after) {
			w.Errorf("entry %d is of %v, not between %v and %v", i, chain[i].Time, before, after)
		}
	}
	if len(chain) != 4 || len(w.chain("t\uFFFD")) != 1 {
		w.Errorf("%d entries", len(chain))
	}
	tenants := ok(w.s.AuditTenants(w.ctx))(w)
	if !slices.Equal(sorted(tenants), []domain.TenantID{tenant, "t\uFFFD"}) {
		w.Errorf("audits of %q", tenants)
	}
}

func auditFilters(w *world) {
	one, two := w.create(), w.create()
	for range 3 {
		for _, id := range []domain.ExecutionID{one, two} {
			w.accepted(store.Change{Execution: id, Epoch: 1, Audit: []domain.AuditRecord{record("a"), record("b")}})
		}
		w.must(w.s.AppendAudit(w.ctx, tenant, record("a")))
	}
	all := w.chain(tenant) // 5 in each of three rounds: a b of one, a b of two, a
	for _, c := range []struct {
		filter store.AuditFilter
		want   []int64
	}{
		{store.AuditFilter{Limit: 3}, []int64{1, 2, 3}},
		{store.AuditFilter{After: 13}, []int64{14, 15}},
		{store.AuditFilter{After: 15}, nil},
		{store.AuditFilter{After: -1, Limit: 1}, []int64{1}},
		{store.AuditFilter{Execution: one}, []int64{1, 2, 6, 7, 11, 12}},
		{store.AuditFilter{Execution: two, Action: "b"}, []int64{4, 9, 14}},
		{store.AuditFilter{Action: "b", After: 4, Limit: 2}, []int64{7, 9}},
		{store.AuditFilter{Execution: "nowhere"}, nil},
		{store.AuditFilter{Action: "nothing"}, nil},
	} {
		got := ok(w.s.Audit(w.ctx, tenant, c.filter))(w)
		var want []domain.AuditEntry
		for _, seq := range c.want {
			want = append(want, all[seq-1])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			w.Errorf("%+v: %s", c.filter, diff)
		}
	}
	records := make([]domain.AuditRecord, 60)
	for i := range records {
		records[i] = record(fmt.Sprint(i))
	}
	w.must(w.s.AppendAudit(w.ctx, tenant, records...))
	if page, err := w.s.Audit(w.ctx, tenant, store.AuditFilter{}); err != nil || len(page) != 50 {
		w.Errorf("a page without a limit has %d entries, %v", len(page), err)
	}
}

// auditAtOnce: replicas append to the chains of two tenants, and share nothing else that could keep them in order.
func auditAtOnce(w *world) {
	const writers, rounds = 8, 8
	tenants := []domain.TenantID{"a", "b"}
	batches := make([][]store.Change, writers)
	for i := range batches {
		for _, tenant := range []domain.TenantID{"a", "b", "b"} {
			c := creation(domain.ExecutionID(newID()))
			c.Create.Execution.Tenant = tenant
			w.accepted(c)
			batches[i] = append(batches[i], audited(c.Execution))
		}
		batches[i][2].Epoch = 9 // is refused
	}
	errs := atOnce(writers, func(i int) error {
		s := w.replicas[i%2]
		for round := range rounds {
			if _, err := s.Commit(w.ctx, batches[i]); err != nil {
				return err
			}
			if err := s.AppendAudit(w.ctx, tenants[round%2], record("alone")); err != nil {
				return err
			}
			_, err := s.SaveMemory(w.ctx, tenants[i%2], noted(0, "x"))
			if err != nil && domain.CodeOf(err) != domain.CodeConflict {
				return err
			}
		}
		return nil
	})
	for _, err := range errs {
		w.must(err)
	}
	for _, tenant := range tenants {
		// Two by each change, one alone in every other round, and the one who won the notes.
		if n, want := len(w.chain(tenant)), writers*rounds*2+writers*rounds/2+1; n != want {
			w.Errorf("%d entries of %s, want %d", n, tenant, want)
		}
	}
}

func audited(id domain.ExecutionID) store.Change {
	c := said(id, 1, 1)
	c.Audit = []domain.AuditRecord{record("first"), record("second")}
	return c
}

func auditOfALargeChange(w *world) {
	c := said(w.create(), 1, 1)
	for i := range 2500 {
		c.Audit = append(c.Audit, record(fmt.Sprint(i)))
	}
	w.accepted(c)
	for i, e := range w.chain(tenant) {
		var record domain.AuditRecord
		w.must(json.Unmarshal(e.Record, &record))
		if record.Action != fmt.Sprint(i) {
			w.Fatalf("entry %d tells of %s", e.Seq, record.Action)
		}
	}
}

// auditOutlivesItsExecution: who deletes an execution does not delete what was done.
func auditOutlivesItsExecution(w *world) {
	c := creation(domain.ExecutionID(newID()))
	c.Audit = []domain.AuditRecord{record("execution.created")}
	w.accepted(c)
	deleted := record("execution.deleted")
	deleted.Execution = c.Execution
	w.unaudited(func() {
		w.refused(w.s.Delete(w.ctx, "other", c.Execution, deleted), domain.CodeNotFound)
	})
	w.accepted(ending(c.Execution, 1))
	w.untouched(c.Execution, func() { w.refused(w.s.Delete(w.ctx, tenant, c.Execution, domain.AuditRecord{}), domain.CodeInternal) })
	w.must(w.s.Delete(w.ctx, tenant, c.Execution, deleted))
	w.removed(c.Execution)
	w.refused(w.s.Delete(w.ctx, tenant, c.Execution, deleted), domain.CodeNotFound)
	entries := ok(w.s.Audit(w.ctx, tenant, store.AuditFilter{Execution: c.Execution}))(w)
	if len(entries) != 2 || len(w.chain("other")) != 0 || entries[1].Time.Before(entries[0].Time.Add(-time.Second)) {
		w.Errorf("%d entries are left", len(entries))
	}
}
