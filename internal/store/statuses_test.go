package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
	"signoff/migrations"
)

// stepsVariable makes the test binary a process that dies in the middle of migration 14, see TestDyingInTheMigrationOfStatuses.
const stepsVariable = "SIGNOFF_STORE_STEPS"

// Since version 14 a new status needs no migration: the database takes the statuses that the domain has.
func TestTheDatabaseListsNoStatuses(t *testing.T) {
	onEmpty(t, func(t *testing.T, open func() *store.Store) {
		s := open()
		if err := s.MigrateFrom(t.Context(), upTo(t, 13)); err != nil {
			t.Fatal(err)
		}
		insert(t, s, firstData)
		const future = `update executions set status = 'ofALaterRelease' where id = 'x'`
		if _, err := s.DB().ExecContext(t.Context(), future); err == nil {
			t.Fatal("version 13 takes any status, so this test proves nothing")
		}
		if err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		for name, db := range map[string]*store.Store{"the connection that migrated": s, "a new one": open()} {
			if _, err := db.DB().ExecContext(t.Context(), future); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// The migration edits the definition of a table by hand. On a database that is not sound it stops, and changes nothing.
func TestTheMigrationOfStatusesNeedsASoundDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "signoff.db")
	s, err := store.Open(t.Context(), store.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.MigrateFrom(t.Context(), upTo(t, 13)); err != nil {
		t.Fatal(err)
	}
	insert(t, s, firstData)
	stray, err := sql.Open("sqlite", path) // without foreign keys
	if err != nil {
		t.Fatal(err)
	}
	defer stray.Close()
	if _, err := stray.ExecContext(t.Context(), `delete from executions`); err != nil {
		t.Fatal(err)
	}
	if err := s.Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), "integrity_check and foreign_key_check find nothing") {
		t.Errorf("the heads lead nowhere: %v", err)
	}
	if err := s.CheckFrom(t.Context(), upTo(t, 13)); err != nil {
		t.Errorf("after the failure: %v", err)
	}
}

// A server may be killed at any moment of the migration. The next start finds the database as it was before, and migrates it.
func TestDyingInTheMigrationOfStatuses(t *testing.T) {
	steps := len(statementsOf14(t))
	if steps < 5 {
		t.Fatalf("the migration has %d statements; they are cut wrongly", steps)
	}
	for after := range steps + 1 {
		t.Run(fmt.Sprint("after ", after, " statements"), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "signoff.db")
			before, err := store.Open(t.Context(), store.Config{Path: path})
			if err != nil {
				t.Fatal(err)
			}
			if err := before.MigrateFrom(t.Context(), upTo(t, 13)); err != nil {
				t.Fatal(err)
			}
			insert(t, before, firstData)
			if err := before.Close(); err != nil {
				t.Fatal(err)
			}

			dying := exec.CommandContext(t.Context(), os.Args[0])
			dying.Env = append(os.Environ(), fmt.Sprint(stepsVariable, "=", after), "FILE="+path)
			if out, err := dying.CombinedOutput(); dying.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("the process was not killed: %v\n%s", err, out)
			}

			s, err := store.Open(t.Context(), store.Config{Path: path})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if err := s.CheckFrom(t.Context(), upTo(t, 13)); err != nil {
				t.Errorf("after the kill: %v", err)
			}
			if _, err := s.DB().ExecContext(t.Context(), `update executions set status = 'ofALaterRelease'`); err == nil {
				t.Error("after the kill the check is gone, but version 14 is not there")
			}
			if err := s.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			commit(t, s, store.Change{Execution: "x", Epoch: 3, Update: &store.Update{Status: domain.StatusInitializing}})
			var sound string
			if err := s.DB().QueryRowContext(t.Context(), `pragma integrity_check`).Scan(&sound); err != nil || sound != "ok" {
				t.Errorf("the database is not sound: %s, %v", sound, err)
			}
		})
	}
}

func statementsOf14(tb testing.TB) (statements []string) {
	tb.Helper()
	content, err := migrations.Files.ReadFile("sqlite/0014_statuses.up.sql")
	if err != nil {
		tb.Fatal(err)
	}
	return cutStatements(string(content))
}

func cutStatements(file string) (statements []string) {
	for statement := range strings.SplitSeq(regexp.MustCompile(`--.*`).ReplaceAllString(file, ""), ";") {
		if strings.TrimSpace(statement) != "" {
			statements = append(statements, statement)
		}
	}
	return statements
}

// dieInTheMigration is the process: it runs the first statements of migration 14 in one transaction, and kills itself.
func dieInTheMigration(steps string) {
	ctx, path := context.Background(), os.Getenv("FILE")
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	content, err := migrations.Files.ReadFile("sqlite/0014_statuses.up.sql")
	fail(err)
	var after int
	_, err = fmt.Sscan(steps, &after)
	fail(err)
	db, err := sql.Open("sqlite", path)
	fail(err)
	tx, err := db.BeginTx(ctx, nil)
	fail(err)
	for _, statement := range cutStatements(string(content))[:after] {
		_, err = tx.ExecContext(ctx, statement)
		fail(err)
	}
	fail(syscall.Kill(os.Getpid(), syscall.SIGKILL))
	time.Sleep(time.Minute) // the signal comes before
}
