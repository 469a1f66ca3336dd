package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// querier is a pool or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// scanner is a row.
type scanner interface{ Scan(into ...any) error }

// readTimeout gives a reading up that the database does not answer: whoever asked is told, instead of waiting for as
// long as the network does.
const readTimeout = 10 * time.Second

// readers reads outside of a transaction. A reading that fails in passing is done again: after a restart of the database a
// pool is full of connections that are dead and do not know it.
type readers struct {
	*sql.DB
	fault func(err error, committing bool) fault
	tries int // so many that not all of them can meet a connection that is being ended
}

// collect reads all rows of a query.
func collect[T any](ctx context.Context, q querier, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	from, again := q.(readers)
	if again {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, readTimeout)
		defer cancel()
	}
	for attempt := 1; ; attempt++ {
		all, err := collectOnce(ctx, q, scan, query, args...)
		if err == nil || !again || attempt == from.tries || ctx.Err() != nil || from.fault(err, false) != transient {
			return all, err
		}
	}
}

// errEnough is what a scan says of a row that is not wanted any more: the reading ends before it.
var errEnough = errors.New("store: enough")

func collectOnce[T any](ctx context.Context, q querier, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		one, err := scan(rows)
		if errors.Is(err, errEnough) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// one reads the first row of a query; sql.ErrNoRows where there is none.
func one[T any](ctx context.Context, q querier, scan func(scanner) (T, error), query string, args ...any) (T, error) {
	all, err := collect(ctx, q, scan, query, args...)
	if err != nil || len(all) == 0 {
		var zero T
		if err == nil {
			err = sql.ErrNoRows
		}
		return zero, err
	}
	return all[0], nil
}

func scanText(row scanner) (string, error) {
	var s string
	return s, row.Scan(&s)
}

// conditions collects the parts of a where clause and their parameters.
type conditions struct {
	parts []string
	args  []any
}

// add puts a condition whose placeholders are written as %d: each stands for the next of args.
func (c *conditions) add(part string, args ...any) {
	numbers := make([]any, len(args))
	for i := range args {
		numbers[i] = len(c.args) + i + 1
	}
	c.parts = append(c.parts, fmt.Sprintf(part, numbers...))
	c.args = append(c.args, args...)
}

// in puts `expression in ($1, $2 …)`; nothing where values is empty.
func in[S ~string](c *conditions, expression string, values []S) {
	if len(values) == 0 {
		return
	}
	args := make([]any, len(values))
	for i, value := range values {
		args[i] = text(string(value))
	}
	c.add(expression+" in ("+strings.Repeat("$%d, ", len(args)-1)+"$%d)", args...)
}

func (c *conditions) String() string { return strings.Join(c.parts, " and ") }
