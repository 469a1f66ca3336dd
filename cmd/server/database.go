package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"signoff/internal/sessions"
	"signoff/internal/store"
)

func (c Config) storeConfig() store.Config {
	return store.Config{
		DatabaseURL: c.DatabaseURL, Path: filepath.Join(c.DataDir, "signoff.db"), RecoveryDelay: sessions.RecoveryDelay,
	}
}

// databasePatience is how long a server, and the migration before it, wait for a Postgres that does not answer. Whoever types another command
// gets the error at once.
const databasePatience = time.Minute

// openStore opens the database. It makes the data folder of a SQLite file.
func (c Config) openStore(ctx context.Context, patience time.Duration) (*store.Store, error) {
	if c.DatabaseURL == "" {
		if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
			return nil, usagef("the data folder cannot be made: %w", err)
		}
	}
	config := c.storeConfig()
	config.Patience = patience
	return store.Open(ctx, config)
}

// openMigrated opens the configured database and migrates it to the schema of this version.
func openMigrated(ctx context.Context) (*store.Store, error) {
	config, err := readConfig()
	if err != nil {
		return nil, err
	}
	return config.openMigrated(ctx)
}

func (c Config) openMigrated(ctx context.Context) (*store.Store, error) {
	s, err := c.openStore(ctx, 0)
	if err != nil {
		return nil, err
	}
	if err := s.Migrate(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// faultsOf lists the settings that let a database server lose acknowledged writes, each with its remedy.
func faultsOf(set store.Settings) (faults []string) {
	const wayOut = " Set it to on in postgresql.conf, or by `alter system set %s = on`, and reload the server."
	if set.FsyncOff {
		faults = append(faults, "fsync is off: what was committed is gone, or the database broken, after a crash of the machine."+fmt.Sprintf(wayOut, "fsync"))
	}
	if set.FullPageWritesOff {
		faults = append(faults, "full_page_writes is off: a page that is half written in a crash stays broken."+fmt.Sprintf(wayOut, "full_page_writes"))
	}
	return faults
}
