package sessions_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// TestAnyMomentOfParking: whatever is decided, prompted, closed and cancelled while executions are being parked and woken, on one server
// or between two, nothing is lost and nothing runs twice.
func TestAnyMomentOfParking(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		ran := &ledger{times: map[string]int{}}
		script := ran.briefly(seed)
		worlds := []*world{newWorld(t, s, script, parks, asTheLogTells(t, s))}
		if s.Shared() {
			worlds = append(worlds, newWorld(t, s, script, parks, asTheLogTells(t, s)))
		}
		const people, each = 8, 8
		all := make([][]domain.ExecutionID, people)
		var busy sync.WaitGroup
		for i := range people {
			person := &person{worlds, rand.New(rand.NewPCG(seed, uint64(i)+1000))}
			busy.Go(func() {
				for range each {
					all[i] = append(all[i], person.walk())
				}
			})
		}
		busy.Wait()
		starts := map[string]int{}
		for _, ids := range all {
			for _, id := range ids {
				if end := worlds[0].ended(id); end.Output == nil || end.Recovery != 0 || end.Status == domain.StatusFailed {
					t.Errorf("%s: %+v, %d recoveries", end.Status, end.Output, end.Recovery)
				}
				for _, started := range payloads[domain.ToolCallStarted](t, worlds[0].events(id)) {
					starts[started.ToolCallID]++
				}
			}
		}
		for call, times := range ran.times {
			if times != 1 || starts[call] != 1 {
				t.Errorf("call %s ran %d times, and was started %d times", call, times, starts[call])
			}
		}
		for _, w := range worlds {
			w.deserted()
		}
	})
}

// person does one thing after another with executions, at any moment and on any server.
type person struct {
	worlds []*world
	random *rand.Rand
}

func (p *person) world() *world { return p.worlds[p.random.IntN(len(p.worlds))] }

// walk takes an execution from its beginning to its end. A busy machine makes it slow, so patience ends only where nothing happens any more; after so
// many steps nobody prompts, which would make some walks very long.
func (p *person) walk() domain.ExecutionID {
	id := p.world().start(func(r *domain.Request) { r.KeepOpen, r.IdleTimeoutSeconds = true, 3600 })
	const chatty = 60
	var seq int64
	deadline := time.Now().Add(p.worlds[0].patience)
	for step := 0; ; step++ {
		w := p.world()
		status := w.execution(id).Status
		if now := w.lastSeq(id); now > seq {
			seq, deadline = now, time.Now().Add(w.patience)
		}
		switch {
		case status.Terminal():
			return id
		case time.Now().After(deadline):
			w.t.Errorf("execution %s is still %s, and nothing happens", id, status)
			return id
		}
		p.act(w, id, status, step < chatty)
		time.Sleep(time.Duration(p.random.IntN(4000)) * time.Microsecond)
	}
}

func (w *world) lastSeq(id domain.ExecutionID) int64 {
	head, err := w.store.Head(context.Background(), id)
	if err != nil {
		w.t.Error(err)
	}
	return head.LastSeq
}

// act may come too late or too early, and gets an error then.
func (p *person) act(w *world, id domain.ExecutionID, status domain.Status, chatty bool) {
	ctx := context.Background()
	switch n := p.random.IntN(100); {
	case n == 0:
		_, _ = w.log.Commit(ctx, store.Change{Execution: id, Cancel: &store.CancelRequest{By: alice}})
	case n < 10:
		_, _ = w.log.Commit(ctx, store.Change{Execution: id, Notify: true})
	case chatty && (n < 15 || status == domain.StatusIdle && n < 50):
		_, _ = w.prompt(id, "more", domain.WhenBusyEnqueue)
	case status == domain.StatusIdle:
		_, _ = w.log.Commit(ctx, store.Change{Execution: id, Close: &alice})
	default:
		p.decide(w, id)
	}
}

func (p *person) decide(w *world, id domain.ExecutionID) {
	all, err := w.store.ApprovalsOf(context.Background(), id)
	if err != nil {
		w.t.Error(err)
	}
	for _, a := range all {
		if a.Status != domain.ApprovalPending || p.random.IntN(2) == 0 {
			continue
		}
		answer := approvals.Answer{Verb: domain.Approve, ArgumentsHash: a.ArgumentsHash, By: alice}
		if p.random.IntN(4) == 0 {
			answer = approvals.Answer{Verb: domain.DenyCall, By: alice}
		}
		_, _ = w.service.Decide(context.Background(), tenant, a.ID, answer)
	}
}

// briefly is an agent that asks for a call or two in some turns.
func (l *ledger) briefly(seed uint64) sessionstest.Script {
	return func(_ context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		random := rand.New(rand.NewPCG(seed, uint64(l.number())))
		if err := l.unanswered(t); err != nil {
			return "", err
		}
		if random.IntN(3) > 0 {
			if err := l.use(t, fmt.Sprint("m", l.number()), 1+random.IntN(2), false); err != nil {
				return "", err
			}
		}
		return domain.StopEndTurn, t.Say(fmt.Sprint("m", l.number()), "done")
	}
}

// deserted waits until a server drives nothing any more: no session may have been forgotten.
func (w *world) deserted() {
	w.t.Helper()
	for deadline := time.Now().Add(w.patience); w.manager.Live() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("%d are still driven", w.manager.Live())
		}
	}
}
