package store

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"signoff/internal/domain"
)

// lockPatience is how long a server waits for the lock of one that has just died. A server that is killed while it starts a
// command leaves a child that has not become the command yet, and holds all that its parent held: on a busy machine a
// new server was there before that child had gone, took it for a server, and stayed down.
const lockPatience = 5 * time.Second

// LockServer keeps a second server off the same SQLite file, where it would take the executions of the first for its
// own. The lock goes when the process does, however it dies; what is still held after five seconds is another server's.
// On Postgres it does nothing, since there replicas share the database by leases.
func (s *Store) LockServer(ctx context.Context) (unlock func() error, err error) {
	taken := domain.Errorf(domain.CodeStorage, "Another server already uses the database file %s. "+
		"Stop it, or give this one a data folder of its own; several servers can share one Postgres.", s.path)
	ctx, cancel := context.WithTimeoutCause(ctx, lockPatience, taken)
	defer cancel()
	unlock, err = s.lockFile(ctx, ".lock")
	if errors.Is(err, taken) {
		return nil, taken
	}
	return unlock, err
}

// lockFile takes an flock on a file beside the database, and waits for it until ctx ends. The file stays when the lock goes:
// removing it would let two processes hold locks on two files of one name.
func (s *Store) lockFile(ctx context.Context, suffix string) (func() error, error) {
	if s.path == "" {
		return func() error { return nil }, nil
	}
	file, err := os.OpenFile(s.path+suffix, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, s.failed("open the lock file", err)
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return file.Close, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			file.Close()
			return nil, s.failed("lock "+file.Name(), err)
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, domain.Errorf(domain.CodeStorage, "The server was stopped while another process held %s.", file.Name()).With(context.Cause(ctx))
		case <-time.After(20 * time.Millisecond):
		}
	}
}
