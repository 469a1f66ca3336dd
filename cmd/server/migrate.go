package main

import (
	"context"
	"fmt"
)

// migrate brings the schema up to date, for deployments that do this before the first new server starts.
func migrate(ctx context.Context, args []string, std stdio) error {
	set := flags("migrate", std)
	force := set.Int("force", -1, "say that the schema is at this version and whole, without touching it; "+
		"only for a database that another tool has left dirty")
	if err := parse(set, args); err != nil {
		return err
	}
	config, err := readConfig()
	if err != nil {
		return err
	}
	s, err := config.openStore(ctx, databasePatience)
	if err != nil {
		return err
	}
	defer s.Close()
	if *force >= 0 {
		if err := s.ForceVersion(ctx, *force); err != nil {
			return err
		}
		_, err := fmt.Fprintf(std.err, "The database counts as being at version %d. Run `signoff migrate` now.\n", *force)
		return err
	}
	if err := s.Migrate(ctx); err != nil {
		return err
	}
	_, err = fmt.Fprintln(std.err, "The database has the schema of this version.")
	return err
}
