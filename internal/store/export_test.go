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

// WriterName is how the writer of a SQLite store is opened, and WriteThrough puts another in its place.
func (s *Store) WriterName() string         { return sqliteName(s.path) }
func (s *Store) WriteThrough(write *sql.DB) { s.write = write }

// Through has db read and write until it is undone.
func (s *Store) Through(db *sql.DB) (undo func()) {
	read, write := s.read, s.write
	s.read.DB, s.write = db, db
	return func() { s.read, s.write = read, write }
}

// ListenTo lets the listener listen to another database, where it receives as little as behind a pooler.
func (s *Store) ListenTo(database string) {
	s.listener.settings = s.listener.settings.Copy()
	s.listener.settings.Database = database
}
