package sessions_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// turnedAway is an agent whose provider turns it away, each time for so long, until it has done so for every wait. Like our own it goes
// on where the log ends.
type turnedAway struct {
	waits []time.Duration

	mu    sync.Mutex
	due   []time.Time // when each request was to be repeated
	asked []time.Time // when each was
}

func (a *turnedAway) prompt(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
	if t.Prompt.Turn > 1 {
		return domain.StopEndTurn, t.Say(fmt.Sprint("m", t.Prompt.Turn), "done")
	}
	attempt := 1
	if retrying := t.Prompt.Retrying; retrying != nil {
		attempt = retrying.Attempt + 1
		if err := a.await(ctx, retrying.At); err != nil {
			return "", err
		}
	}
	for ; attempt <= len(a.waits); attempt++ {
		at := time.Now().Add(a.waits[attempt-1])
		a.mu.Lock()
		a.due = append(a.due, at)
		a.mu.Unlock()
		if err := t.Host.Emit(ctx, domain.ModelRetrying{Attempt: attempt, At: at.UTC(), Code: domain.CodeModelFailed, Message: "busy"}); err != nil {
			return "", err
		}
		if err := a.await(ctx, at); err != nil {
			return "", err
		}
	}
	return domain.StopEndTurn, t.Say("m1", "done")
}

func (a *turnedAway) await(ctx context.Context, at time.Time) error {
	select {
	case <-time.After(time.Until(at)):
		a.mu.Lock()
		defer a.mu.Unlock()
		a.asked = append(a.asked, time.Now())
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// repeated is how often the request was repeated.
func (a *turnedAway) repeated() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.asked)
}

// onTime tells whether each request was repeated once, and not before its time.
func (a *turnedAway) onTime(t *testing.T) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.asked) != len(a.waits) || len(a.due) != len(a.waits) {
		t.Fatalf("%d repetitions, announced %d, want %d", len(a.asked), len(a.due), len(a.waits))
	}
	for i := range a.due {
		if a.asked[i].Before(a.due[i].Truncate(time.Microsecond)) {
			t.Errorf("repeated at %s, announced for %s", a.asked[i], a.due[i])
		}
	}
}

// waitsForRetry waits until the request has failed so many times.
func (w *world) waitsForRetry(id domain.ExecutionID, n int) {
	w.t.Helper()
	w.follow(id, func(f events.Frame) bool {
		if f.Type == domain.ModelRetryingType {
			n--
		}
		return n == 0
	})
}

// TestTheClockStandsStillWhileARetryWaits, be the wait so short that the session keeps its agent, or parked.
func TestTheClockStandsStillWhileARetryWaits(t *testing.T) {
	for name, waits := range map[string][]time.Duration{
		"short": {9 * time.Second, 9 * time.Second, 9 * time.Second, 9 * time.Second, 9 * time.Second, 9 * time.Second, 9 * time.Second, 9 * time.Second},
		"long":  {time.Hour, time.Hour},
		"mixed": {time.Second, 50 * time.Minute, 9 * time.Second, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			agent := &turnedAway{waits: waits}
			onFakeTimeWith(t, func(c *dispatch.Config) {
				c.Agents[domain.SourceInternal] = sessionstest.Open(agent.prompt)
				c.LookEvery = time.Second
			}, func(t *testing.T, w *world) {
				id := w.start(func(r *domain.Request) { r.TimeoutSeconds = 5 })
				if end := w.ended(id); end.Status != domain.StatusCompleted {
					t.Fatalf("%s: %+v", end.Status, end.Output)
				}
				agent.onTime(t)
			})
		})
	}
}

// TestTheClockRunsAgainAfterARetry: only the waiting is free.
func TestTheClockRunsAgainAfterARetry(t *testing.T) {
	for name, wait := range map[string]time.Duration{"short": 5 * time.Second, "long": time.Hour} {
		t.Run(name, func(t *testing.T) {
			agent := &turnedAway{waits: []time.Duration{wait}}
			onFakeTimeWith(t, func(c *dispatch.Config) {
				c.LookEvery = time.Second
				c.Agents[domain.SourceInternal] = sessionstest.Open(func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
					if _, err := agent.prompt(ctx, turn); err != nil {
						return "", err
					}
					<-ctx.Done()
					return "", context.Cause(ctx)
				})
			}, func(t *testing.T, w *world) {
				began := time.Now()
				id := w.start(func(r *domain.Request) { r.TimeoutSeconds = 60 })
				if end := w.ended(id); end.Status != domain.StatusTimedOut {
					t.Fatalf("it is %s", end.Status)
				}
				if took := time.Since(began) - wait; took < 59*time.Second || took > 63*time.Second {
					t.Errorf("it was active for %s, of 60 s", took)
				}
			})
		})
	}
}

// TestALongRetryIsParked: no session is held, and whichever replica looks at its time goes on.
func TestALongRetryIsParked(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		agent := &turnedAway{waits: []time.Duration{1500 * time.Millisecond, 1500 * time.Millisecond}}
		w := newWorld(t, s, agent.prompt, parks)
		id := w.start()
		w.waitsForRetry(id, 1)
		w.parked(id)
		if status := w.execution(id).Status; status != domain.StatusWaiting {
			t.Errorf("parked it is %s", status)
		}
		end := w.ended(id)
		if end.Status != domain.StatusCompleted || end.Recovery != 0 {
			t.Errorf("%s with %d recoveries: %+v", end.Status, end.Recovery, end.Output)
		}
		agent.onTime(t)
	})
}

// TestAKillWhileARetryWaits does not bring the repetition forward, and nobody holds it meanwhile. It counts from the first failure on.
func TestAKillWhileARetryWaits(t *testing.T) {
	for name, change := range map[string]func(*dispatch.Config){"held": func(*dispatch.Config) {}, "parked": parks} {
		t.Run(name, func(t *testing.T) {
			storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
				agent := &turnedAway{waits: []time.Duration{3 * time.Second}}
				first := newWorld(t, s, agent.prompt, change)
				id := first.start()
				first.waitsForRetry(id, 1)
				first.killed()
				second := newWorld(t, s, agent.prompt, parks)
				if end := second.ended(id); end.Status != domain.StatusCompleted {
					t.Errorf("%s: %+v", end.Status, end.Output)
				}
				agent.onTime(t)
			})
		})
	}
}

// TestADrainWhileARetryWaits hands the wait over.
func TestADrainWhileARetryWaits(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		agent := &turnedAway{waits: []time.Duration{2 * time.Second}}
		first := newWorld(t, s, agent.prompt)
		id := first.start()
		first.waitsForRetry(id, 1)
		first.drain()
		second := newWorld(t, s, agent.prompt, parks)
		if end := second.ended(id); end.Status != domain.StatusCompleted {
			t.Errorf("%s: %+v", end.Status, end.Output)
		}
		agent.onTime(t)
	})
}

// TestWhatPeopleWantWhileARetryWaits is met at once, also where the execution is parked.
func TestWhatPeopleWantWhileARetryWaits(t *testing.T) {
	for name, change := range map[string]func(*dispatch.Config){"held": func(*dispatch.Config) {}, "parked": parks} {
		wait := 8 * time.Second // too short to be parked, unless everything is
		if name == "parked" {
			wait = time.Hour
		}
		waiting := func(t *testing.T) (*turnedAway, *world, domain.ExecutionID) {
			agent := &turnedAway{waits: []time.Duration{wait}}
			w := newWorld(t, storetest.SQLite(t), agent.prompt, change)
			id := w.start(keepOpen)
			w.waitsForRetry(id, 1)
			if name == "parked" {
				w.parked(id)
			}
			return agent, w, id
		}
		t.Run("cancel "+name, func(t *testing.T) {
			agent, w, id := waiting(t)
			if end := w.cancel(id); end.Status != domain.StatusCancelled || agent.repeated() > 0 {
				t.Errorf("%s, %d repetitions", end.Status, agent.repeated())
			}
		})
		t.Run("delete "+name, func(t *testing.T) {
			_, w, id := waiting(t)
			if err := w.manager.Delete(context.Background(), tenant, id, alice); err != nil {
				t.Error(err)
			}
		})
		t.Run("interrupting prompt "+name, func(t *testing.T) {
			_, w, id := waiting(t)
			w.say(id, "another", domain.WhenBusyInterrupt)
			w.becomes(id, domain.StatusIdle, 1)
			ended := payloads[domain.TurnEnded](t, w.events(id))
			if len(ended) != 2 || ended[0].StopReason != domain.StopCancelled || ended[1].StopReason != domain.StopEndTurn {
				t.Errorf("%+v", ended)
			}
		})
		t.Run("prompt "+name, func(t *testing.T) {
			agent, w, id := waiting(t)
			w.prompted(id, "later")
			w.until(id, domain.PromptQueuedType)
			if name == "parked" {
				w.parked(id) // again: it only waits in the queue
			}
			if n := agent.repeated(); n > 0 {
				t.Errorf("a prompt brought %d repetitions forward", n)
			}
			w.cancel(id)
		})
	}
}

// TestAWokenRetryIsNotEarly: a write of somebody else wakes the execution, and does not repeat its request.
func TestAWokenRetryIsNotEarly(t *testing.T) {
	agent := &turnedAway{waits: []time.Duration{time.Hour}}
	onFakeTimeWith(t, func(c *dispatch.Config) {
		c.Agents[domain.SourceInternal] = sessionstest.Open(agent.prompt)
		c.LookEvery = time.Second
	}, func(t *testing.T, w *world) {
		id := w.start(keepOpen)
		for range 3 {
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			w.prompted(id, "more")
		}
		w.becomes(id, domain.StatusIdle, 1)
		agent.onTime(t)
		if n := len(payloads[domain.TurnStarted](t, w.events(id))); n != 4 {
			t.Errorf("%d turns", n)
		}
		w.close(id)
	})
}
