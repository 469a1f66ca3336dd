package store

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"time"

	"signoff/internal/domain"
)

// ReplicaID names one run of one server process. Every start makes a new one.
type ReplicaID string

// Config says where the data lies. Zero values of the sizes mean the defaults.
type Config struct {
	DatabaseURL string // of a Postgres; empty means SQLite
	Path        string // of the SQLite file, used when DatabaseURL is empty

	MaxConns     int           // Postgres: connections of the pool. SQLite: readers beside the one writer
	ConnTimeout  time.Duration // Postgres: how long every connect may take
	Patience     time.Duration // Postgres: how long Open waits for a server that does not answer, is starting or has no connection left; 0: one try
	WALBytes     int64         // SQLite: how large the log beside the database file may become before it is begun anew
	ListenerPing time.Duration // Postgres: silence before a listener pings, and the time for the answer

	// RecoveryDelay is how long an execution whose driver was lost rests before it is claimed, by how many recoveries in a row were
	// without progress, this one included. nil: it does not rest.
	RecoveryDelay func(recoveries int) time.Duration
}

const (
	defaultMaxConns     = 16
	defaultConnTimeout  = 10 * time.Second
	fileTimeout         = time.Minute            // SQLite: how long Open waits for the file
	openPause           = 100 * time.Millisecond // between two attempts
	defaultListenerPing = 5 * time.Second
)

// Store is the open database. All methods may be called at once from several goroutines.
type Store struct {
	write *sql.DB // SQLite: one connection, whose transactions take the write lock when they begin
	read  readers // Postgres: the same as write
	lease *Store  // Postgres: one connection for renewals alone; nil on SQLite, where a lease ends with its server

	dialect       *dialect
	listener      listener
	recoveryDelay func(recoveries int) time.Duration

	conns   int    // to a server, at most; 0 on SQLite
	path    string // of the SQLite file
	file    os.FileInfo
	wal     wal // the connection's that writes
	closing []func() error
}

// Open connects and proves that the database answers. It does not touch the schema: see [Store.Migrate] and
// [Store.CheckSchema].
func Open(ctx context.Context, config Config) (*Store, error) {
	if config.MaxConns <= 0 {
		config.MaxConns = defaultMaxConns
	}
	if config.ConnTimeout <= 0 {
		config.ConnTimeout = defaultConnTimeout
	}
	if config.WALBytes <= 0 {
		config.WALBytes = walBytes
	}
	if config.ListenerPing <= 0 {
		config.ListenerPing = defaultListenerPing
	}
	if config.RecoveryDelay == nil {
		config.RecoveryDelay = func(int) time.Duration { return 0 }
	}
	open := openSQLite
	if config.DatabaseURL != "" {
		open = openPostgres
	}
	s, err := open(config)
	if err != nil {
		return nil, err
	}
	s.recoveryDelay = config.RecoveryDelay
	within, patience := config.ConnTimeout, config.Patience
	if s.file != nil {
		within, patience = fileTimeout, fileTimeout
	}
	if err := s.awaitAnswer(ctx, within, patience); err != nil {
		s.Close()
		return nil, domain.Errorf(domain.CodeStorage, "The database cannot be opened.").With(err)
	}
	return s, nil
}

// awaitAnswer waits until the database answers. A file may be locked at first: a process that was killed in the middle of an fsync keeps
// its locks until the disk has done it, and on a slow disk the recovery of the log takes its time, too. A Postgres may be restarting, or
// frozen with its machine. A server that gave up would not come back by itself.
func (s *Store) awaitAnswer(ctx context.Context, within, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, max(within, patience))
	defer cancel()
	for warned := false; ; warned = true {
		err := s.pingWithin(ctx, within)
		late := errors.Is(err, context.DeadlineExceeded)
		if err == nil || patience == 0 || ctx.Err() != nil || (!late && s.dialect.fault(err, false) != transient) {
			return err
		}
		if !warned {
			slog.Warn("the database does not answer, waiting for it", "error", err)
		}
		select {
		case <-time.After(openPause):
		case <-ctx.Done():
			return err
		}
	}
}

func (s *Store) pingWithin(ctx context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return s.ping(ctx)
}

// Shared reports whether other replicas may write to this database.
func (s *Store) Shared() bool { return s.dialect.shared }

// Ping asks the database for an answer.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.present(); err != nil {
		return err
	}
	if err := s.ping(ctx); err != nil {
		return s.failed("ping", err)
	}
	return nil
}

func (s *Store) ping(ctx context.Context) error {
	for _, db := range []*sql.DB{s.write, s.read.DB} {
		var one int
		if err := db.QueryRowContext(ctx, `select 1`).Scan(&one); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the database. Running statements fail.
func (s *Store) Close() error {
	var first error
	for _, closing := range s.closing {
		if err := closing(); err != nil && first == nil {
			first = err
		}
	}
	if first != nil {
		return s.failed("close", first)
	}
	return nil
}
