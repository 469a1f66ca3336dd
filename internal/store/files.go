package store

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"signoff/internal/domain"
)

const fileColumns = `f.id, f.name, f.media_type, f.size, f.sha256, f.created_us`

func scanFile(row scanner) (domain.File, error) {
	var (
		f       domain.File
		hash    []byte
		created int64
	)
	err := row.Scan(&f.ID, &f.Name, &f.MediaType, &f.Size, &hash, &created)
	f.SHA256, f.CreatedAt = hex.EncodeToString(hash), timeOf(created)
	return f, err
}

// fileContent is a file with its bytes.
type fileContent struct {
	file    domain.File
	content []byte
}

func scanFileContent(row scanner) (c fileContent, err error) {
	c.file, err = scanFile(scanFirst{row, &c.content})
	return c, err
}

// NewFile is a file that is to be stored.
type NewFile struct {
	ID              domain.FileID
	Name, MediaType string
	Content         []byte

	UsedBy domain.ExecutionID // it is one of those that the execution uses; empty: an upload, which is removed after a while, see [Store.RemoveUploads]
	Epoch  int64              // of the claim under which the agent of that execution runs
	Room   int64              // how many bytes the files of the execution may have, or the tenant's uploads without a use, with this one
}

// SaveFile stores a file. Bytes that the tenant has already are not stored again. If there is no room for an upload, it is domain.CodeTooMany; for a file of
// an execution, domain.CodeLimitReached. If that execution is not driven under the epoch any more, it is domain.CodeStale.
func (s *Store) SaveFile(ctx context.Context, tenant domain.TenantID, file NewFile) (saved domain.File, err error) {
	content, hash, usedBy := file.Content, sha256.Sum256(file.Content), file.UsedBy
	err = s.transact(ctx, "store a file", func(tx *sql.Tx) error {
		if err := s.roomForFile(ctx, tx, tenant, file); err != nil {
			return err
		}
		if err := s.saveContent(ctx, tx, tenant, hash[:], content); err != nil {
			return err
		}
		saved, err = one(ctx, tx, scanFile, `
			insert into files (id, tenant_id, sha256, name, media_type, size, created_us, used)
			values ($1, $2, $3, $4, $5, $6, now_us(), $7) returning id, name, media_type, size, sha256, created_us`, text(string(file.ID)), text(string(tenant)), hash[:],
			text(file.Name), text(file.MediaType), int64(len(content)), flag(usedBy != ""))
		if err != nil || usedBy == "" {
			return err
		}
		// Commits to the execution wait for this lock, so it comes last: the bytes take a while to write.
		if err := s.lockDriven(ctx, tx, tenant, usedBy, file.Epoch); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `insert into execution_files (execution_id, file_id) values ($1, $2)`, text(string(usedBy)), text(string(file.ID)))
		return err
	})
	return saved, err
}

// roomForFile refuses a file where there are too many bytes already.
func (s *Store) roomForFile(ctx context.Context, tx *sql.Tx, tenant domain.TenantID, file NewFile) error {
	size := int64(len(file.Content))
	if file.UsedBy != "" {
		used, err := one(ctx, tx, scanValue[int64], `select coalesce(sum(f.size), 0) from execution_files u join files f on f.id = u.file_id
			where u.execution_id = $1`, text(string(file.UsedBy)))
		if err == nil && used+size > file.Room {
			return domain.Errorf(domain.CodeLimitReached, "The files of an execution have at most %d bytes; these have %d already.", file.Room, used)
		}
		return err
	}
	unused, err := one(ctx, tx, scanValue[int64], `select coalesce(sum(size), 0) from files where tenant_id = $1 and used = 0`, text(string(tenant)))
	if err == nil && unused+size > file.Room {
		return domain.Errorf(domain.CodeTooMany, "No execution uses %d bytes of the files that were sent; use them, or try again when the oldest are removed.", unused)
	}
	return err
}

// saveContent locks the bytes of the hash against [Store.RemoveUploads], or inserts them. Of two transactions that insert the same at once, the second
// waits for the first and looks again.
func (s *Store) saveContent(ctx context.Context, tx *sql.Tx, tenant domain.TenantID, hash, content []byte) error {
	for range 3 {
		_, err := one(ctx, tx, scanValue[int64], `select 1 from file_contents where tenant_id = $1 and sha256 = $2`+s.dialect.lock, text(string(tenant)), hash)
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		n, err := affected(tx.ExecContext(ctx, `insert into file_contents (tenant_id, sha256, content) values ($1, $2, $3) on conflict do nothing`,
			text(string(tenant)), hash, content))
		if err != nil || n > 0 {
			return err
		}
	}
	return domain.Errorf(domain.CodeUnavailable, "The file is stored and removed by others at this moment; try again.")
}

// File returns a file of the tenant.
func (s *Store) File(ctx context.Context, tenant domain.TenantID, id domain.FileID) (domain.File, error) {
	file, err := one(ctx, s.read, scanFile, `select `+fileColumns+` from files f where f.id = $1 and f.tenant_id = $2`, text(string(id)), text(string(tenant)))
	return file, s.found(err, "file")
}

// ExecutionFile returns a file that an execution uses, with its bytes. It asks for no tenant: the caller has read the execution, or drives it.
func (s *Store) ExecutionFile(ctx context.Context, execution domain.ExecutionID, id domain.FileID) (domain.File, []byte, error) {
	found, err := one(ctx, s.read, scanFileContent, `
		select c.content, `+fileColumns+` from execution_files u join files f on f.id = u.file_id
			join file_contents c on c.tenant_id = f.tenant_id and c.sha256 = f.sha256
		where u.execution_id = $1 and u.file_id = $2`, text(string(execution)), text(string(id)))
	return found.file, found.content, s.found(err, "file")
}

// ExecutionFileInfo is [Store.ExecutionFile] without the bytes.
func (s *Store) ExecutionFileInfo(ctx context.Context, execution domain.ExecutionID, id domain.FileID) (domain.File, error) {
	file, err := one(ctx, s.read, scanFile, `
		select `+fileColumns+` from execution_files u join files f on f.id = u.file_id
		where u.execution_id = $1 and u.file_id = $2`, text(string(execution)), text(string(id)))
	return file, s.found(err, "file")
}

// RemoveUploads removes up to limit files of all tenants that no execution has used for so long since they were sent.
func (s *Store) RemoveUploads(ctx context.Context, age time.Duration, limit int) (removed int, err error) {
	return s.removeUnused(ctx, `f.used = 0 and f.created_us <= now_us() - $2`, limit, age.Microseconds())
}

// RemoveOrphans removes up to limit files of all tenants whose executions are gone. There are none unless a binary of version 16, which knows no files, has
// deleted an execution. It looks at all files, so it is not for every minute.
func (s *Store) RemoveOrphans(ctx context.Context, limit int) (removed int, err error) {
	return s.removeUnused(ctx, `f.used = 1`, limit)
}

func (s *Store) removeUnused(ctx context.Context, where string, limit int, args ...any) (removed int, err error) {
	err = s.transact(ctx, "remove files", func(tx *sql.Tx) error {
		unused, err := collect(ctx, tx, scanUnused, `
			select f.id, f.tenant_id, f.sha256 from files f
			where `+where+` and not exists (select 1 from execution_files u where u.file_id = f.id)
			order by f.id limit $1`+s.dialect.lock, append([]any{limit}, args...)...)
		if err == nil {
			removed, err = s.removeLocked(ctx, tx, unused)
		}
		return err
	})
	return removed, err
}

// filesAtOnce is how many files one call of [Store.Remove] takes from an execution: each may have 20 MB, and the one writer of SQLite waits meanwhile.
const filesAtOnce = 20

// removeFilesOf takes files from an execution, and removes those that no other one uses. The bytes go with the last one.
func (s *Store) removeFilesOf(ctx context.Context, tx *sql.Tx, execution domain.ExecutionID) (taken int, err error) {
	files, err := collect(ctx, tx, scanUnused, `
		select f.id, f.tenant_id, f.sha256 from files f
		where f.id in (select u.file_id from execution_files u where u.execution_id = $1 order by u.file_id limit $2)
		order by f.id`+s.dialect.lock, text(string(execution)), filesAtOnce)
	if err != nil {
		return 0, err
	}
	for _, file := range files {
		if _, err := tx.ExecContext(ctx, `delete from execution_files where execution_id = $1 and file_id = $2`, text(string(execution)), file.id); err != nil {
			return 0, err
		}
	}
	_, err = s.removeLocked(ctx, tx, files)
	return len(files), err
}

// removeLocked removes those of the files that no execution uses; their rows are locked. The check is a statement of its own behind that of the locks: on
// Postgres, the snapshot of a statement is older than the locks that it waits for, so it would overlook an execution that has just begun to use a file.
func (s *Store) removeLocked(ctx context.Context, tx *sql.Tx, files []unusedFile) (removed int, err error) {
	for _, file := range files {
		n, err := affected(tx.ExecContext(ctx, `
			delete from files where id = $1 and not exists (select 1 from execution_files u where u.file_id = id)`, file.id))
		if removed += n; err != nil {
			return removed, err
		}
	}
	return removed, s.removeContents(ctx, tx, files)
}

// removeContents removes the bytes of files, where no other file has them.
func (s *Store) removeContents(ctx context.Context, tx *sql.Tx, of []unusedFile) error {
	slices.SortFunc(of, unusedFile.compare) // the order of the locks
	for _, file := range slices.CompactFunc(of, func(a, b unusedFile) bool { return a.compare(b) == 0 }) {
		if _, err := collect(ctx, tx, scanValue[int64], `select 1 from file_contents where tenant_id = $1 and sha256 = $2`+s.dialect.lock,
			file.tenant, file.hash); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `delete from file_contents where tenant_id = $1 and sha256 = $2
			and not exists (select 1 from files f where f.tenant_id = $1 and f.sha256 = $2)`, file.tenant, file.hash); err != nil {
			return err
		}
	}
	return nil
}

type unusedFile struct {
	id, tenant string
	hash       []byte
}

func scanUnused(row scanner) (f unusedFile, err error) { return f, row.Scan(&f.id, &f.tenant, &f.hash) }

func (f unusedFile) compare(other unusedFile) int {
	return cmp.Or(cmp.Compare(f.tenant, other.tenant), bytes.Compare(f.hash, other.hash))
}
