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

// readTimeout ends a reading that the database does not answer: its caller would otherwise wait as long as the network does.
const readTimeout = 10 * time.Second

// readers reads outside of a transaction. It repeats a reading that fails in passing: after a restart of the database a pool is full of dead
// connections.
type readers struct {
	*sql.DB
	fault func(err error, committing bool) fault
	tries int // enough that one of them meets a connection that lives
}

// selectAll reads all rows of a query outside of a transaction. doing says in an error what failed.
func selectAll[T any](ctx context.Context, s *Store, doing string, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	all, err := collect(ctx, s.read, scan, query, args...)
	if err != nil {
		return nil, s.failed(doing, err)
	}
	return all, nil
}

// selectFirst is selectAll for the first row; the zero value where there is none.
func selectFirst[T any](ctx context.Context, s *Store, doing string, scan func(scanner) (T, error), query string, args ...any) (first T, err error) {
	all, err := selectAll(ctx, s, doing, scan, query, args...)
	if len(all) > 0 {
		first = all[0]
	}
	return first, err
}

// selectBounded is selectAll that ends before the row with which the sizes would exceed bytes, but not before the first row.
func selectBounded[T any](
	ctx context.Context, s *Store, doing string, scan func(scanner) (T, error), size func(T) int, bytes int, query string, args ...any,
) ([]T, error) {
	all, err := repeated(ctx, s.read, func(ctx context.Context) ([]T, error) {
		left, first := bytes, true
		return collectOnce(ctx, s.read, func(row scanner) (T, error) {
			one, err := scan(row)
			if left -= size(one); err == nil && left < 0 && !first {
				err = errEnough
			}
			first = false
			return one, err
		}, query, args...)
	})
	if err != nil {
		return nil, s.failed(doing, err)
	}
	return all, nil
}

// collect reads all rows of a query.
func collect[T any](ctx context.Context, q querier, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	return repeated(ctx, q, func(ctx context.Context) ([]T, error) { return collectOnce(ctx, q, scan, query, args...) })
}

// repeated reads once in a transaction, and outside of one as often as it may help.
func repeated[T any](ctx context.Context, q querier, read func(ctx context.Context) ([]T, error)) ([]T, error) {
	from, again := q.(readers)
	if !again {
		return read(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		all, err := read(ctx)
		if err == nil || attempt == from.tries || ctx.Err() != nil || from.fault(err, false) != transient {
			return all, err
		}
	}
}

// errEnough is the error of a scan that does not want its row: the reading ends before it.
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

// scanValue scans a row of one column that is not null.
func scanValue[T any](row scanner) (value T, err error) { return value, row.Scan(&value) }

// conditions are the parts of a where clause, with their parameters.
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
