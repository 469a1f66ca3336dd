package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/store"
)

// book is a chain in memory, which a test spoils.
type book struct {
	entries []domain.AuditEntry
	head    audit.Head
	heads   []audit.Head // are read before head
}

func written(n int) *book {
	b := &book{}
	for i := range n {
		entry := domain.AuditEntry{
			Tenant: "t", Seq: int64(i + 1), Time: time.UnixMicro(int64(1000 + i)).UTC(), Action: "toolCall.read", Execution: "e",
			Record: domain.Encode(domain.AuditRecord{
				Action: "toolCall.read", Execution: "e", Subject: string(rune('a' + i%26)), Channel: audit.BySession,
			}),
		}
		b.add(entry)
	}
	return b
}

func (b *book) add(entry domain.AuditEntry) {
	entry.Previous = b.head.Hash
	entry.Hash = entry.Link()
	b.entries, b.head = append(b.entries, entry), audit.Head{Seq: entry.Seq, Hash: entry.Hash}
}

func (b *book) Audit(_ context.Context, _ domain.TenantID, filter store.AuditFilter) ([]domain.AuditEntry, error) {
	var page []domain.AuditEntry
	for _, entry := range b.entries {
		if entry.Seq > filter.After && len(page) < filter.Limit {
			page = append(page, entry)
		}
	}
	return page, nil
}

func (b *book) AuditHead(context.Context, domain.TenantID) (int64, string, error) {
	head := b.head
	if len(b.heads) > 0 {
		head, b.heads = b.heads[0], b.heads[1:]
	}
	return head.Seq, head.Hash, nil
}

func TestVerify(t *testing.T) {
	for _, n := range []int{0, 1, 7, 1000, 2345} {
		b := written(n)
		if head, err := audit.Verify(t.Context(), b, "t"); err != nil || head != b.head {
			t.Errorf("%d entries: %v, %v", n, head, err)
		}
	}
}

// Entries come in while others are read, also the first ones of all.
func TestVerifyOfAChainThatGrows(t *testing.T) {
	b := written(9)
	first := audit.Head{Seq: 1, Hash: b.entries[0].Hash}
	for _, before := range []audit.Head{{}, first} {
		b.heads = []audit.Head{before}
		if head, err := audit.Verify(t.Context(), b, "t"); err != nil || head != b.head {
			t.Errorf("from %d on: %v, %v", before.Seq, head, err)
		}
	}
}

func TestVerifyFindsWhatWasDone(t *testing.T) {
	kept := written(9).head
	for name, test := range map[string]struct {
		spoil func(*book)
		seq   int64
	}{
		"a record was changed":      {func(b *book) { b.entries[4].Record = json.RawMessage(`{"action":"toolCall.read","channel":"x"}`) }, 5},
		"a time was changed":        {func(b *book) { b.entries[4].Time = b.entries[4].Time.Add(time.Microsecond) }, 5},
		"an entry was removed":      {func(b *book) { b.entries = append(b.entries[:4:4], b.entries[5:]...) }, 5},
		"the first was removed":     {func(b *book) { b.entries = b.entries[1:] }, 1},
		"the last was removed":      {func(b *book) { b.entries = b.entries[:8] }, 9},
		"all were removed":          {func(b *book) { b.entries = nil }, 9},
		"two changed places":        {func(b *book) { b.entries[4], b.entries[5] = b.entries[5], b.entries[4] }, 5},
		"one was relinked":          {func(b *book) { relink(b, 4) }, 6},
		"one is no record":          {func(b *book) { b.entries[4].Record = json.RawMessage(`[]`); b.entries[4].Hash = b.entries[4].Link() }, 5},
		"an action was changed":     {func(b *book) { b.entries[4].Action = "toolCall.write" }, 5},
		"an action was emptied":     {func(b *book) { b.entries[4].Action = "" }, 5},
		"an execution was changed":  {func(b *book) { b.entries[4].Execution = "another" }, 5},
		"an execution was emptied":  {func(b *book) { b.entries[8].Execution = "" }, 9},
		"the head was removed":      {func(b *book) { b.head = audit.Head{} }, 9},
		"the head was set back":     {func(b *book) { b.head = audit.Head{Seq: 3, Hash: b.entries[2].Hash} }, 9},
		"the head was set ahead":    {func(b *book) { b.head.Seq = 10 }, 10},
		"the head was changed":      {func(b *book) { b.head.Hash = "x" }, 9},
		"all behind were relinked":  {func(b *book) { rewrite(b, 4) }, 9},
		"all, and the head as well": {func(b *book) { rewrite(b, 4); b.head = audit.Head{Seq: 9, Hash: b.entries[8].Hash} }, 9},
		"another tenant's":          {func(b *book) { b.entries[4].Tenant = "u" }, 5},
		"a new chain, longer": {func(b *book) {
			*b = *written(8)
			b.add(domain.AuditEntry{Tenant: "t", Seq: 9, Action: "x", Record: json.RawMessage(`{"action":"x"}`)})
		}, 9},
	} {
		t.Run(name, func(t *testing.T) {
			b := written(9)
			test.spoil(b)
			_, err := audit.Verify(t.Context(), b, "t", kept)
			var broken *audit.BrokenError
			if !errors.As(err, &broken) || broken.Seq != test.seq || broken.Tenant != "t" {
				t.Errorf("got %v, want entry %d", err, test.seq)
			}
		})
	}
}

// rewrite is what somebody does who knows how the chain is made.
func rewrite(b *book, from int) {
	relink(b, from)
	for i := from + 1; i < len(b.entries); i++ {
		b.entries[i].Previous = b.entries[i-1].Hash
		b.entries[i].Hash = b.entries[i].Link()
	}
}

// relink puts another entry in the place of one, whole in itself.
func relink(b *book, i int) {
	entry := &b.entries[i]
	entry.Record, entry.Action, entry.Execution = json.RawMessage(`{"action":"nothing.happened"}`), "nothing.happened", ""
	entry.Hash = entry.Link()
}

func TestRecordsAreShort(t *testing.T) {
	call := domain.ToolCall{
		ID: "c", Tool: "bash", Class: domain.ClassExecute, Summary: "Run it",
		Action: domain.Action{Command: strings.Repeat("€", 10_000), Hosts: []string{"x.example"}, Secrets: []string{"token"}},
	}
	record := audit.Call(domain.Execution{ID: "e"}, call, audit.Provenance{DecidedBy: "rule", RuleID: "r", Channel: audit.BySession},
		domain.ToolCallCompleted{Outcome: domain.OutcomeFailed, Output: strings.Repeat("ä", 10_000), DurationMs: 7})
	encoded := domain.Encode(record)
	if len(encoded) > 6000 || !json.Valid(encoded) || strings.ContainsRune(string(encoded), '\uFFFD') {
		t.Errorf("%d bytes", len(encoded))
	}
	if record.Action != "toolCall.execute" || record.Outcome != "failed" || !strings.HasSuffix(record.Summary, " …") ||
		!strings.Contains(string(record.Details), `"hosts":["x.example"]`) || !strings.Contains(string(record.Details), `"secrets":["token"]`) {
		t.Errorf("%+v %s", record, record.Details)
	}
}
