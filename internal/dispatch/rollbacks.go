package dispatch

import (
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"signoff/internal/audit"
	"signoff/internal/checkpoints"
	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/store"
)

const (
	// rollbackWait bounds the wait of a request for the end of its rollback. The request looks at each rollbackPoll.
	rollbackWait = 30 * time.Second
	rollbackPoll = 100 * time.Millisecond
	// takeOverEvery is the interval at which a replica looks for rollbacks of dead replicas.
	takeOverEvery = 15 * time.Second
)

// RollbackStore is the part of the store that [Rollbacks] use.
type RollbackStore interface {
	Execution(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID) (domain.Execution, error)
	EventsOfType(ctx context.Context, id domain.ExecutionID, of domain.EventType, after int64, limit, bytes int) ([]domain.Event, error)
	Rollbacks(ctx context.Context, id domain.ExecutionID) ([]domain.Rollback, error)
	RequestRollback(ctx context.Context, tenant domain.TenantID, wanted store.NewRollback) (domain.Rollback, error)
	JournalRollback(ctx context.Context, w store.RollbackWriter, journal json.RawMessage) error
	EndRollback(ctx context.Context, w store.RollbackWriter, end store.RollbackEnd, record domain.AuditRecord) error
	Below(ctx context.Context, root domain.ExecutionID) ([]domain.ExecutionID, error)
	TakeOverRollbacks(ctx context.Context, replica store.ReplicaID) ([]domain.Rollback, error)
}

// Rollbacks rolls executions back to earlier checkpoints. The session of a live execution does its rollbacks; after the end of the execution, this replica does.
// Several goroutines may call its methods at once.
type Rollbacks struct {
	store       RollbackStore
	log         *events.Log
	checkpoints *checkpoints.Service
	replica     store.ReplicaID

	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	running sync.WaitGroup
}

// NewRollbacks returns the rollbacks of a replica. The caller closes them.
func NewRollbacks(s RollbackStore, log *events.Log, service *checkpoints.Service, replica store.ReplicaID) *Rollbacks {
	ctx, stop := context.WithCancel(context.Background())
	return &Rollbacks{store: s, log: log, checkpoints: service, replica: replica, ctx: ctx, stop: stop}
}

// Close stops the rollbacks that this replica does. Another replica, or the next start, finishes them.
func (r *Rollbacks) Close() {
	r.stop()
	r.running.Wait()
}

// Run finishes the rollbacks of dead replicas until ctx ends.
func (r *Rollbacks) Run(ctx context.Context) {
	ticker := time.NewTicker(takeOverEvery)
	defer ticker.Stop()
	for {
		taken, err := r.store.TakeOverRollbacks(ctx, r.replica)
		if err != nil && ctx.Err() == nil {
			slog.Warn("cannot look for rollbacks of dead replicas", "error", err)
		}
		for _, rollback := range taken {
			r.running.Go(func() { r.finish(rollback) })
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// History lists the checkpoints of an execution: those in its log, and those of rollbacks after its end.
func (r *Rollbacks) History(ctx context.Context, id domain.ExecutionID) (checkpoints.History, error) {
	log, err := r.store.EventsOfType(ctx, id, domain.CheckpointCreatedType, 0, math.MaxInt32, math.MaxInt)
	if err != nil {
		return nil, err
	}
	points, err := domain.PayloadsOf[domain.CheckpointCreated](log)
	if err != nil {
		return nil, err
	}
	rows, err := r.store.Rollbacks(ctx, id)
	for _, row := range rows {
		if row.Result != nil {
			points = append(points, row.Result.Checkpoints...)
		}
	}
	return checkpoints.HistoryOf(points), err
}

// Preview plans a rollback from the present state of the folders.
func (r *Rollbacks) Preview(ctx context.Context, execution domain.Execution, request domain.RollbackRequest) (domain.RollbackPlan, error) {
	history, target, err := r.resolve(ctx, execution, request)
	if err != nil {
		return domain.RollbackPlan{}, err
	}
	return r.checkpoints.Preview(ctx, execution.ID, history, !execution.Status.Terminal(), target)
}

// resolve finds the checkpoint, the paths and the descendants that a request names.
func (r *Rollbacks) resolve(ctx context.Context, execution domain.Execution, request domain.RollbackRequest) (checkpoints.History, checkpoints.Rollback, error) {
	history, err := r.History(ctx, execution.ID)
	if err != nil {
		return nil, checkpoints.Rollback{}, err
	}
	point, err := history.Numbered(request.To)
	if err != nil {
		return nil, checkpoints.Rollback{}, domain.At("/to", err)
	}
	target := checkpoints.Rollback{To: point, Paths: []string{}}
	for i, path := range request.Paths {
		if !filepath.IsAbs(path) {
			path = filepath.Join(execution.Request.WorkingDirectory, path)
		}
		path = filepath.Clean(path)
		if !point.Holds(path) {
			return nil, target, domain.Invalid(domain.Pointer("paths", strconv.Itoa(i)), "This path lies in no folder of the checkpoint.")
		}
		target.Paths = append(target.Paths, path)
	}
	if !request.Tree {
		return history, target, nil
	}
	if execution.Root() != execution.ID {
		return nil, target, domain.Invalid("/tree", "This execution is not the root of its tree.")
	}
	below, err := r.store.Below(ctx, execution.ID)
	if err != nil {
		return nil, target, err
	}
	target.Tree, err = checkpoints.Descendants(below, func(id domain.ExecutionID) (checkpoints.History, error) { return r.History(ctx, id) })
	return history, target, err
}

// Begin requests a rollback and waits for its end, for half a minute at most. If the rollback was refused, for instance with domain.CodeBusy, Begin returns its
// row and the error.
func (r *Rollbacks) Begin(ctx context.Context, execution domain.Execution, request domain.RollbackRequest) (domain.Rollback, error) {
	_, target, err := r.resolve(ctx, execution, request)
	if err != nil {
		return domain.Rollback{}, err
	}
	if err := r.checkpoints.Located(target.To); err != nil && execution.Status.Terminal() {
		return domain.Rollback{}, err
	}
	request.Paths = target.Paths
	row, err := r.store.RequestRollback(ctx, execution.Tenant, store.NewRollback{
		Execution: execution.ID, Request: request, Replica: r.replica,
		Record: audit.Rollback(execution, domain.Rollback{Request: request}, domain.RollbackRequested, nil, audit.ByAPI),
	})
	if err != nil {
		return row, err
	}
	if row.State == domain.RollbackRunning {
		r.running.Go(func() { r.finish(row) })
	} else if _, err := r.log.Commit(ctx, store.Change{Execution: execution.ID, Notify: true}); err != nil && domain.CodeOf(err) != domain.CodeStale {
		slog.Warn("cannot notify the driver of a rollback; it looks at its next write", "execution", execution.ID, "error", err)
	}
	return r.await(ctx, row)
}

// await waits for the end of a rollback.
func (r *Rollbacks) await(ctx context.Context, row domain.Rollback) (domain.Rollback, error) {
	ctx, cancel := context.WithTimeout(ctx, rollbackWait)
	defer cancel()
	ticker := time.NewTicker(rollbackPoll)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return row, nil
		}
		all, err := r.store.Rollbacks(ctx, row.Execution)
		if err != nil || len(all) < row.Number {
			continue // if this goes on, the caller can read the row later
		}
		if row = all[row.Number-1]; row.Ended == nil {
			continue
		}
		if row.Error != nil && row.Result == nil {
			return row, domain.Errorf(row.Error.Code, "%s", row.Error.Message)
		}
		return row, nil
	}
}

// finish does a rollback of an execution that has ended, or the rest of a rollback that a dead replica has begun.
func (r *Rollbacks) finish(row domain.Rollback) {
	execution, err := r.store.Execution(r.ctx, row.Tenant, row.Execution)
	if err != nil {
		slog.Warn("a rollback waits: its execution cannot be read", "execution", row.Execution, "error", err)
		return
	}
	writer := store.RollbackWriter{Tenant: row.Tenant, Execution: row.Execution, Number: row.Number, Replica: r.replica}
	result, err := r.do(execution, row, writer)
	if r.ctx.Err() != nil {
		return // another replica, or the next start, finishes it
	}
	end := store.EndOfRollback(row.Number, result, err)
	if err := r.store.EndRollback(r.ctx, writer, end, audit.Rollback(execution, row, end.State, end.Result, audit.BySession)); err != nil {
		slog.Warn("the end of a rollback cannot be written; it is done again, and finds nothing to do", "execution", row.Execution, "error", err)
	}
}

func (r *Rollbacks) do(execution domain.Execution, row domain.Rollback, writer store.RollbackWriter) (domain.RollbackResult, error) {
	history, target, err := r.resolve(r.ctx, execution, row.Request)
	if err != nil {
		return domain.RollbackResult{}, err
	}
	journal, err := checkpoints.JournalFrom(row.Journal)
	if err != nil {
		return domain.RollbackResult{}, err
	}
	return r.checkpoints.Finish(r.ctx, row, history, target, journal, func(ctx context.Context, journal checkpoints.Journal) error {
		return r.store.JournalRollback(ctx, writer, domain.Encode(journal))
	})
}
