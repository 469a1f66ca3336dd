package sessions_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
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

// oneCommand lets the server run one command at a time, and needs no word of a person.
func oneCommand(c *dispatch.Config) { c.Limits.Commands = 1 }

func unasked(r *domain.Request) { r.Capabilities.Execute = domain.Allow }

// commanding runs one command for each execution, for as long as the test wants: the prompt is the command line.
func commanding(release <-chan struct{}, running *atomic.Int32) sessionstest.Script {
	return func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
		text := turn.Prompt.History[0].Text
		call := sessionstest.Bash("c-"+text, text)
		asked := slices.ContainsFunc(turn.Prompt.History, func(m domain.Message) bool { return len(m.ToolCalls) > 0 })
		if !asked {
			if err := turn.Want("m", call); err != nil {
				return "", err
			}
		}
		_, err := turn.Use(call, func(json.RawMessage) string {
			running.Add(1)
			defer running.Add(-1)
			select {
			case <-release:
			case <-ctx.Done():
			}
			return "ran"
		})
		return domain.StopEndTurn, err
	}
}

func called(prompt string) func(*domain.Request) {
	return func(r *domain.Request) { r.Prompt = prompt }
}

// TestCommandsWaitForASlot has one command run and others wait. They have not started, nor does their time run.
func TestCommandsWaitForASlot(t *testing.T) {
	var release chan struct{}
	var running atomic.Int32
	onFakeTimeWith(t, func(c *dispatch.Config) {
		oneCommand(c)
		release = make(chan struct{}) // within the bubble, or its time would stand still
		c.Agents[domain.SourceInternal] = sessionstest.Open(commanding(release, &running))
	}, func(t *testing.T, w *world) {
		first := w.start(unasked, called("first"), func(r *domain.Request) { r.TimeoutSeconds = 0 })
		w.until(first, domain.ToolCallStartedType)
		var waiting []domain.ExecutionID
		for _, name := range []string{"second", "third", "fourth"} {
			id := w.start(unasked, called(name), func(r *domain.Request) { r.TimeoutSeconds = 30 })
			w.until(id, domain.ToolCallQueuedType)
			waiting = append(waiting, id)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if got, queued := w.manager.Commands(); got != 1 || queued != 3 || running.Load() != 1 {
			t.Errorf("%d run, %d wait, and %d do", got, queued, running.Load())
		}
		for _, id := range waiting {
			if started := payloads[domain.ToolCallStarted](t, w.events(id)); len(started) != 0 {
				t.Errorf("it has started: %+v", started)
			}
			if status := w.execution(id).Status; status != domain.StatusExecutingTool {
				t.Errorf("status %s", status)
			}
		}
		if end := w.cancel(waiting[0]); end.Status != domain.StatusCancelled {
			t.Errorf("ended as %s", end.Status)
		}
		outcomes := payloads[domain.ToolCallCompleted](t, w.events(waiting[0]))
		if len(outcomes) != 1 || outcomes[0].Outcome != domain.OutcomeCancelled {
			t.Errorf("outcomes %+v", outcomes)
		}
		close(release)
		for _, id := range []domain.ExecutionID{first, waiting[1], waiting[2]} {
			if end := w.ended(id); end.Status != domain.StatusCompleted {
				t.Errorf("ended as %s: %+v", end.Status, end.Output)
			}
		}
		if got, queued := w.manager.Commands(); got != 0 || queued != 0 {
			t.Errorf("at the end %d run and %d wait", got, queued)
		}
	})
}

// TestCommandThatWaitsIsNotLostWithItsServer kills a server one of whose commands runs while one that a person has
// approved waits: only what ran is asked about.
func TestCommandThatWaitsIsNotLostWithItsServer(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		never := make(chan struct{})
		var running atomic.Int32
		first := newWorld(t, s, commanding(never, &running), oneCommand)
		runs := first.start(unasked, called("runs"))
		first.until(runs, domain.ToolCallStartedType)
		waits := first.start(called("waits"))
		first.decide(first.approvals(waits, 1)[0])
		first.until(waits, domain.ToolCallQueuedType)
		first.stop()

		done := make(chan struct{})
		close(done)
		second := newWorld(t, s, commanding(done, &running), oneCommand)
		lost := second.approvals(runs, 1)
		if lost[0].Kind != domain.ApprovalUnknownOutcome {
			t.Errorf("what ran is asked about as %s", lost[0].Kind)
		}
		if end := second.ended(waits); end.Status != domain.StatusCompleted {
			t.Errorf("what waited ended as %s", end.Status)
		}
		log := second.events(waits)
		started := payloads[domain.ToolCallStarted](t, log)
		if len(started) != 1 || started[0].ApprovalID == "" {
			t.Errorf("started %+v", started)
		}
		if asked := payloads[domain.ApprovalRequested](t, log); len(asked) != 1 {
			t.Errorf("asked %d times", len(asked))
		}
	})
}

// TestDrainGivesBackWhatWaits does not begin anything on the way out.
func TestDrainGivesBackWhatWaits(t *testing.T) {
	s := storetest.SQLite(t)
	release := make(chan struct{})
	var running atomic.Int32
	first := newWorld(t, s, commanding(release, &running), oneCommand)
	runs := first.start(unasked, called("runs"))
	first.until(runs, domain.ToolCallStartedType)
	waits := first.start(unasked, called("waits"))
	first.until(waits, domain.ToolCallQueuedType)
	close(release)
	first.drain()
	if started := payloads[domain.ToolCallStarted](t, first.events(waits)); len(started) > 1 {
		t.Errorf("started %+v", started)
	}
	second := newWorld(t, s, commanding(release, &running), oneCommand)
	for _, id := range []domain.ExecutionID{runs, waits} {
		if end := second.ended(id); end.Status != domain.StatusCompleted {
			t.Errorf("ended as %s", end.Status)
		}
	}
}

// TestRuleReachesACommandThatWaits forbids a command after it was allowed and before it has begun.
func TestRuleReachesACommandThatWaits(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		release := make(chan struct{})
		var running atomic.Int32
		w := newWorld(t, s, commanding(release, &running), oneCommand)
		runs := w.start(unasked, called("runs"))
		w.until(runs, domain.ToolCallStartedType)
		waits := w.start(unasked, called("waits"))
		w.until(waits, domain.ToolCallQueuedType)
		w.rule(domain.Deny, domain.Matcher{Command: "waits"})
		close(release)
		w.ended(waits)
		outcomes := payloads[domain.ToolCallCompleted](t, w.events(waits))
		if len(outcomes) != 1 || outcomes[0].Outcome != domain.OutcomeDenied || !strings.Contains(outcomes[0].Output, "rule") {
			t.Errorf("outcomes %+v", outcomes)
		}
		if end := w.ended(runs); end.Status != domain.StatusCompleted {
			t.Errorf("the other one ended as %s", end.Status)
		}
	})
}
