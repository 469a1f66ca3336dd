package store

import (
	"context"
	"database/sql"

	"signoff/internal/domain"
)

// Head is the state of an execution, in a row that is cheap to poll.
type Head struct {
	Execution     domain.ExecutionID
	LastSeq       int64
	Epoch         int64
	Owner         ReplicaID // empty: no replica drives it
	ForeignWrites int64     // counts the changes under epoch 0
	Terminal      bool      // nothing is written any more
	Deleted       bool      // its driver may still have to end it, see [Store.Delete]
}

const headColumns = `h.execution_id, h.last_seq, h.epoch, h.owner, h.bell, h.ended, h.deleted_us is not null`

func scanHead(row scanner) (Head, error) {
	var (
		head  Head
		owner sql.NullString
	)
	err := row.Scan(&head.Execution, &head.LastSeq, &head.Epoch, &owner, &head.ForeignWrites, &head.Terminal, &head.Deleted)
	head.Owner = ReplicaID(owner.String)
	return head, err
}

// Head returns one head.
func (s *Store) Head(ctx context.Context, id domain.ExecutionID) (Head, error) {
	head, err := one(ctx, s.read, scanHead, `select `+headColumns+` from execution_heads h where h.execution_id = $1`,
		text(string(id)))
	return head, s.found(err, "execution")
}

// KnownHead is what a caller knows of a head. ForeignWrites is below zero if it is unknown.
type KnownHead struct {
	Execution     domain.ExecutionID
	LastSeq       int64
	ForeignWrites int64
}

// ChangedHead is a head that differs from what the caller knew.
type ChangedHead struct {
	Place int  // its index in the known heads
	Gone  bool // the execution does not exist
	Head
}

// headsAtOnce bounds the parameters of one statement.
const headsAtOnce = 5000

// ChangedHeads returns the heads that differ from the known ones, in any order. For ten thousand unchanged heads the database makes
// ten thousand index lookups, and this server sends what it knows.
func (s *Store) ChangedHeads(ctx context.Context, known []KnownHead) ([]ChangedHead, error) {
	var all []ChangedHead
	for first := 0; first < len(known); first += headsAtOnce {
		given := list{columns: columns("place bigint, id text, seq bigint, bell bigint")}
		for i, k := range known[first:min(first+headsAtOnce, len(known))] {
			given.rows = append(given.rows, []any{int64(first + i), text(string(k.Execution)), k.LastSeq, k.ForeignWrites})
		}
		with, args := s.dialect.with(given)
		found, err := collect(ctx, s.read, scanChangedHead, with+`
			select v.place, h.execution_id is null, v.id, coalesce(h.last_seq, 0), coalesce(h.epoch, 0), h.owner, coalesce(h.bell, 0), coalesce(h.ended, 0),
				h.deleted_us is not null
			from v left join execution_heads h on h.execution_id = v.id
			where h.execution_id is null or h.last_seq > v.seq or h.bell <> v.bell`, args...)
		if err != nil {
			return nil, s.failed("read heads", err)
		}
		all = append(all, found...)
	}
	return all, nil
}

func scanChangedHead(row scanner) (ChangedHead, error) {
	var (
		head  ChangedHead
		owner sql.NullString
	)
	err := row.Scan(&head.Place, &head.Gone, &head.Execution, &head.LastSeq, &head.Epoch, &owner, &head.ForeignWrites, &head.Terminal, &head.Deleted)
	head.Owner = ReplicaID(owner.String)
	return head, err
}
