package audit

import (
	"context"
	"fmt"
	"slices"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// Reader reads chains.
type Reader interface {
	Audit(ctx context.Context, tenant domain.TenantID, filter store.AuditFilter) ([]domain.AuditEntry, error)
	AuditHead(ctx context.Context, tenant domain.TenantID) (seq int64, hash string, err error)
}

// Head is an entry by its number and hash, kept elsewhere to verify against.
type Head struct {
	Seq  int64
	Hash string
}

// BrokenError says where a chain was changed.
type BrokenError struct {
	Tenant domain.TenantID
	Seq    int64
	Why    string
}

func (b *BrokenError) Error() string {
	return fmt.Sprintf("the audit of tenant %s is broken at entry %d: %s", b.Tenant, b.Seq, b.Why)
}

// pageSize is how many entries are read at once.
const pageSize = 1000

// Verify reads the whole chain of a tenant and returns its head, or [*BrokenError] for the first entry that was changed,
// moved, removed, hidden from those who look for it, or put in between. Each of kept must be in the chain as it was
// written down: that is what finds a chain that was rewritten as a whole.
func Verify(ctx context.Context, reader Reader, tenant domain.TenantID, kept ...Head) (Head, error) {
	// The head is read first: entries that come in meanwhile are behind it.
	seq, hash, err := reader.AuditHead(ctx, tenant)
	if err != nil {
		return Head{}, err
	}
	c := chain{tenant: tenant, kept: map[int64][]string{}}
	for _, head := range append(kept, Head{seq, hash}) {
		if head.Seq > 0 {
			c.kept[head.Seq] = append(c.kept[head.Seq], head.Hash)
		}
	}
	for {
		page, err := reader.Audit(ctx, tenant, store.AuditFilter{After: c.last.Seq, Limit: pageSize})
		if err != nil {
			return c.last, err
		}
		for _, entry := range page {
			if err := c.take(entry); err != nil {
				return c.last, err
			}
		}
		if len(page) < pageSize {
			return c.last, c.complete(ctx, reader)
		}
	}
}

// chain is the verified part of a chain.
type chain struct {
	tenant domain.TenantID
	last   Head
	kept   map[int64][]string // hashes of heads that were not reached yet
}

func (c *chain) take(entry domain.AuditEntry) error {
	broken := func(why string) error { return &BrokenError{c.tenant, entry.Seq, why} }
	switch {
	case entry.Seq != c.last.Seq+1:
		return &BrokenError{c.tenant, c.last.Seq + 1, "it is missing"}
	case entry.Tenant != c.tenant:
		return broken("it is another tenant's")
	case entry.Previous != c.last.Hash:
		return broken("it does not follow the entry before it")
	case entry.Link() != entry.Hash:
		return broken("it was changed")
	case !entry.Agrees():
		return broken("it is filed under another action or execution than its record names")
	case slices.ContainsFunc(c.kept[entry.Seq], func(hash string) bool { return hash != entry.Hash }):
		return broken("it is not the entry whose hash was kept")
	}
	delete(c.kept, entry.Seq)
	c.last = Head{entry.Seq, entry.Hash}
	return nil
}

// complete checks that all heads were found, since entries that are missing at the end leave no gap. It reads the head once more: the first one
// may be behind because entries were added, but a removed or reset head must not look like that.
func (c *chain) complete(ctx context.Context, reader Reader) error {
	for seq := range c.kept {
		return &BrokenError{c.tenant, seq, "the chain ends before it"}
	}
	seq, _, err := reader.AuditHead(ctx, c.tenant)
	if err == nil && seq < c.last.Seq {
		return &BrokenError{c.tenant, c.last.Seq, "the head of the chain is gone, or was set back"}
	}
	return err
}
