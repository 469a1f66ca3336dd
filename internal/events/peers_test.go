package events_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/store"
)

// database is shared by several replicas: it has the length of each log, and the notification channel.
type database struct {
	mu        sync.Mutex
	heads     map[domain.ExecutionID]store.Head
	listeners map[*replicaStore]func(payload string)
	payloads  []string // all that was sent
}

// replicaStore is the store of one replica.
type replicaStore struct {
	events.Store
	*database
	hush   atomic.Pointer[func(ctx context.Context) error] // in place of Notify
	broken chan error                                      // ends Listen
	tries  int                                             // of Listen
	read   []domain.ExecutionID                            // heads that were asked for
	feeds  int                                             // pages of the feed that were asked for
}

const oddTenant domain.TenantID = "a e:b\n%"

func newDatabase() *database {
	return &database{heads: map[domain.ExecutionID]store.Head{}, listeners: map[*replicaStore]func(string){}}
}

// replica adds a replica whose log runs. It has finished the reads of a new listener.
func (w *database) replica(t *testing.T) (*replicaStore, *events.Log) {
	t.Helper()
	h := &replicaStore{database: w, broken: make(chan error)}
	log := run(t, h)
	time.Sleep(20 * time.Millisecond)
	synctest.Wait()
	return h, log
}

func (h *replicaStore) Shared() bool { return true }

func (h *replicaStore) Commit(_ context.Context, changes []store.Change) ([]store.Result, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	outcomes := make([]store.Result, len(changes))
	for i, change := range changes {
		head := h.heads[change.Execution]
		head.LastSeq += int64(len(change.Events))
		h.heads[change.Execution] = head
		outcomes[i] = store.Result{LastSeq: head.LastSeq, Tenant: oddTenant}
	}
	return outcomes, nil
}

func (h *replicaStore) Head(_ context.Context, id domain.ExecutionID) (store.Head, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.heads[id], nil
}

func (h *replicaStore) ChangedHeads(_ context.Context, known []store.KnownHead) (changed []store.ChangedHead, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, k := range known {
		h.read = append(h.read, k.Execution)
		if head, there := h.heads[k.Execution]; !there || head.LastSeq > k.LastSeq || head.ForeignWrites != k.ForeignWrites {
			changed = append(changed, store.ChangedHead{Place: i, Gone: !there, Head: head})
		}
	}
	return changed, nil
}

func (h *replicaStore) EventPage(_ context.Context, id domain.ExecutionID, after int64, _, _ int) ([]domain.Event, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var page []domain.Event
	for seq := after + 1; seq <= h.heads[id].LastSeq; seq++ {
		page = append(page, domain.Event{Seq: seq, Execution: id})
	}
	return page, nil
}

func (h *replicaStore) Feed(context.Context, domain.TenantID, store.FeedCursor, int, int) (store.FeedPage, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.feeds++
	return store.FeedPage{}, nil
}

func (h *replicaStore) FeedOfTree(context.Context, domain.TenantID, domain.ExecutionID, store.FeedCursor, int, int) (store.FeedPage, error) {
	return store.FeedPage{}, nil
}

func (h *replicaStore) EndOfTree(context.Context, domain.ExecutionID) (store.FeedCursor, bool, error) {
	return store.FeedCursor{}, false, nil
}

func (h *replicaStore) FeedHead(context.Context, domain.TenantID) (store.FeedCursor, error) {
	return store.FeedCursor{}, nil
}

func (h *replicaStore) Notify(ctx context.Context, payloads []string) error {
	if hush := h.hush.Load(); hush != nil {
		return (*hush)(ctx)
	}
	h.send(payloads...)
	return nil
}

func (w *database) send(payloads ...string) {
	w.mu.Lock()
	listeners := slices.Collect(maps.Values(w.listeners))
	w.payloads = append(w.payloads, payloads...)
	w.mu.Unlock()
	for _, receive := range listeners {
		for _, payload := range payloads {
			receive(payload)
		}
	}
}

func (h *replicaStore) Listen(ctx context.Context, ready func(), received func(payload string)) error {
	h.mu.Lock()
	h.tries++
	h.listeners[h] = received
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.listeners, h)
	}()
	select { // it may be broken from the beginning
	case err := <-h.broken:
		return err
	default:
	}
	ready()
	select {
	case err := <-h.broken:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sent returns what was sent since the last time.
func (w *database) sent() []string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.payloads = nil }()
	return w.payloads
}

// asked returns the heads that the replica asked for since the last time.
func (h *replicaStore) asked() []domain.ExecutionID {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	defer func() { h.read = nil }()
	return h.read
}

// at follows an execution and tells how many of its events have been seen, in order and once.
func at(t *testing.T, log *events.Log, id domain.ExecutionID) (seen func() int64) {
	t.Helper()
	f, err := log.Follow(t.Context(), id, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	last := int64(0)
	return func() int64 {
		t.Helper()
		synctest.Wait()
		for {
			frames, err := f.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, frame := range frames {
				if last++; frame.Seq != last {
					t.Fatalf("event %d comes where %d should", frame.Seq, last)
				}
			}
			if len(frames) == 0 {
				return last
			}
		}
	}
}

// The clock of a bubble stands still while anybody has something to do: events seen before the first poll came by notification.
func TestNotificationReachesTheOtherReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newDatabase()
		a, here := w.replica(t)
		_, there := w.replica(t)
		begun := time.Now()
		seen := at(t, here, "x")
		all, err := here.FollowAll(t.Context(), oddTenant, store.FeedCursor{})
		if err != nil {
			t.Fatal(err)
		}
		defer all.Close()
		commitFor(t, there, "x")
		if n := seen(); n != 1 || time.Since(begun) > 0 {
			t.Errorf("%d events of the other replica are seen after %s", n, time.Since(begun))
		}
		select {
		case <-all.Notified():
		default:
			t.Error("a follower of all is not notified")
		}
		if read := a.asked(); !slices.Equal(read, []domain.ExecutionID{"x"}) {
			t.Errorf("heads of %v are read", read)
		}
		commitFor(t, there, "y")
		time.Sleep(20 * time.Millisecond)
		if read := a.asked(); len(read) > 0 {
			t.Errorf("heads of %v are read, which nobody follows here", read)
		}
		if s := here.Stats(); !s.Listening || s.NotificationsReceived != 2 || s.FoundByNotification != 1 || s.FoundByPoll != 0 || s.NotificationsSent != 0 {
			t.Errorf("%+v", s)
		}
		if s := there.Stats(); s.NotificationsSent != 2 || s.NotificationsReceived != 0 {
			t.Errorf("of the other one: %+v", s)
		}
	})
}

func TestForgottenOnTheOtherReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newDatabase()
		_, here := w.replica(t)
		_, there := w.replica(t)
		commitFor(t, there, "x")
		f, err := here.Follow(t.Context(), "x", 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		w.mu.Lock()
		delete(w.heads, "x")
		w.mu.Unlock()
		there.Forget("x")
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		if _, err := f.Next(t.Context()); domain.CodeOf(err) != domain.CodeNotFound {
			t.Errorf("a deleted execution goes on: %v", err)
		}
	})
}

func TestNotificationsAreCollected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newDatabase()
		_, log := w.replica(t)
		_, other := w.replica(t)
		seen := at(t, other, "0")
		time.Sleep(time.Hour)
		if sent := w.sent(); len(sent) > 0 {
			t.Errorf("an idle replica sends %q", sent)
		}
		commitFor(t, log, "0")
		if sent := w.sent(); len(sent) != 1 {
			t.Errorf("the first one sends %q", sent)
		}
		for i := range 300 {
			commitFor(t, log, domain.ExecutionID(fmt.Sprint(i%3)))
		}
		if sent := w.sent(); len(sent) != 0 {
			t.Errorf("right after it %q", sent)
		}
		time.Sleep(10 * time.Millisecond)
		sent := w.sent()
		if len(sent) != 1 || !strings.HasSuffix(sent[0], " e:0 e:1 e:2 t:a+e%3Ab%0A%25") {
			t.Errorf("the next ones send %q", sent)
		}
		time.Sleep(10 * time.Millisecond) // in which the other one looks again
		if n := seen(); n != 101 {
			t.Errorf("%d events are seen", n)
		}
		time.Sleep(time.Hour)
		if sent := w.sent(); len(sent) > 0 {
			t.Errorf("idle again it sends %q", sent)
		}
	})
}

func TestOwnNotificationsAreIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newDatabase()
		a, log := w.replica(t)
		at(t, log, "x")
		a.asked()
		commitFor(t, log, "x")
		if sent, read := w.sent(), a.asked(); len(sent) != 1 || len(read) > 0 || log.Stats().NotificationsReceived != 0 {
			t.Errorf("%q was sent, and then heads of %v were read", sent, read)
		}
	})
}

// A replica announces its release before it returns, and only to the others.
func TestReleaseNotifiesTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newDatabase()
		heard := map[string]int{}
		for _, name := range []string{"here", "there", "leaving"} {
			log := events.NewLog(&replicaStore{database: w, broken: make(chan error)})
			log.OnRelease(func() { heard[name]++ })
			ctx, stop := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { log.Run(ctx) })
			defer running.Wait()
			defer stop()
			if synctest.Wait(); name == "leaving" {
				if err := log.AnnounceRelease(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}
		if sent := w.sent(); len(sent) != 1 || !maps.Equal(heard, map[string]int{"here": 1, "there": 1}) {
			t.Errorf("%q was sent, and heard by %v", sent, heard)
		}
	})
}

// Notifications that were sent while nobody listened are lost, so a new listener reads everything.
func TestLostListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newDatabase()
		a, here := w.replica(t)
		_, there := w.replica(t)
		seen := at(t, here, "x")
		a.broken <- errors.New("the connection is lost")
		synctest.Wait()
		commitFor(t, there, "x")
		if n := seen(); n != 0 || here.Stats().Listening {
			t.Errorf("%d events are seen without a listener: %+v", n, here.Stats())
		}
		time.Sleep(100 * time.Millisecond)
		if n := seen(); n != 1 || !here.Stats().Listening || here.Stats().FoundByNotification != 1 {
			t.Errorf("%d events are seen with the next one: %+v", n, here.Stats())
		}
	})
}

// A database that refuses to let anybody listen is asked less and less often, and the poll goes on.
func TestDeafReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newDatabase()
		a, here := w.replica(t)
		_, there := w.replica(t)
		seen := at(t, here, "x")
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
		defer cancel()
		var breaking sync.WaitGroup
		breaking.Go(func() {
			for {
				select {
				case a.broken <- errors.New("no"):
				case <-ctx.Done():
					return
				}
			}
		})
		time.Sleep(30 * time.Second)
		synctest.Wait()
		a.mu.Lock()
		if a.tries < 8 || a.tries > 13 { // at 0, 0.1, 0.3, 0.7, 1.5, 3.1, 6.3, then each 5 s
			t.Errorf("%d tries in 30 seconds", a.tries)
		}
		a.mu.Unlock()
		commitFor(t, there, "x")
		time.Sleep(time.Second)
		if n := seen(); n != 1 || here.Stats().FoundByPoll != 1 {
			t.Errorf("%d events are seen by the poll: %+v", n, here.Stats())
		}
		breaking.Wait()
		time.Sleep(6 * time.Second)
		if !here.Stats().Listening {
			t.Error("it does not listen again")
		}
	})
}

// A notification that cannot be sent delays no commit. Unsent notifications do not pile up, either: from some point on they are
// that there is something everywhere.
func TestNotificationThatCannotBeSent(t *testing.T) {
	for name, c := range map[string]struct {
		hush func(context.Context) error
		want string // the payload in the end
	}{
		"it hangs":      {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, " *"},
		"it is refused": {func(context.Context) error { return errors.New("no") }, " e:x t:a+e%3Ab%0A%25"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newDatabase()
				b, log := w.replica(t)
				b.hush.Store(&c.hush)
				begun := time.Now()
				commitFor(t, log, "first")
				synctest.Wait()
				for i := range 3000 {
					commitFor(t, log, domain.ExecutionID(fmt.Sprint(i)))
				}
				if took := time.Since(begun); took > 0 {
					t.Errorf("the commits took %s", took)
				}
				time.Sleep(5500 * time.Millisecond) // it has been given up, and is not tried again yet
				b.hush.Store(nil)
				commitFor(t, log, "x")
				time.Sleep(time.Second)
				if sent := w.sent(); len(sent) != 1 || !strings.HasSuffix(sent[0], c.want) {
					t.Errorf("%q is sent in the end", sent)
				}
			})
		})
	}
}

func TestTooMuchToTell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newDatabase()
		_, here := w.replica(t)
		_, there := w.replica(t)
		const many = 900
		id := func(i int) domain.ExecutionID { return domain.ExecutionID(fmt.Sprintf("%036d", i)) }
		last := at(t, here, id(many-1))
		commitFor(t, there, "first")
		w.sent()
		for i := range many {
			commitFor(t, there, id(i))
		}
		time.Sleep(10 * time.Millisecond)
		named := 0
		sent := w.sent()
		for _, payload := range sent {
			if len(payload) > store.MaxNotification {
				t.Errorf("a payload of %d bytes", len(payload))
			}
			named += strings.Count(payload, " e:")
		}
		if named != many || len(sent) > 6 {
			t.Errorf("%d executions are named in %d payloads", named, len(sent))
		}
		time.Sleep(10 * time.Millisecond)
		if n := last(); n != 1 {
			t.Errorf("%d events of the last one are seen", n)
		}

		commitFor(t, there, "first")
		w.sent()
		for i := range 2 * many {
			commitFor(t, there, id(i))
		}
		time.Sleep(10 * time.Millisecond)
		if sent := w.sent(); len(sent) != 1 || !strings.HasSuffix(sent[0], " *") {
			t.Errorf("%d payloads where one says everything", len(sent))
		}
		time.Sleep(10 * time.Millisecond)
		if n := last(); n != 2 {
			t.Errorf("%d events of the last one are seen after that", n)
		}
	})
}

// Whoever may connect to the database may send to the channel.
func TestGarbageOnTheChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newDatabase()
		a, log := w.replica(t)
		at(t, log, "x")
		a.asked()
		for _, payload := range []string{
			"", " ", "hello", "v1", "v1 ", "v1 somebody", "v1 somebody ", "v1  e:x", "v2 somebody e:x", "V1 somebody e:x", " v1 somebody e:x",
			"v1 somebody e:x ", "v1 somebody  e:x", "v1 somebody e:", "v1 somebody x", "v1 somebody e:x z:y", "v1 somebody * e:x",
			"v1 somebody e:x *", "v1 somebody **", "v1 somebody e:%", "v1 somebody e:%78", "v1 somebody e:x\n", "v1 somebody e:x\x00",
			"v1 somebody e:\xff", "v1\tsomebody\te:x", "*", "e:x", `{"executions":["x"]}`, strings.Repeat("e:x ", 2000), strings.Repeat("\xff", 7900),
		} {
			w.send(payload)
			time.Sleep(20 * time.Millisecond)
			if read := a.asked(); len(read) > 0 || log.Stats().NotificationsReceived != 0 {
				t.Fatalf("%q has heads of %v read", payload, read)
			}
		}
		for _, payload := range []string{"v1 somebody e:x", "v1 somebody t:t e:x", "v1 somebody *"} {
			w.send(payload)
			time.Sleep(20 * time.Millisecond)
			if read := a.asked(); len(read) != 1 {
				t.Errorf("%q has heads of %v read", payload, read)
			}
		}
	})
}
