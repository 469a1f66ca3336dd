package store_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// What a change does not have costs no statement: all executions pay for every one that a commit sends.
func TestStatementsOfAChange(t *testing.T) {
	s := storetest.Open(t, store.Config{Path: filepath.Join(t.TempDir(), "signoff.db")})
	count := counted(t, s)
	create(t, s, "x")
	asking := says("x", 1, 2)
	asking.Events[0].Type = domain.ApprovalRequestedType
	idle := says("x", 1, 1)
	idle.Update = &store.Update{Status: domain.StatusIdle}
	streaming := says("x", 1, 1)
	streaming.Update = &store.Update{Status: domain.StatusStreaming, AgentSession: "s"}
	turn := says("x", 1, 1)
	turn.StartPrompt, turn.Update = "p", &store.Update{Turn: 2}
	traced := says("x", 1, 1)
	traced.Debug = []domain.DebugMessage{{Time: time.Now(), Direction: domain.ToAgent, Message: "x"}}
	audited := store.Change{Execution: "x", Epoch: 1, Audit: []domain.AuditRecord{{Action: "a"}, {Action: "b"}}}
	handed := store.Change{Execution: "x", Epoch: 1, ClientCalls: store.ClientCalls{AskClient: []domain.ClientCall{{ToolCallID: "c"}}}}
	end := says("x", 1, 1)
	end.Update = &store.Update{Status: domain.StatusCompleted}
	for _, c := range []struct {
		name   string
		change store.Change
		want   int64
	}{
		{"nothing: the head", store.Change{Execution: "x", Epoch: 1}, 1},
		{"events, and one for the feed", says("x", 1, 4), 3},
		{"events that SQLite takes in two bites", says("x", 1, 5), 4},
		{"an event that webhooks send, and no webhook", asking, 4},
		{"an update", streaming, 4},
		{"a rest: are there prompts?", idle, 5},
		{"a control request", store.Change{Execution: "x", Cancel: &store.CancelRequest{}}, 2},
		{"a prompt: may it come in?", asks("x", "p"), 5},
		{"its turn", turn, 5},
		{"a call of the client", handed, 2},
		{"its answer: does it count?", store.Change{Execution: "x", AnswerClient: &store.ClientAnswering{ToolCallID: "c"}}, 3},
		{"blocks, and those of before", store.Change{Execution: "x", Epoch: 1, Generate: &domain.Generation{Number: 1}}, 3},
		{"raw messages: where does their feed end?", traced, 5},
		{"states", store.Change{Execution: "x", Epoch: 1, States: []domain.AnswerState{{MessageID: "a", State: []byte("1")}, {MessageID: "b", State: []byte("2")}}}, 2},
		{"the requests of paused calls", store.Change{Execution: "x", Epoch: 1, Paused: []domain.PausedRequest{{ToolCallID: "a", Repeat: []byte("1")}, {ToolCallID: "b", Repeat: []byte("2")}}}, 2},
		{"hits", store.Change{Execution: "x", Epoch: 1, Hits: []string{"r", "s"}}, 2},
		{"the audit: its end, before and after", audited, 4},
		{"the end: are there prompts, or accepted blocks? And what waits for a client, and rollbacks", end, 8},
	} {
		count.Store(0)
		commit(t, s, c.change)
		if got := count.Load(); got != c.want {
			t.Errorf("%s: %d statements, want %d", c.name, got, c.want)
		}
	}
}

// counted lets s write through connections that count their statements.
func counted(t *testing.T, s *store.Store) *atomic.Int64 {
	t.Helper()
	name := s.WriterName()
	count := new(atomic.Int64)
	db := sql.OpenDB(counter{name, s.DB().Driver(), count})
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	s.WriteThrough(db)
	return count
}

type counter struct {
	name   string
	driver driver.Driver
	count  *atomic.Int64
}

func (c counter) Driver() driver.Driver { return c.driver }

func (c counter) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.driver.Open(c.name)
	return countingConn{conn, c.count}, err
}

type countingConn struct {
	driver.Conn
	count *atomic.Int64
}

func (c countingConn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, options)
}

func (c countingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.count.Add(1)
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func (c countingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.count.Add(1)
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}
