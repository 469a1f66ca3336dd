package sessions_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"signoff/internal/approvals"
	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/events/eventstest"
	"signoff/internal/sandbox"
	"signoff/internal/sessions"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
	"signoff/internal/workspace"
)

func TestMain(m *testing.M) {
	sandbox.Intercept() // of real sandboxes, this same binary is the supervisor
	code := storetest.Main(m)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			panic(err)
		}
	}
	exit(code)
}

const tenant = domain.DefaultTenant

var alice = domain.Actor{KeyID: "k1", Name: "alice"}

// world is one server without its HTTP side.
type world struct {
	t        testing.TB
	store    *store.Store
	log      *events.Log
	service  *approvals.Service
	manager  *dispatch.Manager
	config   dispatch.Config
	patience time.Duration // how long follow waits
	stop     func()        // as a kill would: nothing is released
	stopped  bool
}

func newWorld(t testing.TB, s *store.Store, script sessionstest.Script, change ...func(*dispatch.Config)) *world {
	t.Helper()
	return newWorldThrough(t, s, s, script, change...)
}

// database is all that the engine does with the store; a test may stand in between.
type database interface {
	events.Store
	dispatch.Store
}

func newWorldThrough(
	t testing.TB, through database, s *store.Store, script sessionstest.Script, change ...func(*dispatch.Config),
) *world {
	t.Helper()
	w := &world{t: t, store: s, log: events.NewLog(through), patience: time.Minute}
	w.config = dispatch.Config{Replica: store.ReplicaID(approvals.NewID()), LeaseTTL: 15 * time.Second, Config: sessions.Config{
		DrainGrace: time.Second, Sandbox: sessionstest.Sandbox{}, Workspace: &workspace.Workspace{},
		ParkAfter: 48 * time.Hour, // parking has tests of its own
		Agents:    map[domain.SourceType]sessions.OpenAgent{domain.SourceInternal: sessionstest.Open(script)},
	}}
	w.config.CreateWithin = time.Minute // what a slow database is told has tests of its own
	for _, c := range change {
		c(&w.config)
	}
	w.service = approvals.NewService(s, w.log, sessionstest.AnyTool{})
	w.manager = dispatch.NewManager(w.config, through, w.log)

	ctx, cancel := context.WithCancel(context.Background())
	logCtx, cancelLog := context.WithCancel(context.Background())
	var logs, managers sync.WaitGroup
	logs.Go(func() { w.log.Run(logCtx) })
	ready := make(chan struct{})
	managers.Go(func() {
		if err := w.manager.Run(ctx, func() { close(ready) }); err != nil {
			t.Error(err)
		}
	})
	<-ready
	w.stop = sync.OnceFunc(func() {
		w.stopped = true
		cancel()
		managers.Wait()
		cancelLog()
		logs.Wait()
	})
	t.Cleanup(func() {
		if !w.stopped {
			w.drain()
		}
	})
	return w
}

// drain stops the server in good order.
func (w *world) drain() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := w.manager.Drain(ctx); err != nil {
		w.t.Error("drain:", err)
	}
	w.stop()
}

func request(change ...func(*domain.Request)) domain.Request {
	r := domain.Request{
		Source: domain.Source{Type: domain.SourceInternal}, Prompt: "go", Capabilities: domain.DefaultCapabilities,
		MaxIterations: 50, TimeoutSeconds: 300, ApprovalTimeoutSeconds: 3600, WorkingDirectory: "/work",
	}
	for _, c := range change {
		c(&r)
	}
	return r
}

func (w *world) start(change ...func(*domain.Request)) domain.ExecutionID {
	w.t.Helper()
	execution, _, err := w.manager.Start(context.Background(), tenant, alice, request(change...), nil)
	if err != nil {
		w.t.Fatal("start:", err)
	}
	return execution.ID
}

// events reads the whole log and holds it against the invariants.
func (w *world) events(id domain.ExecutionID) []domain.Event {
	w.t.Helper()
	log, err := w.store.Events(context.Background(), id, 0, 1_000_000)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, broken := range eventstest.Broken(log) {
		w.t.Error(broken)
	}
	return log
}

// follow reads frames until one satisfies found, or the log ends.
func (w *world) follow(id domain.ExecutionID, found func(events.Frame) bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), w.patience)
	defer cancel()
	follower, err := w.log.Follow(ctx, id, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	defer follower.Close()
	for !follower.Ended() {
		frames, err := follower.Next(ctx)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, frame := range frames {
			if found(frame) {
				return
			}
		}
		if len(frames) > 0 {
			continue
		}
		select {
		case <-follower.Notified():
		case <-ctx.Done():
			w.t.Fatalf("nothing came any more; the log is %v", types(w.events(id)))
		}
	}
}

// until waits for the first event of a type.
func (w *world) until(id domain.ExecutionID, wanted domain.EventType) {
	w.t.Helper()
	seen := false
	w.follow(id, func(f events.Frame) bool { seen = f.Type == wanted; return seen })
	if !seen {
		w.t.Fatalf("the log ended without %s: %v", wanted, types(w.events(id)))
	}
}

// ended waits for the end and returns the execution.
func (w *world) ended(id domain.ExecutionID) domain.Execution {
	w.t.Helper()
	w.follow(id, func(f events.Frame) bool { return f.Type.Terminal() })
	w.events(id)
	return w.execution(id)
}

func (w *world) execution(id domain.ExecutionID) domain.Execution {
	w.t.Helper()
	execution, err := w.store.Execution(context.Background(), tenant, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return execution
}

// approvals returns the approvals of an execution once there are n.
func (w *world) approvals(id domain.ExecutionID, n int) []domain.Approval {
	w.t.Helper()
	seen := 0
	w.follow(id, func(f events.Frame) bool {
		if f.Type == domain.ApprovalRequestedType {
			seen++
		}
		return seen == n
	})
	all, err := w.store.ApprovalsOf(context.Background(), id)
	if err != nil || len(all) < n {
		w.t.Fatalf("%d approvals, want %d (%v)", len(all), n, err)
	}
	return all
}

func (w *world) decide(approval domain.Approval, change ...func(*approvals.Answer)) {
	w.t.Helper()
	answer := approvals.Answer{Verb: domain.Approve, ArgumentsHash: approval.ArgumentsHash, By: alice}
	for _, c := range change {
		c(&answer)
	}
	if _, err := w.service.Decide(context.Background(), tenant, approval.ID, answer); err != nil {
		w.t.Fatal("decide:", err)
	}
}

func deny(reason string) func(*approvals.Answer) {
	return func(a *approvals.Answer) { a.Verb, a.Reason = domain.DenyCall, reason }
}

func types(log []domain.Event) []domain.EventType {
	all := make([]domain.EventType, len(log))
	for i, event := range log {
		all[i] = event.Type
	}
	return all
}

// payloads returns all payloads of one type.
func payloads[P domain.Payload](t testing.TB, log []domain.Event) []P {
	t.Helper()
	var all []P
	for _, event := range log {
		payload, err := event.Payload()
		if err != nil {
			t.Fatal(err)
		}
		if p, ok := payload.(P); ok {
			all = append(all, p)
		}
	}
	return all
}
