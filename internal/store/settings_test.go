package store_test

import (
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

func TestSettingsOfSQLite(t *testing.T) {
	s := storetest.Open(t, store.Config{Path: filepath.Join(t.TempDir(), "signoff.db")})
	if set, err := s.Settings(t.Context()); err != nil || set != (store.Settings{}) || s.MaxConns() != 0 {
		t.Errorf("%+v, %v", set, err)
	}
	if mode, err := s.JournalMode(t.Context()); err != nil || mode != "wal" {
		t.Errorf("journal mode %q, %v", mode, err)
	}
	if at, err := s.FileSystem(); err != nil || !at.Local || at.Free == 0 {
		t.Errorf("%+v, %v", at, err)
	}
}

func TestFileSystemInMemory(t *testing.T) {
	s := storetest.SQLite(t)
	at, err := s.FileSystem()
	if err != nil || at.Kept != (at.Name == "") {
		t.Errorf("%+v, %v", at, err)
	}
}

func TestSettingsOfPostgres(t *testing.T) {
	for name, fsync := range map[string]bool{"on": true, "off": false} {
		t.Run(name, func(t *testing.T) {
			cluster, err := storetest.NewCluster(fsync)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cluster.Stop() })
			url, err := cluster.Database()
			if err != nil {
				t.Fatal(err)
			}
			s := storetest.Open(t, store.Config{DatabaseURL: url, MaxConns: 4})
			set, err := s.Settings(t.Context())
			if err != nil || set.FsyncOff == fsync || set.FullPageWritesOff == fsync || set.Version < 120000 || set.MaxConnections != 297 ||
				set.SynchronousCommit != "on" || s.MaxConns() != 6 {
				t.Errorf("%+v, %d, %v", set, s.MaxConns(), err)
			}
		})
	}
}

// What sessions begin with is told, and not what this package makes of it.
func TestSynchronousCommitAsItWasSet(t *testing.T) {
	url := storetest.Migrated(t)
	before := storetest.Open(t, store.Config{DatabaseURL: url})
	if _, err := before.DB().ExecContext(t.Context(),
		`do $$ begin execute format('alter database %I set synchronous_commit = off', current_database()); end $$`); err != nil {
		t.Fatal(err)
	}
	s := storetest.Open(t, store.Config{DatabaseURL: url})
	var now string
	if err := s.DB().QueryRowContext(t.Context(), `show synchronous_commit`).Scan(&now); err != nil || now != "on" {
		t.Errorf("it is %s, %v", now, err)
	}
	if set, err := s.Settings(t.Context()); err != nil || set.SynchronousCommit != "off" {
		t.Errorf("%+v, %v", set, err)
	}
}

func TestHowPostgresIsReached(t *testing.T) {
	s := storetest.Open(t, store.Config{DatabaseURL: storetest.Migrated(t)})
	if skew, err := s.Skew(t.Context()); err != nil || skew.Abs() > 5*time.Second {
		t.Errorf("on the same machine the clocks are %s apart, %v", skew, err)
	}
	if received, err := s.ReceivesItsNotifications(t.Context(), time.Minute); err != nil || !received {
		t.Errorf("received %v, %v", received, err)
	}
	s.ListenTo("postgres")
	if received, err := s.ReceivesItsNotifications(t.Context(), 3*time.Second); err != nil || received {
		t.Errorf("of another database it received %v, %v", received, err)
	}
	s.ListenTo("nowhere")
	if received, err := s.ReceivesItsNotifications(t.Context(), time.Minute); err == nil || received {
		t.Errorf("of none it received %v, %v", received, err)
	}
}

func TestOldestTransaction(t *testing.T) {
	s := storetest.Open(t, store.Config{DatabaseURL: storetest.Migrated(t)})
	tx, err := s.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(t.Context(), `select pg_current_xact_id(), pg_sleep(0.2)`); err != nil {
		t.Fatal(err)
	}
	if age, err := s.OldestTransaction(t.Context()); err != nil || age < 200*time.Millisecond || age > time.Hour {
		t.Errorf("%s, %v", age, err)
	}
}

// A statement waits neither for a lock nor for itself for ever, but a migration does.
func TestTimeoutsOfSessions(t *testing.T) {
	onEmpty(t, func(t *testing.T, open func() *store.Store) {
		s := open()
		if !s.Shared() {
			return
		}
		conn, err := s.DB().Conn(t.Context()) // the last of the pool comes first
		if err != nil {
			t.Fatal(err)
		}
		check := func(when string) {
			t.Helper()
			var lock, statement string
			if err := conn.QueryRowContext(t.Context(), `select current_setting('lock_timeout'), current_setting('statement_timeout')`).
				Scan(&lock, &statement); err != nil || lock != "2s" || statement != "1min" {
				t.Errorf("%s, a session waits %s for a lock and %s for a statement: %v", when, lock, statement, err)
			}
		}
		check("at first")
		_ = conn.Close()
		// The migration fails where a timeout holds for it.
		if err := s.MigrateFrom(t.Context(), fstest.MapFS{"postgres/0001_none.up.sql": &fstest.MapFile{Data: []byte(`
			do $$ begin if current_setting('lock_timeout') || current_setting('statement_timeout') <> '00' then raise 'timeouts'; end if; end $$`)}}); err != nil {
			t.Error(err)
		}
		if conn, err = s.DB().Conn(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		check("after a migration")
	})
}
