package store_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// readers hold a transaction each on a database file, such that there is always one, until the returned function is called.
func readers(t *testing.T, path string, holds time.Duration) (stop func()) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	begun := make(chan struct{}, 2)
	for range 2 {
		running.Go(func() {
			for ctx.Err() == nil {
				tx, err := db.Begin()
				if err != nil {
					t.Error(err)
					return
				}
				var n int
				if err := tx.QueryRow(`select count(*) from events`).Scan(&n); err != nil {
					t.Error(err)
				}
				select {
				case begun <- struct{}{}:
				default:
				}
				select {
				case <-time.After(holds):
				case <-ctx.Done():
				}
				_ = tx.Rollback()
			}
		})
	}
	<-begun
	<-begun
	return sync.OnceFunc(func() {
		cancel()
		running.Wait()
		_ = db.Close()
	})
}

// Under readers of whom there is always one, SQLite itself never begins its log anew. The writer sees to it that the log stays small, and goes
// on writing also where a reader does not leave at all; when that has left, the log is small again.
func TestTheWALIsBounded(t *testing.T) {
	const bound = 2 << 20
	path := filepath.Join(t.TempDir(), "signoff.db")
	s := storetest.Open(t, store.Config{Path: path, WALBytes: bound})
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	create(t, s, "x")
	length := 0
	write := func(bytes int) (largest int64) {
		t.Helper()
		for written := 0; written < bytes; written += 32 << 10 {
			c := store.Change{Execution: "x", Epoch: 1, Events: []domain.Event{domain.NewEvent("x",
				domain.MessageDelta{MessageID: "m", Offset: length, Text: strings.Repeat("x", 32<<10)})}}
			commit(t, s, c)
			length += 32 << 10
			file, err := os.Stat(path + "-wal")
			if err != nil {
				t.Fatal(err)
			}
			largest = max(largest, file.Size())
		}
		return largest
	}
	stop := readers(t, path, 5*time.Millisecond)
	if largest := write(24 << 20); largest > 4*bound {
		t.Errorf("under readers that overlap the log has %d bytes, %d are wanted", largest, bound)
	}
	stop()
	stop = readers(t, path, time.Hour)
	write(8 << 20)
	stop()
	write(bound)
	if file, err := os.Stat(path + "-wal"); err != nil || file.Size() > 2*bound {
		t.Errorf("when the reader has left, the log has %d bytes, %v", file.Size(), err)
	}
}
