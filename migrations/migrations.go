// Package migrations holds the schema of both engines as numbered files, embedded into the binary.
//
// The two folders tell the same story in two dialects: the same versions, the same tables, the same columns. A test of
// the store holds them together. Each file runs in one transaction on either engine, so one that fails leaves nothing.
//
// There are no down files. Going back means an older binary on data that it has never seen; a backup is the way back,
// and the store refuses a schema that is newer than itself.
package migrations

import "embed"

// Files has the folders sqlite and postgres, in the layout of golang-migrate: 0001_name.up.sql.
//
//go:embed sqlite/*.sql postgres/*.sql
var Files embed.FS
