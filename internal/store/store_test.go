package store_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"signoff/internal/domain"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

func TestSQLite(t *testing.T) { storetest.Run(t, storetest.SQLiteReplicas) }

// On Postgres each case also ends with the question whether the server had to break a deadlock: the store would have
// tried again, and nobody would have noticed.
func TestPostgres(t *testing.T) {
	storetest.Run(t, func(tb testing.TB, n int) []*store.Store {
		url := storetest.Migrated(tb)
		tb.Cleanup(func() { noDeadlock(tb, url) }) // when the stores are closed, and their counts are in
		all := make([]*store.Store, n)
		for i := range all {
			all[i] = storetest.Open(tb, store.Config{DatabaseURL: url, MaxConns: 8})
		}
		return all
	})
}

func noDeadlock(tb testing.TB, url string) {
	tb.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	var deadlocks int
	err = conn.QueryRow(ctx, `select deadlocks from pg_stat_database where datname = current_database()`).Scan(&deadlocks)
	if err != nil || deadlocks > 0 {
		tb.Errorf("%d deadlocks, %v", deadlocks, err)
	}
}

// The clock of a SQLite store is the clock of the process, so a bubble can let an hour pass.
func TestSQLiteInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		s := storetest.SQLite(t)
		began, err := s.Now(ctx)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		ended, err := s.Now(ctx)
		if err != nil || ended.Sub(began) != time.Hour {
			t.Errorf("%v passed, %v", ended.Sub(began), err)
		}
		if err := s.Heartbeat(ctx, "one", time.Minute); err != nil {
			t.Fatal(err)
		}
		id := domain.ExecutionID("x")
		results, err := s.Commit(ctx, []store.Change{{Execution: id, Epoch: 1, Create: &store.Creation{Owner: "gone",
			Execution: domain.Execution{ID: id, Status: domain.StatusQueued, Created: time.Now()}}}})
		if err != nil || results[0].Err != nil {
			t.Fatal(err, results)
		}
		time.Sleep(time.Minute)
		if claimed, err := s.Acquire(ctx, "one", 1); err != nil || len(claimed) != 0 {
			t.Errorf("the lease is over: %v, %v", claimed, err)
		}
	})
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	const secret = "hunter2"
	for name, config := range map[string]store.Config{
		"nobody listens":        {DatabaseURL: "postgres://me:" + secret + "@127.0.0.1:1/db"},
		"not a URL":             {DatabaseURL: "postgres://me:" + secret + "@:what:/db"},
		"a bad setting":         {DatabaseURL: "postgres://me:" + secret + "@127.0.0.1:1/db?sslmode=" + secret},
		"a key-value string":    {DatabaseURL: "host=127.0.0.1 port=1 password=" + secret + " user=me"},
		"a broken key-value":    {DatabaseURL: "password=" + secret + " port=x"},
		"a folder that is not":  {Path: filepath.Join(t.TempDir(), "nowhere", "signoff.db")},
		"a folder":              {Path: t.TempDir()},
		"nothing":               {},
		"a wrong password":      {DatabaseURL: strings.Replace(storetest.Postgres(t), "@", secret+"@", 1)},
		"a database that isn't": {DatabaseURL: strings.Replace(storetest.Postgres(t), "signoff_test_", "signoff_test_no_", 1)},
	} {
		s, err := store.Open(t.Context(), config)
		if err == nil {
			_ = s.Close()
			t.Errorf("%s: it opens", name)
			continue
		}
		if domain.CodeOf(err) != domain.CodeStorage || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpenGivesUpInTime(t *testing.T) {
	began := time.Now()
	_, err := store.Open(t.Context(), store.Config{DatabaseURL: "postgres://me@" + silent(t) + "/db", ConnTimeout: 200 * time.Millisecond})
	if err == nil || time.Since(began) > 10*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}

func TestPathsWithOddLetters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?c%20#&=é.db")
	storetest.Open(t, store.Config{Path: path})
	if found, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.db")); err != nil || len(found) != 1 || found[0] != path {
		t.Errorf("%q, %v", found, err)
	}
}

// What is written into a file that nobody will find again must not be acknowledged.
func TestRemovedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "signoff.db")
	s := storetest.Open(t, store.Config{Path: path})
	create(t, s, "x")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), []store.Change{says("x", 1, 1)}); domain.CodeOf(err) != domain.CodeStorage {
		t.Errorf("commit: %v", err)
	}
	if err := s.Ping(t.Context()); domain.CodeOf(err) != domain.CodeStorage {
		t.Errorf("ping: %v", err)
	}
}

func TestEventPageIsBoundedByBytes(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		create(t, s, "x")
		commit(t, s, says("x", 1, 10))
		all, err := s.Events(t.Context(), "x", 0, 100)
		if err != nil || len(all) < 10 {
			t.Fatal(len(all), err)
		}
		var paged []domain.Event
		for {
			after := int64(len(paged))
			page, err := s.EventPage(t.Context(), "x", after, 100, 2*len(all[1].Data))
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			if len(page) > 3 {
				t.Fatalf("%d events in a page for two", len(page))
			}
			paged = append(paged, page...)
		}
		if diff := cmp.Diff(all, paged); diff != "" {
			t.Error(diff)
		}
		if page, err := s.EventPage(t.Context(), "x", 0, 100, 1); err != nil || len(page) != 1 {
			t.Errorf("a page smaller than any event: %d, %v", len(page), err)
		}
	})
}
