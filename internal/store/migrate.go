package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/source/iofs"

	"signoff/internal/domain"
	"signoff/internal/failpoint"
	"signoff/migrations"
)

// Migrate brings the schema to what this binary needs. Several may run at once; the others wait for the first. Each
// file is one transaction together with its version, so after a failure the schema is that of the file before. A schema
// of a newer binary that this one may still run on is left as it is.
func (s *Store) Migrate(ctx context.Context) error {
	return s.migrate(ctx, migrations.Files)
}

// CheckSchema reports whether this binary may run on the schema.
func (s *Store) CheckSchema(ctx context.Context) error {
	return s.checkSchema(ctx, migrations.Files)
}

// ForceVersion marks the schema as version and not dirty, without touching it: the repair after another tool has left it dirty. 0 means that there
// is no schema yet.
func (s *Store) ForceVersion(ctx context.Context, version int) error {
	if version == 0 {
		version = -1 // golang-migrate's word for it
	}
	err := s.withMigrator(ctx, migrations.Files, func(m *migrate.Migrate) error { return m.Force(version) })
	if err != nil {
		return s.failed("force the schema version", err)
	}
	return nil
}

func (s *Store) migrate(ctx context.Context, files fs.FS) error {
	if newer, err := s.isNewer(ctx, files); newer || err != nil {
		return err
	}
	failpoint.Hit(failpoint.BeforeMigration)
	err := s.retry(ctx, "migrate", func() (fault, error) { return s.migrateOnce(ctx, files) })
	failpoint.Hit(failpoint.AfterMigration)
	if err == nil {
		return nil
	}
	if newer, overtaken := s.isNewer(ctx, files); newer || overtaken != nil { // by a newer binary, in the meantime
		return overtaken
	}
	return domain.Errorf(domain.CodeStorage, "A migration of the database failed and was rolled back; nothing has "+
		"changed. Remove the cause, then run `signoff migrate` again.").With(err)
}

// migrateOnce may be tried again whatever its fault is: it begins behind the last file that was committed.
func (s *Store) migrateOnce(ctx context.Context, files fs.FS) (fault, error) {
	err := s.withMigrator(ctx, files, (*migrate.Migrate).Up)
	if err == nil || errors.Is(err, migrate.ErrNoChange) {
		return permanent, nil
	}
	return s.dialect.fault(err, false), err
}

// isNewer reports whether the schema is that of a newer binary. It fails for one that this binary can neither run on nor migrate.
func (s *Store) isNewer(ctx context.Context, files fs.FS) (bool, error) {
	newest, err := newestVersion(files, s.dialect.name)
	if err != nil {
		return false, err
	}
	at, err := s.schema(ctx)
	if err != nil || at.dirty || at.version > newest {
		return at.version > newest, cmp.Or(err, at.unusable(newest))
	}
	return false, nil
}

func (s *Store) withMigrator(ctx context.Context, files fs.FS, do func(*migrate.Migrate) error) error {
	unlock, err := s.lockFile(ctx, ".migrate.lock")
	if err != nil {
		return err
	}
	defer func() { _ = unlock() }()
	source, err := iofs.New(files, s.dialect.name)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	conn, err := s.write.Conn(ctx)
	if err != nil {
		return err
	}
	driver := &migrator{ctx: ctx, conn: conn, dialect: s.dialect}
	defer func() { _ = driver.Close() }()
	m, err := migrate.NewWithInstance("migrations", source, s.dialect.name, driver)
	if err != nil {
		return err
	}
	newest, err := newestVersion(files, s.dialect.name)
	if err != nil {
		return err
	}
	m.PrefetchMigrations = uint(newest) + 1 // its reader never waits: nobody would take anything from it once a migration has failed
	m.LockTimeout = time.Hour               // another replica may have much to do; ctx ends the wait sooner
	return do(m)
}

func (s *Store) checkSchema(ctx context.Context, files fs.FS) error {
	newest, err := newestVersion(files, s.dialect.name)
	if err != nil {
		return err
	}
	at, err := s.schema(ctx)
	if err != nil {
		return err
	}
	return at.unusable(newest)
}

// schema is how far a database has been brought.
type schema struct {
	version int // 0: there is nothing yet
	dirty   bool
	floor   int // the oldest version whose binary may run on it
}

// unusable says what is wrong with a schema for a binary that needs newest, and the way out.
//
// A newer one is no fault as long as its floor says so: migrations only ever add to what is there, so that a binary of the
// version before can go on, and can be started again, beside a newer one that has migrated already.
func (at schema) unusable(newest int) error {
	switch {
	case at.dirty:
		return domain.Errorf(domain.CodeStorage, "The database schema is marked as dirty at version %d: another tool "+
			"began migration %d and did not finish it. Look whether its tables are there. If they are, run "+
			"`signoff migrate -force %d`, otherwise `signoff migrate -force %d`, and then `signoff migrate`.",
			at.version, at.version, at.version, max(at.version-1, 0))
	case at.version > newest && at.floor > newest:
		return domain.Errorf(domain.CodeStorage, "The database schema is at version %d, and binaries that know less than "+
			"version %d cannot use it; this one knows only %d: start the newer one.", at.version, at.floor, newest)
	case at.version < newest:
		return domain.Errorf(domain.CodeStorage,
			"The database schema is at version %d, but this binary needs %d: run `signoff migrate`.", at.version, newest)
	}
	return nil
}

func (s *Store) schema(ctx context.Context) (at schema, err error) {
	at, err = one(ctx, s.read, scanSchema, `select version, dirty from schema_migrations limit 1`)
	switch {
	case errors.Is(err, sql.ErrNoRows), err != nil && s.dialect.noTable(err):
		return schema{}, nil
	case err != nil:
		return schema{}, s.failed("read the schema version", err)
	}
	at.floor, err = s.schemaFloor(ctx, at.version)
	return at, err
}

func scanSchema(row scanner) (at schema, err error) {
	err = row.Scan(&at.version, &at.dirty)
	at.version = max(at.version, 0)
	return at, err
}

// schemaFloor is the version itself where the schema has no floor: then only a binary of that version may run on it.
func (s *Store) schemaFloor(ctx context.Context, version int) (int, error) {
	floor, err := one(ctx, s.read, scanValue[int], `select version from schema_floor`)
	switch {
	case errors.Is(err, sql.ErrNoRows), err != nil && s.dialect.noTable(err):
		return version, nil
	case err != nil:
		return 0, s.failed("read the floor of the schema", err)
	}
	return floor, nil
}

func newestVersion(files fs.FS, folder string) (int, error) {
	names, err := fs.Glob(files, folder+"/*.up.sql")
	if err != nil || len(names) == 0 {
		return 0, domain.Errorf(domain.CodeStorage, "This binary has no migrations for %s.", folder).With(err)
	}
	var newest int
	if _, err := fmt.Sscanf(strings.TrimPrefix(names[len(names)-1], folder+"/"), "%d_", &newest); err != nil {
		return 0, domain.Errorf(domain.CodeStorage, "A migration of this binary has no number.").With(err)
	}
	return newest, nil
}
