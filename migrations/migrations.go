// Package migrations holds the schema of both engines as numbered files, embedded into the binary.
//
// The two folders say the same in two dialects: the same versions, the same tables, the same columns. A test of
// the store holds them together. Each file runs in one transaction on either engine, so one that fails leaves nothing.
//
// After version 4 a migration only adds: tables, indexes, columns that may be left out, and what is unique only where one of those is
// set. So the binary of the version before goes on beside the new one while servers are replaced one by one. The table schema_floor
// says how old a binary may be; the store refuses a schema whose floor is above its own version. A migration that an older binary
// could not live with raises the floor in the same file, and a test holds every file to one or the other.
//
// There are no down files. Going back beyond the floor means an older binary on data that it has never seen; a backup is the
// way back.
package migrations

import "embed"

// Files has the folders sqlite and postgres, in the layout of golang-migrate: 0001_name.up.sql.
//
//go:embed sqlite/*.sql postgres/*.sql
var Files embed.FS
