package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"signoff/internal/domain"
)

var postgresDialect = &dialect{
	name:       "postgres",
	shared:     true,
	rows:       postgresRows,
	bite:       func(rows int) int { return rows },
	arrays:     postgresArrays,
	alive:      postgresAlive,
	lock:       " for no key update",
	skipLocked: " for no key update skip locked",
	share:      " for key share",
	once:       (*Store).oncePiped,
	fault:      postgresFault,
	noTable:    func(err error) bool { return sqlState(err) == "42P01" },
}

// openPostgres does not quote a URL that it cannot read: the wrong part may contain the password.
func openPostgres(config Config) (*Store, error) {
	settings, err := pgxpool.ParseConfig(config.DatabaseURL)
	if err != nil {
		return nil, domain.Errorf(domain.CodeStorage, "The database URL is not readable. "+
			"It must look like postgres://user:password@host:5432/database?sslmode=require.")
	}
	settings.MaxConns = int32(min(config.MaxConns, 1000))
	settings.MaxConnLifetime = time.Hour
	settings.MaxConnLifetimeJitter = 10 * time.Minute
	settings.ConnConfig.ConnectTimeout = config.ConnTimeout
	settings.AfterConnect = setSession
	pool, err := pgxpool.NewWithConfig(context.Background(), settings) // which connects later
	if err != nil {
		return nil, domain.Errorf(domain.CodeStorage, "The database cannot be opened.").With(err)
	}
	db := stdlib.OpenDBFromPool(pool)
	closePool := func() error { pool.Close(); return nil }
	alone := settings.Copy()
	alone.MaxConns = 1
	single, err := pgxpool.NewWithConfig(context.Background(), alone)
	if err != nil {
		pool.Close()
		return nil, domain.Errorf(domain.CodeStorage, "The database cannot be opened.").With(err)
	}
	renewals := stdlib.OpenDBFromPool(single)
	closeSingle := func() error { single.Close(); return nil }
	return &Store{
		lease: &Store{write: renewals, read: readers{renewals, postgresFault, attempts}, dialect: postgresDialect},
		write: db, read: readers{db, postgresFault, attempts + int(settings.MaxConns)}, dialect: postgresDialect, closing: []func() error{db.Close, closePool, renewals.Close, closeSingle},
		conns:    int(settings.MaxConns) + 2,
		listener: listener{settings: settings.ConnConfig, connect: config.ConnTimeout, ping: config.ListenerPing},
	}, nil
}

const (
	// lockTimeout is how long a statement waits for a lock before it is given up, and tried again.
	lockTimeout = "2s"

	// statementTimeout is how long a statement takes at most, including its waiting. The server ends a statement whose client is gone or has given
	// up, so that its locks do not stay. It is longer than any client waits: half a minute for a commit, ten seconds for a reading. Migrations have
	// none.
	statementTimeout = "60s"
)

// setSession ensures the conditions of the promises, whatever the server's defaults are: a commit is on disk when it returns; a statement sees
// earlier commits; a replica that froze in a transaction does not keep its locks; nobody waits for ever for a lock, because a row that an operator
// holds must not leave a commit unknown; and no statement runs on without a client.
func setSession(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `
		select set_config('default_transaction_isolation', 'read committed', false),
			set_config('idle_in_transaction_session_timeout', '3s', false),
			set_config('lock_timeout', '`+lockTimeout+`', false),
			set_config('statement_timeout', '`+statementTimeout+`', false),
			set_config('synchronous_commit', replace(current_setting('synchronous_commit'), 'off', 'on'), false)`)
	return err
}

// postgresRows passes each column as one array. The text of the statement is the same for any number of rows, so it is
// prepared once.
//
// It is also planned once, and not for each commit, which would take longer than running it. The limit, which excludes no row, achieves this: the
// planner expects about one row from an unknown limit, finds no cheaper plan for the actual rows, and accesses other tables by their keys, however
// many rows there will be.
func postgresRows(list list, behind int) (string, []any) {
	arrays, args := postgresArrays(list, behind)
	return "select * from unnest(" + strings.Join(arrays, ", ") + ") limit cardinality(" + arrays[0] + ")", args
}

func postgresArrays(list list, behind int) (arrays []string, args []any) {
	for i, column := range list.columns {
		arrays = append(arrays, fmt.Sprintf("$%d::%s[]", behind+i+1, column.kind))
		switch column.kind {
		case "text":
			args = append(args, array[string](list.rows, i))
		case "bigint":
			args = append(args, array[int64](list.rows, i))
		case "bytea":
			args = append(args, array[[]byte](list.rows, i))
		default:
			panic("store: no array for columns of type " + column.kind)
		}
	}
	return arrays, args
}

// array is one column of rows.
func array[T any](rows [][]any, column int) any {
	values := make([]T, len(rows))
	for i, row := range rows {
		value, is := row[column].(T)
		if !is {
			return nullable[T](rows, column)
		}
		values[i] = value
	}
	return values
}

// nullable is array for a column with nils, which are null. It costs the driver more.
func nullable[T any](rows [][]any, column int) []*T {
	values := make([]T, len(rows))
	pointers := make([]*T, len(rows))
	for i, row := range rows {
		if row[column] != nil {
			values[i] = row[column].(T)
			pointers[i] = &values[i]
		}
	}
	return pointers
}

// postgresAlive checks whether the server has ended an idle session, which is cheaper than a ping. A server that ends a session says so unasked, so
// any input means that it is lost.
func postgresAlive(conn *sql.Conn) error {
	return conn.Raw(func(opened any) error {
		session := opened.(*stdlib.Conn).Conn()
		if silentSocket(session.PgConn().Conn()) {
			return nil
		}
		return errors.Join(driver.ErrBadConn, session.Close(context.Background()))
	})
}

// postgresFault trusts an answer of the server. Without one, everything but a commit was rolled back, and a commit may have happened, whatever the
// driver says: if the connection breaks under a commit, pgx reports that it was closed before anything was sent, and calls that safe to retry.
func postgresFault(err error, committing bool) fault {
	var coded *domain.Error
	state := sqlState(err)
	switch {
	case errors.As(err, &coded), errors.Is(err, pgx.ErrTxCommitRollback):
		return permanent
	case slices.Contains(again, state):
		return transient
	case state != "" && !lostSession(state):
		return permanent
	case committing:
		return unknown
	case state != "" || lostConnection(err):
		return transient
	}
	return permanent
}

// again lists transient failures: serialization, deadlock, a lock timeout, too many connections.
var again = []string{"40001", "40P01", "55P03", "53300"}

// lostSession reports whether the server ended the session with its answer.
func lostSession(state string) bool {
	return strings.HasPrefix(state, "08") || strings.HasPrefix(state, "57P") || state == "25P03"
}

func lostConnection(err error) bool {
	var network net.Error
	var connect *pgconn.ConnectError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return false
	case pgconn.SafeToRetry(err), errors.As(err, &network), errors.As(err, &connect):
		return true
	}
	for _, lost := range []error{driver.ErrBadConn, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed} {
		if errors.Is(err, lost) {
			return true
		}
	}
	return false
}

func sqlState(err error) string {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return answer.Code
	}
	return ""
}
