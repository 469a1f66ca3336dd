package storetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
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
	path := filepath.Join(inMemory(tb), "signoff.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		tb.Fatalf("storetest: %v", err)
	}
	return Open(tb, store.Config{Path: path})
}

// inMemory returns a folder of the test that no disk has to be waited for, where the machine has room for one. As with
// the private cluster, what lies there outlives any death of a process, and not that of the machine.
func inMemory(tb testing.TB) string {
	tb.Helper()
	const memory, room = "/dev/shm", 1 << 30
	var space syscall.Statfs_t
	if syscall.Statfs(memory, &space) != nil || space.Bavail*uint64(space.Bsize) < room {
		return tb.TempDir()
	}
	sweepMemory(memory)
	folder, err := os.MkdirTemp(memory, folderOf(os.Getpid())+"*") //nolint:usetesting // TempDir is wherever TMPDIR says
	if err != nil {
		return tb.TempDir()
	}
	tb.Cleanup(func() { _ = os.RemoveAll(folder) })
	return folder
}

// folderOf is how the folders of a process begin.
func folderOf(pid int) string { return fmt.Sprintf("signoff-test-%d-", pid) }

var sweeping sync.Once

// sweepMemory removes, once in a process, what killed tests have left: memory is not given back by waiting.
func sweepMemory(memory string) {
	sweeping.Do(func() {
		left, _ := filepath.Glob(filepath.Join(memory, "signoff-test-*"))
		for _, folder := range left {
			var pid int
			_, err := fmt.Sscanf(filepath.Base(folder), "signoff-test-%d-", &pid)
			if err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
				_ = os.RemoveAll(folder)
			}
		}
	})
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
	t.Run("Postgres", func(t *testing.T) { test(t, Open(t, store.Config{DatabaseURL: Migrated(t)})) })
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
