package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// world is a fresh database with two replicas, and short words for what the cases do.
type world struct {
	*testing.T
	ctx      context.Context //nolint:containedctx // it is the test's, and lives as long
	s        *store.Store
	replicas []*store.Store
}

const tenant = domain.DefaultTenant

func newWorld(t *testing.T, open Replicas) *world {
	t.Helper()
	replicas := open(t, 2)
	return &world{T: t, ctx: t.Context(), s: replicas[0], replicas: replicas}
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// must fails the test where err is not nil.
func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// ok returns a value whose error must be nil: ok(w.s.Head(w.ctx, id))(w).
func ok[T any](value T, err error) func(w *world) T {
	return func(w *world) T {
		w.Helper()
		w.must(err)
		return value
	}
}

// refused fails the test where err does not have the code.
func (w *world) refused(err error, code domain.Code) {
	w.Helper()
	if err == nil || domain.CodeOf(err) != code {
		w.Fatalf("got %v, want an error with code %s", err, code)
	}
}

// commit writes one change and returns its result.
func (w *world) commit(c store.Change) store.Result {
	w.Helper()
	results := ok(w.s.Commit(w.ctx, []store.Change{c}))(w)
	return results[0]
}

// accepted writes one change, which must be accepted.
func (w *world) accepted(c store.Change) int64 {
	w.Helper()
	result := w.commit(c)
	w.must(result.Err)
	return result.LastSeq
}

// creation is a change that creates an execution, driven by replica "one", with event 1.
func creation(id domain.ExecutionID) store.Change {
	return store.Change{
		Execution: id, Epoch: 1,
		Create: &store.Creation{Owner: "one", Execution: domain.Execution{
			ID: id, Tenant: tenant, Status: domain.StatusQueued, Created: now(),
			Request: domain.Request{Source: domain.Source{Type: domain.SourceInternal, Model: "demo"}, Prompt: "hello"},
		}},
		Events: []domain.Event{event(id, domain.ExecutionCreated{Status: domain.StatusQueued})},
	}
}

func (w *world) create() domain.ExecutionID {
	w.Helper()
	id := domain.ExecutionID(newID())
	w.accepted(creation(id))
	return id
}

func (w *world) createMany(n int) []domain.ExecutionID {
	w.Helper()
	ids := make([]domain.ExecutionID, n)
	changes := make([]store.Change, n)
	for i := range ids {
		ids[i] = domain.ExecutionID(newID())
		changes[i] = creation(ids[i])
	}
	results := ok(w.s.Commit(w.ctx, changes))(w)
	for _, result := range results {
		w.must(result.Err)
	}
	return ids
}

// said is a change with n events.
func said(id domain.ExecutionID, epoch int64, n int) store.Change {
	c := store.Change{Execution: id, Epoch: epoch}
	for i := range n {
		c.Events = append(c.Events, event(id, domain.MessageDelta{MessageID: "m", Offset: i, Text: "x"}))
	}
	return c
}

func ending(id domain.ExecutionID, epoch int64) store.Change {
	return store.Change{
		Execution: id, Epoch: epoch,
		Update: &store.Update{Status: domain.StatusCompleted, Output: &domain.Output{Text: "done", FinishReason: domain.FinishEndTurn}},
		Events: []domain.Event{event(id, domain.ExecutionEnded{Status: domain.StatusCompleted})},
	}
}

// asked puts a pending approval that expires after ttl, by the clock of the database; 0 is never.
func (w *world) asked(id domain.ExecutionID, ttl time.Duration) domain.ApprovalID {
	w.Helper()
	a := approval(id)
	if ttl != 0 {
		at := ok(w.s.Now(w.ctx))(w)
		at = at.Add(ttl)
		a.Expires = &at
	}
	w.accepted(store.Change{Execution: id, Epoch: 1, Ask: []domain.Approval{a},
		Events: []domain.Event{event(id, domain.ApprovalRequested{ApprovalID: a.ID})}})
	return a.ID
}

func approval(id domain.ExecutionID) domain.Approval {
	return domain.Approval{
		ID: domain.ApprovalID(newID()), Tenant: tenant, Execution: id, Kind: domain.ApprovalToolCall, Requested: now(),
		Status: domain.ApprovalPending, WorkingDirectory: "/w", ArgumentsHash: "hash",
		Call: domain.ToolCall{ID: "call", Tool: "run_command", Version: "1", Class: domain.ClassExecute,
			Arguments: json.RawMessage(`{"argv":["ls"]}`), Summary: "Lists a folder."},
	}
}

// rule allows one tool; for an execution where id names one, otherwise for all.
func rule(id domain.ExecutionID) domain.PermissionRule {
	r := domain.PermissionRule{ID: newID(), Tenant: tenant, Scope: domain.RememberGlobal, Effect: domain.Allow, Created: now(),
		Matcher: domain.Matcher{Tool: "bash"}}
	if id != "" {
		r.Scope, r.Execution = domain.RememberExecution, id
	}
	return r
}

// record is an audit record.
func record(action string) domain.AuditRecord {
	return domain.AuditRecord{Action: action, Channel: "api"}
}

// resolved is a change from outside that ends an approval.
func resolved(id domain.ExecutionID, a domain.ApprovalID, status domain.ApprovalStatus, by string) store.Change {
	r := store.Resolution{Approval: a, Status: status}
	if status == domain.ApprovalApproved || status == domain.ApprovalDenied {
		r.Decision = &domain.Decision{Verb: domain.Approve, Remember: domain.RememberOnce, By: domain.Actor{KeyID: by}}
	}
	return store.Change{Execution: id, Resolve: []store.Resolution{r},
		Events: []domain.Event{event(id, domain.ApprovalResolved{ApprovalID: a, Status: status})}}
}

func event(id domain.ExecutionID, payload domain.Payload) domain.Event {
	e := domain.NewEvent(id, payload)
	e.Time = now()
	return e
}

// now is whole microseconds, as they are stored.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

func (w *world) log(id domain.ExecutionID) []domain.Event {
	w.Helper()
	return Log(w, w.s, id)
}

// Log reads a whole log, and fails the test where it is not 1..n, where the head says otherwise, or where the terminal
// event is not the last one, or not there with a terminal status.
func Log(tb testing.TB, s *store.Store, id domain.ExecutionID) []domain.Event {
	tb.Helper()
	head, err := s.Head(context.Background(), id)
	if err != nil {
		tb.Fatal(err)
	}
	var events []domain.Event
	for int64(len(events)) < head.LastSeq {
		page, err := s.Events(context.Background(), id, int64(len(events)), 1000)
		if err != nil {
			tb.Fatal(err)
		}
		if len(page) == 0 {
			tb.Fatalf("the log of %s ends at %d, its head says %d", id, len(events), head.LastSeq)
		}
		events = append(events, page...)
	}
	for i, event := range events {
		if event.Seq != int64(i)+1 {
			tb.Fatalf("event %d of %s has the seq %d", i+1, id, event.Seq)
		}
		if last := i == len(events)-1; event.Type.Terminal() != (last && head.Terminal) {
			tb.Fatalf("event %d of %d of %s is %s; terminal is the head: %v", i+1, len(events), id, event.Type, head.Terminal)
		}
	}
	return events
}

// untouched runs do and fails the test where it changed anything of the execution.
func (w *world) untouched(id domain.ExecutionID, do func()) {
	w.Helper()
	before := w.picture(id)
	do()
	if after := w.picture(id); before != after {
		w.Fatalf("something was written.\nbefore: %s\nafter:  %s", before, after)
	}
}

// picture is all that the store says of an execution, as text.
func (w *world) picture(id domain.ExecutionID) string {
	w.Helper()
	e := ok(w.s.Execution(w.ctx, tenant, id))(w)
	head := ok(w.s.Head(w.ctx, id))(w)
	approvals := ok(w.s.ApprovalsOf(w.ctx, id))(w)
	rules := ok(w.s.PermissionRules(w.ctx, tenant, store.RuleFilter{Execution: id, IncludeEnded: true}))(w)
	shared := ok(w.s.PermissionRules(w.ctx, tenant, store.RuleFilter{Scope: domain.RememberGlobal, IncludeEnded: true}))(w)
	audit := ok(w.s.Audit(w.ctx, tenant, store.AuditFilter{Execution: id}))(w)
	text, err := json.Marshal([]any{e, head, approvals, rules, shared, audit, w.controlRequests(id), w.clientCalls(id),
		w.generations(id), w.feed(id), w.log(id), w.children(id)})
	w.must(err)
	return string(text)
}

// atOnce runs do in n goroutines that begin together, and returns what they return, in their order.
func atOnce[T any](n int, do func(i int) T) []T {
	var (
		all   = make([]T, n)
		group sync.WaitGroup
		start = make(chan struct{})
	)
	for i := range n {
		group.Go(func() {
			<-start
			all[i] = do(i)
		})
	}
	close(start)
	group.Wait()
	return all
}

func count[T any](all []T, is func(T) bool) int {
	n := 0
	for _, one := range all {
		if is(one) {
			n++
		}
	}
	return n
}

func sorted[T ~string](all []T) []T {
	all = slices.Clone(all)
	slices.Sort(all)
	return all
}

func (w *world) heartbeat(replica store.ReplicaID) {
	w.Helper()
	w.must(w.s.Heartbeat(w.ctx, replica, time.Minute))
}

func replicaName(i int) store.ReplicaID { return store.ReplicaID(fmt.Sprintf("replica-%d", i)) }
