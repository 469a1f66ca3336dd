package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// What a commit costs is round trips: only statements whose results are needed make one, and the commit.
func TestRoundTrips(t *testing.T) {
	s, proxy := proxied(t, store.Config{})
	commit(t, s, creates("warm"))
	commit(t, s, says("warm", 0, 1))
	commit(t, s, ends("warm")) // and the statements are prepared
	for _, c := range []struct {
		name   string
		change store.Change
		want   int64
	}{
		{"a creation: execution, head, end of the audit", creates("x"), 4},
		{"what somebody else says: head", says("x", 0, 1), 2},
		{"the end: head, is there a prompt, update, end of the audit", ends("x"), 5},
	} {
		proxy.trips.Store(0)
		commit(t, s, c.change)
		if got := proxy.trips.Load(); got != c.want {
			t.Errorf("%s: %d round trips, want %d", c.name, got, c.want)
		}
	}
}

// A statement that was gathered fails when nobody looks at it. Nothing is written, and whoever sent it hears why.
func TestGatheredStatementFails(t *testing.T) {
	audited := says("x", 1, 2)
	audited.Audit = []domain.AuditRecord{{Action: "a"}}
	for name, c := range map[string]struct {
		change store.Change
		when   string
		state  string
		again  bool
	}{
		"sent with the commit":                {says("x", 0, 2), "", "23514", false},
		"sent with the commit, in passing":    {says("x", 0, 2), "", "40001", true},
		"sent with a question":                {audited, "", "23514", false},
		"sent with a question, in passing":    {audited, "", "40001", true},
		"found by the commit":                 {says("x", 0, 2), "deferrable initially deferred", "23514", false},
		"found by the commit, and in passing": {says("x", 0, 2), "deferrable initially deferred", "40001", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := storetest.Open(t, store.Config{DatabaseURL: storetest.Postgres(t), MaxConns: 1})
			create(t, s, "x")
			failOnce(t, s, c.when, c.state)
			session := backend(t, s)
			_, err := s.Commit(t.Context(), []store.Change{c.change})
			if errors.Is(err, store.ErrCommitUnknown) || (err == nil) != c.again {
				t.Fatal(err)
			}
			if log := storetest.Log(t, s, "x"); c.again != (len(log) == 2) || !c.again && len(log) > 0 {
				t.Errorf("%d events", len(log))
			}
			if backend(t, s) != session {
				t.Error("the connection was thrown away")
			}
			commit(t, s, c.change) // and it goes on
		})
	}
}

// failOnce lets the first event that is written from now on fail.
func failOnce(t *testing.T, s *store.Store, when, state string) {
	t.Helper()
	_, err := s.DB().ExecContext(t.Context(), fmt.Sprintf(`
		create sequence failures;
		create function fail_once() returns trigger language plpgsql as $$
			begin
				if nextval('failures') = 1 then
					raise exception 'not now' using errcode = '%s';
				end if;
				return new;
			end $$;
		create constraint trigger fail_once after insert on events %s for each row execute function fail_once()`, state, when))
	if err != nil {
		t.Fatal(err)
	}
}

// backend is the process of the server that serves s.
func backend(t *testing.T, s *store.Store) (pid int) {
	t.Helper()
	if err := s.DB().QueryRowContext(t.Context(), `select pg_backend_pid()`).Scan(&pid); err != nil {
		t.Fatal(err)
	}
	return pid
}

// creates is a whole creation: with events and a record for the audit.
func creates(id domain.ExecutionID) store.Change {
	c := says(id, 1, 2)
	c.Create = &store.Creation{Owner: "one", Execution: domain.Execution{
		ID: id, Tenant: domain.DefaultTenant, Status: domain.StatusQueued, Created: time.Now()}}
	c.Audit = []domain.AuditRecord{{Action: "execution.create"}}
	return c
}

func ends(id domain.ExecutionID) store.Change {
	c := says(id, 1, 1)
	c.Update = &store.Update{Status: domain.StatusCompleted}
	c.Audit = []domain.AuditRecord{{Action: "execution.end"}}
	return c
}
