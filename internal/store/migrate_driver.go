package store

import (
	"context"
	"database/sql"
	"errors"
	"io"

	"github.com/golang-migrate/migrate/v4/database"

	"signoff/internal/failpoint"
)

// migrator is golang-migrate's view of the store. The drivers that come with golang-migrate note the version before a
// file and after it, in transactions of their own, so that a failure leaves the schema marked as dirty until somebody
// has repaired it by hand. This one keeps both notes and the file in one transaction: a file that fails, or a process
// that dies in the middle, leaves the schema as it was, and the next start simply tries again.
type migrator struct {
	ctx     context.Context
	conn    *sql.Conn
	dialect *dialect
	tx      *sql.Tx // from the note before a file to the note after it
}

var _ database.Driver = (*migrator)(nil)

// advisoryLock is the number of the lock that migrating replicas take on a Postgres: "signoff" in letters.
const advisoryLock = 0x7369676e6f6666

// Lock waits for other migrators. On SQLite they wait for a lock on a file: see Migrate.
func (m *migrator) Lock() error {
	if m.dialect.shared {
		// Another replica may take minutes over a large table, and so may whoever holds one that is to be altered.
		if _, err := m.conn.ExecContext(m.ctx, `select set_config('lock_timeout', '0', false), set_config('statement_timeout', '0', false)`); err != nil {
			return err
		}
		if _, err := m.conn.ExecContext(m.ctx, `select pg_advisory_lock($1)`, int64(advisoryLock)); err != nil {
			return err
		}
	}
	_, err := m.conn.ExecContext(m.ctx, `
		create table if not exists schema_migrations (version bigint not null primary key, dirty boolean not null)`)
	return err
}

// Unlock lets the next one in. The transaction of a failed file ends here.
func (m *migrator) Unlock() error {
	m.rollBack()
	if !m.dialect.shared {
		return nil
	}
	_, err := m.conn.ExecContext(context.WithoutCancel(m.ctx),
		`select pg_advisory_unlock($1), set_config('lock_timeout', '`+lockTimeout+`', false),
			set_config('statement_timeout', '`+statementTimeout+`', false)`, int64(advisoryLock))
	return err
}

// Run runs one file inside the transaction that the note before it has begun.
func (m *migrator) Run(file io.Reader) error {
	statements, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	if _, err = m.tx.ExecContext(m.ctx, string(statements)); err != nil {
		m.rollBack()
	}
	return err
}

// SetVersion notes the version. A dirty one announces a file, and is committed together with it.
func (m *migrator) SetVersion(version int, dirty bool) error {
	if err := m.note(version, dirty); err != nil {
		m.rollBack()
		return err
	}
	if dirty {
		return nil
	}
	failpoint.Hit(failpoint.BeforeMigrationCommit)
	err := m.tx.Commit()
	failpoint.Hit(failpoint.AfterMigrationCommit)
	m.tx = nil
	return err
}

func (m *migrator) note(version int, dirty bool) (err error) {
	if m.tx == nil {
		if m.tx, err = m.conn.BeginTx(m.ctx, nil); err != nil {
			return err
		}
	}
	if _, err = m.tx.ExecContext(m.ctx, `delete from schema_migrations`); err != nil || version == database.NilVersion {
		return err
	}
	_, err = m.tx.ExecContext(m.ctx, `insert into schema_migrations (version, dirty) values ($1, $2)`, version, dirty)
	return err
}

func (m *migrator) rollBack() {
	if m.tx != nil {
		rollBack(m.tx)
		m.tx = nil
	}
}

func (m *migrator) Version() (version int, dirty bool, err error) {
	err = m.conn.QueryRowContext(m.ctx, `select version, dirty from schema_migrations limit 1`).Scan(&version, &dirty)
	if errors.Is(err, sql.ErrNoRows) {
		return database.NilVersion, false, nil
	}
	return version, dirty, err
}

func (m *migrator) Close() error {
	m.rollBack()
	return m.conn.Close()
}

var errNotHere = errors.New("store: a migrator only goes forward")

// Open and Drop are not for us: the store is open, and nobody wants it empty.
func (m *migrator) Open(string) (database.Driver, error) { return nil, errNotHere }
func (m *migrator) Drop() error                          { return errNotHere }
