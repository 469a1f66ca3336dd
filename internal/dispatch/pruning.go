package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
)

const (
	pruneEvery = time.Hour
	// pruneSoon is how long a pruner waits after the removal of an execution for further ones, and before it asks again for work that another replica has. Each
	// pruning starts git for every workspace.
	pruneSoon = 5 * time.Minute
	// pruneLease is how long the others wait for a replica that has died while it pruned.
	pruneLease = 2 * time.Minute
	pruneWork  = "prune checkpoints"
)

// Leases is the part of the store that a [Pruner] uses.
type Leases interface {
	ClaimWork(ctx context.Context, work string, by store.ReplicaID, ttl time.Duration) (bool, error)
	ReleaseWork(ctx context.Context, work string, by store.ReplicaID) error
	HasExecution(ctx context.Context, id domain.ExecutionID) (bool, error)
}

var _ Leases = (*store.Store)(nil)

// Checkpoints prunes the checkpoints of all executions.
type Checkpoints interface {
	Prune(ctx context.Context, keep func(context.Context, domain.ExecutionID) (bool, error)) error
}

// Pruner removes the checkpoints of executions that are gone. Each replica has a pruner. Only one of them prunes at a time, since replicas may share the folder.
type Pruner struct {
	leases      Leases
	checkpoints Checkpoints
	replica     store.ReplicaID
	removed     chan struct{} // an execution was removed since the last pruning began
}

// NewPruner returns a pruner that removes nothing until Run is called.
func NewPruner(l Leases, c Checkpoints, replica store.ReplicaID) *Pruner {
	return &Pruner{leases: l, checkpoints: c, replica: replica, removed: make(chan struct{}, 1)}
}

// Removed tells the pruner that an execution was removed.
func (p *Pruner) Removed() { notify(p.removed) }

// Run prunes soon after it begins, soon after the removal of executions, and each hour, until ctx ends.
func (p *Pruner) Run(ctx context.Context) {
	next := time.Now().Add(pruneSoon)
	timer := time.NewTimer(pruneSoon)
	defer timer.Stop()
	in := func(pause time.Duration) {
		next = time.Now().Add(pause)
		timer.Reset(pause)
	}
	for {
		select {
		case <-p.removed:
			if time.Until(next) > pruneSoon {
				in(pruneSoon)
			}
		case <-timer.C:
			pause := pruneEvery
			switch pruned, err := p.prune(ctx); {
			case err != nil && ctx.Err() == nil:
				slog.Warn("cannot remove the checkpoints of executions that are gone, and will try again in an hour", "error", err)
			case !pruned:
				pause = pruneSoon
			}
			in(pause)
		case <-ctx.Done():
			return
		}
	}
}

// errLost: another replica may prune by now.
var errLost = errors.New("the lease was lost while checkpoints were pruned")

// prune prunes unless another replica does.
func (p *Pruner) prune(ctx context.Context) (pruned bool, err error) {
	claimed, err := p.leases.ClaimWork(ctx, pruneWork, p.replica, pruneLease)
	if err != nil || !claimed {
		return false, err
	}
	defer func() { _ = p.leases.ReleaseWork(context.WithoutCancel(ctx), pruneWork, p.replica) }() // it runs out by itself
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	kept := make(chan struct{})
	defer func() { <-kept }()
	defer stop(nil)
	go func() {
		defer close(kept)
		p.keepLease(ctx, stop)
	}()
	return true, p.checkpoints.Prune(ctx, p.leases.HasExecution)
}

// keepLease prolongs the lease until ctx ends, and stops the pruning when the lease is lost.
func (p *Pruner) keepLease(ctx context.Context, stop context.CancelCauseFunc) {
	ticker := time.NewTicker(pruneLease / 4)
	defer ticker.Stop()
	until := time.Now().Add(pruneLease)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		asked := time.Now()
		claimed, err := p.leases.ClaimWork(ctx, pruneWork, p.replica, pruneLease)
		switch {
		case err == nil && claimed:
			until = asked.Add(pruneLease)
		case err == nil, time.Until(until) < pruneLease/4:
			stop(errLost)
			return
		}
	}
}
