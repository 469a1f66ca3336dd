package store

import (
	"context"
	"database/sql/driver"
)

// SQLite spends half of the time of a short statement on parsing it. The writer repeats few texts, so its one connection keeps them prepared. Texts
// differ by the number of rows in their lists: [sqliteBite] keeps these numbers few.

// sqliteWriter opens connections that keep statements.
type sqliteWriter struct {
	name   string
	driver driver.Driver
}

func (w sqliteWriter) Driver() driver.Driver { return w.driver }

func (w sqliteWriter) Connect(context.Context) (driver.Conn, error) {
	conn, err := w.driver.Open(w.name)
	if err != nil {
		return nil, err
	}
	return &keepingConn{conn.(sqliteConn), map[string]driver.Stmt{}}, nil
}

// sqliteConn is what a connection of the driver can do, as far as database/sql makes use of it.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// keepingConn keeps what it has prepared. It belongs to one goroutine, as every connection, and no statement runs twice at once:
// who reads its rows reads them to the end.
type keepingConn struct {
	sqliteConn
	kept map[string]driver.Stmt
}

// maxKept bounds the kept statements. Beyond it all are forgotten: the frequent ones soon come back.
const maxKept = 256

func (c *keepingConn) prepared(ctx context.Context, query string) (driver.Stmt, error) {
	if statement, is := c.kept[query]; is {
		return statement, nil
	}
	if len(c.kept) == maxKept {
		if err := c.forget(); err != nil {
			return nil, err
		}
	}
	statement, err := c.PrepareContext(ctx, query)
	if err == nil {
		c.kept[query] = statement
	}
	return statement, err
}

func (c *keepingConn) forget() (err error) {
	for _, statement := range c.kept {
		if failed := statement.Close(); err == nil {
			err = failed
		}
	}
	clear(c.kept)
	return err
}

func (c *keepingConn) Close() error {
	err := c.forget()
	if failed := c.sqliteConn.Close(); failed != nil {
		return failed
	}
	return err
}

func (c *keepingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	statement, err := c.prepared(ctx, query)
	if err != nil {
		return nil, err
	}
	return statement.(driver.StmtExecContext).ExecContext(ctx, args)
}

func (c *keepingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	statement, err := c.prepared(ctx, query)
	if err != nil {
		return nil, err
	}
	return statement.(driver.StmtQueryContext).QueryContext(ctx, args)
}

// sqliteBite cuts rows into parts of 64, 32 … 1: a statement for each is read once, and a part more costs little where there is
// no server in between.
func sqliteBite(rows int) int {
	bite := 64
	for bite > rows {
		bite /= 2
	}
	return bite
}
