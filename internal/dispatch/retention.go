package dispatch

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/workspace/folders"
)

const (
	sweepEvery = time.Minute
	// sweepBatch is how many executions are found at once, and sweepLimit how many one replica removes in a minute: if an operator
	// shortens the time from for ever to a week, a million may be due, and clients must be served meanwhile.
	sweepBatch = 50
	sweepLimit = 1000
	// deliveryBatch is how many deliveries to webhooks are removed in one transaction.
	deliveryBatch = 500
	// filesBatch is how many files are removed in one transaction, and filesKept how long an upload waits for the execution that uses it.
	filesBatch = 100
	filesKept  = 24 * time.Hour
)

// byRetention is the actor in the audit if nobody has deleted an execution by hand.
var byRetention = domain.Actor{Name: "retention"}

// Expiring is the part of the store that a [Sweeper] uses.
type Expiring interface {
	Expired(ctx context.Context, keep time.Duration, limit int) ([]domain.Execution, error)
	Delete(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, record domain.AuditRecord) error
	Below(ctx context.Context, root domain.ExecutionID) ([]domain.ExecutionID, error)
	ForgetDeliveries(ctx context.Context, age time.Duration, limit int) (int, error)
	RemoveUploads(ctx context.Context, age time.Duration, limit int) (int, error)
	RemoveOrphans(ctx context.Context, limit int) (int, error)
}

// Sweeper deletes roots that have ended and whose time is over, as DELETE would: the [Manager] of some replica removes their
// rows. Each replica has a sweeper; if two find the same execution, the second finds it deleted.
type Sweeper struct {
	store   Expiring
	log     *events.Log
	keep    time.Duration // of executions that have no time of their own; 0 = for ever
	removed atomic.Int64

	folders    Folders // nil: no execution has an own one
	executions folders.Executions
}

// NewSweeper returns a sweeper that removes nothing until Run is called.
func NewSweeper(s Expiring, log *events.Log, keep time.Duration) *Sweeper {
	return &Sweeper{store: s, log: log, keep: keep}
}

// UseFolders has the sweeper remove own folders that nobody needs. It is called before Run.
func (s *Sweeper) UseFolders(own Folders, executions folders.Executions) {
	s.folders, s.executions = own, executions
}

// Removed counts the executions that this replica has deleted since its start.
func (s *Sweeper) Removed() int64 { return s.removed.Load() }

// Run deletes executions whose time is over, at once and then each minute, until ctx ends.
func (s *Sweeper) Run(ctx context.Context) {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	if err := removeFiles(func() (int, error) { return s.store.RemoveOrphans(ctx, filesBatch) }); err != nil && ctx.Err() == nil {
		slog.Warn("cannot remove files whose executions are gone", "error", err)
	}
	for {
		if err := s.sweep(ctx); err != nil && ctx.Err() == nil {
			slog.Warn("cannot remove what is not to be kept any longer", "error", err)
		}
		if s.folders != nil {
			if err := s.folders.Sweep(ctx, s.executions); err != nil && ctx.Err() == nil {
				slog.Warn("cannot remove own folders that nobody needs", "error", err)
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s *Sweeper) sweep(ctx context.Context) error {
	before := s.Removed()
	defer func() {
		if n := s.Removed() - before; n > 0 {
			slog.Info("executions removed, their time was over", "executions", n)
		}
	}()
	for found := 0; found < sweepLimit; {
		expired, err := s.store.Expired(ctx, s.keep, sweepBatch)
		if err != nil {
			return err
		}
		for _, execution := range expired {
			if err := s.remove(ctx, execution); err != nil {
				return err
			}
		}
		if found += len(expired); len(expired) < sweepBatch {
			break
		}
	}
	uploads := func() (int, error) { return s.store.RemoveUploads(ctx, filesKept, filesBatch) }
	if err := removeFiles(uploads); err != nil || s.keep == 0 {
		return err
	}
	// Deliveries to webhooks are as old as their executions. The webhooks' dispatcher removes them after a month, whatever is set
	// here.
	_, err := s.store.ForgetDeliveries(ctx, s.keep, deliveryBatch)
	return err
}

// removeFiles removes unused files batch by batch.
func removeFiles(batch func() (int, error)) error {
	for removed := 0; removed < sweepLimit; {
		n, err := batch()
		if removed += n; err != nil || n < filesBatch {
			return err
		}
	}
	return nil
}

func (s *Sweeper) remove(ctx context.Context, execution domain.Execution) error {
	record := audit.Execution("execution.deleted", execution, byRetention, audit.ByServer)
	err := s.store.Delete(ctx, execution.Tenant, execution.ID, record)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return nil // another replica, or a person, was quicker
	}
	if err != nil {
		return err
	}
	s.removed.Add(1)
	below, err := s.store.Below(ctx, execution.ID)
	for _, id := range append(below, execution.ID) {
		s.log.Forget(id)
	}
	return err
}
