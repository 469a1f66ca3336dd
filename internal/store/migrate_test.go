package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
	"signoff/migrations"
)

// newest is the version of the binary's schema: its migrations are numbered from 1 without a hole.
var newest = func() int {
	names, err := fs.Glob(migrations.Files, "sqlite/*.sql")
	if err != nil {
		panic(err)
	}
	return len(names)
}()

var engines = []string{"sqlite", "postgres"}

// onEmpty runs test on an empty database of each engine. open opens one more store over it.
func onEmpty(t *testing.T, test func(t *testing.T, open func() *store.Store)) {
	t.Helper()
	for name, config := range map[string]store.Config{
		"SQLite":   {Path: filepath.Join(t.TempDir(), "signoff.db")},
		"Postgres": {DatabaseURL: storetest.Postgres(t)},
	} {
		t.Run(name, func(t *testing.T) {
			test(t, func() *store.Store {
				s, err := store.Open(t.Context(), config)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = s.Close() })
				return s
			})
		})
	}
}

func TestMigrate(t *testing.T) {
	onEmpty(t, func(t *testing.T, open func() *store.Store) {
		s := open()
		if err := s.CheckSchema(t.Context()); !mentions(err, "`signoff migrate`") {
			t.Errorf("an empty database: %v", err)
		}
		errs := make(chan error)
		for range 3 {
			go func() { errs <- open().Migrate(t.Context()) }()
		}
		for range 3 {
			if err := <-errs; err != nil {
				t.Errorf("three at once: %v", err)
			}
		}
		if err := s.CheckSchema(t.Context()); err != nil {
			t.Error(err)
		}
		create(t, s, "x")
		if err := s.Migrate(t.Context()); err != nil {
			t.Errorf("once more: %v", err)
		}
		if _, err := s.Head(t.Context(), "x"); err != nil {
			t.Errorf("once more, and the data is gone: %v", err)
		}
	})
}

// A schema of a newer binary is used as long as its floor says that this one may, and left as it is.
func TestNewerSchema(t *testing.T) {
	raised := "; update schema_floor set version = "
	for name, test := range map[string]struct {
		future   string
		mentions []string // nil: it is accepted
	}{
		"below the binary": {future: raised + "3"},
		"as it was":        {},
		"at the binary":    {future: raised + fmt.Sprint(newest)},
		"above the binary": {raised + fmt.Sprint(newest+1), []string{"version 9999", fmt.Sprint("version ", newest+1), "start the newer one"}},
		"there is none":    {"; drop table schema_floor", []string{"version 9999", "start the newer one"}},
		"it says nothing":  {"; delete from schema_floor", []string{"version 9999", "start the newer one"}},
	} {
		t.Run(name, func(t *testing.T) {
			onEmpty(t, func(t *testing.T, open func() *store.Store) { newerSchema(t, open(), test.future, test.mentions) })
		})
	}
}

func newerSchema(t *testing.T, s *store.Store, future string, says []string) {
	t.Helper()
	newer := with(t, "9999_future.up.sql", `create table future (id text)`+future)
	if err := s.MigrateFrom(t.Context(), newer); err != nil {
		t.Fatal(err)
	}
	if err := s.CheckFrom(t.Context(), newer); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{"check": s.CheckSchema(t.Context()), "migrate": s.Migrate(t.Context())} {
		if says == nil && err != nil || says != nil && !mentions(err, says...) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.DB().ExecContext(t.Context(), `select id from future`); err != nil {
		t.Error(err)
	}
}

// A migration that fails leaves the schema of the one before it, and the next try needs no repair.
func TestFailingMigration(t *testing.T) {
	onEmpty(t, func(t *testing.T, open func() *store.Store) {
		s := open()
		statements := `create table half (id text); insert into half values ('x');`
		err := s.MigrateFrom(t.Context(), with(t, "9999_bad.up.sql", statements+` insert into nowhere values (1);`))
		if !mentions(err, "run `signoff migrate` again") || !strings.Contains(err.Error(), "nowhere") {
			t.Errorf("%v", err)
		}
		if err := s.CheckSchema(t.Context()); err != nil {
			t.Errorf("after the failure: %v", err)
		}
		create(t, s, "x")
		if err := s.MigrateFrom(t.Context(), with(t, "9999_good.up.sql", statements)); err != nil {
			t.Errorf("after the repair: %v", err)
		}
	})
}

func TestDirtySchema(t *testing.T) {
	onEmpty(t, func(t *testing.T, open func() *store.Store) {
		s := open()
		if err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.DB().ExecContext(t.Context(), `update schema_migrations set dirty = true`); err != nil {
			t.Fatal(err)
		}
		for name, err := range map[string]error{"check": s.CheckSchema(t.Context()), "migrate": s.Migrate(t.Context())} {
			if !mentions(err, fmt.Sprintf("`signoff migrate -force %d`", newest), fmt.Sprintf("`signoff migrate -force %d`", newest-1)) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := s.ForceVersion(t.Context(), newest); err != nil {
			t.Fatal(err)
		}
		if err := s.Migrate(t.Context()); err != nil {
			t.Error(err)
		}
		create(t, s, "x")
	})
}

func TestMigrateGivesUpWithItsContext(t *testing.T) {
	onEmpty(t, func(t *testing.T, open func() *store.Store) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		slow := fstest.MapFS{}
		for _, engine := range engines {
			slow[engine+"/0001_slow.up.sql"] = &fstest.MapFile{Data: []byte(map[string]string{
				"sqlite":   `create table n as with recursive n (i) as (select 1 union all select i + 1 from n) select i from n where i < 0 limit 1`,
				"postgres": `select pg_sleep(600)`,
			}[engine])}
		}
		s := open()
		began := time.Now()
		if err := s.MigrateFrom(ctx, slow); err == nil || time.Since(began) > 20*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if err := s.Migrate(t.Context()); err != nil {
			t.Errorf("and then: %v", err)
		}
	})
}

func TestSecondServerOnAFileIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "signoff.db")
	one := storetest.Open(t, store.Config{Path: path})
	two := storetest.Open(t, store.Config{Path: path})
	unlock, err := one.LockServer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		if _, err := two.LockServer(t.Context()); !mentions(err, "Another server", path) {
			t.Errorf("%v", err)
		}
		stopped, stop := context.WithCancel(t.Context())
		stop()
		if _, err := two.LockServer(stopped); !mentions(err, "was stopped", path) {
			t.Errorf("and one that is told to stop meanwhile: %v", err)
		}
	})
	if err := two.Migrate(t.Context()); err != nil {
		t.Errorf("`signoff migrate` beside a server: %v", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	again, err := two.LockServer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := again(); err != nil {
		t.Error(err)
	}

	replicas := storetest.PostgresReplicas(t, 2)
	for _, s := range replicas {
		unlock, err := s.LockServer(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = unlock() }()
	}
}

// A server that is killed while it forks is survived, for a moment, by a child that holds its lock.
func TestServerWaitsForTheLockOfOneThatHasJustDied(t *testing.T) {
	path := filepath.Join(t.TempDir(), "signoff.db")
	one := storetest.Open(t, store.Config{Path: path})
	two := storetest.Open(t, store.Config{Path: path})
	synctest.Test(t, func(t *testing.T) {
		unlock, err := one.LockServer(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(2*time.Second, func() { _ = unlock() })
		next, err := two.LockServer(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := next(); err != nil {
			t.Error(err)
		}
	})
}

// A server that was killed in the middle of a write may hold its file for a while.
func TestOpenWaitsForAFileThatIsLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "signoff.db")
	holder, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	holder.SetMaxOpenConns(1)
	for _, statement := range []string{"create table held(x)", "begin exclusive"} {
		if _, err := holder.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	const connTimeout = 50 * time.Millisecond
	time.AfterFunc(4*connTimeout, func() { _, _ = holder.Exec("rollback") })
	s, err := store.Open(t.Context(), store.Config{Path: path, ConnTimeout: connTimeout})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestFilesArePrivate(t *testing.T) {
	folder := t.TempDir()
	s := storetest.Open(t, store.Config{Path: filepath.Join(folder, "signoff.db")})
	create(t, s, "x")
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) < 3 {
		t.Fatal(entries, err)
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", entry.Name(), info.Mode(), err)
		}
	}
}

// What an earlier version of the schema holds is there after the later ones, and goes on.
func TestMigrateFromEarlierSchemas(t *testing.T) {
	t.Run("1", func(t *testing.T) { migrateFrom(t, 1, firstData+firstRule) })
	t.Run("2", func(t *testing.T) { migrateFrom(t, 2, firstData+firstRule) })
	t.Run("3", func(t *testing.T) { migrateFrom(t, 3, firstData+thirdRule) })
	t.Run("6", func(t *testing.T) { migrateFrom(t, 6, firstData+thirdRule) })
	t.Run("7", func(t *testing.T) { migrateFrom(t, 7, firstData+thirdRule) })
}

func migrateFrom(t *testing.T, version int, data string) {
	t.Helper()
	onEmpty(t, func(t *testing.T, open func() *store.Store) {
		s := open()
		if err := s.MigrateFrom(t.Context(), upTo(t, version)); err != nil {
			t.Fatal(err)
		}
		insert(t, s, data)
		if err := s.CheckSchema(t.Context()); !mentions(err, fmt.Sprintf("version %d", version), "`signoff migrate`") {
			t.Errorf("before: %v", err)
		}
		if err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		checkFirstData(t, s)

		commit(t, s, asks("x", "p"))
		c := says("x", 3, 1)
		c.StartPrompt, c.Update = "p", &store.Update{Turn: 2, AgentSession: "s"}
		c.Resolve = []store.Resolution{{Approval: "open", Status: domain.ApprovalDenied, Decision: &domain.Decision{}}}
		c.Debug = []domain.DebugMessage{{Message: "m"}}
		c.Hits, c.Audit = []string{"r"}, []domain.AuditRecord{{Action: "a"}}
		c.AskClient, c.Generate = []domain.ClientCall{{ToolCallID: "c"}}, &domain.Generation{Number: 1}
		commit(t, s, c)
		if n := len(storetest.Log(t, s, "x")); n != 5 {
			t.Errorf("%d events", n)
		}
	})
}

// TestKeysKeepWhatTheyCould: a key that created executions could give MCP servers to external agents, before that took a scope.
func TestKeysKeepWhatTheyCould(t *testing.T) {
	onEmpty(t, func(t *testing.T, open func() *store.Store) {
		s := open()
		if err := s.MigrateFrom(t.Context(), upTo(t, 17)); err != nil {
			t.Fatal(err)
		}
		for id, scopes := range map[string][]string{"creates": {"events:read", "executions:write", "memory:read"}, "reads": {"executions:read"}} {
			if err := s.CreateKey(t.Context(), store.Key{ID: id, Tenant: domain.DefaultTenant, Name: id, Hash: []byte(id), Scopes: scopes}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string][]string{"creates": {"events:read", "executions:write", "mcp:use", "memory:read"}, "reads": {"executions:read"}} {
			if key, err := s.KeyByID(t.Context(), id); err != nil || !slices.Equal(key.Scopes, want) {
				t.Errorf("%s: %v, %v", id, key.Scopes, err)
			}
		}
	})
}

func checkFirstData(t *testing.T, s *store.Store) {
	t.Helper()
	e, err := s.Execution(t.Context(), domain.DefaultTenant, "x")
	if err != nil || e.Request.Prompt != "hello" || e.Turn != 1 || e.LastSeq != 2 || e.AgentSession != "" || e.Recovery != 2 {
		t.Errorf("%+v, %v", e, err)
	}
	requests, err := s.ControlRequests(t.Context(), "x")
	if err != nil || requests.Cancel == nil || requests.Cancel.Reason != "enough" || requests.Close != nil ||
		requests.Resume != nil || len(requests.Prompts) != 0 {
		t.Errorf("%+v, %v", requests, err)
	}
	open, err := s.Approval(t.Context(), domain.DefaultTenant, "open")
	if err != nil || open.AskedBy != "" || open.RememberOptions != nil || open.Options != nil || open.Question != nil || open.Decision != nil {
		t.Errorf("%+v, %v", open, err)
	}
	done, err := s.Approval(t.Context(), domain.DefaultTenant, "done")
	if err != nil || done.Decision == nil || string(done.Decision.Arguments) != `{ "b": 2 }` || done.Decision.Answer != nil {
		t.Errorf("%+v, %v", done, err)
	}
	rules, err := s.Rules(t.Context(), domain.DefaultTenant, "x")
	want := []domain.PermissionRule{{ID: "r", Tenant: domain.DefaultTenant, Scope: domain.RememberExecution, Execution: "x",
		Effect: domain.Allow, Matcher: domain.Matcher{Tool: `a "tool"`, ArgumentsHash: "h"}, Approval: "done", Created: time.UnixMicro(3).UTC()}}
	if diff := cmp.Diff(want, rules); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if n := len(storetest.Log(t, s, "x")); n != 2 {
		t.Errorf("%d events", n)
	}
}

// insert runs SQL that names the columns of an earlier schema. The store itself writes those of the newest one.
func insert(tb testing.TB, s *store.Store, data string) {
	tb.Helper()
	if _, err := s.DB().ExecContext(tb.Context(), data); err != nil {
		tb.Fatal(err)
	}
}

// firstData is an execution as it was stored under the first schema. Its driver has epoch 3.
const firstData = `
	insert into executions (id, tenant_id, request, status, source_type, model, turn, rounds, usage, created_us, updated_us,
		created_by, cancel)
	values ('x', 'default', '{"source":{"type":"internal","model":"demo"},"prompt":"hello"}', 'pendingToolApproval',
		'internal', 'demo', 1, 0, '{}', 1, 2, 'key', '{"reason":"enough","by":{"keyId":"k","name":"n"}}');
	insert into execution_heads (execution_id, tenant_id, last_seq, epoch, owner, recoveries, bell, ended)
	values ('x', 'default', 2, 3, 'one', 2, 4, 0);
	insert into events (execution_id, seq, tenant_id, type, time_us, data)
	values ('x', 1, 'default', 'execution.created', 1, '{}'), ('x', 2, 'default', 'approval.requested', 2, '{}');
	insert into approvals (id, tenant_id, execution_id, kind, call_id, tool, tool_version, class, arguments, summary,
		working_directory, arguments_hash, status, requested_us, decision, decided_arguments, resolved_us)
	values ('open', 'default', 'x', 'toolCall', 'c', 't', '1', 'execute', '{ "a": 1 }', 's', '/w', 'h', 'pending', 1, null,
			null, null),
		('done', 'default', 'x', 'toolCall', 'c', 't', '1', 'execute', '{}', 's', '/w', 'h', 'approved', 1,
			'{"decision":"approve","remember":"once","by":{"keyId":"k","name":"n"}}', '{ "b": 2 }', 3);`

// A rule as it was stored under the first schema, and the same under the third.
const (
	firstRule = `
	insert into permission_rules (id, tenant_id, execution_id, tool, arguments_hash, approval_id, created_us)
	values ('r', 'default', 'x', 'a "tool"', 'h', 'done', 3);`
	thirdRule = `
	insert into permission_rules (id, tenant_id, scope, execution_id, effect, matcher, approval_id, by, created_us, hits)
	values ('r', 'default', 'execution', 'x', 'allow', '{"argumentsHash":"h","tool":"a \"tool\""}', 'done',
		'{"keyId":"","name":""}', 3, 0);`
)

// upTo is the first migrations of the binary.
func upTo(t *testing.T, version int) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	for _, engine := range engines {
		names, err := fs.Glob(migrations.Files, engine+"/*.sql")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names[:version] {
			content, err := fs.ReadFile(migrations.Files, name)
			if err != nil {
				t.Fatal(err)
			}
			files[name] = &fstest.MapFile{Data: content}
		}
	}
	return files
}

// mentions reports whether err has the code of the store and all parts in the text that is shown.
func mentions(err error, parts ...string) bool {
	if domain.CodeOf(err) != domain.CodeStorage {
		return false
	}
	for _, part := range parts {
		if !strings.Contains(domain.FailureOf(err).Message, part) {
			return false
		}
	}
	return true
}

// with is the migrations of the binary and one more.
func with(t *testing.T, name, statements string) fs.FS {
	t.Helper()
	files := upTo(t, newest)
	for _, engine := range engines {
		files[engine+"/"+name] = &fstest.MapFile{Data: []byte(statements)}
	}
	return files
}
