package sessions_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// An execution may start its agent without a prompt, and wait for the first one.

func unprompted(r *domain.Request) {
	keepOpen(r)
	r.Prompt, r.Requires = "", domain.RequiresFirstPrompt
}

// sources are the two kinds of agents.
var sources = map[string]func(*domain.Request){"internal": func(*domain.Request) {}, "external": outside}

// unpromptedWorld has agents of both kinds that echo. Each opening of an external one is put into the channel.
func unpromptedWorld(t testing.TB, s *store.Store, forgets bool, change ...func(*dispatch.Config)) (*world, chan domain.Opening) {
	t.Helper()
	external := &sessionstest.External{Script: echo, Opened: make(chan domain.Opening, 20), Forgets: forgets}
	return newWorld(t, s, echo, append([]func(*dispatch.Config){externally(external)}, change...)...), external.Opened
}

func TestAnAgentWaitsForItsFirstPrompt(t *testing.T) {
	for name, source := range sources {
		t.Run(name, func(t *testing.T) {
			storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
				w, _ := unpromptedWorld(t, s, false)
				id := w.start(source, unprompted)
				w.becomes(id, domain.StatusIdle, 1)
				opened := []domain.EventType{domain.ExecutionCreatedType, domain.StateChangedType, domain.AgentStartedType, domain.StateChangedType}
				if log := w.events(id); !slices.Equal(types(log), opened) {
					t.Errorf("before the first prompt the log is %v", types(log))
				}
				if now := w.execution(id); now.Status != domain.StatusIdle || now.Turn != 0 {
					t.Errorf("%s in turn %d", now.Status, now.Turn)
				}
				prompt := w.say(id, "hello", domain.WhenBusyEnqueue)
				w.becomes(id, domain.StatusIdle, 2)
				w.say(id, "again", domain.WhenBusyEnqueue)
				w.becomes(id, domain.StatusIdle, 3)
				end := w.close(id)
				turns := payloads[domain.TurnStarted](t, w.events(id))
				if len(turns) != 2 || turns[0].Turn != 1 || turns[0].Text != "hello" || turns[0].PromptID != prompt.ID || turns[1].Text != "again" {
					t.Errorf("turns: %+v", turns)
				}
				if n := len(payloads[domain.AgentStarted](t, w.events(id))); n != 1 || end.Status != domain.StatusCompleted || end.Turn != 2 {
					t.Errorf("the agent was started %d times; %s in turn %d", n, end.Status, end.Turn)
				}
			})
		})
	}
}

// A kill before the first prompt loses nothing that a session would have to load: the prompt opens a new one.
func TestAnUnpromptedAgentIsOpenedAgainAfterAKill(t *testing.T) {
	for name, source := range sources {
		t.Run(name, func(t *testing.T) {
			s := storetest.SQLite(t)
			first, _ := unpromptedWorld(t, s, false)
			id := first.start(source, unprompted)
			first.becomes(id, domain.StatusIdle, 1)
			first.killed()
			second, opened := unpromptedWorld(t, s, false)
			second.say(id, "hello", domain.WhenBusyEnqueue)
			second.becomes(id, domain.StatusIdle, 2)
			end := second.close(id)
			if end.Status != domain.StatusCompleted || end.Output.Text != "hello after u:hello" || end.Turn != 1 {
				t.Errorf("%s: %+v in turn %d", end.Status, end.Output, end.Turn)
			}
			if name == "external" {
				if again := <-opened; again.AgentSession != "" {
					t.Errorf("it loads the session %q, which was never prompted", again.AgentSession)
				}
			}
		})
	}
}

// A prompt that comes while the agent is opened is the first turn, and the execution does not rest before.
func TestAPromptMayOvertakeTheOpening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		external := &sessionstest.External{Script: echo, Opened: make(chan domain.Opening, 1)}
		w := newWorld(t, storetest.SQLite(t), nil, func(c *dispatch.Config) {
			c.Agents[domain.SourceACP] = func(ctx context.Context, opening domain.Opening) (domain.Agent, error) {
				time.Sleep(time.Second)
				return external.Open(ctx, opening)
			}
		})
		id := w.start(outside, unprompted)
		w.say(id, "hello", domain.WhenBusyEnqueue)
		w.becomes(id, domain.StatusIdle, 1)
		if turns := payloads[domain.TurnEnded](t, w.events(id)); len(turns) != 1 {
			t.Errorf("it rested after %d turns", len(turns))
		}
		w.close(id)
	})
}

func TestAnUnpromptedExecutionExpires(t *testing.T) {
	external := &sessionstest.External{Script: echo, Opened: make(chan domain.Opening, 1)}
	onFakeTimeWith(t, externally(external), func(t *testing.T, w *world) {
		id := w.start(outside, unprompted, func(r *domain.Request) { r.IdleTimeoutSeconds = 60 })
		begun := time.Now()
		end := w.ended(id)
		if took := time.Since(begun); end.Status != domain.StatusCompleted || end.Output.FinishReason != domain.FinishExpired || took < time.Minute {
			t.Errorf("%s, %s after %s", end.Status, end.Output.FinishReason, took)
		}
	})
}

// An unprompted execution is parked also where its agent cannot load sessions, since there is nothing to load.
func TestAnUnpromptedExecutionIsParked(t *testing.T) {
	for name, source := range sources {
		t.Run(name, func(t *testing.T) {
			w, _ := unpromptedWorld(t, storetest.SQLite(t), true, parks)
			id := w.start(source, unprompted)
			w.becomes(id, domain.StatusIdle, 1)
			w.parked(id)
			w.prompted(id, "hello")
			w.becomes(id, domain.StatusIdle, 2)
			if end := w.close(id); end.Output.Text == "" || end.Recovery != 0 {
				t.Errorf("%+v after %d recoveries", end.Output, end.Recovery)
			}
		})
	}
}

// An agent that exits while it waits for its first prompt is started again by the prompt.
func TestAnUnpromptedAgentThatExitsIsOpenedAgain(t *testing.T) {
	w, opened := unpromptedWorld(t, storetest.SQLite(t), true)
	id := w.start(outside, unprompted)
	host := (<-opened).Host
	w.becomes(id, domain.StatusIdle, 1)
	if err := host.Emit(context.Background(), domain.AgentExited{Message: "gone"}); err != nil {
		t.Fatal(err)
	}
	w.until(id, domain.AgentExitedType)
	w.say(id, "hello", domain.WhenBusyEnqueue)
	w.becomes(id, domain.StatusIdle, 2)
	if end := w.close(id); end.Output.Text == "" {
		t.Errorf("%+v", end.Output)
	}
	if n := len(payloads[domain.AgentStarted](t, w.events(id))); n != 2 {
		t.Errorf("started %d times", n)
	}
}

// Closed before its first prompt, an execution has nothing to answer, so no schema fails it.
func TestAnUnpromptedExecutionIsClosedWithoutAnAnswer(t *testing.T) {
	w, _ := unpromptedWorld(t, storetest.SQLite(t), true)
	id := w.start(unprompted, wanting(rowsSchema))
	w.becomes(id, domain.StatusIdle, 1)
	if end := w.close(id); end.Status != domain.StatusCompleted || end.Output.Error != nil {
		t.Errorf("%s: %+v", end.Status, end.Output)
	}
}

// An agent that cannot be started fails the execution also where it was to wait.
func TestAnUnpromptedAgentThatCannotBeStarted(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), nil, func(c *dispatch.Config) {
		c.Agents[domain.SourceACP] = func(context.Context, domain.Opening) (domain.Agent, error) {
			return nil, domain.Errorf(domain.CodeAgentUnavailable, "It is not installed.")
		}
	})
	if end := w.ended(w.start(outside, unprompted)); end.Status != domain.StatusFailed || end.Output.Error.Code != domain.CodeAgentUnavailable {
		t.Errorf("%s: %+v", end.Status, end.Output)
	}
}
