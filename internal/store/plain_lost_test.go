package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// One head that somebody holds for long (an operator's transaction, a migration, a long delete) must not cost all the others of a batch
// their sessions: a session gives up after a commit that nobody knows of, and retries a known failure.
func TestAHeldRowIsAKnownFailure(t *testing.T) {
	dsn := storetest.Postgres(t)
	s := storetest.Open(t, store.Config{DatabaseURL: dsn})
	create(t, s, "x")
	create(t, s, "y")
	release := hold(t, dsn, "x")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // events.commitTimeout is 30 s
	defer cancel()
	_, err := s.Commit(ctx, []store.Change{says("x", 1, 1), says("y", 1, 1)})
	if errors.Is(err, store.ErrCommitUnknown) {
		t.Errorf("nobody knows whether both were committed: %v", err)
	}
	release()
	if got := len(storetest.Log(t, s, "y")); got != 0 {
		t.Errorf("y has %d events: it was written after its writer was told of an error", got)
	}
}

// A server that says it ends the session before it has done the statement has written nothing: that is tried again, as before.
func TestASessionThatTheServerEndsIsTriedAgain(t *testing.T) {
	dsn := storetest.Postgres(t)
	s := storetest.Open(t, store.Config{DatabaseURL: dsn})
	create(t, s, "x")
	create(t, s, "y")
	release := hold(t, dsn, "x")
	other, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := s.Commit(context.Background(), []store.Change{says("x", 1, 1), says("y", 1, 1)})
		done <- err
	}()
	for n := 0; n == 0; time.Sleep(20 * time.Millisecond) {
		if err := other.QueryRow(t.Context(), `select count(*) from (select pg_terminate_backend(pid) from pg_stat_activity
			where datname = current_database() and wait_event_type = 'Lock') x`).Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
	release()
	if err := <-done; err != nil {
		t.Errorf("%v (unknown: %v)", err, errors.Is(err, store.ErrCommitUnknown))
	}
	if x, y := len(storetest.Log(t, s, "x")), len(storetest.Log(t, s, "y")); x != 1 || y != 1 {
		t.Errorf("%d and %d events", x, y)
	}
}

// hold locks the head of an execution, as an operator's transaction may, until it is released.
func hold(t *testing.T, dsn, execution string) (release func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `select 1 from execution_heads where execution_id = $1 for update`, execution); err != nil {
		t.Fatal(err)
	}
	return func() { _ = tx.Rollback(context.Background()) }
}
