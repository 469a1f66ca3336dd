package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"signoff/internal/failpoint"
)

const (
	attempts    = 6
	firstPause  = 5 * time.Millisecond
	commitLimit = 30 * time.Second // for the commit and what is sent with it, which no caller may interrupt
)

// transact runs do in one transaction. A transient failure (a deadlock, a lost connection) is retried after a short pause, as long as nothing can have
// been written: do must tolerate running more than once.
func (s *Store) transact(ctx context.Context, doing string, do func(tx *sql.Tx) error) error {
	return s.retry(ctx, doing, func() (fault, error) { return s.once(ctx, do) })
}

// exec runs one statement that may as well run twice, and returns how many rows it changed.
func (s *Store) exec(ctx context.Context, doing, statement string, args ...any) (int64, error) {
	var changed int64
	err := s.transact(ctx, doing, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, statement, args...)
		if err != nil {
			return err
		}
		changed, err = result.RowsAffected()
		return err
	})
	return changed, err
}

func (s *Store) retry(ctx context.Context, doing string, try func() (fault, error)) error {
	pause := firstPause
	for attempt := 1; ; attempt++ {
		fault, err := try()
		switch {
		case err == nil:
			return nil
		case fault == unknown:
			return s.failed(doing, fmt.Errorf("%w: %w", ErrCommitUnknown, err))
		case fault == permanent, attempt == attempts, ctx.Err() != nil:
			return s.failed(doing, err)
		}
		select {
		case <-ctx.Done():
			return s.failed(doing, errors.Join(context.Cause(ctx), err))
		case <-time.After(pause/2 + rand.N(pause)):
		}
		pause *= 3
	}
}

// once begins, does and commits. ctx interrupts everything but the commit: once it is sent it runs to its end, so that a caller who gives up does not
// leave it unknown whether it happened.
func (s *Store) once(ctx context.Context, do func(tx *sql.Tx) error) (fault, error) {
	conn, err := s.write.Conn(ctx)
	if err != nil {
		return s.dialect.fault(err, false), err
	}
	defer conn.Close()
	whole, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	tx, err := conn.BeginTx(whole, nil)
	if err != nil {
		return s.dialect.fault(err, false), err
	}
	if err := do(tx); err != nil {
		rollBack(tx)
		return s.dialect.fault(err, false), err
	}
	if ctx.Err() != nil {
		rollBack(tx)
		return permanent, context.Cause(ctx)
	}
	defer time.AfterFunc(commitLimit, cancel).Stop()
	if err := committed(tx.Commit); err != nil {
		return s.dialect.fault(err, true), err
	}
	s.wal.bound(whole, conn)
	return permanent, nil
}

// committed runs commit between the moments before and after it.
func committed(commit func() error) error {
	failpoint.Hit(failpoint.BeforeCommit)
	err := commit()
	if err == nil {
		failpoint.Hit(failpoint.AfterCommit)
	}
	return err
}

// rollBack ends tx. Its error is useless: a lost or interrupted connection has rolled back by itself.
func rollBack(tx *sql.Tx) { _ = tx.Rollback() }
