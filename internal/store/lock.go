package store

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"signoff/internal/domain"
)

// LockServer keeps a second server off the same SQLite file, where it would take the executions of the first for its
// own. The lock is the process's: it goes when the process does, however it dies. On Postgres it does nothing, since
// there replicas share the database by leases.
func (s *Store) LockServer() (unlock func() error, err error) {
	return s.lockFile(context.Background(), ".lock", false)
}

// lockFile takes an flock on a file beside the database. The file stays when the lock goes: removing it would let two
// processes hold locks on two files of one name.
func (s *Store) lockFile(ctx context.Context, suffix string, wait bool) (func() error, error) {
	if s.path == "" {
		return func() error { return nil }, nil
	}
	file, err := os.OpenFile(s.path+suffix, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, s.failed("open the lock file", err)
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return file.Close, nil
		case !errors.Is(err, syscall.EWOULDBLOCK):
			file.Close()
			return nil, s.failed("lock "+file.Name(), err)
		case !wait:
			file.Close()
			return nil, domain.Errorf(domain.CodeStorage, "Another server already uses the database file %s. "+
				"Stop it, or give this one a data folder of its own; several servers can share one Postgres.", s.path)
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, s.failed("wait for "+file.Name(), context.Cause(ctx))
		case <-time.After(20 * time.Millisecond):
		}
	}
}
