package store

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"

	"signoff/internal/domain"
)

var sqliteDialect = &dialect{
	name:    "sqlite",
	rows:    sqliteRows,
	bite:    sqliteBite,
	once:    (*Store).onceStepwise,
	fault:   sqliteFault,
	noTable: func(err error) bool { return strings.Contains(err.Error(), "no such table") }, // the code says only that the statement is wrong
}

// The clock of the database is the clock of the process: there is only one. A test inside a synctest bubble sees the
// bubble's time.
func init() {
	sqlite.MustRegisterScalarFunction("now_us", 0,
		func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
			return time.Now().UnixMicro(), nil
		})
	// One writer: changes are in order by their position alone, see Feed.
	sqlite.MustRegisterScalarFunction("change_key", 0,
		func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) { return int64(0), nil })
}

// openSQLite opens the file twice. Writers queue in Go for one connection, which wakes the next one, and not in SQLite, where each of them polls;
// readers never wait for them (WAL).
func openSQLite(config Config) (*Store, error) {
	path, err := filepath.Abs(config.Path)
	if err != nil || config.Path == "" {
		return nil, domain.Errorf(domain.CodeStorage, "The path of the database file is not usable.").With(err)
	}
	made, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // readable by its owner alone; the log beside it gets the same mode
	if err == nil {
		err = made.Close()
	}
	if err != nil {
		return nil, domain.Errorf(domain.CodeStorage, "The database file cannot be opened.").With(err)
	}
	read, err := sql.Open("sqlite", sqliteName(path, "query_only(1)"))
	if err != nil {
		return nil, domain.Errorf(domain.CodeStorage, "The database file cannot be opened.").With(err)
	}
	read.SetMaxOpenConns(config.MaxConns)
	read.SetMaxIdleConns(config.MaxConns)
	// SQLite cuts a WAL that has grown beyond the limit when it begins it anew; otherwise the file would keep its largest size.
	write := sql.OpenDB(sqliteWriter{sqliteName(path, "journal_mode(wal)", "synchronous(full)", fmt.Sprintf("journal_size_limit(%d)", config.WALBytes)), read.Driver()})
	write.SetMaxOpenConns(1)
	file, err := os.Stat(path)
	if err != nil {
		return nil, errors.Join(err, read.Close(), write.Close())
	}
	return &Store{write: write, read: readers{read, sqliteDialect.fault, attempts}, dialect: sqliteDialect, path: path, file: file,
		wal:     wal{file: path + "-wal", most: config.WALBytes},
		closing: []func() error{read.Close, write.Close}}, nil
}

// present fails if the open file is no longer the one at its path. SQLite would continue to write into a removed file, and the next start would find
// none of it: a write that cannot survive must not be acknowledged.
func (s *Store) present() error {
	if s.file == nil {
		return nil
	}
	if file, err := os.Stat(s.path); err != nil || !os.SameFile(file, s.file) {
		return domain.Errorf(domain.CodeStorage, "The database file is gone.").With(err)
	}
	return nil
}

// busyTimeout is how long a connection waits for another program, in milliseconds.
const busyTimeout = "10000"

func sqliteName(path string, pragmas ...string) string {
	query := url.Values{"_txlock": {"immediate"}, "_pragma": append(pragmas,
		"busy_timeout("+busyTimeout+")", "foreign_keys(1)", "fullfsync(1)")}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String()
}

// sqliteRows leaves the placeholders without numbers. To SQLite a number behind a $ is a name, and it looks for each
// name in the list of all: a thousand rows would take seconds.
func sqliteRows(list list, _ int) (string, []any) {
	row := "(?" + strings.Repeat(",?", len(list.columns)-1) + ")"
	args := make([]any, 0, len(list.rows)*len(list.columns))
	for _, values := range list.rows {
		args = append(args, values...)
	}
	return "values " + row + strings.Repeat(","+row, len(list.rows)-1), args
}

// sqliteFault knows whether a commit happened, because SQLite answers it, unless the disk failed under it.
func sqliteFault(err error, committing bool) fault {
	var failure *sqlite.Error
	if !errors.As(err, &failure) {
		return permanent
	}
	switch failure.Code() & 0xff { // the rest of the code says more of the same
	case sqlitelib.SQLITE_BUSY, sqlitelib.SQLITE_LOCKED:
		return transient
	case sqlitelib.SQLITE_IOERR:
		if committing {
			return unknown
		}
	}
	return permanent
}
