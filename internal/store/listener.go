package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// notificationChannel is where replicas tell each other that there is something to read.
	notificationChannel = "signoff"
	// MaxNotification is the most bytes of one payload; Postgres takes less than 8000.
	MaxNotification = 7900
	// closeTimeout is how long the server is given to hear that a listener leaves.
	closeTimeout = time.Second
)

// listener is how a listener connects. The zero value is that of an engine to which nobody else writes.
type listener struct {
	settings *pgx.ConnConfig
	connect  time.Duration // how long until it listens
	ping     time.Duration // how long it may be quiet, and then how long an answer may take
}

// Notify sends payloads, of at most MaxNotification bytes each, to whoever listens. It is one statement and belongs to no
// transaction of a change: the lock that it takes, one for the whole server, would make their commits wait in line.
func (s *Store) Notify(ctx context.Context, payloads []string) error {
	if !s.Shared() || len(payloads) == 0 {
		return nil
	}
	told := list{columns: columns("payload text")}
	for _, payload := range payloads {
		told.rows = append(told.rows, []any{payload})
	}
	with, args := s.dialect.with(told)
	if _, err := s.write.ExecContext(ctx, with+` select pg_notify('`+notificationChannel+`', payload) from v`, args...); err != nil {
		return s.failed("notify", err)
	}
	return nil
}

// Listen hears what is sent, its own replica's bells included, until ctx ends or the connection is lost, and returns
// why. ready is called once when nothing that is sent from then on is missed; neither of the two may take long.
//
// The connection is its own: one of the pool is handed on after each statement, and would take the ear along. A network
// that swallows everything looks like one where nobody has anything to say, so where it was quiet for a while the server is asked for
// an answer.
//
// On an engine to which nobody else writes there is nothing to hear, and it returns at once.
func (s *Store) Listen(ctx context.Context, ready func(), heard func(payload string)) error {
	if !s.Shared() {
		return nil
	}
	conn, err := s.listener.open(ctx)
	if err != nil {
		return s.failed("listen", err)
	}
	defer closeListener(conn)
	ready()
	for {
		payload, err := s.listener.next(ctx, conn)
		if err != nil {
			return s.failed("listen", err)
		}
		heard(payload)
	}
}

func (e listener) open(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, e.connect)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, e.settings.Copy())
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, "listen "+notificationChannel); err != nil {
		closeListener(conn)
		return nil, err
	}
	return conn, nil
}

// next waits for a payload. Payloads that come together with the answer to a ping are kept by the connection.
func (e listener) next(ctx context.Context, conn *pgx.Conn) (string, error) {
	for {
		quiet, cancel := context.WithTimeout(ctx, e.ping)
		told, err := conn.WaitForNotification(quiet)
		cancel()
		switch {
		case err == nil:
			return told.Payload, nil
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case !pgconn.Timeout(err):
			return "", err
		}
		if err := e.answered(ctx, conn); err != nil {
			return "", err
		}
	}
}

func (e listener) answered(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, e.ping)
	defer cancel()
	if err := conn.Ping(ctx); err != nil {
		return fmt.Errorf("no answer to a ping: %w", err)
	}
	return nil
}

// closeListener has a context of its own: that of the listener is mostly over. The error is of no use, the connection is gone.
func closeListener(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = conn.Close(ctx)
}
