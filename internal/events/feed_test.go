package events_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

func (w *world) followAll(log *events.Log, after store.FeedCursor) *events.FeedFollower {
	w.t.Helper()
	f, err := log.FollowAll(context.Background(), domain.DefaultTenant, after)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(f.Close)
	return f
}

func TestTheMergedLogHasTheFramesOfAll(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		first := w.create()
		live := w.followAll(w.log, store.FeedCursor{})
		ids := []domain.ExecutionID{first, w.create(), w.create()}
		own := map[string]string{}
		const said = 300 // more than a page
		for i := range said {
			w.commit(w.log, say(ids[i%3], fmt.Sprint("<", i, ">\n")))
		}
		for _, id := range ids {
			for _, frame := range w.reads(w.follow(w.log, id, 0), said/3+1) {
				name, data, _ := strings.Cut(string(frame.JSON()), `,"data":`) // the feed says whose event it is
				own[fmt.Sprint(id, frame.Seq)] = name + `,"executionId":"` + string(id) + `","agent":{"type":"internal","name":"demo"},"data":` + data
			}
		}
		all := w.reads(live, said+3)
		for i, frame := range all {
			if !slices.Contains([]string{own[fmt.Sprint(ids[0], frame.Seq)], own[fmt.Sprint(ids[1], frame.Seq)],
				own[fmt.Sprint(ids[2], frame.Seq)]}, string(frame.JSON())) {
				t.Fatalf("frame %d is in no log: %s", i, frame.SSE)
			}
		}
		for _, at := range []int{0, 10, said} {
			cursor, err := store.ParseFeedCursor(all[at].ID)
			if err != nil {
				t.Fatal(err)
			}
			for i, frame := range w.reads(w.followAll(w.log, cursor), len(all)-at-1) {
				if string(frame.SSE) != string(all[at+1+i].SSE) {
					t.Fatalf("resumed %q, live %q", frame.SSE, all[at+1+i].SSE)
				}
			}
		}
	})
}

func TestTheMergedLogOfTwoReplicas(t *testing.T) {
	url := storetest.Postgres(t)
	w := newWorld(t, storetest.Open(t, store.Config{DatabaseURL: url}))
	other := run(t, storetest.Open(t, store.Config{DatabaseURL: url}))
	id := w.create()
	f := w.followAll(other, store.FeedCursor{})
	w.reads(f, 1)
	for i := range 5 {
		w.commit(w.log, say(id, fmt.Sprint(i)))
	}
	w.reads(f, 5)
}

func TestFollowersOfNothingThatThereIs(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	w.create()
	if _, err := w.log.FollowAll(t.Context(), domain.DefaultTenant, store.FeedCursor{Position: 99}); domain.CodeOf(err) != domain.CodeCursorBeyondHead {
		t.Errorf("beyond the end: %v", err)
	}
	f, err := w.log.FollowNew(t.Context(), domain.DefaultTenant)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if frames, err := f.Next(t.Context()); err != nil || len(frames) != 0 || !f.Live() || f.Ended() {
		t.Errorf("%v, %v", frames, err)
	}
	second := w.create()
	if frame := w.reads(f, 1)[0]; frame.Seq != 1 || f.Cursor().String() != frame.ID {
		t.Errorf("%s of %s", frame.SSE, second)
	}
}

// merged is a store with the events of one tenant, which counts how often it is asked.
type merged struct {
	slow
	shared bool

	lock          sync.Mutex
	events        []store.FeedEvent
	held          int // of the events, at the end
	deleted       int // pages whose events are gone when they are looked up
	pages, headsN int
}

func (m *merged) Shared() bool { return m.shared }

// Notify and Listen are those of a database without notifications.
func (m *merged) Notify(context.Context, []string) error { return nil }
func (m *merged) Listen(ctx context.Context, _ func(), _ func(string)) error {
	<-ctx.Done()
	return ctx.Err()
}

func (m *merged) Commit(_ context.Context, changes []store.Change) ([]store.Result, error) {
	outcomes := make([]store.Result, len(changes))
	for i, change := range changes {
		outcomes[i].Tenant = domain.TenantID(change.Execution) // which is named like it
		m.write(len(change.Events))
	}
	return outcomes, nil
}

func (m *merged) write(n int) {
	m.lock.Lock()
	defer m.lock.Unlock()
	for range n {
		at := int64(len(m.events) + 1)
		m.events = append(m.events, store.FeedEvent{Event: domain.Event{Seq: at}, Cursor: store.FeedCursor{Position: at, Seq: at}})
	}
}

func (m *merged) hold(n int) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.held = n
}

func (m *merged) Feed(_ context.Context, _ domain.TenantID, after store.FeedCursor, limit, _ int) (store.FeedPage, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.pages++
	if m.deleted > 0 {
		m.deleted--
		return store.FeedPage{More: true}, nil
	}
	readable := m.readable()
	left := readable[min(int(after.Position), len(readable)):]
	return store.FeedPage{Events: left[:min(limit, len(left))], More: len(left) >= limit, Later: m.held > 0}, nil
}

func (m *merged) FeedHead(context.Context, domain.TenantID) (store.FeedCursor, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.headsN++
	if readable := m.readable(); len(readable) > 0 {
		return readable[len(readable)-1].Cursor, nil
	}
	return store.FeedCursor{}, nil
}

func (m *merged) readable() []store.FeedEvent { return m.events[:max(0, len(m.events)-m.held)] }

// asked returns how often the store was asked for pages and for heads since the last time.
func (m *merged) asked() (pages, heads int) {
	m.lock.Lock()
	defer m.lock.Unlock()
	defer func() { m.pages, m.headsN = 0, 0 }()
	return m.pages, m.headsN
}

// listens follows tenant "t" as a client does, and counts what it hears.
func (m *merged) listens(t *testing.T, log *events.Log) (heard func() int) {
	t.Helper()
	f, err := log.FollowAll(t.Context(), "t", store.FeedCursor{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var listening sync.WaitGroup
	var mu sync.Mutex
	n := 0
	listening.Go(func() {
		defer f.Close()
		for {
			frames, err := f.Next(ctx)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			n += len(frames)
			mu.Unlock()
			if len(frames) > 0 {
				continue
			}
			select {
			case <-f.Notified():
			case <-ctx.Done():
				return
			}
		}
	})
	t.Cleanup(func() { stop(); listening.Wait() })
	return func() int {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

func commitFor(t *testing.T, log *events.Log, tenant domain.ExecutionID) {
	t.Helper()
	if _, err := log.Commit(t.Context(), say(tenant, "x")); err != nil {
		t.Fatal(err)
	}
}

func TestAnIdleFollowerAsksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &merged{}
		log := run(t, m)
		heard := m.listens(t, log)
		heard()
		m.asked()
		time.Sleep(time.Hour)
		commitFor(t, log, "another")
		synctest.Wait()
		if pages, heads := m.asked(); pages+heads > 0 {
			t.Errorf("%d pages, %d heads", pages, heads)
		}
		commitFor(t, log, "t")
		if n := heard(); n != 2 { // the fake has one log
			t.Errorf("%d events", n)
		}
		if pages, _ := m.asked(); pages != 1 {
			t.Errorf("%d pages for a ring", pages)
		}
	})
}

func TestOnePollForAllFollowers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &merged{shared: true}
		log := run(t, m)
		var all []func() int
		for range 5 {
			all = append(all, m.listens(t, log))
		}
		all[0]()
		m.asked()
		time.Sleep(time.Minute)
		synctest.Wait()
		if pages, heads := m.asked(); pages > 0 || heads != 60 {
			t.Errorf("%d pages and %d heads in a minute", pages, heads)
		}
		m.write(3) // by another replica
		time.Sleep(time.Second)
		for _, heard := range all {
			if n := heard(); n != 3 {
				t.Errorf("%d events a second later", n)
			}
		}
	})
}

// What an open transaction holds back is asked for soon, and less often the longer it takes.
func TestWhatIsHeldBackIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &merged{}
		log := run(t, m)
		heard := m.listens(t, log)
		heard()
		m.hold(10)
		for range 10 {
			commitFor(t, log, "t")
			if n := heard(); n != 0 {
				t.Fatalf("%d events that are held back", n)
			}
		}
		m.hold(0)
		time.Sleep(20 * time.Millisecond)
		if n := heard(); n != 10 {
			t.Errorf("%d events right after", n)
		}
		m.hold(1)
		commitFor(t, log, "t")
		heard()
		m.asked()
		time.Sleep(100 * time.Second)
		heard()
		if pages, _ := m.asked(); pages < 100 || pages > 107 {
			t.Errorf("%d pages in 100 seconds", pages)
		}
		m.hold(0)
		time.Sleep(time.Second)
		if n := heard(); n != 11 {
			t.Errorf("%d events at last", n)
		}
		m.asked()
		time.Sleep(time.Hour)
		heard()
		if pages, _ := m.asked(); pages > 0 {
			t.Errorf("%d pages when nothing is held back any more", pages)
		}
	})
}

// History is over when all that there was has been handed out, however much is written meanwhile.
func TestLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &merged{}
		log := run(t, m)
		m.write(250) // more than a page, less than two
		f, err := log.FollowAll(t.Context(), "t", store.FeedCursor{})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		m.write(1000)
		for _, want := range []bool{false, true} {
			if frames, err := f.Next(t.Context()); err != nil || len(frames) != 200 || f.Live() != want {
				t.Errorf("%d frames, live: %v, %v", len(frames), f.Live(), err)
			}
		}
	})
}

// A page of executions that are deleted while it is read is empty, and not the end.
func TestAnEmptyPageIsNotTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &merged{}
		f, err := run(t, m).FollowAll(t.Context(), "t", store.FeedCursor{})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		m.write(3)
		m.deleted = 2
		if frames, err := f.Next(t.Context()); err != nil || len(frames) != 3 {
			t.Errorf("%d frames, %v", len(frames), err)
		}
	})
}
