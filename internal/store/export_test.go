package store

import (
	"context"
	"database/sql"
	"io/fs"
)

// DB is the database itself, for tests that look behind the store.
func (s *Store) DB() *sql.DB { return s.write }

// MigrateFrom and CheckFrom take other files than those of the binary.
func (s *Store) MigrateFrom(ctx context.Context, files fs.FS) error { return s.migrate(ctx, files) }
func (s *Store) CheckFrom(ctx context.Context, files fs.FS) error   { return s.checkSchema(ctx, files) }
