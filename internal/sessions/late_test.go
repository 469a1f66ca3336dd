package sessions_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// hangs is how long a database hangs in these tests.
const hangs = 20 * time.Second

// hangingWorld is a server whose database hangs for a while with each commit, once it is told to, and then does as fail says.
func hangingWorld(t *testing.T, asked *atomic.Int32, change ...func(*dispatch.Config)) (w *world, hang *atomic.Bool, fail *error) {
	h := &hooked{Store: storetest.SQLite(t)}
	hang, fail = new(atomic.Bool), new(error)
	h.commit = func(context.Context, []store.Change) error {
		if !hang.Load() {
			return nil
		}
		time.Sleep(hangs)
		return *fail
	}
	change = append(change, func(c *dispatch.Config) { c.LeaseTTL, c.LookEvery, c.CreateWithin = ages, time.Second, 0 })
	w = newWorldThrough(t, h, h.Store, func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
		asked.Add(1)
		return echo(ctx, turn)
	}, change...)
	w.patience = ages
	return w, hang, fail
}

// refusedInTime creates an execution and expects a refusal within two seconds.
func (w *world) refusedInTime(key *store.Idempotency) {
	w.t.Helper()
	begun := time.Now()
	_, _, err := w.manager.Start(context.Background(), tenant, alice, request(), key)
	if took := time.Since(begun); took > 2*time.Second {
		w.t.Errorf("answered after %s", took)
	}
	if domain.CodeOf(err) != domain.CodeUnavailable {
		w.t.Errorf("answered with %v", err)
	}
}

func (w *world) all() []domain.Execution {
	w.t.Helper()
	page, err := w.store.Executions(context.Background(), tenant, store.ExecutionFilter{Limit: 100})
	if err != nil {
		w.t.Fatal(err)
	}
	return page.Items
}

// A creation is answered in two seconds, and its late result surprises nobody.
func TestCreationsWhileTheDatabaseHangs(t *testing.T) {
	for name, test := range map[string]struct {
		key  *store.Idempotency
		full bool  // no room, so it is queued
		fail error // what comes of the commit
		is   domain.Status
	}{
		"that comes through":              {is: domain.StatusCancelled},
		"that comes through, with a key":  {key: &store.Idempotency{Key: "k", BodyHash: []byte("b")}, is: domain.StatusCompleted},
		"that fails":                      {fail: errors.New("the disk is gone")},
		"that fails, with a key":          {key: &store.Idempotency{Key: "k", BodyHash: []byte("b")}, fail: errors.New("the disk is gone")},
		"of a queued one":                 {full: true, is: domain.StatusCancelled},
		"of a queued one, with a key":     {full: true, key: &store.Idempotency{Key: "k", BodyHash: []byte("b")}, is: domain.StatusCompleted},
		"of a queued one that fails late": {full: true, fail: errors.New("the disk is gone")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked atomic.Int32
				leave := make(chan struct{})
				w, hang, fail := hangingWorld(t, &asked, limited(dispatch.Limits{Live: 1}))
				before := 0
				if test.full {
					w.config.Agents[domain.SourceInternal] = sessionstest.Open(busyUntil(leave))
					w.start()
					synctest.Wait()
					before = 1
				}
				*fail = test.fail
				hang.Store(true)
				w.refusedInTime(test.key)
				hang.Store(false)
				time.Sleep(hangs)
				synctest.Wait()
				close(leave)
				time.Sleep(hangs)
				synctest.Wait()
				all := w.all()
				if test.is == "" {
					if len(all) != before || w.manager.Live() != 0 {
						t.Fatalf("%d executions, %d live", len(all), w.manager.Live())
					}
					return
				}
				if len(all) != before+1 || all[0].Status != test.is {
					t.Fatalf("%+v", all)
				}
				if test.key == nil {
					end := payloads[domain.ExecutionEnded](t, w.events(all[0].ID))
					if int(asked.Load()) != 0 || len(end) != 1 || end[0].Reason == "" {
						t.Errorf("the agent was asked %d times, and the end is %+v", asked.Load(), end)
					}
					return
				}
				again, replayed, err := w.manager.Start(context.Background(), tenant, alice, request(), test.key)
				if err != nil || !replayed || again.ID != all[0].ID {
					t.Errorf("the repeated request: %v, %v, %v", again.ID, replayed, err)
				}
			})
		})
	}
}

// A creation that still waits for its turn to be written is not written at all.
func TestACreationThatWaitsInTheQueueIsWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		w, hang, _ := hangingWorld(t, &asked)
		hang.Store(true)
		go func() {
			_, _, _ = w.manager.Start(context.Background(), tenant, alice, request(), &store.Idempotency{Key: "first", BodyHash: []byte("b")})
		}()
		synctest.Wait()
		w.refusedInTime(nil)
		w.refusedInTime(&store.Idempotency{Key: "third", BodyHash: []byte("b")})
		hang.Store(false)
		time.Sleep(2 * hangs)
		synctest.Wait()
		if all := w.all(); len(all) != 1 || all[0].Status != domain.StatusCompleted || asked.Load() != 1 {
			t.Errorf("%d asked: %+v", asked.Load(), all)
		}
	})
}

// A client that leaves cancels nothing, also not while its creation is written.
func TestAClientThatLeavesWhileItsExecutionIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		w, hang, _ := hangingWorld(t, &asked)
		hang.Store(true)
		ctx, leave := context.WithTimeout(context.Background(), time.Second)
		defer leave()
		if _, _, err := w.manager.Start(ctx, tenant, alice, request(), nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		hang.Store(false)
		time.Sleep(2 * hangs)
		synctest.Wait()
		if all := w.all(); len(all) != 1 || all[0].Status != domain.StatusCompleted {
			t.Errorf("%+v", all)
		}
	})
}

// A server whose writes hang is not ready, whichever write it is, and is ready again when they come through.
func TestReadinessSeesWritesThatHang(t *testing.T) {
	for name, test := range map[string]struct {
		commits, renewals bool
		within            time.Duration
	}{
		"commits":            {commits: true, within: 2 * time.Second},
		"the lease's writes": {renewals: true, within: 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &hooked{Store: storetest.SQLite(t)}
				var commits, renewals atomic.Bool
				sleep := func(hang *atomic.Bool) error {
					if hang.Load() {
						time.Sleep(hangs)
					}
					return nil
				}
				h.commit = func(context.Context, []store.Change) error { return sleep(&commits) }
				h.heartbeat = func() error { return sleep(&renewals) }
				w := hookedWorld(t, h, 10*time.Second, echo)
				w.patience = ages
				time.Sleep(time.Minute)
				if !w.manager.Writable() {
					t.Fatal("it is not ready although it writes")
				}
				commits.Store(test.commits)
				renewals.Store(test.renewals)
				go func() { _, _, _ = w.manager.Start(context.Background(), tenant, alice, request(), nil) }()
				time.Sleep(test.within + time.Millisecond)
				if w.manager.Writable() {
					t.Errorf("ready although writes hang for %s", test.within)
				}
				commits.Store(false)
				renewals.Store(false)
				time.Sleep(2 * hangs)
				synctest.Wait()
				if !w.manager.Writable() {
					t.Error("it is not ready again")
				}
			})
		})
	}
}
