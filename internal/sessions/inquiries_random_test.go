package sessions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// people answer every question of an execution until it has ended. Whoever is asked about a lost call has it tried again.
func (w *world) people(id domain.ExecutionID) {
	w.t.Helper()
	for deadline := time.Now().Add(w.patience); !w.execution(id).Status.Terminal(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("it has not ended: %v", types(w.events(id)))
		}
		all, err := w.store.ApprovalsOf(context.Background(), id)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, approval := range all {
			answer := approvals.Answer{Verb: domain.Approve, ArgumentsHash: approval.ArgumentsHash, By: alice}
			switch approval.Kind {
			case domain.ApprovalQuestion:
				answer.Answer = json.RawMessage(`{"colour":"` + string(approval.ID) + `"}`)
			case domain.ApprovalUnknownOutcome:
				answer.Verb, answer.Resolution = "", domain.ResolutionRetry
			}
			if approval.Status == domain.ApprovalPending {
				_, _ = w.service.Decide(context.Background(), tenant, approval.ID, answer) // the execution may just have moved on
			}
		}
	}
}

// TestALossAtEachCommit: a session that is lost before or after any of its commits delivers each answer at most once, and the call is sent no more
// often than it was started. Unless a call was lost while it ran, each answer is delivered.
func TestALossAtEachCommit(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		for _, within := range []bool{false, true} {
			for _, written := range []bool{false, true} {
				losses, n := 0, int32(1)
				for goesOn := true; goesOn; n++ {
					var lost int
					lost, goesOn = loseAt(t, s, n, written, within)
					losses += lost
				}
				if losses == 0 || n < 10 {
					t.Errorf("%d calls were lost at %d commits", losses, n)
				}
			}
		}
	})
}

// loseAt loses a session at its nth commit, and reports how many calls were lost with it, and whether there was one so late.
func loseAt(t *testing.T, s *store.Store, n int32, written, within bool) (lost int, goesOn bool) {
	t.Helper()
	agent := &inquirer{call: mcpCall("c1"), questions: 2, within: within}
	var commits atomic.Int32
	h := &hooked{Store: s, shared: s.Shared()}
	h.commit = func(ctx context.Context, changes []store.Change) error {
		if changes[0].Epoch == 0 || changes[0].Create != nil || commits.Add(1) != n {
			return nil
		}
		if written {
			if _, err := s.Commit(ctx, changes); err != nil {
				return err
			}
		}
		return fmt.Errorf("lost: %w", store.ErrCommitUnknown)
	}
	w := newWorldThrough(t, h, s, agent.play, func(c *dispatch.Config) { c.LookEvery = 5 * time.Millisecond }, asTheLogTells(t, s))
	defer w.drain()
	id := w.start()
	w.people(id)
	end := w.ended(id)
	for _, asked := range payloads[domain.ApprovalRequested](t, w.events(id)) {
		if asked.Kind == domain.ApprovalUnknownOutcome {
			lost++
		}
	}
	starts, delivered := len(payloads[domain.ToolCallStarted](t, w.events(id))), agent.once(t)
	sent := agent.begun + agent.repeated
	if sent > starts || lost == 0 && sent != starts || lost > 1 {
		t.Errorf("commit %d: sent %d times, started %d times, lost %d times", n, sent, starts, lost)
	}
	if lost == 0 && delivered != 2 || end.Output.Text != "told: mixed" {
		t.Errorf("commit %d: %d answers were delivered, %d calls lost: %+v", n, delivered, lost, end.Output)
	}
	return lost, commits.Load() >= n
}

// TestAnyOrderOfQuestions: whatever MCP servers ask, whoever answers, declines, cancels or lets a question expire, and whenever the server is killed,
// each call has one outcome and one start for each approval, and no answer is delivered twice.
func TestAnyOrderOfQuestions(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		random := rand.New(rand.NewPCG(seed, 1))
		agents := &inquirers{seed: seed}
		restart := func() *world {
			parking := func(*dispatch.Config) {}
			if random.IntN(2) == 0 {
				parking = parks
			}
			return newWorld(t, s, agents.play, parking, asTheLogTells(t, s))
		}
		w, other := restart(), (*world)(nil)
		if s.Shared() { // another replica, which drives executions, too
			other = restart()
		}
		anyone := func() *world {
			if other != nil && random.IntN(2) == 0 {
				return other
			}
			return w
		}
		var ids []domain.ExecutionID
		for range 40 {
			ids = append(ids, anyone().start(func(r *domain.Request) { r.ApprovalTimeoutSeconds = 1 + random.IntN(3) }))
			for range 1 + random.IntN(8) {
				anyone().meddle(random, ids)
			}
			switch random.IntN(10) {
			case 0:
				w.drain()
				w = restart()
			case 1:
				w.killed()
				w = restart()
			}
		}
		starts, paused := map[string]int{}, 0
		for _, id := range ids {
			if end := w.ended(id); end.Output == nil {
				t.Errorf("%s: %+v", end.Status, end.Output)
			}
			for _, started := range payloads[domain.ToolCallStarted](t, w.events(id)) {
				starts[started.ToolCallID]++
			}
			for _, asked := range payloads[domain.ApprovalRequested](t, w.events(id)) {
				if asked.Repeats {
					paused++
				}
			}
		}
		agents.Range(func(call, agent any) bool {
			a := agent.(*inquirer)
			sent := a.begun + a.repeated
			if a.once(t); sent > starts[call.(string)] {
				t.Errorf("call %s was sent %d times, and started %d times", call, sent, starts[call.(string)])
			}
			return true
		})
		if paused == 0 {
			t.Error("no call has paused")
		}
	})
}

// inquirers are the agents of many executions, each with one call.
type inquirers struct {
	sync.Map // of *inquirer, by call
	seed     uint64
	next     atomic.Uint64
}

func (all *inquirers) play(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
	id := ""
	for _, message := range t.Prompt.History {
		for _, call := range message.ToolCalls {
			id = call.ID
		}
	}
	if id == "" {
		n := all.next.Add(1)
		random := rand.New(rand.NewPCG(all.seed, n))
		id = fmt.Sprint("c", n)
		all.Store(id, &inquirer{call: mcpCall(id), questions: random.IntN(4), within: random.IntN(4) == 0})
	}
	known, _ := all.Load(id)
	return known.(*inquirer).play(ctx, t)
}
