package sessions_test

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// resuming is a script that behaves like the internal agent after a restart: it continues the calls that the history leaves open,
// and says its prompt in the end.
func resuming(starts *atomic.Int32) sessionstest.Script {
	return func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		call := sessionstest.Bash("c1", "ls")
		history := t.Prompt.History
		last := history[len(history)-1]
		switch {
		case last.Role == domain.RoleUser:
			if err := t.Want("m1", call); err != nil {
				return "", err
			}
		case last.Role == domain.RoleTool:
			return domain.StopEndTurn, t.Say("m2", "told: "+last.Text)
		}
		grant, err := t.Use(call, func(json.RawMessage) string { starts.Add(1); return "ran" })
		if err != nil {
			return "", err
		}
		if !grant.Allowed {
			return domain.StopEndTurn, t.Say("m2", "refused: "+grant.Message)
		}
		return domain.StopEndTurn, t.Say("m2", "done")
	}
}

// killed ends a server the way SIGKILL would, as far as one process can: its sessions are cut off from the log. Its lease is ended,
// and not waited for: one short enough for that was also lost by servers that a busy machine only held up.
func (w *world) killed() {
	w.t.Helper()
	w.stop()
	for w.manager.Live() > 0 {
		time.Sleep(time.Millisecond)
	}
	if err := w.store.Heartbeat(context.Background(), w.config.Replica, 0); err != nil {
		w.t.Fatal(err)
	}
}

func TestPendingApprovalSurvivesAKill(t *testing.T) {
	s := storetest.SQLite(t)
	var starts atomic.Int32
	first := newWorld(t, s, resuming(&starts))
	id := first.start()
	before := first.approvals(id, 1)[0]
	first.killed()

	second := newWorld(t, s, resuming(&starts))
	second.reach(id, domain.StatusPendingToolApproval)
	after := second.approvals(id, 1)
	if len(after) != 1 {
		t.Fatalf("%d approvals after the restart", len(after))
	}
	if diff := cmp.Diff(before, after[0]); diff != "" {
		t.Error("the approval has changed:", diff)
	}
	second.decide(after[0])
	if end := second.ended(id); end.Status != domain.StatusCompleted || end.Output.Text != "done" || starts.Load() != 1 {
		t.Errorf("%s, %q, %d starts", end.Status, end.Output.Text, starts.Load())
	}
}

// TestWhatSomebodyWasAskedSurvivesManyKills: as long as nobody has answered nobody can get any further, and that is no reason to give up.
func TestWhatSomebodyWasAskedSurvivesManyKills(t *testing.T) {
	s := storetest.SQLite(t)
	first := newWorld(t, s, inserts)
	waiting, asked := first.start(trusting), first.start()
	first.becomes(waiting, domain.StatusExecutingTool, 1)
	approval := first.approvals(asked, 1)[0]
	first.killed()
	for kill := range 5 {
		w := newWorld(t, s, inserts)
		w.becomes(waiting, domain.StatusExecutingTool, kill+2)
		w.becomes(asked, domain.StatusPendingToolApproval, kill+2)
		w.killed()
	}
	last := newWorld(t, s, inserts)
	last.decide(approval)
	last.becomes(asked, domain.StatusExecutingTool, 1)
	for _, id := range []domain.ExecutionID{waiting, asked} {
		last.answers(id, "c1", "inserted")
		if end := last.ended(id); end.Output.Text != "told: inserted" {
			t.Errorf("%s: %+v", end.Status, end.Output)
		}
	}
}

func TestDecidedWhileNobodyDrives(t *testing.T) {
	s := storetest.SQLite(t)
	var starts atomic.Int32
	first := newWorld(t, s, resuming(&starts))
	id := first.start()
	approval := first.approvals(id, 1)[0]
	first.killed()

	second := newWorld(t, s, resuming(&starts))
	second.decide(approval)
	if end := second.ended(id); end.Status != domain.StatusCompleted || starts.Load() != 1 {
		t.Errorf("%s, %d starts", end.Status, starts.Load())
	}
}

func TestBrokenMessageIsInterruptedAndAskedAgain(t *testing.T) {
	s := storetest.SQLite(t)
	first := newWorld(t, s, stuck[domain.StatusStreaming])
	id := first.start()
	first.reach(id, domain.StatusStreaming)
	first.killed()

	second := newWorld(t, s, func(_ context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		if n := len(t.Prompt.History); n != 1 {
			return "", domain.Errorf(domain.CodeInternal, "the broken message is in the history: %d", n)
		}
		return domain.StopEndTurn, t.Say("m-again", "a whole sentence")
	})
	end := second.ended(id)
	if end.Status != domain.StatusCompleted || end.Output.Text != "a whole sentence" {
		t.Errorf("%s: %+v", end.Status, end.Output)
	}
	done := payloads[domain.MessageCompleted](t, second.events(id))
	if len(done) != 2 || !done[0].Interrupted || done[1].Interrupted {
		t.Errorf("completed: %+v", done)
	}
}

func TestDrainHandsOver(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		var starts atomic.Int32
		first := newWorld(t, s, resuming(&starts))
		id := first.start()
		approval := first.approvals(id, 1)[0]
		first.drain()
		if got := first.execution(id).Status; got.Terminal() {
			t.Fatalf("a drain ended the execution as %s", got)
		}
		second := newWorld(t, s, resuming(&starts))
		second.reach(id, domain.StatusPendingToolApproval)
		second.decide(approval)
		if end := second.ended(id); end.Status != domain.StatusCompleted || starts.Load() != 1 {
			t.Errorf("%s, %d starts", end.Status, starts.Load())
		}
	})
}

func TestDrainLetsARunningCallEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storetest.SQLite(t)
		running, finish := make(chan struct{}), make(chan struct{})
		first := newWorld(t, s, func(_ context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			call := sessionstest.Bash("c1", "ls")
			call.Class, call.Action = domain.ClassRead, domain.Action{}
			_ = t.Want("m1", call)
			if _, err := t.Use(call, func(json.RawMessage) string { close(running); <-finish; return "whole" }); err != nil {
				return "", err
			}
			return domain.StopEndTurn, t.Say("m2", "done")
		})
		id := first.start()
		<-running
		time.AfterFunc(50*time.Millisecond, func() { close(finish) })
		first.drain()
		outcomes := payloads[domain.ToolCallCompleted](t, first.events(id))
		if len(outcomes) != 1 || outcomes[0].Output != "whole" {
			t.Errorf("outcomes: %+v", outcomes)
		}
	})
}

func TestStaleDriverWritesNothing(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		speak := make(chan struct{})
		first := newWorld(t, s, func(_ context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			<-speak
			return domain.StopEndTurn, t.Say("m", "from the grave")
		})
		id := first.start()
		first.reach(id, domain.StatusWaiting)
		head, err := s.Head(context.Background(), id)
		if err != nil {
			t.Fatal(err)
		}
		// Another replica takes the execution while the first one sleeps.
		if err := s.ReleaseExecution(context.Background(), id, head.Epoch); err != nil {
			t.Fatal(err)
		}
		if err := s.Heartbeat(context.Background(), "thief", time.Minute); err != nil {
			t.Fatal(err)
		}
		if claimed, err := s.Acquire(context.Background(), "thief", 10); err != nil || len(claimed) != 1 {
			t.Fatalf("claimed %v, %v", claimed, err)
		}
		close(speak)
		for first.manager.Live() > 0 {
			time.Sleep(time.Millisecond)
		}
		if log := first.events(id); int64(len(log)) != head.LastSeq {
			t.Errorf("%d events, %d before the take-over", len(log), head.LastSeq)
		}
	})
}

// acquired waits until the execution was acquired n times.
func (w *world) acquired(id domain.ExecutionID, n int) {
	w.t.Helper()
	for deadline := time.Now().Add(w.patience); ; time.Sleep(time.Millisecond) {
		head, err := w.store.Head(context.Background(), id)
		if err != nil {
			w.t.Fatal(err)
		}
		if head.Epoch == int64(n+1) { // the first driver's is 1
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("acquired %d times of %d", head.Epoch-1, n)
		}
	}
}

func TestCancelSurvivesAKill(t *testing.T) {
	s := storetest.SQLite(t)
	first := newWorld(t, s, stuck[domain.StatusWaiting])
	id := first.start()
	first.reach(id, domain.StatusWaiting)
	first.killed()
	request := store.Change{Execution: id, Cancel: &store.CancelRequest{Reason: "late", By: alice}}
	if _, err := s.Commit(context.Background(), []store.Change{request}); err != nil {
		t.Fatal(err)
	}
	second := newWorld(t, s, stuck[domain.StatusWaiting])
	if end := second.ended(id); end.Status != domain.StatusCancelled {
		t.Errorf("ended as %s", end.Status)
	}
}

// long is a store whose logs continue after their real end with the output of a call: more of it than a server may hold.
type long struct {
	*store.Store
	real   int64 // the length of the log
	pages  atomic.Int64
	most   atomic.Uint64 // bytes that were held while the log was read
	widest atomic.Int64  // the largest page that was asked for
}

const (
	longLog  = 60_000
	longLine = 2 << 10
)

func (l *long) Events(ctx context.Context, id domain.ExecutionID, after int64, limit int) ([]domain.Event, error) {
	if l.pages.Add(1)%20 == 0 {
		runtime.GC()
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		l.most.Store(max(l.most.Load(), memory.HeapAlloc))
	}
	l.widest.Store(max(l.widest.Load(), int64(limit)))
	page, err := l.Store.Events(ctx, id, after, int(max(0, min(int64(limit), l.real-after))))
	if err != nil {
		return nil, err
	}
	for seq := max(after, l.real) + 1; seq <= min(after+int64(limit), longLog); seq++ {
		event := domain.NewEvent(id, domain.ToolCallUpdated{ToolCallID: "c", Offset: int(seq-l.real-1) * longLine, Output: strings.Repeat("x", longLine)})
		event.Seq = seq
		page = append(page, event)
	}
	return page, nil
}

// A recovery reads the log page by page and holds none of its pages: not the 120 MB of output, of which a session only needs the
// length.
func TestRecoveringALongLogHoldsLittle(t *testing.T) {
	s := storetest.SQLite(t)
	first := newWorld(t, s, stuck[domain.StatusStreaming])
	id := first.start()
	first.reach(id, domain.StatusStreaming)
	first.killed()
	l := &long{Store: s, real: int64(len(first.events(id)))}
	second := newWorldThrough(t, l, s, stuck[domain.StatusStreaming])
	second.follow(id, func(f events.Frame) bool { return f.Seq > l.real })
	if pages := l.pages.Load(); pages < longLog/1000 {
		t.Fatalf("the log was read in %d pages", pages)
	}
	if most := l.most.Load(); most > 40<<20 {
		t.Errorf("%d MB were held of a log of %d MB", most>>20, longLog*longLine>>20)
	}
	if widest := l.widest.Load(); widest > 1000 {
		t.Errorf("%d events are read at once", widest)
	}
}
