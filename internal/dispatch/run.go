package dispatch

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/failpoint"
	"signoff/internal/sessions"
	"signoff/internal/store"
)

// NewManager returns a manager that drives nothing until Run is called.
func NewManager(config Config, s Store, log *events.Log) *Manager {
	m := &Manager{
		store: s, log: log, masker: config.Masker, limits: config.Limits.withDefaults(), budgets: config.Budgets, folders: config.Folders,
		replica: config.Replica, ttl: config.LeaseTTL, lookEvery: config.LookEvery, createWithin: config.CreateWithin,
		live: map[domain.ExecutionID]*driven{}, tenants: map[domain.TenantID]int{},
		urgent: map[domain.ExecutionID]bool{}, orphans: map[domain.ExecutionID]int64{},
		notification: make(chan struct{}, 1), releasing: make(chan struct{}, 1), deleted: make(chan struct{}, 1), draining: make(chan struct{}),
	}
	config.MaxEvents, config.MaxCommands = m.limits.Events, m.limits.Commands
	if config.Folders != nil {
		config.Config.Folders = config.Folders
	}
	m.engine = sessions.NewEngine(config.Config, s, log, m)
	if m.replica == "" {
		m.replica = store.ReplicaID(uuid.NewString())
	}
	if m.ttl == 0 {
		m.ttl = 10 * time.Second
	}
	if m.removed = config.Removed; m.removed == nil {
		m.removed = func() {}
	}
	if m.createWithin == 0 {
		m.createWithin = domain.CreationTime
	}
	if m.lookEvery == 0 {
		m.lookEvery = min(m.ttl/3, time.Second)
	}
	log.OnForeign(m.acquireSoon)
	log.OnRelease(m.lookAgain)
	if m.leases.trust = config.Trust; config.Trust == nil {
		m.leases.trust = func(time.Time) {}
	}
	return m
}

// Run renews the lease and acquires executions that nobody drives, until ctx ends. It returns the error of the first renewal,
// since a server that cannot write must not serve.
func (m *Manager) Run(ctx context.Context, ready func()) error {
	defer m.leases.end(errStopped) // sessions that were not drained end without a write
	if err := m.beginLease(ctx); err != nil {
		return err
	}
	ready()
	var beside sync.WaitGroup
	defer beside.Wait()
	beside.Go(func() { m.keepRenewing(ctx) })
	beside.Go(func() { m.keepRemoving(ctx) })
	m.keepAcquiring(ctx)
	return nil
}

// leasePatience is how long a server that starts tries to take its lease.
const leasePatience = 30 * time.Second

// beginLease tries for longer than a renewal may take: a server that starts while the database is slow must not stop, be started
// again and make the database slower.
func (m *Manager) beginLease(ctx context.Context) error {
	for begun := time.Now(); ; {
		err := m.renew(ctx)
		if err == nil || time.Since(begun) > leasePatience {
			return err
		}
		slog.Warn("cannot take a lease, trying again", "error", err)
		select {
		case <-time.After(m.ttl / 10):
		case <-ctx.Done():
			return err
		}
	}
}

// keepRenewing has a ticker of its own: acquiring may wait for the database, and must not cost the lease.
func (m *Manager) keepRenewing(ctx context.Context) {
	ticker := time.NewTicker(m.ttl / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := m.renew(ctx)
		m.leases.failing.Store(err != nil)
		if err != nil && ctx.Err() == nil {
			slog.Warn("cannot renew the lease", "error", err)
		}
	}
}

// renew counts from before the request was sent: if the answer takes long, the lease is already that much shorter. The margin is
// for a clock that runs slower than the database's.
func (m *Manager) renew(ctx context.Context) error {
	m.leases.renewing.Lock()
	defer m.leases.renewing.Unlock()
	if m.leases.stopped {
		return nil
	}
	sent := time.Now()
	ctx, cancel := context.WithTimeout(ctx, m.ttl/3)
	defer cancel()
	if err := m.store.Heartbeat(ctx, m.replica, m.ttl); err != nil {
		return err
	}
	var trusted time.Time
	if m.store.Shared() {
		trusted = sent.Add(m.ttl - m.ttl/5)
	}
	m.leases.renewed(sent, trusted)
	return nil
}

// slowCommit is how long a change may wait before the server counts as unable to write.
const slowCommit = 2 * time.Second

// Writable tells whether the database takes writes: it still answers readings while a disk is full or slow, or a table is locked.
// Anybody may ask, so Writable writes nothing itself. It goes by the writes of the server: the newest renewal of the lease is
// younger than half of it, no renewal or commit has just failed, and none waits for two seconds.
func (m *Manager) Writable() bool {
	return m.leases.age() < m.ttl/2 && !m.leases.failing.Load() && !m.log.Failing() && m.log.Waiting() < slowCommit
}

// keepAcquiring acquires at every tick, and after a notification.
func (m *Manager) keepAcquiring(ctx context.Context) {
	ticker := time.NewTicker(m.lookEvery)
	defer ticker.Stop()
	for tick := true; ; {
		if err := m.acquire(ctx, tick); err != nil && ctx.Err() == nil {
			slog.Warn("cannot acquire executions", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			tick = true
		case <-m.notification:
			tick = false
		}
	}
}

// acquire acquires executions that nobody drives, to continue them from their logs, and releases those that this replica cannot
// drive. Between two ticks it looks only for the reasons of a notification.
func (m *Manager) acquire(ctx context.Context, tick bool) error {
	ctx, cancel := context.WithTimeout(ctx, acquireLimit)
	defer cancel()
	if err := m.releaseOrphans(ctx, tick); err != nil {
		return err
	}
	if err := m.acquireUrgent(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	more, backlog := m.more, m.backlog > 0
	m.mu.Unlock()
	if tick || more {
		if err := m.acquireReleased(ctx); err != nil {
			return err
		}
	}
	if tick || backlog {
		return m.admitQueued(ctx)
	}
	return nil
}

// Drain ends all sessions, releases their executions and returns, or returns the cause of ctx. New executions are refused from its
// beginning on.
func (m *Manager) Drain(ctx context.Context) error {
	m.mu.Lock()
	if !m.isDraining() {
		close(m.draining)
	}
	m.mu.Unlock()
	left := make(chan struct{})
	go func() {
		m.running.Wait()
		close(left)
	}()
	select {
	case <-left:
		m.leases.stopRenewing()
		return m.releaseAll(ctx)
	case <-ctx.Done():
		slog.Error("drain was cut short", "live", m.Live())
		return context.Cause(ctx)
	}
}

// releaseWait is how long a drain waits for a release that is under way. A statement that hangs must not keep all other executions
// from the other replicas.
const releaseWait = time.Second

// releaseAll releases everything and notifies the others, after any release that is under way: the others would pass over a row
// that such a statement still holds.
func (m *Manager) releaseAll(ctx context.Context) error {
	late := time.NewTimer(releaseWait)
	defer late.Stop()
	select {
	case m.releasing <- struct{}{}:
		defer func() { <-m.releasing }()
	case <-late.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	err := m.store.Release(ctx, m.replica)
	failpoint.Hit(failpoint.AfterRelease)
	if err != nil {
		return err
	}
	if err := m.log.AnnounceRelease(ctx); err != nil {
		slog.Warn("cannot notify the other replicas of the release; they look each second", "error", err)
	}
	return nil
}
