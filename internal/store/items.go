package store

import (
	"context"
	"database/sql"
	"slices"

	"signoff/internal/domain"
)

// Package events/items makes the items of an execution from its log; the stored ones save reading the whole log for every page. A fold and its
// rows change in one transaction ([Store.SaveItems]). Readers use none: if the fold is the same before and after reading rows, the rows belong
// to it.

// ItemFold returns how far the items of an execution are stored. It asks for no tenant: the caller has read the execution.
func (s *Store) ItemFold(ctx context.Context, id domain.ExecutionID) (domain.ItemFold, error) {
	return selectFirst(ctx, s, "read how far items are stored", func(row scanner) (f domain.ItemFold, err error) {
		return f, row.Scan(&f.Version, &f.Seq, &f.Items, (*[]byte)(&f.State))
	}, `select version, seq, items, state from item_folds where execution_id = $1`, text(string(id)))
}

// ItemRows returns the rows whose places lie in [from, to). It ends before the row with which their states would exceed bytes, but not before
// the first one.
func (s *Store) ItemRows(ctx context.Context, id domain.ExecutionID, from, to int64, bytes int) ([]domain.ItemRow, error) {
	if from >= to {
		return nil, nil
	}
	return selectBounded(ctx, s, "read items", func(row scanner) (domain.ItemRow, error) { return scanItemRow(row) },
		func(row domain.ItemRow) int { return len(row.State) }, bytes,
		`select place, key, state from item_rows where execution_id = $1 and place >= $2 and place < $3 order by place`, text(string(id)), from, to)
}

// ItemRowsOf returns the rows with a place below to that have one of the keys: all of the first key, then all of the next one, each by
// place. It ends before another key where their states have come to so many bytes. The first complete keys are those that it has
// looked for; they are one at least.
func (s *Store) ItemRowsOf(ctx context.Context, id domain.ExecutionID, to int64, keys []string, bytes int) (rows []domain.ItemRow, complete int, err error) {
	if len(keys) == 0 {
		return nil, 0, nil
	}
	wanted := list{columns: columns(`n bigint, id text, key text`)}
	for n, key := range keys {
		wanted.rows = append(wanted.rows, []any{int64(n), text(string(id)), text(key)})
	}
	with, args := s.dialect.with(wanted)
	read, at := 0, 0
	complete = len(keys)
	rows, err = collect(ctx, s.read, func(row scanner) (domain.ItemRow, error) {
		var n int
		found, err := scanItemRow(row, &n)
		switch {
		case err != nil:
			return found, err
		case n < at: // the reading is done again
			read = 0
		case n > at && read >= bytes:
			complete = n
			return found, errEnough
		}
		read, at = read+len(found.State), n
		return found, nil
	}, with+`select i.place, i.key, i.state, v.n from v join item_rows i on i.execution_id = v.id and i.key = v.key order by v.n, i.place`, args...)
	if err != nil {
		return nil, 0, s.failed("read items", err)
	}
	return slices.DeleteFunc(rows, func(row domain.ItemRow) bool { return row.Place >= to }), complete, nil
}

func scanItemRow(row scanner, more ...any) (found domain.ItemRow, err error) {
	return found, row.Scan(append([]any{&found.Place, &found.Key, (*[]byte)(&found.State)}, more...)...)
}

// SaveItems replaces a fold, and writes the rows that have changed. If the fold before is no longer the stored one, another writer was faster, and
// nothing is written. A deleted execution is not found.
func (s *Store) SaveItems(ctx context.Context, id domain.ExecutionID, before, after domain.ItemFold, rows []domain.ItemRow) (saved bool, err error) {
	err = s.transact(ctx, "store items", func(tx *sql.Tx) error {
		saved = false
		// Nobody can remove the execution until this is over. What its driver writes does not wait for it.
		tenant, err := one(ctx, tx, scanValue[string], `select tenant_id from execution_heads where execution_id = $1 and deleted_us is null`+s.dialect.share,
			text(string(id)))
		if err != nil {
			return s.found(err, "execution")
		}
		n, err := affected(tx.ExecContext(ctx, `
			insert into item_folds (execution_id, tenant_id, version, seq, items, state) values ($1, $2, $3, $4, $5, $6)
			on conflict (execution_id) do update set version = excluded.version, seq = excluded.seq, items = excluded.items, state = excluded.state
			where item_folds.version = $7 and item_folds.seq = $8`,
			text(string(id)), tenant, after.Version, after.Seq, after.Items, text(string(after.State)), before.Version, before.Seq))
		if err != nil || n == 0 {
			return err
		}
		saved = true
		return s.saveItemRows(ctx, tx, id, tenant, rows)
	})
	return saved && err == nil, err
}

func (s *Store) saveItemRows(ctx context.Context, tx *sql.Tx, id domain.ExecutionID, tenant string, rows []domain.ItemRow) error {
	for len(rows) > 0 {
		part := rows[:s.dialect.bite(min(len(rows), rowsAtOnce))]
		rows = rows[len(part):]
		given := list{columns: columns(`id text, place bigint, tenant text, key text, state text`)}
		for _, row := range part {
			given.rows = append(given.rows, []any{text(string(id)), row.Place, tenant, text(row.Key), text(string(row.State))})
		}
		with, args := s.dialect.with(given)
		if _, err := tx.ExecContext(ctx, with+`
			insert into item_rows (execution_id, place, tenant_id, key, state) select id, place, tenant, key, state from v where true
			on conflict (execution_id, place) do update set key = excluded.key, state = excluded.state`, args...); err != nil {
			return err
		}
	}
	return nil
}
