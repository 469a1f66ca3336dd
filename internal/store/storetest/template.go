package storetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"signoff/internal/store"
)

// The schema of each engine is built once in a test binary and copied from then on: a migration waits for the disk after
// every file, and some packages want hundreds of databases. What a copy lacks is no secret for long, since who opens
// one migrates it all the same, and finds nothing to do.

// Migrated returns the URL of a fresh database, as [Postgres] does, with the schema of this binary in it.
func Migrated(tb testing.TB) string {
	tb.Helper()
	return fresh(tb, (*server).migrated)
}

// migrated names the database to copy. In a server of somebody else there is none: a killed test would leave it behind.
func (s *server) migrated() (string, error) {
	if s.private == nil {
		return empty(s)
	}
	s.once.Do(func() {
		s.template = "signoff_template"
		if s.err = s.create(s.template, "template0"); s.err == nil {
			s.err = migrate(store.Config{DatabaseURL: s.dsn(s.template)})
		}
	})
	return s.template, s.err
}

// migratedFile is the content of a migrated SQLite database.
var migratedFile = sync.OnceValues(func() ([]byte, error) {
	folder, err := os.MkdirTemp("", "signoff-template-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "signoff.db")
	if err := migrate(store.Config{Path: path}); err != nil {
		return nil, err
	}
	return os.ReadFile(path) // all of it: the last one to close takes the journal in
})

func migrate(config store.Config) error {
	s, err := store.Open(context.Background(), config)
	if err != nil {
		return err
	}
	return errors.Join(s.Migrate(context.Background()), s.Close())
}
