package store_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// TestAHundredThousandParked cost a look nothing: what is due is found by the index, and no parked row is read on the way. The
// plans tell that, and not the clock.
func TestAHundredThousandParked(t *testing.T) {
	if testing.Short() {
		t.Skip("inserts two hundred thousand rows")
	}
	for name, engine := range map[string]struct {
		config  func(testing.TB) store.Config
		explain string
		bad     string // what a plan says that reads all of them
	}{
		"SQLite": {
			func(tb testing.TB) store.Config {
				return store.Config{Path: filepath.Join(storetest.InMemory(tb), "signoff.db")}
			},
			"explain query plan ", `(?m)^SCAN (h|execution_heads)$`,
		},
		"Postgres": {
			func(tb testing.TB) store.Config { return store.Config{DatabaseURL: storetest.Postgres(tb)} },
			"explain ", `Seq Scan on execution_heads|using execution_heads_pkey on [^\n]+\n +Filter`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := engine.config(t)
			s := storetest.Open(t, config)
			crowd(t, s)
			log := recorded(t, s, config)
			if err := s.Heartbeat(t.Context(), "one", time.Minute); err != nil {
				t.Fatal(err)
			}
			for what, look := range map[string]func() (int, error){
				"claim": func() (int, error) { c, err := s.Acquire(t.Context(), "one", 50); return len(c), err },
				"claim now": func() (int, error) {
					c, err := s.AcquireNow(t.Context(), "one", []domain.ExecutionID{"p7", "p8"})
					return len(c), err
				},
				"queue": func() (int, error) {
					c, err := s.AcquireQueued(t.Context(), "one", 50, 50, map[domain.TenantID]int{"t": 7})
					return len(c), err
				},
				"count": func() (int, error) { _, _, err := s.Undriven(t.Context()); return 0, err },
			} {
				began := time.Now()
				n, err := look()
				took := time.Since(began)
				if want := map[string]int{"queue": 1}[what]; err != nil || n != want {
					t.Errorf("%s: %d, %v", what, n, err)
				}
				t.Logf("%s: %s", what, took)
			}
			for _, statement := range log.all() {
				plan := explained(t, s, engine.explain, statement)
				if regexp.MustCompile(engine.bad).MatchString(plan) {
					t.Errorf("%s\nis planned as\n%s", statement.query, plan)
				}
			}
		})
	}
}

// crowd has a hundred thousand executions wait for somebody, and one for room.
func crowd(t *testing.T, s *store.Store) {
	t.Helper()
	for _, statement := range []string{
		`insert into executions (id, tenant_id, request, status, source_type, model, turn, rounds, usage, created_us, updated_us, created_by, agent, agent_session)
			with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000)
			select 'p' || i, 't', '{}', 'pendingToolApproval', 'internal', '', 1, 1, '{}', i, i, '', '', '' from n`,
		`insert into execution_heads (execution_id, tenant_id, last_seq, epoch, owner, recoveries, bell, ended, feed_key, wake_us)
			select id, tenant_id, 9, 2, null, 0, 0, 0, 1, 9223372036854775807 from executions`,
		`update execution_heads set queued_us = 1 where execution_id = 'p9'`,
	} {
		if _, err := s.DB().ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if s.Shared() { // as autovacuum does a minute later
		if _, err := s.DB().ExecContext(t.Context(), `vacuum analyze execution_heads`); err != nil {
			t.Fatal(err)
		}
	}
}

// statement is what was sent to the database.
type statement struct {
	query string
	args  []any
}

// record is what is sent through recording connections.
type record struct {
	mu         sync.Mutex
	statements []statement
}

func (r *record) all() []statement {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.statements
}

func (r *record) add(query string, named []driver.NamedValue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	args := make([]any, len(named))
	for i, value := range named {
		args[i] = value.Value
	}
	r.statements = append(r.statements, statement{query, args})
}

// recorded lets s work through connections that note their statements.
func recorded(t *testing.T, s *store.Store, config store.Config) *record {
	t.Helper()
	name := config.DatabaseURL
	if name == "" {
		name = s.WriterName()
	}
	r := &record{}
	db := sql.OpenDB(recorder{name, s.DB().Driver(), r})
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	t.Cleanup(s.Through(db))
	return r
}

type recorder struct {
	name   string
	driver driver.Driver
	record *record
}

func (r recorder) Driver() driver.Driver { return r.driver }

func (r recorder) Connect(context.Context) (driver.Conn, error) {
	conn, err := r.driver.Open(r.name)
	return recordingConn{conn, r.record}, err
}

type recordingConn struct {
	driver.Conn
	record *record
}

// CheckNamedValue leaves to the driver which values it takes.
func (c recordingConn) CheckNamedValue(value *driver.NamedValue) error {
	if checker, checks := c.Conn.(driver.NamedValueChecker); checks {
		return checker.CheckNamedValue(value)
	}
	return driver.ErrSkip
}

func (c recordingConn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, options)
}

func (c recordingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.record.add(query, args)
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func (c recordingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.record.add(query, args)
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

// plans are those of SQLite for the statements that look sends, by statement.
func plans(t *testing.T, s *store.Store, config store.Config, look func() error) map[string]string {
	t.Helper()
	log := recorded(t, s, config)
	if err := look(); err != nil || len(log.all()) == 0 {
		t.Fatalf("%d statements, %v", len(log.all()), err)
	}
	all := map[string]string{}
	for _, statement := range log.all() {
		all[statement.query] = explained(t, s, "explain query plan ", statement)
	}
	return all
}

// explained is the plan of a statement, a line for each of its steps.
func explained(t *testing.T, s *store.Store, explain string, of statement) string {
	t.Helper()
	rows, err := s.DB().QueryContext(t.Context(), explain+of.query, of.args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var plan strings.Builder
	for rows.Next() {
		cells := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		plan.WriteString(cells[len(cells)-1].String + "\n") // in SQLite's answers it is the last column, too
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan.String()
}
