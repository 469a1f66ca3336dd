package checkpoints

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"signoff/internal/domain"
	"signoff/internal/workspace/checkpoint"
)

const (
	// waitLimit bounds the wait of a call or a turn for its checkpoint with mode bestEffort.
	waitLimit = 10 * time.Second
	// takeLimit bounds the duration of one checkpoint.
	takeLimit = 5 * time.Minute
	// stopGrace bounds the wait for the checkpoints of a turn that was stopped.
	stopGrace = 2 * time.Second
	// A keeper that had no request for idleAfter forgets the list of its files, if they are more than idleFiles. 100,000 files take 20 MB, and an execution
	// may wait for a person for days.
	idleAfter = time.Minute
	idleFiles = 1000
)

// Execution describes an execution to its keeper.
type Execution struct {
	ID        domain.ExecutionID
	Mode      domain.CheckpointMode // off: the keeper only tells the others when this execution writes
	Folders   []string              // absolute, without links, none within another
	External  bool                  // its agent writes by itself during a turn
	Trees     map[string]string     // the newest checkpoint, by folder
	Recovered bool                  // an earlier driver may have run something since that checkpoint
}

// Report puts the event of a checkpoint into the log. It returns when the event is there.
type Report func(ctx context.Context, event domain.CheckpointCreated) error

// Keeper takes the checkpoints of one execution, in the order of the requests. The caller closes it. It has a goroutine only while requests wait, so an
// execution that waits for a person takes none.
type Keeper struct {
	service   *Service
	execution Execution
	report    Report
	ctx       context.Context // ends with Close
	stop      context.CancelCauseFunc
	worker    *worker // only the goroutine that runs uses it

	mu       sync.Mutex
	requests []*request
	running  chan struct{} // closed when the goroutine ends; nil: none runs
	idle     *time.Timer   // puts the request to forget the files; nil: there are few of them, or requests wait
}

// errClosed is the error of each request of a closed keeper.
var errClosed = errors.New("checkpoints: the keeper is closed")

// keeper returns a keeper. It begins to work with its first request.
func (s *Service) keeper(execution Execution, report Report) *Keeper {
	ctx, stop := context.WithCancelCause(context.Background())
	if execution.Trees == nil {
		execution.Trees = map[string]string{}
	}
	k := &Keeper{
		service: s, execution: execution, report: report, ctx: ctx, stop: stop,
	}
	k.worker = &worker{keeper: k, running: map[string]*writing{}, uncertain: execution.Recovered}
	return k
}

// Close ends the requests that wait with an error. When it returns, the keeper writes nothing more.
func (k *Keeper) Close() {
	k.service.keepers.CompareAndDelete(k.execution.ID, k)
	k.stop(errClosed)
	k.mu.Lock()
	k.wake()
	running := k.running
	k.mu.Unlock()
	if running != nil {
		<-running
	}
	k.worker.endCalls()
}

// request is one request to the keeper.
type request struct {
	kind     kind
	call     string           // the id of the tool call; empty: the request belongs to no call
	paths    []Written        // of a file tool
	at       time.Time        // when it was put into the queue
	late     atomic.Bool      // the call did not wait for its checkpoint
	rollback *rollbackRequest // nil: the request is not about a rollback
	done     chan error       // gets the result; nil: nobody waits for it
}

type kind int

const (
	beginTurn kind = iota
	beforeCall
	afterCall
	beforeWrite
	afterWrite
	endTurn
	previewRollback
	doRollback
	forget
)

// BeginTurn takes the first checkpoint of the execution, and does not wait for it. Before a turn of an external agent it takes a checkpoint and waits.
func (k *Keeper) BeginTurn(ctx context.Context) error {
	asked := &request{kind: beginTurn}
	if !k.execution.External {
		return k.put(ctx, asked)
	}
	return k.await(ctx, asked)
}

// BeforeCall takes a checkpoint before a call that may write anywhere in the folders. The caller calls AfterCall when the call has ended.
func (k *Keeper) BeforeCall(ctx context.Context, call string) error {
	return k.await(ctx, &request{kind: beforeCall, call: call})
}

// AfterCall takes a checkpoint after a call, and does not wait for it. It does nothing for a call without a BeforeCall.
func (k *Keeper) AfterCall(ctx context.Context, call string) error {
	return k.put(ctx, &request{kind: afterCall, call: call})
}

// Written is a file that a tool writes.
type Written struct {
	Path   string // absolute and clean
	Object string // the id of its new content, see [ObjectOf]; empty: the tool deletes it
}

// BeforeWrite takes a checkpoint of the files that a tool is about to write.
func (k *Keeper) BeforeWrite(ctx context.Context, call string, files []Written) error {
	return k.await(ctx, &request{kind: beforeWrite, call: call, paths: files})
}

// AfterWrite takes a checkpoint of the files that a tool has written, and does not wait for it.
func (k *Keeper) AfterWrite(ctx context.Context, call string, files []Written) error {
	return k.put(ctx, &request{kind: afterWrite, call: call, paths: files})
}

// EndTurn takes the checkpoints that are missing at the end of a turn, and waits for them. If ctx has ended, the turn was stopped, and EndTurn waits only for
// a short time.
func (k *Keeper) EndTurn(ctx context.Context) {
	asked := &request{kind: endTurn, done: make(chan error, 1)}
	if k.put(context.WithoutCancel(ctx), asked) != nil {
		return
	}
	select {
	case <-asked.done: //nolint:errcheck // an event reports the failure
		return
	case <-k.ctx.Done():
		return
	case <-ctx.Done():
	}
	grace := time.NewTimer(stopGrace)
	defer grace.Stop()
	select {
	case <-asked.done: //nolint:errcheck // as above
	case <-k.ctx.Done():
	case <-grace.C:
		slog.Warn("the last checkpoint of a turn that was stopped comes late", "execution", k.execution.ID)
	}
}

// put puts a request into the queue.
func (k *Keeper) put(ctx context.Context, asked *request) error {
	asked.at = time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.ctx.Err() != nil:
		return errClosed
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	k.wake()
	k.requests = append(k.requests, asked)
	if k.running == nil {
		k.running = make(chan struct{})
		go k.run(k.running)
	}
	return nil
}

// await puts a request into the queue and waits for its checkpoint for as long as the mode allows. People and the model read the error.
func (k *Keeper) await(ctx context.Context, asked *request) error {
	asked.done = make(chan error, 1)
	if err := k.put(ctx, asked); err != nil {
		return err
	}
	var over <-chan time.Time
	if k.execution.Mode != domain.CheckpointsRequired {
		timer := time.NewTimer(waitLimit)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case err := <-asked.done:
		if k.execution.Mode != domain.CheckpointsRequired {
			return nil // an event reports the failure
		}
		return err
	case <-over:
		asked.late.Store(true)
		return nil
	case <-k.ctx.Done():
		return errClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// run serves the requests, one after the other, until none waits.
func (k *Keeper) run(gone chan struct{}) {
	defer close(gone)
	for {
		asked := k.next()
		if asked == nil {
			return
		}
		err := errClosed
		if k.ctx.Err() == nil {
			err = k.worker.serve(asked)
		}
		if asked.done != nil {
			asked.done <- err
		}
	}
}

// next takes the next request from the queue; nil: none waits, and the goroutine ends.
func (k *Keeper) next() *request {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.requests) == 0 {
		k.running, k.requests = nil, nil
		if k.worker.held() > idleFiles && k.ctx.Err() == nil {
			k.idle = time.AfterFunc(idleAfter, func() { k.put(k.ctx, &request{kind: forget}) }) //nolint:errcheck // a closed keeper holds nothing any more
		}
		return nil
	}
	asked := k.requests[0]
	k.requests = k.requests[1:]
	return asked
}

// wake stops the timer of an idle keeper. The caller holds the lock.
func (k *Keeper) wake() {
	if k.idle != nil {
		k.idle.Stop()
		k.idle = nil
	}
}

// ObjectOf returns the id of a content, for [Written].
func ObjectOf(content []byte) string { return checkpoint.ObjectOf(content) }
