package sessions_test

import (
	"context"
	"encoding/json"
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

// TestAnyOrderOfEvents: whatever an agent says, whoever decides or cancels, and whenever the server is killed, each
// execution ends in one terminal event, its log keeps the invariants, and no call runs twice.
func TestAnyOrderOfEvents(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		ran := &ledger{times: map[string]int{}}
		script := ran.script(seed)
		random := rand.New(rand.NewPCG(seed, 1))
		w := newWorld(t, s, script, asTheLogTells(t, s))
		var ids []domain.ExecutionID
		for range 40 {
			ids = append(ids, w.start(func(r *domain.Request) {
				r.ApprovalTimeoutSeconds = 1 + random.IntN(3)
				r.TimeoutSeconds = 1 + random.IntN(20)
			}))
			w.meddle(random, ids)
			if random.IntN(8) == 0 {
				w.killed()
				w = newWorld(t, s, script, asTheLogTells(t, s))
			}
		}
		for _, id := range ids {
			end := w.ended(id)
			if !end.Status.Terminal() || end.Output == nil {
				t.Errorf("%s: %+v", end.Status, end.Output)
			}
		}
		starts := map[string]int{}
		for _, id := range ids {
			for _, started := range payloads[domain.ToolCallStarted](t, w.events(id)) {
				starts[started.ToolCallID]++ // each under an approval of its own: events has looked
			}
		}
		for call, times := range ran.times {
			if times > starts[call] {
				t.Errorf("call %s ran %d times, and was started %d times", call, times, starts[call])
			}
		}
		if len(ran.times) == 0 {
			t.Error("no call ran at all")
		}
	})
}

// meddle decides or cancels something, as people do.
func (w *world) meddle(random *rand.Rand, ids []domain.ExecutionID) {
	w.t.Helper()
	if random.IntN(6) == 0 {
		request := store.Change{Execution: ids[random.IntN(len(ids))], Cancel: &store.CancelRequest{By: alice}}
		_, _ = w.log.Commit(context.Background(), request) // it may have ended
	}
	page, err := w.store.Approvals(context.Background(), tenant, store.ApprovalFilter{Status: []domain.ApprovalStatus{domain.ApprovalPending}, Limit: 100})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, a := range page.Items {
		if random.IntN(2) == 0 {
			continue
		}
		answer := approvals.Answer{Verb: domain.Approve, ArgumentsHash: a.ArgumentsHash, By: alice}
		if random.IntN(3) == 0 {
			answer = approvals.Answer{Verb: domain.DenyCall, By: alice}
		} else if a.Kind == domain.ApprovalUnknownOutcome {
			answer.Resolution = []domain.Resolution{domain.ResolutionSucceeded, domain.ResolutionRetry}[random.IntN(2)]
		} else if a.Kind == domain.ApprovalQuestion {
			answer.Answer = json.RawMessage(`{"colour":"red"}`)
		}
		_, _ = w.service.Decide(context.Background(), tenant, a.ID, answer) // somebody may have been faster
	}
}

// ledger counts how often each call really ran, over all servers of a test.
type ledger struct {
	mu    sync.Mutex
	next  int
	times map[string]int
}

func (l *ledger) run(call string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.times[call]++
	return "ran"
}

// number is new for each message and call, so that no id is used twice after a restart.
func (l *ledger) number() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	return l.next
}

func (l *ledger) script(seed uint64) sessionstest.Script {
	return func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		random := rand.New(rand.NewPCG(seed, uint64(l.number())))
		if err := l.unanswered(t); err != nil {
			return "", err
		}
		for range random.IntN(5) {
			if err := l.step(ctx, t, random); err != nil {
				return "", err
			}
		}
		switch random.IntN(8) {
		case 0:
			return "", domain.Errorf(domain.CodeModelFailed, "no more")
		case 1:
			return domain.StopMaxTokens, nil
		case 2:
			<-ctx.Done()
			return "", context.Cause(ctx)
		default:
			return domain.StopEndTurn, t.Say(fmt.Sprint("m", l.number()), "the ", "end")
		}
	}
}

// unanswered goes on with the calls that the history leaves open, as the internal agent does after a restart.
func (l *ledger) unanswered(t *sessionstest.Turn) error {
	answered := map[string]bool{}
	for _, m := range t.Prompt.History {
		answered[m.ToolCallID] = true
	}
	for _, m := range t.Prompt.History {
		for _, call := range m.ToolCalls {
			if answered[call.ID] {
				continue
			}
			// The log does not have these; without the version each yes would be one to another release's tool, and be asked for again.
			call.Version = "1"
			if call.Class == domain.ClassExecute {
				call.Action = sessionstest.Bash(call.ID, "ls").Action
			}
			if _, err := t.Use(call, func(json.RawMessage) string { return l.run(call.ID) }); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *ledger) step(ctx context.Context, t *sessionstest.Turn, random *rand.Rand) error {
	id := fmt.Sprint("m", l.number())
	switch random.IntN(5) {
	case 0:
		return t.Think(id, "hm")
	case 1:
		return t.Say(id, "one ", "two ", "three")
	case 2:
		return t.Host.Emit(ctx, domain.MessageDelta{MessageID: id, Text: "never ended"})
	default:
		return l.use(t, id, 1+random.IntN(3), random.IntN(3) == 0)
	}
}

// use asks for some calls at once; of class read they need nobody.
func (l *ledger) use(t *sessionstest.Turn, message string, calls int, harmless bool) error {
	done := make(chan error, calls)
	for range calls {
		call := sessionstest.Bash(fmt.Sprint("c", l.number()), "ls")
		if harmless {
			call.Class, call.Action = domain.ClassRead, domain.Action{}
		}
		if err := t.Want(message, call); err != nil {
			return err
		}
		go func() {
			_, err := t.Use(call, func(json.RawMessage) string { return l.run(call.ID) })
			done <- err
		}()
	}
	var first error
	for range calls {
		if err := <-done; err != nil && first == nil {
			first = err
		}
	}
	return first
}
