package sessions_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"signoff/internal/audit"
	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// An execution that ended long enough ago is deleted with its events; its followers are notified, and the audit has a record.
func TestRetention(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		release := make(chan struct{})
		close(release)
		w := newWorld(t, s, busyUntil(release))
		over, kept := w.start(), w.start(func(r *domain.Request) { r.RetentionDays = new(0) })
		w.until(over, domain.ExecutionCompletedType)
		w.until(kept, domain.ExecutionCompletedType)
		follower, err := w.log.Follow(t.Context(), over, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer follower.Close()

		w.sweep(dispatch.NewSweeper(w.store, w.log, time.Nanosecond), 1)
		if _, err := w.store.Execution(t.Context(), tenant, over); domain.CodeOf(err) != domain.CodeNotFound {
			t.Errorf("it is there: %v", err)
		}
		for err = nil; err == nil; {
			_, err = follower.Next(t.Context())
		}
		if domain.CodeOf(err) != domain.CodeNotFound {
			t.Errorf("who follows it is told %v", err)
		}
		w.events(kept)
		entries, err := w.store.Audit(t.Context(), tenant, store.AuditFilter{Execution: over, Action: "execution.deleted"})
		if err != nil || len(entries) != 1 {
			t.Fatalf("%d entries, %v", len(entries), err)
		}
		if record, err := entries[0].Decoded(); err != nil || record.Actor.Name != "retention" || record.Channel != audit.ByServer {
			t.Errorf("%+v, %v", record, err)
		}
	})
}

// sweep runs a sweeper until it has removed so many.
func (w *world) sweep(sweeper *dispatch.Sweeper, want int64) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { sweeper.Run(ctx); close(done) }()
	for deadline := time.Now().Add(w.patience); sweeper.Removed() < want && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
	}
	cancel()
	<-done
	if got := sweeper.Removed(); got != want {
		w.t.Errorf("%d are removed, not %d", got, want)
	}
}

// attic is a database full of executions whose time is over.
type attic struct {
	left, asked int
	forgotten   []time.Duration
	broken      error
	files       int // that no execution uses
	filesAge    time.Duration
	orphans     int  // files whose executions are gone
	gone        bool // somebody else is always quicker
}

func (a *attic) Below(context.Context, domain.ExecutionID) ([]domain.ExecutionID, error) {
	return nil, nil
}

func (a *attic) Expired(_ context.Context, _ time.Duration, limit int) ([]domain.Execution, error) {
	a.asked++
	return make([]domain.Execution, min(limit, a.left)), nil
}

func (a *attic) Delete(context.Context, domain.TenantID, domain.ExecutionID, domain.AuditRecord) error {
	if a.broken != nil {
		return a.broken
	}
	a.left--
	if a.gone {
		return domain.Errorf(domain.CodeNotFound, "gone")
	}
	return nil
}

func (a *attic) RemoveOrphans(_ context.Context, limit int) (int, error) {
	n := min(limit, a.orphans)
	a.orphans -= n
	return n, nil
}

func (a *attic) RemoveUploads(_ context.Context, age time.Duration, limit int) (int, error) {
	n := min(limit, a.files)
	a.files, a.filesAge = a.files-n, age
	return n, nil
}

func (a *attic) ForgetDeliveries(_ context.Context, age time.Duration, _ int) (int, error) {
	a.forgotten = append(a.forgotten, age)
	return 0, nil
}

// A minute's work is bounded, whatever there is to do, and the rest is for the minutes after it.
func TestRetentionIsBounded(t *testing.T) {
	for name, test := range map[string]struct {
		attic            attic
		keep             time.Duration
		removed, forgets int64
		left, asked      int
	}{
		"little":               {attic: attic{left: 70}, keep: time.Hour, removed: 70, asked: 3, forgets: 2},
		"much":                 {attic: attic{left: 5000}, keep: time.Hour, removed: 2000, left: 3000, asked: 40, forgets: 2},
		"somebody else's":      {attic: attic{left: 5000, gone: true}, keep: time.Hour, left: 3000, asked: 40, forgets: 2},
		"kept for ever":        {attic: attic{left: 70}, removed: 70, asked: 3},
		"the database is away": {attic: attic{left: 70, broken: errors.New("away")}, keep: time.Hour, left: 70, asked: 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second) // two rounds
				defer cancel()
				a := test.attic
				sweeper := dispatch.NewSweeper(&a, events.NewLog(oneServer{}), test.keep)
				sweeper.Run(ctx)
				if sweeper.Removed() != test.removed || a.left != test.left || a.asked != test.asked || int64(len(a.forgotten)) != test.forgets {
					t.Errorf("%d removed, %d left, asked %d times, forgotten %v", sweeper.Removed(), a.left, a.asked, a.forgotten)
				}
			})
		})
	}
}

// TestUnusedFilesAreRemoved: an upload waits a day for its execution, also where executions are kept for ever.
func TestUnusedFilesAreRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // one round
		defer cancel()
		a := attic{files: 1300, orphans: 150}
		dispatch.NewSweeper(&a, events.NewLog(oneServer{}), 0).Run(ctx)
		if a.files != 300 || a.orphans != 0 || a.filesAge != 24*time.Hour {
			t.Errorf("%d are left of those that are older than %s", a.files, a.filesAge)
		}
	})
}

// oneServer is the store of a log that only forgets.
type oneServer struct{ events.Store }

func (oneServer) Shared() bool { return false }
