package storetest

import (
	"context"
	"path/filepath"
	"testing"

	"signoff/internal/store"
)

// SQLite returns a migrated store in a folder of the test.
func SQLite(tb testing.TB) *store.Store {
	tb.Helper()
	return Open(tb, store.Config{Path: filepath.Join(tb.TempDir(), "signoff.db")})
}

// Open opens and migrates a store that is closed when the test is over.
func Open(tb testing.TB, config store.Config) *store.Store {
	tb.Helper()
	s, err := store.Open(context.Background(), config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	if err := s.Migrate(context.Background()); err != nil {
		tb.Fatal(err)
	}
	return s
}

// OnBoth runs test on a fresh store of each engine. Its TestMain must be [Main].
func OnBoth(t *testing.T, test func(t *testing.T, s *store.Store)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) { test(t, SQLite(t)) })
	t.Run("Postgres", func(t *testing.T) { test(t, Open(t, store.Config{DatabaseURL: Postgres(t)})) })
}
