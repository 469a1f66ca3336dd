package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// listener is a Listen that goes on beside the test.
type listener struct {
	t        *testing.T
	received chan string
	ended    chan error
}

// listen returns when it listens.
func listen(t *testing.T, s *store.Store) *listener {
	t.Helper()
	l := &listener{t: t, received: make(chan string, 100), ended: make(chan error, 1)}
	ctx, stop := context.WithCancel(context.Background())
	ready, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		l.ended <- s.Listen(ctx, func() { close(ready) }, func(payload string) { l.received <- payload })
	}()
	t.Cleanup(func() { stop(); <-over })
	select {
	case <-ready:
	case err := <-l.ended:
		t.Fatal(err)
	}
	return l
}

// receives waits for payloads, in this order.
func (l *listener) receives(payloads ...string) {
	l.t.Helper()
	for _, want := range payloads {
		select {
		case got := <-l.received:
			if got != want {
				l.t.Errorf("%q was received, want %q", got, want)
			}
		case err := <-l.ended:
			l.t.Fatalf("it ended before %q: %v", want, err)
		case <-time.After(20 * time.Second):
			l.t.Fatalf("%q was not received", want)
		}
	}
}

// ends waits until the connection is found to be lost.
func (l *listener) ends() error {
	l.t.Helper()
	select {
	case err := <-l.ended:
		if domain.CodeOf(err) != domain.CodeStorage {
			l.t.Errorf("%v", err)
		}
		return err
	case <-time.After(20 * time.Second):
		l.t.Fatal("a lost connection is not noticed")
		return nil
	}
}

// listening is the statement that a listener begins with.
const listening = "listen signoff"

func notify(t *testing.T, s *store.Store, payloads ...string) {
	t.Helper()
	if err := s.Notify(t.Context(), payloads); err != nil {
		t.Fatal(err)
	}
}

func TestNotifications(t *testing.T) {
	replicas := storetest.PostgresReplicas(t, 2)
	listeners := []*listener{listen(t, replicas[0]), listen(t, replicas[1])}
	long := strings.Repeat("ä", store.MaxNotification/2)
	notify(t, replicas[0])
	notify(t, replicas[0], "one", "two ' -- \n", long)
	for _, l := range listeners {
		l.receives("one", "two ' -- \n", long)
	}
	if err := replicas[1].Notify(t.Context(), []string{strings.Repeat("x", 8000)}); domain.CodeOf(err) != domain.CodeStorage {
		t.Errorf("a payload that is too long: %v", err)
	}
	notify(t, replicas[1], "three")
	for _, l := range listeners {
		l.receives("three")
	}
}

func TestNobodyRingsOnSQLite(t *testing.T) {
	s := storetest.SQLite(t)
	notify(t, s, "x")
	unexpected := func(string) { t.Error("a payload is received") }
	if err := s.Listen(t.Context(), func() { unexpected("") }, unexpected); err != nil {
		t.Error(err)
	}
}

// backends are the connections of the test's database whose last statement was this one.
func backends(t *testing.T, s *store.Store, last string) (pids []int) {
	t.Helper()
	rows, err := s.DB().QueryContext(t.Context(), `select pid from pg_stat_activity
		where datname = current_database() and query = $1 and state = 'idle'`, last)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var pid int
		if err := rows.Scan(&pid); err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return pids
}

func TestTerminatedListener(t *testing.T) {
	s := storetest.Open(t, store.Config{DatabaseURL: storetest.Migrated(t)})
	l := listen(t, s)
	pids := backends(t, s, listening)
	if len(pids) != 1 {
		t.Fatalf("%d connections listen", len(pids))
	}
	if _, err := s.DB().ExecContext(t.Context(), `select pg_terminate_backend($1)`, pids[0]); err != nil {
		t.Fatal(err)
	}
	_ = l.ends()
	again := listen(t, s)
	notify(t, s, "x")
	again.receives("x")
}

// A quiet channel is no reason to go: the server answers the pings, and what is sent after them is received.
func TestQuietListener(t *testing.T) {
	s := storetest.Open(t, store.Config{DatabaseURL: storetest.Migrated(t), ListenerPing: 5 * time.Second})
	l := listen(t, s)
	for end := time.Now().Add(20 * time.Second); len(backends(t, s, "-- ping")) == 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nobody pings")
		}
	}
	notify(t, s, "x")
	l.receives("x")
}

// A network that swallows everything without a word is noticed: here it never closes anything.
func TestDeadListener(t *testing.T) {
	s, proxy := proxied(t, store.Config{ListenerPing: 200 * time.Millisecond})
	l := listen(t, s)
	proxy.swallow()
	begun := time.Now()
	err := l.ends()
	t.Log("noticed after", time.Since(begun).Round(time.Millisecond))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	proxy.close() // or the store's connections would wait to be let go
}

func TestListenerThatLeaves(t *testing.T) {
	s := storetest.Open(t, store.Config{DatabaseURL: storetest.Migrated(t)})
	ctx, stop := context.WithCancel(t.Context())
	if err := s.Listen(ctx, stop, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	for end := time.Now().Add(20 * time.Second); len(backends(t, s, listening)) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("its connection stays")
		}
	}
}
