package store

import (
	"context"
	"database/sql"
	"log/slog"
	"os"
	"strconv"
	"time"
)

// SQLite writes changes to a file beside the database, the WAL, and restarts it when all of it has been copied and nobody reads from it. By itself
// it looks for that moment only when it begins to write: with overlapping readers there is none, and the file grows without end. So if the file has
// grown large, the writer waits for that moment with a checkpoint: a reader that begins meanwhile reads from the database file alone.

const (
	// walBytes is how large the WAL may become before the writer asks.
	walBytes = 64 << 20
	// checkpointWait is how long the writer waits for readers, and all other writers with it. This package reads in pages, which takes less;
	// another program may keep reading for as long as it likes.
	checkpointWait = 100 * time.Millisecond
)

// wal is what the one writer knows of it.
type wal struct {
	file string // "" on Postgres
	most int64  // bytes, from which on the writer asks
	next int64  // it asks not before that size: where a reader did not leave, another quarter
}

// bound begins the WAL anew where it has become too large. conn is the writer's, between two transactions.
func (w *wal) bound(ctx context.Context, conn *sql.Conn) {
	if w.file == "" {
		return
	}
	file, err := os.Stat(w.file)
	if err != nil || file.Size() < max(w.next, w.most) {
		return
	}
	done, err := checkpoint(ctx, conn)
	if w.next = 0; !done {
		w.next = file.Size() + w.most/4
		slog.Warn("the WAL of the database file grows because somebody keeps reading from it", "bytes", file.Size(), "error", err)
	}
}

// checkpoint copies the WAL into the database file and empties it, unless readers do not leave in time.
func checkpoint(ctx context.Context, conn *sql.Conn) (done bool, err error) {
	if _, err := conn.ExecContext(ctx, `pragma busy_timeout(`+strconv.FormatInt(checkpointWait.Milliseconds(), 10)+`)`); err != nil {
		return false, err
	}
	var busy, frames, copied int
	err = conn.QueryRowContext(ctx, `pragma wal_checkpoint(truncate)`).Scan(&busy, &frames, &copied)
	if _, restored := conn.ExecContext(ctx, `pragma busy_timeout(`+busyTimeout+`)`); err == nil {
		err = restored
	}
	return err == nil && busy == 0, err
}
