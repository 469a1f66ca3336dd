package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// A commit that is not plain has up to a dozen statements, and most of them only write: nobody needs their results, but each would wait for its own.
// On a server, this waiting is nearly the whole cost of the commit, and it holds its locks as long. So on Postgres such a statement is sent with the
// next one whose result is needed, or with the commit.

// transaction is what the steps of a batch write in.
type transaction interface {
	// read runs a statement, and gives each row that it returns to row.
	read(row func(scanner) error, statement string, args ...any) error

	// later runs a statement whose result nobody needs, before all later ones. Its error may come from one of those, or from the commit.
	later(statement string, args ...any) error
}

// rowsOf collects what a statement returns.
func rowsOf[T any](tx transaction, scan func(scanner) (T, error), statement string, args ...any) ([]T, error) {
	var all []T
	err := tx.read(func(row scanner) error {
		one, err := scan(row)
		all = append(all, one)
		return err
	}, statement, args...)
	return all, err
}

// stepwise is a transaction that sends each statement at once.
type stepwise struct {
	ctx context.Context
	tx  *sql.Tx
}

func (t stepwise) read(row func(scanner) error, statement string, args ...any) error {
	_, err := collect(t.ctx, t.tx, func(from scanner) (struct{}, error) { return struct{}{}, row(from) }, statement, args...)
	return err
}

func (t stepwise) later(statement string, args ...any) error {
	_, err := t.tx.ExecContext(t.ctx, statement, args...)
	return err
}

func (s *Store) onceStepwise(ctx context.Context, do func(transaction) error) (fault, error) {
	return s.once(ctx, func(tx *sql.Tx) error { return do(stepwise{ctx, tx}) })
}

// pipeline is a transaction that gathers its statements. The begin is sent with the first one.
type pipeline struct {
	ctx      context.Context
	session  *pgx.Conn
	gathered *pgx.Batch
	begun    bool // the begin is gathered, or sent
}

// oncePiped is once over a pipeline.
func (s *Store) oncePiped(ctx context.Context, do func(transaction) error) (fault, error) {
	conn, err := s.write.Conn(ctx)
	if err != nil {
		return s.dialect.fault(err, false), err
	}
	defer conn.Close()
	committing := false
	err = conn.Raw(func(opened any) error {
		p := &pipeline{ctx: ctx, session: opened.(*stdlib.Conn).Conn(), gathered: &pgx.Batch{}}
		defer p.rollBack()
		if err := do(p); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return committed(func() (err error) {
			committing, err = p.commit()
			return err
		})
	})
	if err != nil {
		return s.dialect.fault(err, committing), err
	}
	return permanent, nil
}

func (p *pipeline) read(row func(scanner) error, statement string, args ...any) error {
	p.gather(statement, args).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			if err := row(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	return p.send(p.ctx)
}

func (p *pipeline) later(statement string, args ...any) error {
	p.gather(statement, args)
	return nil
}

func (p *pipeline) gather(statement string, args []any) *pgx.QueuedQuery {
	if !p.begun {
		p.gathered.Queue("begin")
		p.begun = true
	}
	return p.gathered.Queue(statement, args...)
}

// send sends the gathered statements and waits for all answers. Its error is the first one: the server skips the statements behind it.
func (p *pipeline) send(ctx context.Context) error {
	gathered := p.gathered
	p.gathered = &pgx.Batch{}
	return p.session.SendBatch(ctx, gathered).Close()
}

// commit sends the rest and the commit behind it, which the server skips if the rest fails. If no answer comes, nobody knows whether the commit
// arrived, whichever answer is the first that is missing. Only a failure while statements are prepared, in a round trip before, comes before
// anything of the rest is sent.
func (p *pipeline) commit() (sent bool, err error) {
	if !p.begun {
		return false, nil
	}
	whole, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), commitLimit)
	defer cancel()
	p.gathered.Queue("commit")
	err = p.send(whole)
	_, unsent := errors.AsType[pgx.ErrPreprocessingBatch](err)
	return !unsent, err
}

// rollBack ends a failed transaction, so that others can use the connection. If it fails as well, the pool does not take the connection back.
func (p *pipeline) rollBack() {
	if p.session.IsClosed() || p.session.PgConn().TxStatus() == idle {
		return
	}
	whole, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), commitLimit)
	defer cancel()
	_, _ = p.session.Exec(whole, "rollback")
}

// idle is what the server says of a session that is in no transaction.
const idle = 'I'
