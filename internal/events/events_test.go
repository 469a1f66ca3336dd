package events_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

func TestMain(m *testing.M) {
	code := storetest.Main(m)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

const replica store.ReplicaID = "r1"

// world is a store with a log that runs.
type world struct {
	t   testing.TB
	s   *store.Store
	log *events.Log
}

func newWorld(t testing.TB, s *store.Store) *world {
	t.Helper()
	w := &world{t: t, s: s, log: run(t, s)}
	if err := s.Heartbeat(context.Background(), replica, time.Hour); err != nil {
		t.Fatal(err)
	}
	return w
}

// run starts a log that stops with the test.
func run(t testing.TB, s events.Store) *events.Log {
	log := events.NewLog(s)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { log.Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
	return log
}

func (w *world) create() domain.ExecutionID {
	w.t.Helper()
	id := domain.ExecutionID(uuid.Must(uuid.NewV7()).String())
	w.createAs(id)
	return id
}

func (w *world) createAs(id domain.ExecutionID) {
	w.t.Helper()
	now := time.Now().UTC().Truncate(time.Microsecond)
	_, err := w.log.Commit(context.Background(), store.Change{
		Execution: id, Epoch: 1,
		Create: &store.Creation{Owner: replica, Execution: domain.Execution{
			ID: id, Tenant: domain.DefaultTenant, Status: domain.StatusQueued, Created: now, Updated: now,
			Request: domain.Request{Source: domain.Source{Type: domain.SourceInternal, Model: "demo"}, Capabilities: domain.DefaultCapabilities},
		}},
		Events: []domain.Event{domain.NewEvent(id, domain.ExecutionCreated{Status: domain.StatusQueued})},
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func say(id domain.ExecutionID, text string) store.Change {
	return store.Change{Execution: id, Epoch: 1, Events: []domain.Event{domain.NewEvent(id, domain.MessageDelta{MessageID: "m", Text: text})}}
}

func (w *world) commit(log *events.Log, change store.Change) store.Result {
	w.t.Helper()
	outcome, err := log.Commit(context.Background(), change)
	if err != nil {
		w.t.Fatal(err)
	}
	return outcome
}

func (w *world) end(id domain.ExecutionID) {
	w.t.Helper()
	ended := domain.ExecutionEnded{Status: domain.StatusFailed, FinishReason: domain.FinishError}
	w.commit(w.log, store.Change{
		Execution: id, Epoch: 1,
		Update: &store.Update{Status: domain.StatusFailed, Output: &domain.Output{FinishReason: domain.FinishError}},
		Events: []domain.Event{domain.NewEvent(id, ended)},
	})
}

func (w *world) follow(log *events.Log, id domain.ExecutionID, after int64) *events.Follower {
	w.t.Helper()
	f, err := log.Follow(context.Background(), id, after)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(f.Close)
	return f
}

// source is a follower, of one execution or of all.
type source interface {
	Next(ctx context.Context) ([]events.Frame, error)
	Notified() <-chan struct{}
}

// silence is how long nothing may come. A busy machine takes minutes for hundreds of commits, but not for one.
const silence = time.Minute

// reads takes n frames, waiting for a notification if there are none.
func (w *world) reads(f source, n int) []events.Frame {
	w.t.Helper()
	var all []events.Frame
	patience := time.After(silence)
	for len(all) < n {
		frames, err := f.Next(context.Background())
		if err != nil {
			w.t.Fatal(err)
		}
		if all = append(all, frames...); len(frames) > 0 {
			patience = time.After(silence)
			continue
		}
		select {
		case <-f.Notified():
		case <-patience:
			w.t.Fatalf("%d frames of %d", len(all), n)
		}
	}
	return all
}

func TestFollowersSeeEverythingOnce(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		id := w.create()
		const said = 700 // more than the tail holds
		var followers sync.WaitGroup
		for range 8 {
			f := w.follow(w.log, id, 0)
			followers.Go(func() {
				for i, frame := range w.reads(f, said+1) {
					if frame.Seq != int64(i+1) {
						t.Errorf("frame %d has seq %d", i+1, frame.Seq)
						return
					}
				}
			})
		}
		for i := range said {
			w.commit(w.log, say(id, fmt.Sprint(i)))
		}
		followers.Wait()
	})
}

func TestLiveAndReplayedFramesAreTheSameBytes(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		id := w.create()
		live := w.follow(w.log, id, 0)
		w.reads(live, 1)
		for _, text := range []string{"plain", "two\nlines\r\n", "</script> & \u2028 \x00 \\", "Grüße 👍"} {
			w.commit(w.log, say(id, text))
		}
		replayed := w.reads(w.follow(w.log, id, 1), 4)
		for i, frame := range w.reads(live, 4) {
			if string(frame.SSE) != string(replayed[i].SSE) {
				t.Errorf("live %q, replayed %q", frame.SSE, replayed[i].SSE)
			}
		}
	})
}

func TestEndOfALog(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	id := w.create()
	live := w.follow(w.log, id, 0)
	w.reads(live, 1)
	w.end(id)
	w.reads(live, 1)
	if !live.Ended() || !live.Live() {
		t.Error("the follower does not know that the log has ended")
	}
	if late := w.follow(w.log, id, 2); !late.Ended() {
		t.Error("a follower that begins behind the end does not know it")
	}
	if _, err := w.log.Follow(context.Background(), id, 3); domain.CodeOf(err) != domain.CodeCursorBeyondHead {
		t.Errorf("beyond the head: %v", err)
	}
	if _, err := w.log.Follow(context.Background(), "unknown", 0); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("of nothing: %v", err)
	}
}

// TestTwoReplicas: a replica that has committed something of its own, a decision, must not take its tail for the whole.
func TestTwoReplicas(t *testing.T) {
	url := storetest.Postgres(t)
	s := storetest.Open(t, store.Config{DatabaseURL: url})
	w := newWorld(t, s)
	other := run(t, storetest.Open(t, store.Config{DatabaseURL: url}))
	id := w.create()
	f := w.follow(other, id, 0)
	w.reads(f, 1)

	decision := say(id, "decided")
	decision.Epoch = 0
	w.commit(other, decision)
	w.reads(f, 1)
	for i := range 5 {
		w.commit(w.log, say(id, fmt.Sprint(i)))
	}
	w.reads(f, 5)
	w.commit(other, decision)
	w.commit(w.log, say(id, "last"))
	all := w.reads(f, 2)
	if got := all[len(all)-1].Seq; got != 9 {
		t.Errorf("the last event is %d", got)
	}
}

// TestForeignWritesNotify: a session must hear of what others write, and is not disturbed by itself.
func TestForeignWritesNotify(t *testing.T) {
	url := storetest.Postgres(t)
	w := newWorld(t, storetest.Open(t, store.Config{DatabaseURL: url}))
	other := run(t, storetest.Open(t, store.Config{DatabaseURL: url}))
	id := w.create()
	watcher := w.log.Watch(id)
	defer watcher.Close()
	stirs := func(why string, than int) int {
		for patience := time.After(time.Minute); watcher.ForeignWrites() == than; {
			select {
			case <-watcher.Notified():
			case <-patience:
				t.Fatalf("not stirred by %s", why)
			}
		}
		return watcher.ForeignWrites()
	}
	first := stirs("the first poll", 0)
	w.commit(w.log, say(id, "own"))
	if watcher.ForeignWrites() != first {
		t.Error("stirred by the driver's own write")
	}
	foreign := say(id, "foreign")
	foreign.Epoch = 0
	w.commit(w.log, foreign)
	second := stirs("a write on this replica", first)
	foreign.Events = nil
	foreign.Cancel = &store.CancelRequest{Reason: "enough"}
	w.commit(other, foreign)
	stirs("a write on the other replica", second)
}

func TestDeletedWhileFollowed(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		id := w.create()
		f := w.follow(w.log, id, 0)
		w.reads(f, 1)
		w.log.Forget(id)
		<-f.Notified()
		if _, err := f.Next(context.Background()); domain.CodeOf(err) != domain.CodeNotFound {
			t.Errorf("got %v", err)
		}
	})
}

// slow is a store whose commits take their time, and which can fail.
type slow struct {
	events.Store
	takes time.Duration
	fail  func([]store.Change) error

	mu      sync.Mutex
	batches [][]store.Change
}

func (s *slow) Commit(_ context.Context, changes []store.Change) ([]store.Result, error) {
	time.Sleep(s.takes)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		if err := s.fail(changes); err != nil {
			return nil, err
		}
	}
	s.batches = append(s.batches, changes)
	return make([]store.Result, len(changes)), nil
}

func (s *slow) Shared() bool { return false }

// slowReplica is a slow store that others write to.
type slowReplica struct {
	*replicaStore
	slow *slow
}

func (s slowReplica) Commit(ctx context.Context, changes []store.Change) ([]store.Result, error) {
	return s.slow.Commit(ctx, changes)
}

// One creation among deltas would make all of them as slow as itself. The kind of the oldest goes first, and no execution's changes
// pass each other by.
func TestBatchesOfOneKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{takes: time.Second}
		log := run(t, slowReplica{&replicaStore{database: newDatabase(), broken: make(chan error)}, s})
		var writers sync.WaitGroup
		write := func(c store.Change) {
			writers.Go(func() {
				if _, err := log.Commit(context.Background(), c); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait() // it is queued, behind those before it
		}
		write(say("first", "x")) // the committer is at work on it
		for _, c := range []store.Change{
			{Execution: "a", Notify: true}, say("b", "1"), say("a", "1"), {Execution: "b", Notify: true}, say("c", "1"),
			{Execution: "d", Notify: true}, say("b", "2"),
		} {
			write(c)
		}
		writers.Wait()
		var got []string
		for _, batch := range s.batches {
			line := ""
			for _, c := range batch {
				line += fmt.Sprintf("%s%d ", c.Execution, c.Epoch)
			}
			got = append(got, line)
		}
		if want := []string{"first1 ", "a0 d0 ", "b1 a1 c1 ", "b0 ", "b1 "}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

func TestGroupCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{takes: time.Second}
		log := run(t, s)
		var writers sync.WaitGroup
		write := func(id domain.ExecutionID) {
			writers.Go(func() {
				if _, err := log.Commit(context.Background(), say(id, "x")); err != nil {
					t.Error(err)
				}
			})
		}
		write("first")
		synctest.Wait() // the committer is at work on it
		for i := range 100 {
			write(domain.ExecutionID(fmt.Sprint(i)))
		}
		write("0") // a second change of an execution waits for the first
		begun := time.Now()
		writers.Wait()
		if took := time.Since(begun); took != 3*time.Second || len(s.batches) != 3 {
			t.Errorf("%d batches in %s", len(s.batches), took)
		}
		if len(s.batches[1]) != 100 {
			t.Errorf("%d changes in the second batch", len(s.batches[1]))
		}
	})
}

func TestOneBadChangeDoesNotTakeTheOthersDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{takes: time.Second, fail: func(changes []store.Change) error {
			for _, change := range changes {
				if change.Execution == "bad" {
					return domain.Errorf(domain.CodeStorage, "cannot be stored")
				}
			}
			return nil
		}}
		log := run(t, s)
		var writers sync.WaitGroup
		for _, id := range []domain.ExecutionID{"good", "bad", "fine"} {
			writers.Go(func() {
				if _, err := log.Commit(context.Background(), say(id, "x")); (err != nil) != (id == "bad") {
					t.Errorf("%s: %v", id, err)
				}
			})
		}
		writers.Wait()
	})
}

func TestUnknownOutcomeIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		s := &slow{takes: time.Second, fail: func([]store.Change) error {
			tries++
			return domain.Errorf(domain.CodeStorage, "cut").With(store.ErrCommitUnknown)
		}}
		log := run(t, s)
		var writers sync.WaitGroup
		for _, id := range []domain.ExecutionID{"a", "b"} {
			writers.Go(func() {
				if _, err := log.Commit(context.Background(), say(id, "x")); !errors.Is(err, store.ErrCommitUnknown) {
					t.Errorf("got %v", err)
				}
			})
		}
		writers.Wait()
		if tries > 2 {
			t.Errorf("%d tries", tries)
		}
	})
}

func TestWithdrawnWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{takes: time.Minute}
		log := run(t, s)
		var writers sync.WaitGroup
		writers.Go(func() { _, _ = log.Commit(context.Background(), say("first", "x")) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := log.Commit(ctx, say("second", "x")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		writers.Wait()
		if len(s.batches) != 1 {
			t.Errorf("%d batches: the withdrawn change was written", len(s.batches))
		}
	})
}

func TestALogThatHasStoppedRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := events.NewLog(&slow{})
		ctx, stop := context.WithCancel(context.Background())
		stop()
		log.Run(ctx)
		if _, err := log.Commit(context.Background(), say("a", "x")); domain.CodeOf(err) != domain.CodeUnavailable {
			t.Errorf("got %v", err)
		}
	})
}

// Who asks whether the log can be written to hears of a failure until something works again, or until it says nothing any more.
func TestFailing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := true
		log := run(t, &slow{fail: func([]store.Change) error {
			if full {
				return domain.Errorf(domain.CodeStorage, "no space left")
			}
			return nil
		}})
		failing := func(want bool) {
			t.Helper()
			if log.Failing() != want {
				t.Errorf("failing: %v", !want)
			}
		}
		failing(false)
		_, _ = log.Commit(context.Background(), say("a", "x"))
		failing(true)
		time.Sleep(time.Minute) // nobody sends anything
		failing(false)
		_, _ = log.Commit(context.Background(), say("a", "x"))
		failing(true)
		full = false
		_, _ = log.Commit(context.Background(), say("a", "x"))
		failing(false)
	})
}

// Whatever of the beginning is kept for the first follower, and whenever it comes: it reads everything once and in order.
func TestTheFirstFollowerMissesNothing(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	for written, text := range map[int]string{0: "", 3: "x", 7: "x", 8: "x", 20: "x", 2: strings.Repeat("x", 3000)} {
		id := domain.ExecutionID(uuid.Must(uuid.NewV7()).String())
		watcher := w.log.Watch(id)
		w.createAs(id)
		for range written {
			w.commit(w.log, say(id, text))
		}
		f := w.follow(w.log, id, 0)
		w.commit(w.log, say(id, "behind"))
		for i, frame := range w.reads(f, written+2) {
			if frame.Seq != int64(i+1) {
				t.Errorf("%d written: seq %d in the place of %d", written, frame.Seq, i+1)
			}
		}
		again := w.follow(w.log, id, 1)
		if got := w.reads(again, written+1); got[0].Seq != 2 {
			t.Errorf("%d written: the second follower begins at %d", written, got[0].Seq)
		}
		watcher.Close()
	}
}

// Followers share the tail, and some are slow: what was handed out must not change under them.
func TestFramesThatWereHandedOutStayAsTheyAre(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	id := w.create()
	f := w.follow(w.log, id, 0)
	w.reads(f, 1)
	many := store.Change{Execution: id, Epoch: 1}
	for range 400 {
		many.Events = append(many.Events, say(id, "x").Events...)
	}
	w.commit(w.log, many)
	held, err := f.Next(context.Background())
	if err != nil || len(held) != 400 {
		t.Fatalf("%d frames, %v", len(held), err)
	}
	for range 5 {
		many.Events = slices.Clone(many.Events)
		w.commit(w.log, many)
	}
	for i, frame := range held {
		if want := int64(i + 2); frame.Seq != want || !strings.HasPrefix(string(frame.SSE), fmt.Sprintf("id: %d\n", want)) {
			t.Fatalf("the frame in the place of %d has become %d", want, frame.Seq)
		}
	}
	if got := w.reads(f, 2000); got[len(got)-1].Seq != 2401 {
		t.Errorf("the last is %d", got[len(got)-1].Seq)
	}
}
