package events

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"signoff/internal/domain"
	"signoff/internal/failpoint"
	"signoff/internal/store"
)

const (
	// maxBatch bounds a transaction: one with so many changes gets no more.
	maxBatch = 512
	// commitTimeout ends a commit that the database does not answer.
	commitTimeout = 30 * time.Second
	// pollEvery bounds the delay of a write of another replica.
	pollEvery = time.Second
	// pollTimeout ends a poll that the database does not answer: the next one may get another connection.
	pollTimeout = 5 * time.Second
)

// Store is the part of the database that the log uses.
type Store interface {
	Commit(ctx context.Context, changes []store.Change) ([]store.Result, error)
	EventPage(ctx context.Context, id domain.ExecutionID, after int64, limit, bytes int) ([]domain.Event, error)
	Head(ctx context.Context, id domain.ExecutionID) (store.Head, error)
	ChangedHeads(ctx context.Context, known []store.KnownHead) ([]store.ChangedHead, error)
	Feed(ctx context.Context, tenant domain.TenantID, after store.FeedCursor, limit, bytes int) (store.FeedPage, error)
	FeedHead(ctx context.Context, tenant domain.TenantID) (store.FeedCursor, error)
	FeedOfTree(ctx context.Context, tenant domain.TenantID, root domain.ExecutionID, after store.FeedCursor, limit, bytes int) (store.FeedPage, error)
	EndOfTree(ctx context.Context, root domain.ExecutionID) (end store.FeedCursor, ended bool, err error)
	Shared() bool
	Notify(ctx context.Context, payloads []string) error
	Listen(ctx context.Context, ready func(), received func(payload string)) error
}

var _ Store = (*store.Store)(nil)

// Log writes and follows the events of all executions.
type Log struct {
	store Store

	mu     sync.Mutex
	queue  []*request // in the order of arrival
	taken  []*request // the batch that is being committed
	closed bool       // Run has ended: nothing is committed any more
	queued chan struct{}

	topics    topics
	feeds     feeds
	peers     peers
	onForeign func(domain.ExecutionID) // called for each write of others than the driver; nil: none
	onRelease func()                   // called when another replica has released its executions; nil: none

	failed                   atomic.Int64 // when a commit last failed, since the last one that did not; 0: never
	commits, changes, events atomic.Int64
}

// request is one waiting Commit.
type request struct {
	change store.Change
	since  time.Time
	quick  bool // a batch of quick changes only takes one round trip
	taken  bool // by the committer; from then on only it ends the request
	done   chan struct{}
	result result
}

type result struct {
	outcome store.Result
	err     error
}

// NewLog returns a log over s. It commits nothing until Run is called.
func NewLog(s Store) *Log {
	return &Log{store: s, queued: make(chan struct{}, 1), topics: topics{byID: map[domain.ExecutionID]*topic{}},
		feeds: feeds{byTenant: map[domain.TenantID]*feed{}}, peers: peers{self: rand.Text(), out: newAccumulator(), in: newAccumulator()}}
}

// Run commits until ctx ends, and then what is still queued; later commits are refused as CodeUnavailable. On a
// shared database it also notifies the other replicas, receives their notifications, and polls.
func (l *Log) Run(ctx context.Context) {
	var others sync.WaitGroup
	defer others.Wait()
	if l.store.Shared() {
		others.Go(func() { l.notifyPeers(ctx) })
		others.Go(func() { l.listenToPeers(ctx) })
		others.Go(func() { l.readWrites(ctx) })
		others.Go(func() { l.poll(ctx) })
	}
	for {
		l.commitQueued(ctx)
		select {
		case <-l.queued:
		case <-ctx.Done():
			l.close()
			l.commitQueued(ctx)
			return
		}
	}
}

// close refuses later changes: a writer must not wait for a committer that has ended.
func (l *Log) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}

// Commit writes change and returns once it is in the database and followers have been notified.
//
// When ctx ends while the change still waits in the queue it is taken out and nothing is written. Once the committer
// has it, Commit stays for the answer whatever ctx says: a writer that does not know whether it has written could
// write twice. Errors are those of [store.Result], or domain.CodeStorage for the whole batch.
func (l *Log) Commit(ctx context.Context, change store.Change) (store.Result, error) {
	r, err := l.await(ctx, change)
	if err != nil {
		return store.Result{}, err
	}
	<-r.done
	return r.outcome()
}

// CommitOr is Commit for a writer that cannot wait: when ctx ends while the committer has the change, it returns ErrUnderWay, and
// late is called, once and from another goroutine, with what comes of the change.
func (l *Log) CommitOr(ctx context.Context, change store.Change, late func(store.Result, error)) (store.Result, error) {
	r, err := l.await(ctx, change)
	if err != nil {
		return store.Result{}, err
	}
	select {
	case <-r.done:
		return r.outcome()
	default:
	}
	go func() {
		<-r.done
		late(r.outcome())
	}()
	return store.Result{}, ErrUnderWay
}

// ErrUnderWay is the error of a change that is being written and whose outcome is not known yet.
var ErrUnderWay = errors.New("events: the change is being written")

// await queues change and waits until it is done, or until ctx has ended. In the second case the committer has it: one that still
// waits in the queue is withdrawn.
func (l *Log) await(ctx context.Context, change store.Change) (*request, error) {
	r := &request{change: change, since: time.Now(), quick: l.store.Shared() && change.Plain(), done: make(chan struct{})}
	if !l.enqueue(r) {
		return nil, domain.Errorf(domain.CodeUnavailable, "The server is shutting down.")
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		if l.withdraw(r) {
			return nil, context.Cause(ctx)
		}
	}
	return r, nil
}

// outcome returns the result of a finished request.
func (r *request) outcome() (store.Result, error) {
	if r.result.err != nil {
		return store.Result{}, r.result.err
	}
	return r.result.outcome, r.result.outcome.Err
}

func (l *Log) enqueue(r *request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.queue = append(l.queue, r)
	signal(l.queued)
	return true
}

func (l *Log) withdraw(r *request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.taken {
		return false
	}
	for i, queued := range l.queue {
		if queued == r {
			l.queue = append(l.queue[:i], l.queue[i+1:]...)
			return true
		}
	}
	return false
}

// commitQueued commits batch after batch until the queue is empty. The context of Run must not abort a transaction
// that others wait for, so only its values go along.
func (l *Log) commitQueued(ctx context.Context) {
	for batch := l.take(); len(batch) > 0; batch = l.take() {
		l.commit(context.WithoutCancel(ctx), batch)
	}
}

// Waiting returns the age of the oldest change that is not written yet, in the queue or in the database; 0 if there is none.
func (l *Log) Waiting() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	var longest time.Duration
	for _, r := range l.taken {
		select {
		case <-r.done:
		default:
			longest = max(longest, time.Since(r.since))
		}
	}
	if len(l.queue) > 0 { // which is in the order of arrival
		longest = max(longest, time.Since(l.queue[0].since))
	}
	return longest
}

// take removes the next batch from the queue, at most one change of each execution, linked ones included: the second change of an
// execution often depends on what became of the first.
//
// A batch has changes of one kind, quick or not: one creation among sixty deltas would make all of them as slow as itself. It is
// the kind of the oldest, so that no change waits for ever. An execution whose change is left in the queue keeps all later ones there.
func (l *Log) take() []*request {
	l.mu.Lock()
	defer l.mu.Unlock()
	var batch, left []*request
	seen, changes := map[domain.ExecutionID]bool{}, 0
	for i, r := range l.queue {
		if changes >= maxBatch {
			left = append(left, l.queue[i:]...)
			break
		}
		waits := r.quick != l.queue[0].quick
		for id := range r.executions {
			waits = waits || seen[id]
		}
		for id := range r.executions {
			seen[id] = true
		}
		if waits {
			left = append(left, r)
			continue
		}
		r.taken = true
		batch = append(batch, r)
		changes += 1 + len(r.change.Linked)
	}
	l.queue, l.taken = left, batch
	return batch
}

// executions walks the executions that the change writes to.
func (r *request) executions(yield func(domain.ExecutionID) bool) {
	if !yield(r.change.Execution) {
		return
	}
	for i := range r.change.Linked {
		if !yield(r.change.Linked[i].Execution) {
			return
		}
	}
}

func (l *Log) commit(ctx context.Context, batch []*request) {
	changes := stamped(batch, time.Now())
	failpoint.Hit(failpoint.BeforeBatch)
	outcomes, err := l.storeCommit(ctx, changes)
	if err != nil {
		l.failed.Store(time.Now().UnixNano())
	} else {
		l.failed.Store(0)
	}
	failpoint.Hit(failpoint.AfterBatch)
	if err != nil && len(batch) > 1 && separable(err) {
		slog.Warn("batch failed, committing its changes one by one", "changes", len(batch), "error", err)
		for _, r := range batch {
			l.commit(ctx, []*request{r})
		}
		return
	}
	l.commits.Add(1)
	for i, r := range batch {
		if err != nil {
			r.finish(result{err: err})
			continue
		}
		l.publishAll(changes[i], outcomes[i])
		failpoint.Hit(failpoint.AfterPublish)
		r.finish(result{outcome: outcomes[i]})
		failpoint.Hit(failpoint.AfterAnswer)
	}
}

// failureLasts is the time in which a failure predicts the next one. With a longer one, a server that gets no requests because it
// reports a failure would report it for ever.
const failureLasts = 10 * time.Second

// Failing reports whether a commit has just failed: a full disk may have room to overwrite a row, and none for an event.
func (l *Log) Failing() bool {
	at := l.failed.Load()
	return at != 0 && time.Since(time.Unix(0, at)) < failureLasts
}

// separable reports whether one change may have failed its batch. With an unknown outcome, changes must not be written again; and
// if the database does not answer, one attempt per change would take too long.
func separable(err error) bool {
	return !errors.Is(err, store.ErrCommitUnknown) && !errors.Is(err, context.DeadlineExceeded)
}

func (l *Log) storeCommit(ctx context.Context, changes []store.Change) ([]store.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	return l.store.Commit(ctx, changes)
}

func (r *request) finish(result result) {
	r.result = result
	close(r.done)
}

// stamped sets the time of the batch on events without one. A session dates its own events, because its state depends on their times and must
// be the same after recovery from the log.
func stamped(batch []*request, now time.Time) []store.Change {
	now = now.UTC().Truncate(time.Microsecond)
	changes := make([]store.Change, len(batch))
	for i, r := range batch {
		stamp(r.change.Events, now)
		for j := range r.change.Linked {
			stamp(r.change.Linked[j].Events, now)
		}
		changes[i] = r.change
	}
	return changes
}

func stamp(events []domain.Event, now time.Time) {
	for i := range events {
		if events[i].Time.IsZero() {
			events[i].Time = now
		}
	}
}

// publishAll publishes a change and its linked changes, as far as they were written.
func (l *Log) publishAll(change store.Change, outcome store.Result) {
	if outcome.Err != nil || outcome.Repeated {
		return
	}
	l.publish(change, outcome)
	for i, linked := range outcome.Linked {
		if linked.Err == nil { // otherwise it was left out
			l.publish(change.Linked[i], linked)
		}
	}
}

// publish sets the seqs of the events and passes them to followers.
func (l *Log) publish(change store.Change, outcome store.Result) {
	first := outcome.LastSeq - int64(len(change.Events)) + 1
	for i := range change.Events {
		change.Events[i].Seq = first + int64(i)
	}
	l.changes.Add(1)
	l.events.Add(int64(len(change.Events)))
	foreign := change.Epoch == 0 && !change.Quiet
	if t := l.topics.find(change.Execution); t != nil {
		t.publish(change.Events, foreign)
	}
	if foreign && l.onForeign != nil {
		l.onForeign(change.Execution)
	}
	if len(change.Events) > 0 {
		l.feeds.notify(outcome.Tenant)
	}
	l.noteForPeers(change.Execution, outcome.Tenant)
}

// OnForeign sets the function that is called after each change of others than the driver, while the committer waits. It is called
// before Run.
func (l *Log) OnForeign(call func(domain.ExecutionID)) { l.onForeign = call }

// OnRelease sets the function that is called when another replica has released its executions; it must return soon. It is called
// before Run.
func (l *Log) OnRelease(call func()) { l.onRelease = call }

// Forget ends the followers of a deleted execution, here and on other replicas: their next read is domain.CodeNotFound. Its driver,
// which has to end it, sees a foreign write. Forget is called again when the last row is gone, for callers that wait for that.
func (l *Log) Forget(id domain.ExecutionID) {
	l.noteForPeers(id, "")
	if t := l.topics.find(id); t != nil {
		t.forget()
	}
}

// Stats counts since the start.
type Stats struct {
	Commits int64 // transactions
	Changes int64 // changes in them
	Events  int64 // events in those
	Topics  int   // executions that are followed or watched now
	Queued  int   // changes that wait for the committer now

	Listening             bool  // notifications of other replicas arrive now
	NotificationsSent     int64 // to other replicas
	NotificationsReceived int64 // from other replicas
	FoundByNotification   int64 // executions with writes of others, found by a notification
	FoundByPoll           int64 // the same, found by the poll first
}

// Stats returns the counters for the metrics.
func (l *Log) Stats() Stats {
	l.mu.Lock()
	queued := len(l.queue)
	l.mu.Unlock()
	return Stats{
		Commits: l.commits.Load(), Changes: l.changes.Load(), Events: l.events.Load(),
		Topics: len(l.topics.all()), Queued: queued,
		Listening: l.peers.listening.Load(), NotificationsSent: l.peers.sent.Load(), NotificationsReceived: l.peers.received.Load(),
		FoundByNotification: l.peers.foundByNotification.Load(), FoundByPoll: l.peers.foundByPoll.Load(),
	}
}

// poll notifies followers of the writes of other replicas.
func (l *Log) poll(ctx context.Context) {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			l.pollOnce(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (l *Log) pollOnce(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	l.readHeads(ctx, l.topics.all(), &l.peers.foundByPoll)
	l.pollFeeds(ctx)
}

// readHeads reads the changed heads of topics and notifies their listeners. It counts the topics with new events in found.
func (l *Log) readHeads(ctx context.Context, topics []*topic, found *atomic.Int64) {
	if len(topics) == 0 {
		return
	}
	known := make([]store.KnownHead, len(topics))
	for i, t := range topics {
		known[i] = t.known()
	}
	changed, err := l.store.ChangedHeads(ctx, known)
	if err != nil {
		slog.Warn("cannot look for the writes of other replicas", "error", err)
		return
	}
	for _, n := range changed {
		switch t := topics[n.Place]; {
		case n.Gone && known[n.Place].LastSeq > 0:
			t.forget()
		case n.Gone: // a session watches before it creates, so an execution without events is not deleted
		case t.polled(n.Head):
			found.Add(1)
		}
	}
}
