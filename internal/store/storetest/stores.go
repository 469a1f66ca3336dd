package storetest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"signoff/internal/store"
)

// SQLite returns a migrated store over a file of the test.
func SQLite(tb testing.TB) *store.Store {
	tb.Helper()
	content, err := migratedFile()
	if err != nil {
		tb.Fatalf("storetest: %v", err)
	}
	path := filepath.Join(InMemory(tb), databaseName)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		tb.Fatalf("storetest: %v", err)
	}
	return Open(tb, store.Config{Path: path})
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

// OnBoth runs test on a fresh store of each engine, both side by side and beside other tests: it mostly waits for commits and leases.
// So it may change nothing that belongs to the process, and calls t.Parallel itself. Its TestMain must be [Main].
func OnBoth(t *testing.T, test func(t *testing.T, s *store.Store)) {
	t.Helper()
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) { t.Parallel(); test(t, SQLite(t)) })
	t.Run("Postgres", func(t *testing.T) { t.Parallel(); test(t, Open(t, store.Config{DatabaseURL: Migrated(t)})) })
}

// Replicas returns n stores over one fresh database: on Postgres each with connections of its own, as the replicas of a
// service have them; on SQLite the same store n times, since one server has the file to itself.
type Replicas func(tb testing.TB, n int) []*store.Store

// SQLiteReplicas and PostgresReplicas are the two engines for [Run].
var (
	SQLiteReplicas Replicas = func(tb testing.TB, n int) []*store.Store {
		tb.Helper()
		s := SQLite(tb)
		all := make([]*store.Store, n)
		for i := range all {
			all[i] = s
		}
		return all
	}
	PostgresReplicas Replicas = func(tb testing.TB, n int) []*store.Store {
		tb.Helper()
		url := Migrated(tb)
		all := make([]*store.Store, n)
		for i := range all {
			all[i] = Open(tb, store.Config{DatabaseURL: url, MaxConns: 8})
		}
		return all
	}
)
