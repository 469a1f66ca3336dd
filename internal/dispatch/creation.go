package dispatch

import (
	"bytes"
	"context"
	"errors"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/failpoint"
	"signoff/internal/sessions"
	"signoff/internal/store"
)

// Start creates an execution and begins to drive it, or queues it if there is no room. When it returns, the execution and its
// first event are in the database. With an idempotency key that was used before, it returns the first answer again (replayed), or
// CodeIdempotencyMismatch if the body is another one.
//
// If the database takes longer than [domain.CreationTime] allows, the error is CodeUnavailable or CodeStorage, and the creation is
// not in the database, or on its way there. If it comes through later, it runs if it has an idempotency key, since a repeated
// request returns it; without a key it is cancelled before its agent is asked anything.
func (m *Manager) Start(
	ctx context.Context, tenant domain.TenantID, by domain.Actor, request domain.Request, key *store.Idempotency,
) (execution domain.Execution, replayed bool, err error) {
	if err := m.findAgentSession(ctx, tenant, &request); err != nil {
		return m.firstAnswerOr(ctx, tenant, key, err)
	}
	if err := m.checkBudget(ctx, tenant); err != nil {
		return m.firstAnswerOr(ctx, tenant, key, err)
	}
	if request, err = m.maskRequest(request); err != nil {
		return domain.Execution{}, false, err
	}
	execution = m.created(tenant, by, request)
	m.awaitExit(ctx, execution)
	ctx, cancel := domain.WithCreationTime(ctx, m.createWithin)
	defer cancel()
	creation := m.creation(execution, by, key)
	s, err := m.admit(execution, 1)
	if errors.Is(err, errNoRoom) {
		execution, err = m.enqueue(ctx, execution, creation, key)
		if err != nil {
			return m.notStarted(ctx, tenant, key, err)
		}
		return execution, false, nil
	}
	if err != nil {
		return m.notStarted(ctx, tenant, key, err)
	}
	failpoint.Hit(failpoint.BeforeCreation)
	written := s.Create(&creation)
	_, err = m.log.CommitOr(ctx, creation, func(_ store.Result, err error) { m.createdLate(ctx, s, key, err) })
	switch {
	case errors.Is(err, events.ErrUnderWay):
		return domain.Execution{}, false, underWay(ctx)
	case err != nil:
		m.discard(s)
		return m.notStarted(ctx, tenant, key, err)
	}
	written()
	failpoint.Hit(failpoint.AfterCreation)
	execution.LastSeq = 1
	go m.drive(s)
	return execution, false, nil
}

// checkBudget refuses an execution if its first request to a model would be refused.
func (m *Manager) checkBudget(ctx context.Context, tenant domain.TenantID) error {
	if m.budgets == nil {
		return nil
	}
	ctx, cancel := domain.WithCreationTime(ctx, m.createWithin)
	defer cancel()
	return m.budgets.Check(ctx, tenant)
}

// findAgentSession finds the agent session that a new execution continues.
func (m *Manager) findAgentSession(ctx context.Context, tenant domain.TenantID, request *domain.Request) error {
	if request.ResumeFrom == "" {
		return nil
	}
	reading, cancel := domain.WithCreationTime(ctx, m.createWithin)
	defer cancel()
	earlier, err := m.store.Execution(reading, tenant, request.ResumeFrom)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return domain.Invalid("/resumeFrom", "There is no such execution.").With(err)
	}
	if err != nil {
		return err
	}
	switch {
	case request.Source.Type != domain.SourceACP || earlier.Request.Source.Command != request.Source.Command:
		return domain.NotResumable("Only the agent that has the session can load it: name the same source.")
	case !earlier.Status.Terminal():
		return domain.NotResumable("That execution has not ended; prompt it instead.")
	case earlier.AgentSession == "":
		return domain.NotResumable("The agent of that execution cannot load its session again.")
	case earlier.Request.WorkingDirectory != request.WorkingDirectory:
		return domain.NotResumable("An agent session belongs to its workingDirectory; name the same.")
	}
	request.ResumeSession = earlier.AgentSession
	return nil
}

// awaitExit waits for the agent of an execution that has ended. Its agent session may be continued at once, and the request must
// not be refused because the process takes a moment to exit.
func (m *Manager) awaitExit(ctx context.Context, execution domain.Execution) {
	m.mu.Lock()
	other := m.driving(execution)
	m.mu.Unlock()
	if other == nil {
		return
	}
	earlier := other.session.Execution()
	if ended, err := m.store.Execution(ctx, earlier.Tenant, earlier.ID); err != nil || !ended.Status.Terminal() {
		return
	}
	select {
	case <-other.exited:
	case <-time.After(sessions.StopGrace):
	case <-ctx.Done():
	}
}

// creation is the first change of an execution.
func (m *Manager) creation(execution domain.Execution, by domain.Actor, key *store.Idempotency) store.Change {
	request := execution.Request
	created := domain.NewEvent(execution.ID, domain.CreatedBy(request))
	created.Time = execution.Created
	return store.Change{
		Execution: execution.ID,
		Epoch:     1,
		Create: &store.Creation{
			Execution: execution, Owner: m.replica, Idempotency: key, Place: request.Place(), Limit: m.limits.generationLimit(request),
		},
		Events: []domain.Event{created},
		Audit:  []domain.AuditRecord{audit.Execution("execution.created", execution, by, audit.ByAPI)},
	}
}

func (m *Manager) created(tenant domain.TenantID, by domain.Actor, request domain.Request) domain.Execution {
	now := time.Now().UTC().Truncate(time.Microsecond)
	id := domain.ExecutionID(approvals.NewID())
	if request.OwnFolder != nil && m.folders != nil {
		request.WorkingDirectory, request.Clone = m.folders.Directory(id, *request.OwnFolder), m.folders.Clone(id, *request.OwnFolder)
	}
	return domain.Execution{
		ID: id, Tenant: tenant, Request: request,
		Status: domain.StatusQueued, Created: now, Updated: now, ByKey: by.KeyID,
	}
}

// enqueue creates an execution that waits for room.
//
// Errors: CodeTooMany if the tenant's part of the queue is full, CodeOverloaded if all of it is.
func (m *Manager) enqueue(
	ctx context.Context, execution domain.Execution, creation store.Change, key *store.Idempotency,
) (domain.Execution, error) {
	own, all, err := m.store.Waiting(ctx, execution.Tenant)
	switch {
	case err != nil:
		return execution, err
	case m.limits.QueuedPerTenant == NoQueue:
		m.counts.refused.Add(1)
		return execution, domain.Errorf(domain.CodeTooMany, "All room is taken, and this server queues nothing.")
	case own >= m.limits.QueuedPerTenant:
		m.counts.refused.Add(1)
		return execution, domain.Errorf(domain.CodeTooMany, "All room is taken, and %d executions wait already; try again when some of them have begun.", own)
	case all >= m.limits.Queued:
		m.counts.refused.Add(1)
		return execution, domain.Errorf(domain.CodeOverloaded, "All room is taken, and the queue of all replicas is full; try again later.")
	}
	creation.Create.Owner, creation.Create.Queued = "", true
	_, err = m.log.CommitOr(ctx, creation, func(_ store.Result, err error) { m.queuedLate(ctx, execution, key, err) })
	if errors.Is(err, events.ErrUnderWay) {
		return execution, underWay(ctx)
	}
	if err != nil {
		return execution, err
	}
	m.Enqueued()
	execution.LastSeq = 1
	return execution, nil
}

func (m *Manager) notStarted(
	ctx context.Context, tenant domain.TenantID, key *store.Idempotency, err error,
) (domain.Execution, bool, error) {
	if errors.Is(err, store.ErrCommitUnknown) {
		m.suspectUnknown() // if it was created after all, a driver finds it
	}
	switch domain.CodeOf(err) {
	case domain.CodeConflict:
		if key != nil {
			return m.replay(ctx, tenant, key)
		}
	case domain.CodeTooMany, domain.CodeOverloaded, domain.CodeNotResumable: // a full queue still answers a repeated request
		return m.firstAnswerOr(ctx, tenant, key, err)
	}
	return domain.Execution{}, false, err
}

// firstAnswerOr returns the first answer to the key again, and err if there was none.
func (m *Manager) firstAnswerOr(
	ctx context.Context, tenant domain.TenantID, key *store.Idempotency, err error,
) (domain.Execution, bool, error) {
	if key != nil {
		if first, replayed, lookup := m.replay(ctx, tenant, key); domain.CodeOf(lookup) != domain.CodeNotFound {
			return first, replayed, lookup
		}
	}
	return domain.Execution{}, false, err
}

// replay returns the first answer to an idempotency key.
func (m *Manager) replay(
	ctx context.Context, tenant domain.TenantID, key *store.Idempotency,
) (domain.Execution, bool, error) {
	first, bodyHash, err := m.store.ExecutionByKey(ctx, tenant, key.Key)
	if err == nil {
		err = sameBody(bodyHash, key)
	}
	if err != nil {
		return domain.Execution{}, false, err
	}
	// as it was when the execution was created
	first.Status, first.Turn, first.Rounds, first.LastSeq = domain.StatusQueued, 0, 0, 1
	first.Usage, first.Output, first.Ended, first.Updated = domain.Usage{}, nil, nil, first.Created
	return first, true, nil
}

// sameBody refuses a key with another body than the first time: the first answer would not fit it.
func sameBody(firstHash []byte, key *store.Idempotency) error {
	if bytes.Equal(firstHash, key.BodyHash) {
		return nil
	}
	return domain.Errorf(domain.CodeIdempotencyMismatch, "This Idempotency-Key was used before with another body.")
}
