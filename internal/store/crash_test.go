package store_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

const helperVariable = "SIGNOFF_STORE_HELPER"

// What was acknowledged survives kill -9: a process appends and prints each seq that it was told, until it is killed.
func TestKilledWriterLosesNothing(t *testing.T) {
	for name, config := range map[string]store.Config{
		"SQLite":   {Path: filepath.Join(t.TempDir(), "signoff.db")},
		"Postgres": {DatabaseURL: storetest.Postgres(t)},
	} {
		t.Run(name, func(t *testing.T) {
			s := storetest.Open(t, config)
			id := domain.ExecutionID("crash")
			create(t, s, id)
			if !s.Shared() {
				if err := s.Close(); err != nil { // the helper has the file to itself
					t.Fatal(err)
				}
			}
			for round := range 3 {
				acknowledged := killedAfter(t, config, time.Duration(100+100*round)*time.Millisecond)
				s := storetest.Open(t, config)
				if log := storetest.Log(t, s, id); int64(len(log)) < acknowledged {
					t.Errorf("%d events were acknowledged, %d are there", acknowledged, len(log))
				}
				if !s.Shared() {
					if err := s.Close(); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

// killedAfter runs the helper for a while and returns the last seq that it printed.
func killedAfter(t *testing.T, config store.Config, while time.Duration) (acknowledged int64) {
	t.Helper()
	helper := exec.CommandContext(t.Context(), os.Args[0])
	helper.Env = append(os.Environ(), helperVariable+"=1", "URL="+config.DatabaseURL, "FILE="+config.Path)
	helper.Stderr = os.Stderr
	out, err := helper.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := helper.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var timer *time.Timer
	for lines.Scan() {
		if timer == nil { // it has begun
			timer = time.AfterFunc(while, func() { _ = helper.Process.Kill() })
		}
		var seq int64
		if _, err := fmt.Sscanf(lines.Text(), "%d;", &seq); err == nil { // a line may be cut
			acknowledged = seq
		}
	}
	_ = helper.Wait()
	if acknowledged < 3 {
		t.Fatalf("the helper came to %d", acknowledged)
	}
	return acknowledged
}

// appendForEver is the helper.
func appendForEver() {
	ctx := context.Background()
	s, err := store.Open(ctx, store.Config{DatabaseURL: os.Getenv("URL"), Path: os.Getenv("FILE")})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for {
		results, err := s.Commit(ctx, []store.Change{says("crash", 1, 3)})
		if err != nil || results[0].Err != nil {
			fmt.Fprintln(os.Stderr, err, results)
			os.Exit(1)
		}
		fmt.Printf("%d;\n", results[0].LastSeq)
	}
}

func create(tb testing.TB, s *store.Store, id domain.ExecutionID) {
	tb.Helper()
	commit(tb, s, store.Change{Execution: id, Epoch: 1, Create: &store.Creation{Owner: "one", Execution: domain.Execution{
		ID: id, Tenant: domain.DefaultTenant, Status: domain.StatusQueued, Created: time.Now()}}})
}

// delegate creates a child, which waits for room.
func delegate(tb testing.TB, s *store.Store, parent, id domain.ExecutionID) {
	tb.Helper()
	above, err := s.Execution(context.Background(), domain.DefaultTenant, parent)
	if err != nil {
		tb.Fatal(err)
	}
	child := above.Delegated(id, domain.Request{Parent: above.ParentOf("call", "name", false)}, time.Now())
	commit(tb, s, store.Change{Execution: parent, Epoch: 1, Linked: []store.Change{
		{Execution: id, Epoch: 1, Create: &store.Creation{Execution: child, Queued: true}}}})
}

func commit(tb testing.TB, s *store.Store, changes ...store.Change) {
	tb.Helper()
	results, err := s.Commit(context.Background(), changes)
	if err != nil {
		tb.Fatal(err)
	}
	for _, result := range results {
		if result.Err != nil {
			tb.Fatal(result.Err)
		}
	}
}

func says(id domain.ExecutionID, epoch int64, n int) store.Change {
	c := store.Change{Execution: id, Epoch: epoch}
	for i := range n {
		event := domain.NewEvent(id, domain.MessageDelta{MessageID: "m", Offset: i, Text: "some text of a model"})
		event.Time = time.Now()
		c.Events = append(c.Events, event)
	}
	return c
}
