package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
)

// dialect is all that differs between the two engines in one SQL text.
type dialect struct {
	name   string // the folder below migrations
	shared bool   // other processes write, too

	// rows renders a list as a select or values clause, with placeholders from behind the first so many on.
	rows func(list list, behind int) (string, []any)

	// bite is how many of the remaining rows of a batch one statement takes.
	bite func(rows int) int

	// arrays renders the columns of a list as arrays, with placeholders as in rows. It is nil for an engine that has none. The
	// one that has them also writes in with clauses, so that one statement can be a whole batch: see batch.commitPlain.
	arrays func(list list, behind int) ([]string, []any)

	// alive fails for a lost connection, before anything is sent over it. It comes with arrays.
	alive func(conn *sql.Conn) error

	// lock and skipLocked end a select that locks its rows, and that passes over locked ones; share ends one that only keeps them from
	// being removed. One writer needs none of them.
	lock, skipLocked, share string

	// once runs do in a transaction that is committed, or rolled back where do or the commit fails.
	once func(s *Store, ctx context.Context, do func(transaction) error) (fault, error)

	// fault classifies an error of the driver.
	fault func(err error, committing bool) fault

	// noTable reports whether err says that the table is not there.
	noTable func(err error) bool
}

// fault is what an error means for the transaction that met it.
type fault int

const (
	permanent fault = iota // the same again would fail the same
	transient              // nothing was written, and the same again may succeed
	unknown                // the commit may have happened
)

// list is a small table that travels with a statement as parameters, in place of a statement for each row.
type list struct {
	columns []column
	rows    [][]any // string, int64, []byte or nil each
}

// column is the name and the type of one column of a list: text, bigint or bytea.
type column struct{ name, kind string }

// parsed keeps what columns has read, by its text: there are as many as in the source.
var parsed sync.Map

// columns reads "id text, epoch bigint".
func columns(spec string) []column {
	if all, is := parsed.Load(spec); is {
		return all.([]column)
	}
	var all []column
	for part := range strings.SplitSeq(spec, ",") {
		name, kind, ok := strings.Cut(strings.TrimSpace(part), " ")
		if !ok {
			panic(fmt.Sprintf("store: column %q has no type", part))
		}
		all = append(all, column{name, kind})
	}
	parsed.Store(spec, all)
	return all
}

// with renders `with v (columns) as (rows)`, the head of a statement that reads list as the table v.
func (d *dialect) with(list list) (string, []any) {
	table, args := d.table("v", list, nil)
	return "with " + table, args
}

// table renders `name (columns) as (rows)` for a with clause, and adds what it needs to args.
func (d *dialect) table(name string, list list, args []any) (string, []any) {
	rows, more := d.rows(list, len(args))
	return name + " (" + names(list.columns) + ") as (" + rows + ")", append(args, more...)
}

func names(columns []column) string {
	all := make([]string, len(columns))
	for i, column := range columns {
		all[i] = column.name
	}
	return strings.Join(all, ", ")
}
