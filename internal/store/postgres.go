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

// openPostgres says nothing of a URL that it cannot read: the part that is wrong may hold the password.
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

	// statementTimeout is how long a statement takes at most, its waiting included. It is the server that ends one whose client is gone
	// or asked in vain, so that its locks do not stay. It is longer than a client waits for anything: a commit for half a minute, a
	// reading for ten seconds. Migrations have none.
	statementTimeout = "60s"
)

// setSession makes sure of what the promises rest on, whatever the defaults of the server are: that a commit is on the
// disk when it returns, that a statement sees what was committed before it, that a replica which froze in the
// middle of a transaction does not keep its locks, that nobody waits for those of somebody else for ever, since a row that an
// operator holds must not become an outcome that nobody knows, and that no statement runs on for nobody.
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
// It is also planned once, and not for each commit, which would take longer than to run it. That is what the limit is for, which
// leaves nothing out: of a limit that it does not know the planner expects a row or so, finds no plan for the rows at hand
// that is cheaper, and goes to other tables by their keys, however many rows there will be.
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

// postgresAlive looks whether the server has ended a session that nobody has used for a while: that is cheaper than to ask it.
// What such a server says, it says unasked, so anything that has come will do.
func postgresAlive(conn *sql.Conn) error {
	return conn.Raw(func(opened any) error {
		session := opened.(*stdlib.Conn).Conn()
		if silentSocket(session.PgConn().Conn()) {
			return nil
		}
		return errors.Join(driver.ErrBadConn, session.Close(context.Background()))
	})
}

// postgresFault: an answer of the server is the outcome. Without one, anything but a commit was rolled back, and a
// commit may have happened, whatever the driver says: after a connection that broke under a commit, pgx reports that
// it was closed before anything was sent, and calls that safe to retry.
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

// again lists what fails in passing: serialization, deadlock, a lock that was not to be had, too many connections.
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
