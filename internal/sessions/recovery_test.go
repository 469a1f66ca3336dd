package sessions_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/sessions"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// halfway says half a sentence in each attempt, and never comes to its end before it is well.
func halfway(well *atomic.Bool) sessionstest.Script {
	var attempts atomic.Int32
	return func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		id := fmt.Sprint("m", attempts.Add(1)) // a message id is used once
		if well.Load() {
			return domain.StopEndTurn, t.Say(id, "a whole sentence")
		}
		_ = t.Host.Emit(ctx, domain.MessageDelta{MessageID: id, Text: "half a sen"})
		<-ctx.Done()
		return "", context.Cause(ctx)
	}
}

// TestTheEleventhRecoveryInterrupts: ten recoveries run; after that a person has to look, and resumes the execution.
func TestTheEleventhRecoveryInterrupts(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		var well atomic.Bool
		script := halfway(&well)
		w := newWorld(t, s, script)
		id := w.start()
		for recovery := range 11 {
			w.becomes(id, domain.StatusStreaming, recovery+1)
			w.killed()
			w = newWorld(t, s, script)
		}
		w.becomes(id, domain.StatusInterrupted, 1)
		w.killed()
		w = newWorld(t, s, script) // it waits for somebody, and is not recovered in vain
		if e := w.execution(id); e.Cause != domain.CauseRecovery {
			t.Errorf("%s with the cause %q", e.Status, e.Cause)
		}
		changes := payloads[domain.StateChanged](t, w.events(id))
		if last := changes[len(changes)-1]; last.Code != domain.CodeRecoveryLimit || last.Cause != domain.CauseRecovery || last.Reason == "" {
			t.Errorf("interrupted as %+v", last)
		}
		well.Store(true)
		if _, err := w.manager.Resume(context.Background(), tenant, id, domain.ResumeRetry, alice); err != nil {
			t.Fatal(err)
		}
		if end := w.ended(id); end.Status != domain.StatusCompleted || end.Output.Text != "a whole sentence" || end.Recovery != 0 {
			t.Errorf("%s: %+v after %d recoveries", end.Status, end.Output, end.Recovery)
		}
	})
}

// TestTheEleventhRecoveryOfAnExternalAgent has no request that could be repeated: the modes are those of a process that is gone.
func TestTheEleventhRecoveryOfAnExternalAgent(t *testing.T) {
	s := storetest.SQLite(t)
	var well atomic.Bool
	script := halfway(&well)
	w, _ := abroad(t, s, script)
	id := w.start(outside)
	for recovery := range 11 {
		w.becomes(id, domain.StatusStreaming, recovery+1)
		w.killed()
		w, _ = abroad(t, s, script)
	}
	w.becomes(id, domain.StatusInterrupted, 1)
	if e := w.execution(id); e.Cause != domain.CauseProcessGone {
		t.Errorf("%s with the cause %q", e.Status, e.Cause)
	}
	well.Store(true)
	if _, err := w.manager.Resume(context.Background(), tenant, id, domain.ResumeLoad, alice); err != nil {
		t.Fatal(err)
	}
	if end := w.ended(id); end.Status != domain.StatusCompleted {
		t.Errorf("%s: %+v", end.Status, end.Output)
	}
}

// TestDrainsAreNoRecoveries: an execution that was released in good order continues at once, however often.
func TestDrainsAreNoRecoveries(t *testing.T) {
	s := storetest.SQLite(t)
	var well atomic.Bool
	script := halfway(&well)
	w := newWorld(t, s, script)
	id := w.start()
	for n := range 12 {
		w.becomes(id, domain.StatusStreaming, n+1)
		w.drain()
		w = newWorld(t, s, script)
	}
	w.becomes(id, domain.StatusStreaming, 13)
	if e := w.execution(id); e.Recovery != 0 {
		t.Errorf("%d recoveries", e.Recovery)
	}
}

// TestIdleIsNotRecoveredInVain: an execution in which nothing is to be done can get no further.
func TestIdleIsNotRecoveredInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storetest.SQLite(t)
		w, _ := abroad(t, s, echo)
		id := w.start(outside, keepOpen)
		w.becomes(id, domain.StatusIdle, 1)
		for n := range 12 {
			w.killed()
			w, _ = abroad(t, s, echo)
			w.acquired(id, n+1)
			for deadline := time.Now().Add(w.patience); w.execution(id).Recovery > 0; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("%d recoveries", w.execution(id).Recovery)
				}
			}
		}
		w.say(id, "two", "")
		w.becomes(id, domain.StatusIdle, 2)
		w.close(id)
	})
}

// resting is a world in a bubble whose clock jumps, with the delays of a real server. Worlds of one store are one server that is started again.
func resting(t *testing.T, s *store.Store, script sessionstest.Script) *world {
	t.Helper()
	w := newWorld(t, s, script, func(c *dispatch.Config) { c.LeaseTTL, c.LookEvery = ages, 100*time.Millisecond })
	w.patience = time.Hour // longer than all delays, and soon over where something never comes
	return w
}

func delayed(t *testing.T) *store.Store {
	t.Helper()
	return storetest.Open(t, store.Config{Path: filepath.Join(t.TempDir(), "signoff.db"), RecoveryDelay: sessions.RecoveryDelay})
}

// TestDelaysOfRecoveries: each doubles, from one second to five minutes. Meanwhile the status stays, nobody drives the execution, and the turn's clock stands
// still; a restart does not shorten it.
func TestDelaysOfRecoveries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := delayed(t)
		var well atomic.Bool
		script := halfway(&well)
		w := resting(t, s, script)
		id := w.start(func(r *domain.Request) { r.TimeoutSeconds = 60 })
		for recovery := 1; recovery <= 10; recovery++ {
			w.becomes(id, domain.StatusStreaming, recovery)
			time.Sleep(time.Second)
			w.killed()
			died := time.Now()
			w = resting(t, s, script)
			time.Sleep(300 * time.Millisecond)
			w.killed() // in the middle of the delay
			w = resting(t, s, script)
			if e := w.execution(id); e.Status != domain.StatusStreaming || e.Recovery != recovery || w.manager.Live() != 0 {
				t.Errorf("meanwhile it is %s after %d recoveries, and %d are driven", e.Status, e.Recovery, w.manager.Live())
			}
			w.becomes(id, domain.StatusStreaming, recovery+1)
			least := min(time.Second<<(recovery-1), 200*time.Second)
			if took := time.Since(died); took < least || took > least*3/2+time.Second {
				t.Errorf("recovery %d came after %s, want %s to %s", recovery, took, least, least*3/2)
			}
		}
		if _, err := w.manager.Cancel(context.Background(), tenant, id, "", alice); err != nil { // not timed out, after ten minutes
			t.Error(err)
		}
	})
}

// TestWhoWritesEndsTheDelay: nobody waits for an execution that rests.
func TestWhoWritesEndsTheDelay(t *testing.T) {
	for name, write := range map[string]func(w *world, id domain.ExecutionID) error{
		"cancel": func(w *world, id domain.ExecutionID) error {
			_, err := w.manager.Cancel(context.Background(), tenant, id, "", alice)
			if end := w.ended(id); end.Status != domain.StatusCancelled {
				t.Errorf("it is %s", end.Status)
			}
			return err
		},
		"delete": func(w *world, id domain.ExecutionID) error {
			return w.manager.Delete(context.Background(), tenant, id, alice)
		},
		"prompt": func(w *world, id domain.ExecutionID) error {
			_, err := w.prompt(id, "two", domain.WhenBusyEnqueue)
			w.becomes(id, domain.StatusStreaming, 6)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := delayed(t)
				var well atomic.Bool
				script := halfway(&well)
				w := resting(t, s, script)
				id := w.start()
				for recovery := range 5 {
					w.becomes(id, domain.StatusStreaming, recovery+1)
					w.killed()
					w = resting(t, s, script)
				}
				time.Sleep(time.Second) // of sixteen
				began := time.Now()
				if err := write(w, id); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// TestAPoisonousExecutionIsLeftAlone: it takes its server down a second after each beginning, together with all that other executions have said
// so far. They come to their ends, and it is interrupted.
func TestAPoisonousExecutionIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := delayed(t)
		crash := make(chan struct{}, 1)
		var attempts atomic.Int32
		script := func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			id := fmt.Sprint("m", attempts.Add(1))
			if !strings.HasPrefix(t.Prompt.History[0].Text, "poison") {
				for range 50 {
					select {
					case <-time.After(100 * time.Millisecond):
						_ = t.Host.Emit(ctx, domain.MessageDelta{MessageID: id, Text: "word "})
					case <-ctx.Done():
						return "", context.Cause(ctx)
					}
				}
				return domain.StopEndTurn, t.Say(id)
			}
			select {
			case <-time.After(time.Second):
				crash <- struct{}{}
			case <-ctx.Done():
			}
			<-ctx.Done()
			return "", context.Cause(ctx)
		}
		w := resting(t, s, script)
		poison := w.start(func(r *domain.Request) { r.Prompt = "poison" })
		var innocents []domain.ExecutionID
		for range 10 {
			innocents = append(innocents, w.start(func(r *domain.Request) { r.TimeoutSeconds = 120 }))
		}
		crashes := 0
		for w.execution(poison).Status != domain.StatusInterrupted {
			select {
			case <-crash:
				crashes++
				w.killed()
				w = resting(t, s, script)
			case <-time.After(time.Second):
			}
		}
		if crashes != 11 {
			t.Errorf("it has taken %d servers down, want the first and ten that recovered it", crashes)
		}
		for _, id := range innocents {
			if end := w.ended(id); end.Status != domain.StatusCompleted {
				t.Errorf("an innocent one is %s: %+v", end.Status, end.Output)
			}
		}
	})
}
