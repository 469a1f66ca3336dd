package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"

	"signoff/internal/domain"
)

// ViewedFiles returns, by path, the hashes of the contents that an execution has viewed; files that it has never viewed are left out. It takes no
// tenant: the caller drives the execution.
func (s *Store) ViewedFiles(ctx context.Context, id domain.ExecutionID, paths ...string) (map[string]domain.ContentHash, error) {
	viewed := map[string]domain.ContentHash{}
	if len(paths) == 0 {
		return viewed, nil
	}
	byHash, hashes := map[string]string{}, make([]string, 0, len(paths))
	for _, path := range paths {
		hash := hashOfPath(path)
		byHash[hash], hashes = path, append(hashes, hash)
	}
	var where conditions
	where.add(`execution_id = $%d`, text(string(id)))
	in(&where, `path_hash`, hashes)
	_, err := selectAll(ctx, s, "read what was viewed of files", func(row scanner) (hash string, err error) {
		var content domain.ContentHash
		err = row.Scan(&hash, &content)
		viewed[byHash[hash]] = content
		return hash, err
	}, `select path_hash, content_hash from viewed_files where `+where.String(), where.args...)
	return viewed, err
}

// SaveViewedFiles saves the hashes of the contents that an execution has viewed, by path, and replaces earlier ones. Under an old epoch it fails with
// domain.CodeStale: its agent's results are not written, so the agent of the next driver has not seen those contents.
func (s *Store) SaveViewedFiles(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, epoch int64, viewed map[string]domain.ContentHash) error {
	return s.transact(ctx, "keep what was viewed of files", func(tx *sql.Tx) error {
		if err := s.lockDriven(ctx, tx, tenant, id, epoch); err != nil {
			return err
		}
		for path, content := range viewed {
			if _, err := tx.ExecContext(ctx, `
				insert into viewed_files (execution_id, path_hash, tenant_id, content_hash) values ($1, $2, $3, $4)
				on conflict (execution_id, path_hash) do update set content_hash = excluded.content_hash`,
				text(string(id)), hashOfPath(path), text(string(tenant)), text(string(content))); err != nil {
				return err
			}
		}
		return nil
	})
}

// hashOfPath replaces a path in the index: a path may be too long for a key, and not UTF-8.
func hashOfPath(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:])
}
