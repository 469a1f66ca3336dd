package store

import (
	"context"
	"database/sql"

	"signoff/internal/domain"
)

// Head is where an execution stands, in a row that is cheap to poll.
type Head struct {
	Execution domain.ExecutionID
	LastSeq   int64
	Epoch     int64
	Owner     ReplicaID // empty: nobody drives it
	Bell      int64     // grows with each change of somebody who does not drive it
	Terminal  bool      // nothing is written any more
}

const headColumns = `h.execution_id, h.last_seq, h.epoch, h.owner, h.bell, h.ended`

func scanHead(row scanner) (Head, error) {
	var (
		head  Head
		owner sql.NullString
	)
	err := row.Scan(&head.Execution, &head.LastSeq, &head.Epoch, &owner, &head.Bell, &head.Terminal)
	head.Owner = ReplicaID(owner.String)
	return head, err
}

// Head returns one head.
func (s *Store) Head(ctx context.Context, id domain.ExecutionID) (Head, error) {
	head, err := one(ctx, s.read, scanHead, `select `+headColumns+` from execution_heads h where h.execution_id = $1`,
		text(string(id)))
	return head, s.found(err, "execution")
}

// headsAtOnce bounds the parameters of one statement.
const headsAtOnce = 5000

// Heads returns the heads of many executions. Those that are gone are not in the map.
func (s *Store) Heads(ctx context.Context, ids []domain.ExecutionID) (map[domain.ExecutionID]Head, error) {
	heads := make(map[domain.ExecutionID]Head, len(ids))
	for len(ids) > 0 {
		some := ids[:min(len(ids), headsAtOnce)]
		ids = ids[len(some):]
		wanted := list{columns: columns("id text")}
		for _, id := range some {
			wanted.rows = append(wanted.rows, []any{text(string(id))})
		}
		with, args := s.dialect.with(wanted)
		found, err := collect(ctx, s.read, scanHead,
			with+` select `+headColumns+` from v join execution_heads h on h.execution_id = v.id`, args...)
		if err != nil {
			return nil, s.failed("read heads", err)
		}
		for _, head := range found {
			heads[head.Execution] = head
		}
	}
	return heads, nil
}
