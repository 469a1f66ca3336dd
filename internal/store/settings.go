package store

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"
)

// Settings are those of a Postgres server that decide whether commits survive. The zero value is SQLite's, where this package sets all of them.
type Settings struct {
	Version           int // as the server counts: 150004 is 15.4
	FsyncOff          bool
	FullPageWritesOff bool
	// SynchronousCommit is the default of sessions. Those of this package turn it on.
	SynchronousCommit string
	MaxConnections    int // without those that are kept for superusers
}

// MaxConns is how many connections to a server this store takes at most: those of its pool, the listener's, and that of the lease.
func (s *Store) MaxConns() int { return s.conns }

// Settings reads the settings of the server.
func (s *Store) Settings(ctx context.Context) (Settings, error) {
	if !s.Shared() {
		return Settings{}, nil
	}
	type setting struct{ name, value string }
	read, err := collect(ctx, s.read, func(row scanner) (set setting, err error) {
		return set, row.Scan(&set.name, &set.value)
	}, `select name, coalesce(reset_val, setting) from pg_settings where name in ('server_version_num', 'fsync',
		'full_page_writes', 'synchronous_commit', 'max_connections', 'superuser_reserved_connections')`)
	if err != nil {
		return Settings{}, s.failed("read the settings of the server", err)
	}
	known := map[string]string{}
	for _, set := range read {
		known[set.name] = set.value
	}
	number := func(name string) int {
		n, _ := strconv.Atoi(known[name]) // the server says that it is a number
		return n
	}
	return Settings{
		Version:  number("server_version_num"),
		FsyncOff: known["fsync"] == "off", FullPageWritesOff: known["full_page_writes"] == "off",
		SynchronousCommit: known["synchronous_commit"],
		MaxConnections:    number("max_connections") - number("superuser_reserved_connections"),
	}, nil
}

// Skew is the time by which the database's clock is ahead of this machine's, as well as a network lets it be measured.
func (s *Store) Skew(ctx context.Context) (time.Duration, error) {
	if !s.Shared() {
		return 0, nil
	}
	before := time.Now()
	there, err := selectFirst(ctx, s, "read the clock of the server", scanValue[int64],
		`select (extract(epoch from clock_timestamp()) * 1000000)::bigint`)
	if err != nil {
		return 0, err
	}
	took := time.Since(before)
	return timeOf(there).Sub(before.Add(took / 2)), nil
}

// OldestTransaction is the age of the oldest transaction of the whole server that has written, as far as this user may see:
// the feed ends before it, see [Store.Feed].
func (s *Store) OldestTransaction(ctx context.Context) (time.Duration, error) {
	if !s.Shared() {
		return 0, nil
	}
	seconds, err := selectFirst(ctx, s, "look for old transactions", scanValue[float64], `
		select coalesce(max(extract(epoch from clock_timestamp() - began)), 0)::float8 from (
			select xact_start as began from pg_stat_activity where backend_xid is not null
			union all select prepared from pg_prepared_xacts) writing`)
	return time.Duration(seconds * float64(time.Second)), err
}

// ReceivesItsNotifications reports whether a notification comes back within limit. Through a pooler that hands connections on after
// each transaction it does not. No replica understands its payload.
func (s *Store) ReceivesItsNotifications(ctx context.Context, limit time.Duration) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	const payload = "is anybody there"
	ready := make(chan struct{})
	listened := make(chan error, 1)
	arrived := make(chan struct{}, 1)
	go func() {
		listened <- s.Listen(ctx, func() { close(ready) }, func(received string) {
			if received == payload {
				cancel()
				select {
				case arrived <- struct{}{}:
				default:
				}
			}
		})
	}()
	select {
	case err := <-listened:
		return false, err
	case <-ready:
	}
	notified := s.Notify(ctx, []string{payload})
	listening := <-listened // until the payload has arrived, or the time is over
	select {
	case <-arrived:
		return true, nil
	default:
	}
	if ctx.Err() != nil && notified == nil {
		return false, nil
	}
	return false, errors.Join(notified, listening)
}

// JournalMode is the journal mode of SQLite; empty on Postgres. This package asks for "wal", which not every file system supports.
func (s *Store) JournalMode(ctx context.Context) (string, error) {
	if s.Shared() {
		return "", nil
	}
	mode, err := one(ctx, s.write, scanValue[string], `pragma journal_mode`)
	if err != nil {
		return "", s.failed("read the journal mode", err)
	}
	return strings.ToLower(mode), nil
}
