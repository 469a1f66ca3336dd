package dispatch

import (
	"bytes"
	"context"
	"errors"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/failpoint"
	"signoff/internal/store"
)

// A request of a person is a row first, on whichever replica they ask; the driver is notified and reads it there.

// Prompt takes a further prompt. With an idempotency key that was used before, it returns the first answer again (replayed).
//
// Errors: CodeNotFound; CodeExecutionEnded and CodeClosed (no turn will come); CodeBusy (it does not want to wait, or too many
// wait already).
func (m *Manager) Prompt(
	ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, prompt domain.QueuedPrompt, by domain.Actor,
	key *store.Idempotency,
) (accepted domain.QueuedPrompt, replayed bool, err error) {
	if prompt.WhenBusy == "" {
		prompt.WhenBusy = domain.WhenBusyEnqueue
	}
	return m.takePrompt(ctx, tenant, id, prompt, by, key)
}

// takePrompt takes a prompt or an edit.
func (m *Manager) takePrompt(
	ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, prompt domain.QueuedPrompt, by domain.Actor,
	key *store.Idempotency,
) (accepted domain.QueuedPrompt, replayed bool, err error) {
	execution, err := m.store.Execution(ctx, tenant, id)
	if err != nil {
		return domain.QueuedPrompt{}, false, err
	}
	if (execution.Request.Kind == domain.KindGeneration) != (prompt.Edit != nil) {
		return domain.QueuedPrompt{}, false, mismatched(prompt)
	}
	edits := 0
	if prompt.Edit != nil {
		edits = prompt.Edit.Generation
		if prompt.Edit, err = m.maskEdit(*prompt.Edit); err != nil {
			return domain.QueuedPrompt{}, false, err
		}
	}
	prompt.ID = domain.PromptID(approvals.NewID())
	prompt.Text, prompt.Parts = m.masker.MaskString(prompt.Text), m.maskParts(prompt.Parts)
	if options := domain.Encode(prompt.Options); !bytes.Equal(m.masker.JSON(options), options) {
		return domain.QueuedPrompt{}, false, domain.Errorf(domain.CodeSecretExposed, "The options hold the value of a secret, which cannot be masked there.")
	}
	prompt.Execution, prompt.By, prompt.Created = id, by, time.Now().UTC().Truncate(time.Microsecond)
	failpoint.Hit(failpoint.BeforePromptRequest)
	_, err = m.log.Commit(ctx, store.Change{
		Execution: id, Prompt: &store.NewPrompt{Prompt: prompt, Idempotency: key},
		Events: []domain.Event{domain.NewEvent(id, domain.PromptQueued{
			PromptID: prompt.ID, Text: prompt.Text, Parts: prompt.Parts, WhenBusy: prompt.WhenBusy, Edits: edits, By: by, Options: prompt.Options,
		})},
		Audit: []domain.AuditRecord{audit.Execution("execution.prompted", execution, by, audit.ByAPI)},
	})
	failpoint.Hit(failpoint.AfterPromptRequest)
	if err == nil {
		return prompt, false, nil
	}
	if key != nil { // also if the execution has ended since: the first answer stands
		first, bodyHash, lookup := m.store.PromptByKey(ctx, id, key.Key)
		if lookup == nil {
			lookup = sameBody(bodyHash, key)
		}
		switch {
		case lookup == nil:
			return first, true, nil
		case domain.CodeOf(lookup) != domain.CodeNotFound:
			return domain.QueuedPrompt{}, false, lookup
		}
	}
	return domain.QueuedPrompt{}, false, m.notPrompted(ctx, execution, err)
}

// mismatched is the error for a prompt in place of an edit, or an edit in place of a prompt.
func mismatched(prompt domain.QueuedPrompt) error {
	if prompt.Edit != nil {
		return domain.Errorf(domain.CodeNoGeneration, "This execution generates no blocks; send it a prompt.")
	}
	return domain.Errorf(domain.CodeConflict, "This execution generates blocks: ask for changes of them with an edit.")
}

func (m *Manager) notPrompted(ctx context.Context, execution domain.Execution, err error) error {
	if domain.CodeOf(err) != domain.CodeStale || errors.Is(err, store.ErrCommitUnknown) {
		return err
	}
	execution, lookup := m.store.Execution(ctx, execution.Tenant, execution.ID)
	if lookup != nil {
		return lookup
	}
	return domain.Errorf(domain.CodeExecutionEnded, "The execution has already ended: it is %s.", execution.Status)
}

// Resume chooses how an interrupted execution goes on.
//
// Errors: CodeNotFound; CodeNotInterrupted; CodeConflict (somebody chose otherwise); CodeInvalid (its cause knows no such mode);
// CodeNotResumable (the agent has no session that could be loaded).
func (m *Manager) Resume(
	ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, mode domain.ResumeMode, by domain.Actor,
) (domain.Execution, error) {
	execution, err := m.store.Execution(ctx, tenant, id)
	if err != nil {
		return domain.Execution{}, err
	}
	if mode == domain.ResumeLoad && execution.Cause == domain.CauseProcessGone && execution.AgentSession == "" {
		return execution, domain.Errorf(domain.CodeNotResumable, "The agent cannot load its session again; choose fresh or fail.")
	}
	failpoint.Hit(failpoint.BeforeResumeRequest)
	_, err = m.log.Commit(ctx, store.Change{
		Execution: id, Resume: &store.ResumeRequest{Mode: mode, By: by},
		Audit: []domain.AuditRecord{audit.Execution("execution.resumed", execution, by, audit.ByAPI)},
	})
	failpoint.Hit(failpoint.AfterResumeRequest)
	if domain.CodeOf(err) == domain.CodeStale && !errors.Is(err, store.ErrCommitUnknown) {
		err = domain.Errorf(domain.CodeNotInterrupted, "The execution is not interrupted: it has ended.")
	}
	if err != nil {
		return execution, err
	}
	return m.store.Execution(ctx, tenant, id)
}

// Cancel asks for the end of an execution, on whichever replica it is driven, and does not wait for it: when it returns, the
// request is in the database, and survives the death of this server. It returns the execution as it then stands. A second
// cancellation is no error; if the execution has ended otherwise, it is CodeExecutionEnded.
func (m *Manager) Cancel(
	ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, reason string, by domain.Actor,
) (domain.Execution, error) {
	request := store.Change{Execution: id, Cancel: &store.CancelRequest{Reason: m.masker.MaskString(reason), By: by}}
	return m.end(ctx, tenant, request, domain.StatusCancelled, "execution.cancelled", by)
}

// Close asks for the ordinary end of an execution that stays open: it takes no more prompts, and ends as completed after the turn
// that runs and those that wait. Like Cancel, it does not wait for the end.
func (m *Manager) Close(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, by domain.Actor) (domain.Execution, error) {
	return m.end(ctx, tenant, store.Change{Execution: id, Close: &by}, domain.StatusCompleted, "execution.closed", by)
}

// end writes the request for an end.
func (m *Manager) end(
	ctx context.Context, tenant domain.TenantID, request store.Change, wanted domain.Status, action string, by domain.Actor,
) (domain.Execution, error) {
	execution, err := m.store.Execution(ctx, tenant, request.Execution)
	if err != nil {
		return domain.Execution{}, err
	}
	if execution.Status.Terminal() {
		return execution, EndedOtherwise(execution, wanted)
	}
	request.Audit = []domain.AuditRecord{audit.Execution(action, execution, by, audit.ByAPI)}
	failpoint.Hit(failpoint.BeforeEndRequest)
	if _, err := m.log.Commit(ctx, request); err != nil && (domain.CodeOf(err) != domain.CodeStale || errors.Is(err, store.ErrCommitUnknown)) {
		return execution, err
	}
	failpoint.Hit(failpoint.AfterEndRequest)
	execution, err = m.store.Execution(ctx, tenant, execution.ID)
	if err == nil && execution.Status.Terminal() {
		err = EndedOtherwise(execution, wanted)
	}
	return execution, err
}

// EndedOtherwise is CodeExecutionEnded if an execution has ended with another status than the requested one.
func EndedOtherwise(execution domain.Execution, wanted domain.Status) error {
	if execution.Status == wanted {
		return nil
	}
	return domain.Errorf(domain.CodeExecutionEnded, "The execution has already ended: it is %s.", execution.Status)
}

// endWait is how long awaitEnd waits at most.
const endWait = 10 * time.Second

// awaitEnd follows the log until the terminal event, for at most endWait, and reads the execution again.
func (m *Manager) awaitEnd(ctx context.Context, execution domain.Execution) (domain.Execution, error) {
	follower, err := m.log.Follow(ctx, execution.ID, execution.LastSeq)
	if err != nil {
		return execution, err
	}
	defer follower.Close()
	patience := time.NewTimer(endWait)
	defer patience.Stop()
	for {
		frames, err := follower.Next(ctx)
		if err != nil {
			return execution, err
		}
		if follower.Ended() {
			break
		}
		if len(frames) > 0 {
			continue
		}
		select {
		case <-follower.Notified():
			continue
		case <-patience.C:
		case <-ctx.Done():
			return execution, context.Cause(ctx)
		}
		break
	}
	return m.store.Execution(ctx, execution.Tenant, execution.ID)
}
