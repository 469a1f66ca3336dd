package store_test

import (
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// reader pages through the feed and remembers where it is, as a client does.
type reader struct {
	*testing.T
	s     *store.Store
	after store.FeedCursor
}

// reads returns what is new, and whether more is to come.
func (r *reader) reads() (news string, later bool) {
	r.Helper()
	page, err := r.s.Feed(r.Context(), domain.DefaultTenant, r.after, 100, math.MaxInt)
	if err != nil {
		r.Fatal(err)
	}
	var all []string
	for _, e := range page.Events {
		all = append(all, fmt.Sprint(e.Execution, e.Seq))
		r.after = e.Cursor
	}
	return strings.Join(all, " "), page.Later
}

// readsAtLast reads until nothing is held back any more: another database of the same server may have a transaction open.
func (r *reader) readsAtLast() string {
	r.Helper()
	var all []string
	for {
		news, later := r.reads()
		if news != "" {
			all = append(all, news)
		} else if !later {
			return strings.Join(all, " ")
		}
	}
}

// holds locks rows as another client of the database would, until the returned function is called.
func holds(t *testing.T, s *store.Store, statement string) (letGo func()) {
	t.Helper()
	tx, err := s.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
	return func() { _ = tx.Rollback() }
}

// commits writes a batch in the background, and returns when it waits for a lock of somebody else.
func commits(t *testing.T, s *store.Store, changes ...store.Change) (done chan struct{}) {
	t.Helper()
	done = make(chan struct{})
	go func() {
		defer close(done)
		results, err := s.Commit(t.Context(), changes)
		if err != nil || slices.ContainsFunc(results, func(o store.Result) bool { return o.Err != nil }) {
			t.Error(err, results)
		}
	}()
	for waiting := 0; waiting == 0; time.Sleep(time.Millisecond) {
		err := s.DB().QueryRowContext(t.Context(), `
			select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`).Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
	return done
}

func created(t *testing.T, s *store.Store, ids ...domain.ExecutionID) {
	t.Helper()
	for _, id := range ids {
		create(t, s, id)
	}
}

// A batch stands in the middle of its transaction, with a number lower than that of the one that commits before it.
// Whoever took what is there and went on would never see the batch.
func TestFeedWaitsForWhatCommitsLate(t *testing.T) {
	replicas := storetest.PostgresReplicas(t, 2)
	s, other := replicas[0], replicas[1]
	created(t, s, "a", "b", "c")
	commit(t, s, says("b", 1, 1))
	r := &reader{T: t, s: other}
	if got := r.readsAtLast(); got != "b1" {
		t.Fatalf("at first %q", got)
	}

	letGo := holds(t, s, `select 1 from executions where id = 'c' for update`)
	late := commits(t, s, says("a", 1, 1), says("c", 1, 2)) // it has both heads, and cannot append to c
	commit(t, other, says("b", 1, 2))
	for range 3 {
		if got, later := r.reads(); got != "" || !later {
			t.Errorf("in the middle %q, later: %v", got, later)
		}
	}
	if head, err := s.FeedHead(t.Context(), domain.DefaultTenant); err != nil || head != r.after {
		t.Errorf("the head is %+v, %v: who begins now would miss the batch", head, err)
	}
	letGo()
	<-late
	if got := r.readsAtLast(); got != "a1 c1 c2 b2 b3" {
		t.Errorf("at last %q", got)
	}
}

// The batch has its number, the lower one, and waits for a head: meanwhile another one writes to the last of its
// executions and commits. By their numbers alone, x would be read as 2, 1.
func TestFeedKeepsTheOrderOfAnExecution(t *testing.T) {
	replicas := storetest.PostgresReplicas(t, 2)
	s, other := replicas[0], replicas[1]
	created(t, s, "a", "m", "x")
	letGo := holds(t, s, `select 1 from execution_heads where execution_id = 'm' for update`)
	lower := commits(t, s, says("a", 1, 1), says("m", 1, 1), says("x", 1, 1)) // it has the head of a, and waits for m
	commit(t, other, says("x", 1, 1))
	r := &reader{T: t, s: other}
	if got, later := r.reads(); got != "" || !later {
		t.Errorf("in the middle %q, later: %v", got, later)
	}
	letGo()
	<-lower
	if got := r.readsAtLast(); got != "a1 m1 x1 x2" {
		t.Errorf("at last %q", got)
	}
	if events := storetest.Log(t, s, "x"); len(events) != 2 {
		t.Errorf("%d events", len(events))
	}
}

// A transaction that writes nothing holds nothing back, however long it reads.
func TestFeedDoesNotWaitForReaders(t *testing.T) {
	s := storetest.PostgresReplicas(t, 1)[0]
	created(t, s, "a")
	tx, err := s.DB().BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(t.Context(), `select count(*) from events`); err != nil {
		t.Fatal(err)
	}
	commit(t, s, says("a", 1, 1))
	if got := (&reader{T: t, s: s}).readsAtLast(); got != "a1" {
		t.Errorf("%q", got)
	}
}

// A dump that is restored into another server brings numbers along which that one will not reach for years.
func TestFeedOfARestoredDump(t *testing.T) {
	s := storetest.PostgresReplicas(t, 1)[0]
	created(t, s, "a", "b")
	commit(t, s, says("a", 1, 2))
	r := &reader{T: t, s: s}
	if got := r.readsAtLast(); got != "a1 a2" {
		t.Fatalf("before %q", got)
	}
	commit(t, s, says("b", 1, 1))
	commit(t, s, says("a", 1, 1), says("b", 1, 1))
	for _, statement := range []string{
		`update feed set key = key + 1000000000000 where first_seq <> 1 or execution_id = 'b'`,
		`update execution_heads set feed_key = feed_key + 1000000000000`,
	} {
		if _, err := s.DB().ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	commit(t, s, says("a", 1, 1))
	if got := r.readsAtLast(); got != "b1 a3 b2 a4" {
		t.Errorf("after %q", got)
	}
	commit(t, s, says("b", 1, 1), says("a", 1, 1))
	if got := r.readsAtLast(); got != "a5 b3" {
		t.Errorf("and then %q", got)
	}
	if _, err := s.Feed(t.Context(), domain.DefaultTenant, store.FeedCursor{Key: 1000000000000}, 1, 1); domain.CodeOf(err) != domain.CodeCursorBeyondHead {
		t.Errorf("a cursor of the other server: %v", err)
	}
}

// Logs that were written before there was a feed are in it, the oldest execution first.
func TestFeedOfEarlierSchemas(t *testing.T) {
	onEmpty(t, func(t *testing.T, open func() *store.Store) {
		s := open()
		if err := s.MigrateFrom(t.Context(), upTo(t, 1)); err != nil {
			t.Fatal(err)
		}
		older := strings.NewReplacer("'x'", "'y'", "'open'", "'o'", "'done'", "'d'", "'r'", "'q'", "'{}', 1, 2,", "'{}', 0, 2,")
		for _, data := range []string{firstData, older.Replace(firstData)} {
			if _, err := s.DB().ExecContext(t.Context(), data); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		commit(t, s, says("y", 3, 1))
		if got := (&reader{T: t, s: s}).readsAtLast(); got != "y1 y2 x1 x2 y3" {
			t.Errorf("%q", got)
		}
	})
}
