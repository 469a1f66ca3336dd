package sessions_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/events/eventstest"
	"signoff/internal/sessions"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// hooked is a store that a test can disturb.
type hooked struct {
	*store.Store
	afterRequests, afterRules func()
	heartbeat                 func() error
	events                    func(id domain.ExecutionID) error
	approvalsOf               func() error
	claims                    atomic.Int32
	shared                    bool
	commit                    func(ctx context.Context, changes []store.Change) error
}

func (h *hooked) ControlRequests(ctx context.Context, id domain.ExecutionID) (store.ControlRequests, error) {
	requests, err := h.Store.ControlRequests(ctx, id)
	if h.afterRequests != nil {
		h.afterRequests()
	}
	return requests, err
}
func (h *hooked) Rules(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID) ([]domain.PermissionRule, error) {
	r, err := h.Store.Rules(ctx, tenant, id)
	if h.afterRules != nil {
		h.afterRules()
	}
	return r, err
}
func (h *hooked) Heartbeat(ctx context.Context, r store.ReplicaID, ttl time.Duration) error {
	if h.heartbeat != nil {
		if err := h.heartbeat(); err != nil {
			return err
		}
	}
	return h.Store.Heartbeat(ctx, r, ttl)
}
func (h *hooked) Events(ctx context.Context, id domain.ExecutionID, after int64, limit int) ([]domain.Event, error) {
	if h.events != nil {
		if err := h.events(id); err != nil {
			return nil, err
		}
	}
	return h.Store.Events(ctx, id, after, limit)
}
func (h *hooked) ApprovalsOf(ctx context.Context, id domain.ExecutionID) ([]domain.Approval, error) {
	if h.approvalsOf != nil {
		if err := h.approvalsOf(); err != nil {
			return nil, err
		}
	}
	return h.Store.ApprovalsOf(ctx, id)
}
func (h *hooked) Acquire(ctx context.Context, r store.ReplicaID, n int, but ...domain.ExecutionID) ([]store.Acquired, error) {
	h.claims.Add(1)
	return h.Store.Acquire(ctx, r, n, but...)
}

// Shared makes the lease one that another replica could take.
func (h *hooked) Shared() bool { return h.shared }

func (h *hooked) Commit(ctx context.Context, changes []store.Change) ([]store.Result, error) {
	if h.commit != nil {
		if err := h.commit(ctx, changes); err != nil {
			return nil, err
		}
	}
	return h.Store.Commit(ctx, changes)
}

func hookedWorld(t testing.TB, h *hooked, ttl time.Duration, script sessionstest.Script) *world {
	t.Helper()
	return newWorldThrough(t, h, h.Store, script, func(c *dispatch.Config) { c.LeaseTTL = ttl })
}

func readCall(id string) domain.ToolCall {
	return domain.ToolCall{ID: id, Tool: "read", Version: "1", Class: domain.ClassRead, Arguments: json.RawMessage(`{"path":"x"}`), Summary: "Read"}
}

// A request to cancel that comes between the reading of the requests and the reading of the count of writes is not lost.
func TestCancelIsNotLost(t *testing.T) {
	h := &hooked{Store: storetest.SQLite(t)}
	w := hookedWorld(t, h, 10*time.Second, func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		var group sync.WaitGroup
		for _, id := range []string{"c1", "c2"} {
			_ = t.Want("m1", sessionstest.Bash(id, id))
		}
		for _, id := range []string{"c1", "c2"} {
			group.Go(func() { _, _ = t.Use(sessionstest.Bash(id, id), func(json.RawMessage) string { return "" }) })
		}
		group.Wait()
		return domain.StopEndTurn, ctx.Err()
	})
	id := w.start()
	all := w.approvals(id, 2)
	once := sync.OnceFunc(func() {
		_, _ = w.log.Commit(context.Background(), store.Change{Execution: id, Cancel: &store.CancelRequest{By: alice}})
	})
	h.afterRequests = once
	w.decide(all[0], deny("no"))
	if got := w.ended(id).Status; got != domain.StatusCancelled { // lost, it would wait for the other answer for ever
		t.Errorf("after the committed request the execution is %s", got)
	}
}

// Four clean restarts while a person is waited for.
func TestPendingApprovalSurvivesFourDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storetest.SQLite(t)
		var starts atomic.Int32
		w := newWorld(t, s, resuming(&starts))
		id := w.start()
		w.approvals(id, 1)
		for i := range 4 {
			w.drain()
			w = newWorld(t, s, resuming(&starts))
			deadline := time.Now().Add(5 * time.Second)
			for {
				e := w.execution(id)
				if e.Status.Terminal() {
					t.Fatalf("after restart %d it is %s: %+v", i+1, e.Status, e.Output.Error)
				}
				if e.Status == domain.StatusPendingToolApproval && w.manager.Live() == 1 && e.LastSeq > int64(5+4*(i+1)) {
					break
				}
				if time.Now().After(deadline) {
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
		}
	})
}

// Cancelled while nobody drives: the approval must not stay open, and deciding it must not panic.
func TestCancelWhileDownWithdrawsApproval(t *testing.T) {
	s := storetest.SQLite(t)
	var starts atomic.Int32
	w := newWorld(t, s, resuming(&starts))
	id := w.start(func(r *domain.Request) { r.ApprovalTimeoutSeconds = 0 })
	a := w.approvals(id, 1)[0]
	w.drain()
	if _, err := s.Commit(context.Background(), []store.Change{{Execution: id, Cancel: &store.CancelRequest{By: alice}}}); err != nil {
		t.Fatal(err)
	}
	w = newWorld(t, s, resuming(&starts))
	w.ended(id)
	rows, _ := s.ApprovalsOf(context.Background(), id)
	if rows[0].Status != domain.ApprovalCancelled {
		t.Errorf("the execution is %s, its approval %s", w.execution(id).Status, rows[0].Status)
	}
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("Decide panicked: %v", r)
		}
	}()
	_, err := w.service.Decide(context.Background(), tenant, a.ID, approvals.Answer{Verb: domain.Approve, ArgumentsHash: a.ArgumentsHash, By: alice})
	t.Log("decide:", err)
}

// Invariant 5 within one replica.
func TestTwoToolsOfOneExecutionNeverOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hooked{Store: storetest.SQLite(t), shared: true}
		var down atomic.Bool
		h.heartbeat = func() error {
			if down.Load() {
				return errors.New("away")
			}
			return nil
		}
		var running, most atomic.Int32
		tool := func() {
			if n := running.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(2 * time.Second) // takes a while to die
			running.Add(-1)
		}
		w := hookedWorld(t, h, time.Second, func(_ context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			id := fmt.Sprint("c", len(t.Prompt.History))
			_ = t.Want("m"+id, readCall(id))
			_, err := t.Use(readCall(id), func(json.RawMessage) string { tool(); return "" })
			return domain.StopEndTurn, err
		})
		id := w.start()
		w.until(id, domain.ToolCallStartedType)
		down.Store(true)
		time.Sleep(1200 * time.Millisecond)
		down.Store(false)
		time.Sleep(3 * time.Second)
		if most.Load() > 1 {
			t.Errorf("%d tools of one execution ran at once", most.Load())
		}
	})
}

// A partition: neither commits nor heartbeats come through. The tool must be stopped when the lease is over.
func TestLeaseEndStopsToolThoughCommitHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hooked{Store: storetest.SQLite(t), shared: true}
		var away atomic.Bool
		back := make(chan struct{})
		h.heartbeat = func() error {
			if away.Load() {
				return errors.New("away")
			}
			return nil
		}
		h.commit = func(ctx context.Context, _ []store.Change) error {
			if away.Load() {
				select {
				case <-ctx.Done():
				case <-back:
				}
				return domain.Errorf(domain.CodeStorage, "away")
			}
			return nil
		}
		stopped := make(chan time.Time, 1)
		w := hookedWorld(t, h, time.Second, func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			_ = t.Want("m1", readCall("c1"))
			_, err := t.Use(readCall("c1"), func(json.RawMessage) string {
				away.Store(true)
				_ = t.Host.Emit(ctx, domain.ToolCallUpdated{ToolCallID: "c1", Output: "x"})
				<-ctx.Done()
				stopped <- time.Now()
				return ""
			})
			return domain.StopEndTurn, err
		})
		w.start()
		select {
		case <-stopped:
		case <-time.After(15 * time.Second): // half of what the commit itself takes to be given up, which ends the tool, too
			t.Error("lease of 1 s: 15 seconds after the partition the tool still runs")
		}
		away.Store(false)
		close(back)
		time.Sleep(300 * time.Millisecond)
	})
}

// Taking up many executions must not starve the lease: it is renewed while none of their logs can be read to its end.
func TestRecoveriesDoNotStarveTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storetest.SQLite(t)
		first := newWorld(t, s, stuck[domain.StatusStreaming])
		for range 10 {
			first.start()
		}
		time.Sleep(300 * time.Millisecond)
		first.killed()
		h := &hooked{Store: s, shared: true}
		var reads, beats atomic.Int32
		renewed := make(chan struct{})
		h.heartbeat = func() error {
			if reads.Load() > 0 && beats.Add(1) == 3 {
				close(renewed)
			}
			return nil
		}
		h.events = func(domain.ExecutionID) error {
			reads.Add(1)
			<-renewed
			return nil
		}
		hookedWorld(t, h, time.Second, stuck[domain.StatusStreaming])
		select {
		case <-renewed:
		case <-time.After(time.Minute):
			close(renewed)
			t.Fatalf("%d heartbeats while %d logs are read", beats.Load(), reads.Load())
		}
	})
}

// An execution whose log cannot be read must not spin.
func TestUnreadableLogDoesNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storetest.SQLite(t)
		first := newWorld(t, s, stuck[domain.StatusStreaming])
		first.start()
		time.Sleep(200 * time.Millisecond)
		first.killed()
		h := &hooked{Store: s}
		h.events = func(domain.ExecutionID) error { return errors.New("cannot read") }
		hookedWorld(t, h, 3*time.Second, stuck[domain.StatusStreaming])
		time.Sleep(2 * time.Second)
		if n := h.claims.Load(); n > 10 {
			t.Errorf("%d claims in two seconds", n)
		}
	})
}

func TestOneFailedReadDoesNotCostTheRunningCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hooked{Store: storetest.SQLite(t)}
		go1 := make(chan struct{})
		w := hookedWorld(t, h, 3*time.Second, func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			if len(t.Prompt.History) > 1 {
				return domain.StopEndTurn, nil
			}
			_ = t.Want("m1", readCall("c1"))
			_ = t.Want("m1", sessionstest.Bash("c2", "ls"))
			var group sync.WaitGroup
			group.Go(func() {
				_, _ = t.Use(readCall("c1"), func(json.RawMessage) string {
					select {
					case <-go1:
					case <-ctx.Done():
					}
					return ""
				})
			})
			group.Go(func() { _, _ = t.Use(sessionstest.Bash("c2", "ls"), func(json.RawMessage) string { return "" }) })
			group.Wait()
			return domain.StopEndTurn, nil
		})
		id := w.start()
		a := w.approvals(id, 1)[0]
		var failed atomic.Bool
		h.approvalsOf = func() error {
			if failed.CompareAndSwap(false, true) {
				return domain.Errorf(domain.CodeStorage, "hiccup")
			}
			return nil
		}
		w.decide(a)
		time.Sleep(time.Second)
		close(go1)
		time.Sleep(time.Second)
		for _, c := range payloads[domain.ToolCallCompleted](t, w.events(id)) {
			if c.ToolCallID == "c1" && c.Outcome != domain.OutcomeSucceeded {
				t.Errorf("c1 is %s after one failed read", c.Outcome)
			}
		}
	})
}

// TestAFailedReadLosesNoJudgement: a call that took a while to judge starts, also where the database is away for a moment when the decisions
// about the other calls are read.
func TestAFailedReadLosesNoJudgement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hooked{Store: storetest.SQLite(t)}
		var fails atomic.Bool
		h.approvalsOf = func() error {
			if fails.CompareAndSwap(true, false) {
				return errAway
			}
			return nil
		}
		judged := make(chan struct{})
		slow := func(c *dispatch.Config) {
			c.Judge = func(p approvals.Policy, ctx context.Context, call domain.ToolCall, hash string, now time.Time) approvals.Judgement {
				if call.ID == "c2" {
					<-judged
				}
				return p.Judge(ctx, call, hash, now)
			}
		}
		w := newWorldThrough(t, h, h.Store, func(_ context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			var group sync.WaitGroup
			for _, call := range []domain.ToolCall{sessionstest.Bash("c1", "ls"), readCall("c2")} {
				if err := t.Want("m1", call); err != nil {
					return "", err
				}
				group.Go(func() { _, _ = t.Use(call, func(json.RawMessage) string { return "out" }) })
			}
			group.Wait()
			return domain.StopEndTurn, nil
		}, slow, asTheLogTells(t, h.Store))
		id := w.start()
		asked := w.approvals(id, 1)[0]
		time.Sleep(time.Second) // longer than a session waits for a judgement
		fails.Store(true)
		close(judged)
		w.until(id, domain.ToolCallStartedType)
		w.decide(asked)
		if end := w.ended(id); end.Status != domain.StatusCompleted || fails.Load() {
			t.Errorf("it is %s, and the database was asked: %t", end.Status, !fails.Load())
		}
	})
}

func TestRuleIsNotMissed(t *testing.T) {
	h := &hooked{Store: storetest.SQLite(t)}
	w := hookedWorld(t, h, 10*time.Second, func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		var group sync.WaitGroup
		for _, id := range []string{"c1", "c2"} {
			_ = t.Want("m1", sessionstest.Bash(id, id))
		}
		for _, id := range []string{"c1", "c2"} {
			group.Go(func() { _, _ = t.Use(sessionstest.Bash(id, id), func(json.RawMessage) string { return "" }) })
		}
		group.Wait()
		again := sessionstest.Bash("c3", "c2")
		_ = t.Want("m2", again)
		_, err := t.Use(again, func(json.RawMessage) string { return "" })
		return domain.StopEndTurn, err
	})
	id := w.start()
	all := w.approvals(id, 2)
	other := all[1]
	first := all[0]
	if first.Call.ID != "c1" {
		first, other = other, first
	}
	h.afterRules = sync.OnceFunc(func() {
		w.decide(other, func(a *approvals.Answer) { a.Remember = domain.RememberExecution })
	})
	w.decide(first)
	if e := w.ended(id); e.Status != domain.StatusCompleted { // it would not end if the remembered call were asked for again
		t.Errorf("%s: %+v", e.Status, e.Output)
	}
}

func TestOutcomeWhileAskedWithdrawsTheApproval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			call := sessionstest.Bash("c1", "ls")
			_ = t.Want("m1", call)
			sub, stop := context.WithCancel(ctx)
			go func() { time.Sleep(300 * time.Millisecond); stop() }()
			_, _ = t.Host.Authorize(sub, call)
			_ = t.Host.Emit(ctx, domain.ToolCallCompleted{ToolCallID: "c1", Outcome: domain.OutcomeFailed, Output: "gave up"})
			return domain.StopEndTurn, t.Say("m2", "x")
		})
		id := w.start()
		w.ended(id) // eventstest complains
		rows, _ := w.store.ApprovalsOf(context.Background(), id)
		if rows[0].Status == domain.ApprovalPending {
			t.Error("the approval of an ended execution is pending")
		}
	})
}

func TestUsedCallIDsAndClosedMessages(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		_ = t.Say("m1", "hello")
		_ = t.Host.Emit(ctx, domain.MessageCompleted{MessageID: "m1"})
		for range 2 {
			_ = t.Want("m1", readCall("c1"))
			_, _ = t.Use(readCall("c1"), func(json.RawMessage) string { return "" })
		}
		_ = t.Host.Emit(ctx, domain.ToolCallUpdated{ToolCallID: "c1", Output: "late"})
		return domain.StopEndTurn, nil
	})
	w.ended(w.start())
}

func TestStartDuringDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hooked{Store: storetest.SQLite(t)}
		admitted := make(chan struct{})
		h.commit = func(_ context.Context, changes []store.Change) error {
			if changes[0].Create != nil {
				close(admitted)
				time.Sleep(500 * time.Millisecond)
			}
			return nil
		}
		w := hookedWorld(t, h, 3*time.Second, stuck[domain.StatusStreaming])
		done := make(chan error, 1)
		go func() {
			_, _, err := w.manager.Start(context.Background(), tenant, alice, request(), nil)
			done <- err
		}()
		<-admitted
		if err := w.manager.Drain(context.Background()); err != nil {
			t.Fatal(err)
		}
		if live := w.manager.Live(); live != 0 {
			t.Errorf("%d executions are driven after Drain has returned", live)
		}
		if err := <-done; err != nil {
			t.Error("what was admitted before the drain was not created:", err)
		}
		w.stop()
	})
}

func TestCancelAtExpiryIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			_ = t.Want("m1", sessionstest.Bash("c1", "ls"))
			_, _ = t.Use(sessionstest.Bash("c1", "ls"), func(json.RawMessage) string { return "" })
			<-ctx.Done()
			return "", ctx.Err()
		})
		const n = 60
		ids := make([]domain.ExecutionID, n)
		for i := range ids {
			ids[i] = w.start(func(r *domain.Request) { r.ApprovalTimeoutSeconds = 1 })
		}
		var group sync.WaitGroup
		for _, id := range ids {
			group.Go(func() {
				rows, _ := w.store.ApprovalsOf(context.Background(), id)
				for len(rows) == 0 {
					time.Sleep(5 * time.Millisecond)
					rows, _ = w.store.ApprovalsOf(context.Background(), id)
				}
				time.Sleep(time.Until(*rows[0].Expires))
				_, _ = w.log.Commit(context.Background(), store.Change{Execution: id, Cancel: &store.CancelRequest{By: alice}})
			})
		}
		group.Wait()
		for i, id := range ids {
			if end := w.ended(id); end.Status != domain.StatusCancelled { // its agent goes on until it is told
				t.Errorf("the request to cancel execution %d was lost: %s", i, end.Status)
			}
		}
	})
}

func TestEmitOfForeignFacts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			err := t.Host.Emit(ctx, domain.ExecutionEnded{Status: domain.StatusCompleted})
			_ = t.Say("m1", "after the end")
			return domain.StopEndTurn, err
		})
		id := w.start()
		time.Sleep(time.Second)
		log, _ := w.store.Events(context.Background(), id, 0, 1000)
		for _, b := range eventstest.Broken(log) {
			t.Error(b)
		}
	})
}

func TestHugeDeltaIsSplit(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), func(_ context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		return domain.StopEndTurn, t.Say("m1", strings.Repeat("x", 1<<20))
	})
	id := w.start()
	w.ended(id)
	for _, d := range payloads[domain.MessageDelta](t, w.events(id)) {
		if len(d.Text) > 64<<10 {
			t.Errorf("one event of %d bytes", len(d.Text))
		}
	}
}

// The agent comes to its end in the moment of the drain.
func TestEndDuringDrainKeepsItsStopReason(t *testing.T) {
	s := storetest.SQLite(t)
	w := newWorld(t, s, func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		_ = t.Host.Emit(ctx, domain.MessageDelta{MessageID: "m1", Text: "cut"})
		<-ctx.Done()
		_ = t.Host.Emit(context.Background(), domain.MessageCompleted{MessageID: "m1"})
		return domain.StopMaxTokens, nil
	})
	id := w.start()
	w.reach(id, domain.StatusStreaming)
	w.drain()
	if e := w.execution(id); e.Status != domain.StatusFailed {
		t.Errorf("the turn has ended with maxTokens, the execution is %s; the next driver calls it completed", e.Status)
	}
}

func TestPanicInOpenIsAFailure(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), nil, func(c *dispatch.Config) {
		c.Agents = map[domain.SourceType]sessions.OpenAgent{domain.SourceInternal: func(context.Context, domain.Opening) (domain.Agent, error) { panic("open") }}
	})
	w.ended(w.start())
}

// A transient failure of reads while claims work.
func TestShortReadFailureDoesNotUseUpRecoveries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storetest.SQLite(t)
		first := newWorld(t, s, stuck[domain.StatusStreaming])
		id := first.start()
		time.Sleep(200 * time.Millisecond)
		first.killed()
		h := &hooked{Store: s}
		begun := time.Now()
		h.events = func(domain.ExecutionID) error {
			if time.Since(begun) < 300*time.Millisecond {
				return domain.Errorf(domain.CodeStorage, "hiccup")
			}
			return nil
		}
		w := hookedWorld(t, h, 3*time.Second, stuck[domain.StatusStreaming])
		time.Sleep(1500 * time.Millisecond)
		if e := w.execution(id); e.Status.Terminal() {
			t.Errorf("%s: %+v after %d recoveries", e.Status, e.Output.Error, e.Recovery)
		}
	})
}
