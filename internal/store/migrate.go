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
// file is one transaction together with its version, so after a failure the schema is that of the file before.
func (s *Store) Migrate(ctx context.Context) error {
	return s.migrate(ctx, migrations.Files)
}

// CheckSchema tells whether the schema is exactly what this binary needs.
func (s *Store) CheckSchema(ctx context.Context) error {
	return s.checkSchema(ctx, migrations.Files)
}

// ForceVersion says that the schema is at version and not dirty, without touching it: the way out where another tool
// has left it dirty. 0 means that there is nothing yet.
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
	if err := s.migratable(ctx, files); err != nil {
		return err
	}
	failpoint.Hit(failpoint.MigrateBegin)
	err := s.withMigrator(ctx, files, (*migrate.Migrate).Up)
	failpoint.Hit(failpoint.MigrateDone)
	if err == nil || errors.Is(err, migrate.ErrNoChange) {
		return nil
	}
	if overtaken := s.migratable(ctx, files); overtaken != nil { // by a newer binary, in the meantime
		return overtaken
	}
	return domain.Errorf(domain.CodeStorage, "A migration of the database failed and was rolled back; nothing has "+
		"changed. Remove the cause, then run `signoff migrate` again.").With(err)
}

// migratable tells whether the schema is one that files can go on from.
func (s *Store) migratable(ctx context.Context, files fs.FS) error {
	newest, err := newestVersion(files, s.dialect.name)
	if err != nil {
		return err
	}
	if at, dirty, err := s.schemaVersion(ctx); err != nil || dirty || at > newest {
		return cmp.Or(err, unusable(at, newest, dirty))
	}
	return nil
}

func (s *Store) withMigrator(ctx context.Context, files fs.FS, do func(*migrate.Migrate) error) error {
	unlock, err := s.lockFile(ctx, ".migrate.lock", true)
	if err != nil {
		return err
	}
	defer func() { _ = unlock() }()
	source, err := iofs.New(files, s.dialect.name)
	if err != nil {
		return s.failed("read the migrations", err)
	}
	defer func() { _ = source.Close() }()
	driver, err := newMigrator(ctx, s)
	if err != nil {
		return s.failed("open the database for migrations", err)
	}
	defer func() { _ = driver.Close() }()
	m, err := migrate.NewWithInstance("migrations", source, s.dialect.name, driver)
	if err != nil {
		return s.failed("open the migrations", err)
	}
	m.LockTimeout = time.Hour // another replica may have much to do; ctx ends the wait sooner
	return do(m)
}

func (s *Store) checkSchema(ctx context.Context, files fs.FS) error {
	newest, err := newestVersion(files, s.dialect.name)
	if err != nil {
		return err
	}
	at, dirty, err := s.schemaVersion(ctx)
	if err != nil {
		return err
	}
	return unusable(at, newest, dirty)
}

// unusable says what is wrong with a schema at version at for a binary that needs newest, and the way out.
func unusable(at, newest int, dirty bool) error {
	switch {
	case dirty:
		return domain.Errorf(domain.CodeStorage, "The database schema is marked as dirty at version %d: another tool "+
			"began migration %d and did not finish it. Look whether its tables are there. If they are, run "+
			"`signoff migrate -force %d`, otherwise `signoff migrate -force %d`, and then `signoff migrate`.",
			at, at, at, max(at-1, 0))
	case at > newest:
		return domain.Errorf(domain.CodeStorage,
			"The database schema is at version %d, but this binary knows only %d: start the newer one.", at, newest)
	case at < newest:
		return domain.Errorf(domain.CodeStorage,
			"The database schema is at version %d, but this binary needs %d: run `signoff migrate`.", at, newest)
	}
	return nil
}

// schemaVersion is 0 for a database without a schema.
func (s *Store) schemaVersion(ctx context.Context) (version int, dirty bool, err error) {
	err = s.read.QueryRowContext(ctx, `select version, dirty from schema_migrations limit 1`).Scan(&version, &dirty)
	switch {
	case err == nil:
		return max(version, 0), dirty, nil
	case errors.Is(err, sql.ErrNoRows), s.dialect.noTable(err):
		return 0, false, nil
	default:
		return 0, false, s.failed("read the schema version", err)
	}
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
