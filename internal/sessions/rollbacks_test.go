package sessions_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/checkpoints"
	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// holds compares the files of the folder.
func (r *recording) holds(want map[string]string) {
	r.t.Helper()
	got := map[string]string{}
	entries, err := os.ReadDir(r.folder)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(r.folder, entry.Name()))
		if err != nil {
			r.t.Fatal(err)
		}
		got[entry.Name()] = string(content)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Errorf("the folder, want (-) and got (+), differs:\n%s", diff)
	}
}

// five puts five files into the folder, with one content each.
func (r *recording) five(content string) map[string]string {
	all := map[string]string{}
	for i := range 5 {
		name := fmt.Sprintf("f%d", i)
		r.put(name, content)
		all[name] = content
	}
	return all
}

// breaksOff has a service stop in the middle of a rollback of five files, as a killed server does: stop is called before the third file, and nothing is written
// from there on. Each file is looked at in the preview, and again before the rollback.
func (r *recording) breaksOff(stop func()) *checkpoints.Service {
	const third = 5 + 5 + 3
	steps := atomic.Int32{}
	config := r.config
	config.Place = func(folder, path string) (*os.Root, string, error) {
		if steps.Add(1) == third {
			stop()
			return nil, "", errors.New("killed")
		}
		if steps.Load() > third {
			return nil, "", errors.New("killed")
		}
		return r.config.Place(folder, path)
	}
	return checkpoints.New(config)
}

func changesFive(r *recording, then sessionstest.Script) sessionstest.Script {
	return func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
		call := sessionstest.Bash("c1", "write all")
		if err := turn.Want("m1", call); err != nil {
			return "", err
		}
		if _, err := turn.Use(call, func(json.RawMessage) string { r.five("after\n"); return "done" }); err != nil {
			return "", err
		}
		return then(ctx, turn)
	}
}

func ends(context.Context, *sessionstest.Turn) (domain.StopReason, error) {
	return domain.StopEndTurn, nil
}

// TestARollbackThatBrokeOffIsFinished: a replica is killed in the middle of the rollback of an execution that has ended. Another one finishes it, and keeps
// what a person has written meanwhile.
func TestARollbackThatBrokeOffIsFinished(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		r := newRecording(t)
		before := r.five("before\n")
		w := newWorld(t, s, changesFive(r, ends), r.server)
		id := w.start(r.of(domain.CheckpointsRequired))
		w.ended(id)

		var killed *dispatch.Rollbacks
		ctx, cancel := context.WithCancel(t.Context())
		killed = dispatch.NewRollbacks(s, w.log, r.breaksOff(func() { cancel(); go killed.Close() }), "killed")
		plan, err := killed.Preview(ctx, w.execution(id), domain.RollbackRequest{To: 1})
		if err != nil {
			t.Fatal(err)
		}
		row, err := killed.Begin(ctx, w.execution(id), domain.RollbackRequest{To: 1, Hash: plan.Hash, By: alice})
		if err != nil || row.Ended != nil {
			t.Fatalf("the rollback ended: %+v %v", row, err)
		}
		killed.Close()
		r.put("f4", "by a person\n")
		before["f4"] = "by a person\n"

		next := dispatch.NewRollbacks(s, w.log, r.service, "next")
		running, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); next.Run(running) }()
		for {
			all, err := s.Rollbacks(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if all[0].Ended != nil {
				if all[0].State != domain.RollbackDone {
					t.Errorf("the rollback is %+v", all[0])
				}
				wantAllBut4(t, all[0].Result.Folders)
				break
			}
			runtime.Gosched()
		}
		stop()
		<-done
		next.Close()
		r.holds(before)
	})
}

// wantAllBut4: a result lists what both drivers have restored, and the file that a person wrote in between.
func wantAllBut4(t *testing.T, folders []domain.RestoredFolder) {
	t.Helper()
	if len(folders) != 1 || folders[0].KeptCount != 1 || folders[0].Kept[0].Path != "f4" {
		t.Fatalf("the result is %+v", folders)
	}
	if diff := cmp.Diff([]string{"f0", "f1", "f2", "f3"}, folders[0].Restored); diff != "" {
		t.Errorf("restored: want (-), got (+):\n%s", diff)
	}
}

// dies is a store whose server dies as soon as the journal of a rollback is kept.
type dies struct {
	*store.Store
	die func()
}

func (d dies) JournalRollback(ctx context.Context, w store.RollbackWriter, journal json.RawMessage) error {
	if err := d.Store.JournalRollback(ctx, w, journal); err != nil {
		return err
	}
	d.die()
	<-ctx.Done()
	return context.Cause(ctx)
}

// TestARollbackOfAKilledDriverIsFinished: the same for an execution that lives. Its next driver finishes the rollback, and the log has it once.
func TestARollbackOfAKilledDriverIsFinished(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		r := newRecording(t)
		before := r.five("before\n")
		ctx, cancel := context.WithCancel(t.Context())
		var w *world
		through := dies{s, func() { go func() { w.stop(); cancel() }() }}
		w = newWorldThrough(t, through, s, changesFive(r, ends), r.server)
		id := w.start(r.of(domain.CheckpointsRequired), func(request *domain.Request) { request.KeepOpen = true })
		w.reach(id, domain.StatusIdle)
		rollbacks := dispatch.NewRollbacks(s, w.log, r.service, "one")
		defer rollbacks.Close()
		plan, err := rollbacks.Preview(t.Context(), w.execution(id), domain.RollbackRequest{To: 1})
		if err != nil {
			t.Fatal(err)
		}
		row, err := rollbacks.Begin(ctx, w.execution(id), domain.RollbackRequest{To: 1, Hash: plan.Hash, By: alice})
		if err != nil || row.Ended != nil {
			t.Fatalf("the rollback ended: %+v %v", row, err)
		}
		r.put("f4", "by a person\n")
		before["f4"] = "by a person\n"
		next := newWorld(t, s, changesFive(r, ends), r.server)
		next.until(id, domain.RollbackCompletedType)
		r.holds(before)
		if events := payloads[domain.RollbackCompleted](t, next.events(id)); len(events) != 1 {
			t.Errorf("the log has %d rollbacks", len(events))
		} else {
			wantAllBut4(t, events[0].Folders)
		}
	})
}
