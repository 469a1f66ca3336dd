package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"signoff/internal/store"
)

const (
	oldestPostgres = 130000
	// maxSkew is the difference between two clocks beyond which the times of events and of expiry contradict each other.
	maxSkew = 5 * time.Second
	// notificationLimit is how long a notification of this server may take to come back.
	notificationLimit = 3 * time.Second
	// oldTransaction is the age beyond which a transaction counts as forgotten.
	oldTransaction = 5 * time.Minute
	// littleSpace is the free space that a SQLite file needs to grow.
	littleSpace = 1 << 30
)

func (d *diagnosis) database(ctx context.Context, config Config, file configFile) {
	name := "SQLite in " + config.DataDir
	if config.DatabaseURL != "" {
		name = "Postgres"
	}
	if _, err := os.Stat(config.storeConfig().Path); config.DatabaseURL == "" && errors.Is(err, fs.ErrNotExist) {
		d.note("database", name+": not there yet; the first start makes it")
		return
	}
	s, err := store.Open(ctx, config.storeConfig())
	if err != nil {
		d.bad("database", err)
		return
	}
	defer s.Close()
	if err := s.CheckSchema(ctx); err != nil {
		d.bad("database schema", err)
		return
	}
	d.good("database", name)
	d.keysOfTenants(ctx, s, file)
	if s.Shared() {
		d.postgres(ctx, s)
	} else {
		d.sqlite(ctx, s)
	}
}

// postgres checks the settings of the server and the connection.
func (d *diagnosis) postgres(ctx context.Context, s *store.Store) {
	set, err := s.Settings(ctx)
	if err != nil {
		d.bad("database settings", err)
		return
	}
	faults := faultsOf(set)
	for _, fault := range faults {
		d.bad("database settings", errors.New(fault))
	}
	if len(faults) == 0 {
		d.good("database settings", "what is committed survives a crash of the machine")
	}
	if set.SynchronousCommit == "off" {
		d.note("database settings", "synchronous_commit is off; the sessions of this server turn it on for themselves. "+
			"Through a pooler that hands connections on after each transaction they cannot")
	}
	d.postgresVersion(set.Version)
	d.connections(s.MaxConns(), set.MaxConnections)
	d.clock(ctx, s)
	d.notifications(ctx, s)
	d.longTransactions(ctx, s)
}

func (d *diagnosis) postgresVersion(version int) {
	said := fmt.Sprintf("%d.%d", version/10000, version%10000)
	if version < oldestPostgres {
		d.bad("database version", fmt.Errorf("version %s of Postgres is too old; it must be %d or newer", said, oldestPostgres/10000))
		return
	}
	d.good("database version", "Postgres "+said)
}

func (d *diagnosis) connections(ours, theirs int) {
	detail := fmt.Sprintf("each server takes up to %d of %d", ours, theirs)
	switch {
	case ours > theirs:
		d.bad("database connections", errors.New(detail+"; raise max_connections"))
	case 2*ours > theirs:
		d.note("database connections", detail+", so a second one would find too few; raise max_connections")
	default:
		d.good("database connections", detail)
	}
}

func (d *diagnosis) clock(ctx context.Context, s *store.Store) {
	switch skew, err := s.Skew(ctx); {
	case err != nil:
		d.bad("database clock", err)
	case skew.Abs() > maxSkew:
		d.note("database clock", fmt.Sprintf("it is %s off this machine's. Leases and expiry go by the database's, times of events by "+
			"this one's; let both follow a time server", skew.Round(time.Millisecond)))
	default:
		d.good("database clock", fmt.Sprintf("%s off this machine's", skew.Round(time.Millisecond)))
	}
}

func (d *diagnosis) notifications(ctx context.Context, s *store.Store) {
	switch received, err := s.ReceivesItsNotifications(ctx, notificationLimit); {
	case err != nil:
		d.bad("database notifications", err)
	case !received:
		d.note("database notifications", "LISTEN receives nothing, as through a pooler that hands connections on after each transaction. Servers then "+
			"see each other's writes once a second; connect directly to be faster")
	default:
		d.good("database notifications", "LISTEN and NOTIFY work")
	}
}

func (d *diagnosis) longTransactions(ctx context.Context, s *store.Store) {
	switch age, err := s.OldestTransaction(ctx); {
	case err != nil:
		d.bad("database transactions", err)
	case age > oldTransaction:
		d.note("database transactions", fmt.Sprintf("one is open for %s. GET /events shows nothing that came after it; end it, or the session that forgot it",
			age.Round(time.Second)))
	}
}

// sqlite checks the file and its disk.
func (d *diagnosis) sqlite(ctx context.Context, s *store.Store) {
	mode, err := s.JournalMode(ctx)
	switch {
	case err != nil:
		d.bad("database journal", err)
	case mode != "wal":
		d.bad("database journal", fmt.Errorf("the file system keeps SQLite from journal mode wal, it is %q; put the data folder on a local disk", mode))
	default:
		d.good("database journal", mode)
	}
	at, err := s.FileSystem()
	if err != nil {
		d.bad("database disk", err)
		return
	}
	d.disk(at)
}

func (d *diagnosis) disk(at store.FileSystem) {
	free := fmt.Sprintf("%d MB are free", at.Free>>20)
	switch {
	case !at.Local:
		d.bad("database disk", fmt.Errorf("the data folder lies on %s, where locks and flushes cannot be relied on; put it on a local disk, or use Postgres", at.Name))
	case !at.Kept:
		d.note("database disk", fmt.Sprintf("the data folder lies on %s, which is gone with the next start of the machine; %s", at.Name, free))
	case at.Free < littleSpace:
		d.note("database disk", free+". Without space nothing can be written, and so nothing be decided")
	default:
		d.good("database disk", free)
	}
}
