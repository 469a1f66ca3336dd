package paging

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"signoff/internal/domain"
	"signoff/internal/events/items"
	"signoff/internal/events/items/itemstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

// failer is a test, or one run of a property.
type failer interface {
	Helper()
	Fatal(args ...any)
}

// world is a store with logs that a test writes.
type world struct {
	*store.Store
	ctx     context.Context
	created atomic.Int64
}

func onBoth(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) { test(t, &world{Store: s, ctx: t.Context()}) })
}

var request = domain.Request{Prompt: "Go.", Messages: []domain.InputMessage{{Role: domain.RoleUser, Content: "Hello."}}}

// create begins an execution with the first event of a log.
func (w *world) create(t failer, log []domain.Event) domain.ExecutionID {
	t.Helper()
	id := domain.ExecutionID(fmt.Sprint("execution-", w.created.Add(1)))
	change := store.Change{Execution: id, Epoch: 1, Create: &store.Creation{Owner: "one", Execution: domain.Execution{
		ID: id, Tenant: domain.DefaultTenant, Status: domain.StatusQueued, Created: time.Now(), Request: request,
	}}}
	w.commit(t, change, log[:1])
	return id
}

func (w *world) add(t failer, id domain.ExecutionID, log []domain.Event) {
	t.Helper()
	w.commit(t, store.Change{Execution: id, Epoch: 1}, log)
}

func (w *world) commit(t failer, change store.Change, log []domain.Event) {
	t.Helper()
	for _, event := range log {
		event.Execution = change.Execution
		change.Events = append(change.Events, event)
	}
	outcomes, err := w.Commit(w.ctx, []store.Change{change})
	if err != nil || outcomes[0].Err != nil {
		t.Fatal(err, outcomes)
	}
}

func (w *world) execution(t failer, id domain.ExecutionID) domain.Execution {
	t.Helper()
	execution, err := w.Execution(w.ctx, domain.DefaultTenant, id)
	if err != nil {
		t.Fatal(err)
	}
	return execution
}

func (w *world) log(t failer, id domain.ExecutionID) []domain.Event {
	t.Helper()
	log, err := w.Events(w.ctx, id, 0, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// stored is how far the items are stored.
func (w *world) stored(t failer, id domain.ExecutionID) domain.ItemFold {
	t.Helper()
	fold, err := w.ItemFold(w.ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	return fold
}

// in reads in portions of a size.
func in(storage Storage, events, bytes int) *Pages {
	pages := New(storage)
	pages.portion = portion{events, bytes}
	return pages
}

// wanted is the page that a fold of the whole log gives.
func wanted(t failer, log []domain.Event, from int64, limit int) Page {
	t.Helper()
	return whole(t, log).page(from, limit)
}

// folded are all items of a log.
type folded struct {
	items   []items.Item
	lastSeq int64
}

func whole(t failer, log []domain.Event) folded {
	t.Helper()
	all, err := items.Reduce(request, log)
	if err != nil {
		t.Fatal(err)
	}
	return folded{all, int64(len(log))}
}

func (f folded) page(from int64, limit int) Page {
	count := int64(len(f.items))
	from = min(from, count)
	return Page{Items: f.items[from:min(from+int64(limit), count)], Count: count, LastSeq: f.lastSeq}
}

// same compares pages as clients see them.
func same(t failer, want, got Page) {
	t.Helper()
	if diff := cmp.Diff(string(domain.Encode(want)), string(domain.Encode(got))); diff != "" {
		t.Fatal(diff)
	}
}

// Every page is the one that a fold of the whole log gives, wherever its items are stored, whoever has stored them in portions of whatever
// size, and however the log has grown since.
func TestPagesAreThoseOfTheWholeLog(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		rapid.Check(t, func(t *rapid.T) {
			log := itemstest.Random(t, 0, 80).Checked(t)
			replicas := []*Pages{
				in(w.Store, rapid.IntRange(1, 60).Draw(t, "events"), PortionBytes),
				in(w.Store, 1000, rapid.IntRange(1, 20_000).Draw(t, "bytes")),
			}
			id := w.create(t, log)
			for written := 1; ; {
				for range 3 {
					from, limit := rapid.Int64Range(0, 60).Draw(t, "from"), rapid.IntRange(1, 60).Draw(t, "limit")
					page, err := rapid.SampledFrom(replicas).Draw(t, "replica").Read(w.ctx, w.execution(t, id), from, limit)
					if err != nil {
						t.Fatal(err)
					}
					same(t, wanted(t, w.log(t, id), from, limit), page)
				}
				if written == len(log) {
					return
				}
				more := rapid.IntRange(1, min(40, len(log)-written)).Draw(t, "more")
				w.add(t, id, log[written:written+more])
				written += more
			}
		})
	})
}

// Many read while the log grows, and store its portions at once. A page shows the items as of one event, never a mixture.
func TestPagesOfALogThatGrowsUnderManyReaders(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		log := rapid.Custom(func(t *rapid.T) *itemstest.Script { return itemstest.Random(t, 600, 600) }).Example(3).Checked(t)
		if len(log) < 300 {
			t.Fatalf("a log of %d events proves little", len(log))
		}
		id := w.create(t, log)
		type reading struct {
			from  int64
			limit int
			page  Page
		}
		readings := make([][]reading, 6)
		var written atomic.Bool
		var readers sync.WaitGroup
		for n := range readings {
			pages := in(w.Store, 5+3*n, PortionBytes)
			readers.Go(func() {
				for round := 0; ; round++ {
					last := written.Load()
					r := reading{from: int64(round * 7 % 90), limit: 1 + round%40}
					execution, err := w.Execution(w.ctx, domain.DefaultTenant, id)
					if err == nil {
						r.page, err = pages.Read(w.ctx, execution, r.from, r.limit)
					}
					if err != nil {
						t.Error(err)
						return
					}
					readings[n] = append(readings[n], r)
					if last {
						return
					}
				}
			})
		}
		for at := 1; at < len(log); at += 4 {
			w.add(t, id, log[at:min(at+4, len(log))])
		}
		written.Store(true)
		readers.Wait()
		all, at := w.log(t, id), map[int64]folded{} // the log at each length, folded once for all that read it
		for _, some := range readings {
			for _, r := range some {
				seq := r.page.LastSeq
				if _, known := at[seq]; !known {
					at[seq] = whole(t, all[:seq])
				}
				same(t, at[seq].page(r.from, r.limit), r.page)
			}
		}
		if fold := w.stored(t, id); fold.Seq < int64(len(all)-20) {
			t.Errorf("of %d events %d are stored", len(all), fold.Seq)
		}
	})
}

// counting counts what is read and stored.
type counting struct {
	Storage
	events, saves int
	after         func() // a save
}

func (c *counting) EventPage(ctx context.Context, id domain.ExecutionID, after int64, limit, bytes int) ([]domain.Event, error) {
	events, err := c.Storage.EventPage(ctx, id, after, limit, bytes)
	c.events += len(events)
	return events, err
}

func (c *counting) SaveItems(ctx context.Context, id domain.ExecutionID, before, after domain.ItemFold, rows []domain.ItemRow) (bool, error) {
	saved, err := c.Storage.SaveItems(ctx, id, before, after, rows)
	c.saves++
	if c.after != nil {
		c.after()
	}
	return saved, err
}

// long is the log of n calls.
func long(n int) []domain.Event {
	story := itemstest.Begun(domain.SourceInternal)
	for i := range n {
		id := fmt.Sprint("c", i)
		story.Add(
			domain.ToolCallRequested{ToolCallID: id, MessageID: "m", Turn: 1, Tool: "bash"},
			domain.ToolCallStarted{ToolCallID: id},
			domain.ToolCallUpdated{ToolCallID: id, Output: "printed"},
			domain.ToolCallCompleted{ToolCallID: id, Outcome: domain.OutcomeSucceeded, Output: "done"},
		)
	}
	return story.Log
}

// What a page costs does not grow with the log: whichever page it is, once the log was folded no page reads more events than a portion has.
func TestAPageOfALongLogReadsOnePortionOfEvents(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		log := long(2600)
		id := w.create(t, log)
		w.add(t, id, log[1:])
		counts := &counting{Storage: w.Store}
		pages, all := New(counts), whole(t, w.log(t, id))
		read := func(from int64) (events, saves int) {
			t.Helper()
			counts.events, counts.saves = 0, 0
			page, err := pages.Read(w.ctx, w.execution(t, id), from, 50)
			if err != nil {
				t.Fatal(err)
			}
			same(t, all.page(from, 50), page)
			return counts.events, counts.saves
		}
		if events, saves := read(0); events != len(log) || saves != len(log)/PortionEvents {
			t.Errorf("the first reader reads %d of %d events and stores %d portions", events, len(log), saves)
		}
		for _, from := range []int64{0, 50, 1300, 2590, 10_000} {
			if events, saves := read(from); events >= PortionEvents || saves != 0 {
				t.Errorf("the page of %d reads %d events and stores %d portions", from, events, saves)
			}
		}
	})
}

// An execution that is no longer than a portion costs no row and no write.
func TestAShortLogIsNotStored(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		log := long(400)
		id := w.create(t, log)
		w.add(t, id, log[1:])
		counts := &counting{Storage: w.Store}
		for range 3 {
			if _, err := New(counts).Read(w.ctx, w.execution(t, id), 0, 50); err != nil {
				t.Fatal(err)
			}
		}
		if fold := w.stored(t, id); counts.saves != 0 || fold.Seq != 0 {
			t.Errorf("%d portions, up to %d, are stored", counts.saves, fold.Seq)
		}
	})
}

// Who goes away in the middle leaves the portions that are stored: the next one goes on behind them.
func TestAReaderThatGoesAwayLeavesItsProgress(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		log := long(100)
		id := w.create(t, log)
		w.add(t, id, log[1:])
		ctx, cancel := context.WithCancel(w.ctx)
		counts := &counting{Storage: w.Store}
		counts.after = func() {
			if counts.saves == 5 {
				cancel()
			}
		}
		if _, err := in(counts, 20, PortionBytes).Read(ctx, w.execution(t, id), 0, 50); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if fold := w.stored(t, id); fold.Seq != 100 {
			t.Errorf("the events up to %d are stored", fold.Seq)
		}
		*counts = counting{Storage: w.Store}
		page, err := in(counts, 20, PortionBytes).Read(w.ctx, w.execution(t, id), 0, 50)
		if err != nil {
			t.Fatal(err)
		}
		same(t, wanted(t, w.log(t, id), 0, 50), page)
		if counts.events > len(log)-100 {
			t.Errorf("it reads %d events, and %d were left", counts.events, len(log)-100)
		}
	})
}

// holding notes how much of a portion is held at a time.
type holding struct {
	Storage
	now, most int
}

func (h *holding) ItemFold(ctx context.Context, id domain.ExecutionID) (domain.ItemFold, error) {
	h.now = 0
	return h.Storage.ItemFold(ctx, id)
}

func (h *holding) ItemRowsOf(ctx context.Context, id domain.ExecutionID, to int64, keys []string, bytes int) ([]domain.ItemRow, int, error) {
	rows, complete, err := h.Storage.ItemRowsOf(ctx, id, to, keys, bytes)
	for _, row := range rows {
		h.now += len(row.State)
	}
	h.most = max(h.most, h.now)
	return rows, complete, err
}

// Events that each change another large item of long ago do not bring all of them into memory.
func TestLateChangesOfLargeItemsAreTakenInPortions(t *testing.T) {
	const calls, size, room = 60, 20_000, 100_000
	story := itemstest.Begun(domain.SourceACP)
	for i := range calls {
		story.Add(domain.ToolCallReported{ToolCallID: fmt.Sprint("c", i), Update: domain.Encode(map[string]any{"content": []any{
			map[string]any{"type": "content", "content": map[string]any{"type": "text", "text": strings.Repeat("x", size)}}}})})
	}
	for i := range calls {
		story.Add(domain.ToolCallCompleted{ToolCallID: fmt.Sprint("c", i), Outcome: domain.OutcomeFailed, Error: &domain.Failure{Code: domain.CodeDenied}})
	}
	onBoth(t, func(t *testing.T, w *world) {
		id := w.create(t, story.Log)
		w.add(t, id, story.Log[1:])
		holds := &holding{Storage: w.Store}
		page, err := in(holds, PortionEvents, room).Read(w.ctx, w.execution(t, id), 0, 500)
		if err != nil {
			t.Fatal(err)
		}
		same(t, wanted(t, w.log(t, id), 0, 500), page)
		if holds.most > room+2*size {
			t.Errorf("%d bytes of items are held at a time", holds.most)
		}
	})
}

// While servers are replaced, older code meets what newer code has stored: it makes its own items and leaves those alone. Newer code
// makes anew what older code has stored.
func TestItemsOfAnotherVersionAreNotUsed(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		log := long(100)
		for _, version := range []int64{items.Version - 1, items.Version + 1} {
			id := w.create(t, log)
			w.add(t, id, log[1:])
			foreign := domain.ItemFold{Version: version, Seq: 300, Items: 80, State: []byte(`[]`)}
			var rows []domain.ItemRow
			for place := range foreign.Items {
				rows = append(rows, domain.ItemRow{Place: place, Key: "tool:c1", State: []byte(`"of another version"`)})
			}
			if saved, err := w.SaveItems(w.ctx, id, domain.ItemFold{}, foreign, rows); err != nil || !saved {
				t.Fatal(saved, err)
			}
			for _, from := range []int64{0, 70} {
				page, err := in(w.Store, 20, PortionBytes).Read(w.ctx, w.execution(t, id), from, 50)
				if err != nil {
					t.Fatal(err)
				}
				same(t, wanted(t, w.log(t, id), from, 50), page)
			}
			switch now := w.stored(t, id); {
			case version > items.Version && (now.Version != version || now.Seq != foreign.Seq):
				t.Errorf("what newer code has stored is now %+v", now)
			case version < items.Version && (now.Version != items.Version || now.Seq < 400):
				t.Errorf("what older code has stored is now %+v", now)
			}
		}
	})
}

// An execution that is deleted in the middle of a reading is not found: a page without the items that are removed already would be a lie.
func TestAPageOfAnExecutionThatIsBeingRemoved(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		log := long(600)
		id := w.create(t, log)
		w.add(t, id, log[1:])
		pages := in(w.Store, 20, PortionBytes)
		execution := w.execution(t, id)
		if _, err := pages.Read(w.ctx, execution, 0, 50); err != nil {
			t.Fatal(err)
		}
		w.commit(t, store.Change{Execution: id, Epoch: 1, Update: &store.Update{Status: domain.StatusFailed}},
			[]domain.Event{domain.NewEvent(id, domain.ExecutionEnded{Status: domain.StatusFailed})})
		if err := w.Delete(w.ctx, domain.DefaultTenant, id, domain.AuditRecord{Action: "execution.deleted"}); err != nil {
			t.Fatal(err)
		}
		for done := store.RemovalNone; done != store.RemovalComplete; {
			var err error
			if done, err = w.Remove(w.ctx, id); err != nil {
				t.Fatal(err)
			}
			if page, err := pages.Read(w.ctx, execution, 0, 50); domain.CodeOf(err) != domain.CodeNotFound {
				t.Errorf("%d items, %v", len(page.Items), err)
			}
		}
	})
}

// crowd counts how many read logs at the same time.
type crowd struct {
	Storage
	now, most atomic.Int64
}

func (c *crowd) EventPage(ctx context.Context, id domain.ExecutionID, after int64, limit, bytes int) ([]domain.Event, error) {
	now := c.now.Add(1)
	defer c.now.Add(-1)
	for most := c.most.Load(); now > most && !c.most.CompareAndSwap(most, now); most = c.most.Load() {
	}
	return c.Storage.EventPage(ctx, id, after, limit, bytes)
}

func TestFewReadAtTheSameTime(t *testing.T) {
	w := &world{Store: storetest.SQLite(t), ctx: t.Context()}
	log := long(50)
	id := w.create(t, log)
	w.add(t, id, log[1:])
	execution := w.execution(t, id)
	c := &crowd{Storage: w.Store}
	pages := in(c, 20, PortionBytes)
	var readers sync.WaitGroup
	for range 30 {
		readers.Go(func() {
			if _, err := pages.Read(w.ctx, execution, 0, 50); err != nil {
				t.Error(err)
			}
		})
	}
	readers.Wait()
	if most := c.most.Load(); most < 1 || most > MaxReaders {
		t.Errorf("%d at the same time", most)
	}
	if left := len(pages.places); left != 0 {
		t.Errorf("%d places are still taken", left)
	}
}
