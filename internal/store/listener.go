package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// notificationChannel is the channel on which replicas say that there is something to read.
	notificationChannel = "signoff"
	// MaxNotification is the most bytes of one payload; Postgres takes less than 8000.
	MaxNotification = 7900
	// closeTimeout bounds the farewell of a listener.
	closeTimeout = time.Second
)

// listener holds the settings of a listening connection. The zero value belongs to an engine to which nobody else writes.
type listener struct {
	settings *pgx.ConnConfig
	connect  time.Duration // how long until it listens
	ping     time.Duration // how long it may be quiet, and then how long an answer may take
}

// Notify sends payloads, of at most MaxNotification bytes each, to all listeners. It is one statement outside the transaction
// of a change: it takes a lock of the whole database server, on which commits would queue.
func (s *Store) Notify(ctx context.Context, payloads []string) error {
	if !s.Shared() || len(payloads) == 0 {
		return nil
	}
	sent := list{columns: columns("payload text")}
	for _, payload := range payloads {
		sent.rows = append(sent.rows, []any{payload})
	}
	with, args := s.dialect.with(sent)
	if _, err := s.write.ExecContext(ctx, with+` select pg_notify('`+notificationChannel+`', payload) from v`, args...); err != nil {
		return s.failed("notify", err)
	}
	return nil
}

// Listen receives notifications, its own replica's included, until ctx ends or the connection is lost, and returns the reason.
// It calls ready once, when it misses nothing from then on; ready and received must return soon.
//
// The connection is its own: a pool hands a connection on after each statement, and the subscription with it. A dead network
// looks like a silent one, so after some silence Listen pings the server.
//
// On an engine to which nobody else writes Listen returns at once.
func (s *Store) Listen(ctx context.Context, ready func(), received func(payload string)) error {
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
		received(payload)
	}
}

func (l listener) open(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, l.connect)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, l.settings.Copy())
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
func (l listener) next(ctx context.Context, conn *pgx.Conn) (string, error) {
	for {
		quiet, cancel := context.WithTimeout(ctx, l.ping)
		received, err := conn.WaitForNotification(quiet)
		cancel()
		switch {
		case err == nil:
			return received.Payload, nil
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case !pgconn.Timeout(err):
			return "", err
		}
		answer, cancel := context.WithTimeout(ctx, l.ping)
		err = conn.Ping(answer)
		cancel()
		if err != nil {
			return "", fmt.Errorf("no answer to a ping: %w", err)
		}
	}
}

// closeListener has its own context, because the listener's has usually ended. Its error is useless: the connection is gone.
func closeListener(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = conn.Close(ctx)
}
