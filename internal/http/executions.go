package http

import (
	"context"
	"strconv"
	"strings"
	"time"

	"signoff/api"
	"signoff/internal/approvals"
	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/failpoint"
	"signoff/internal/http/contract"
	"signoff/internal/store"
)

const maxWait = 60 // seconds

type createExecution struct {
	idempotent
	preferring
	Body api.CreateExecution
}

// createExecution starts an execution. With Prefer: wait=N it stays for the end.
func (s *Server) createExecution(ctx context.Context, request createExecution) (responder, error) {
	wait, err := request.wait()
	if err != nil {
		return nil, err
	}
	key := request.idempotency()
	by := who(ctx)
	admitted, err := s.admission.Admit(ctx, by, request.Body, key)
	if err != nil {
		return nil, err
	}
	execution, replayed, err := s.sessions.Start(ctx, by.Tenant, by.Actor, admitted, key)
	failpoint.Hit(failpoint.AfterHTTPCreate)
	if err != nil {
		return nil, err
	}
	if wait > 0 {
		if execution, err = s.awaitEnd(ctx, execution, wait); err != nil {
			return nil, err
		}
	}
	shown, err := s.shown(ctx, execution)
	if warnings := approvals.RequestWarnings(execution.Request); warnings != nil {
		shown.PolicyWarnings = &warnings
	}
	return createdJSON("/executions/"+string(execution.ID), shown).with(replayedHeader(replayed)).with(applied(wait)), err
}

// idempotent is a request with a key that the client chose for it.
type idempotent struct {
	Key  string        `header:"Idempotency-Key"`
	Hash contract.Hash // of the body
}

// idempotency is nil where the client chose no key.
func (i idempotent) idempotency() *store.Idempotency {
	if i.Key == "" {
		return nil
	}
	return &store.Idempotency{Key: i.Key, BodyHash: i.Hash}
}

// replayedHeader tells the client that an earlier request with its key is answered.
func replayedHeader(replayed bool) (name, value string) {
	if replayed {
		value = "true"
	}
	return "Idempotency-Replayed", value
}

type listExecutions struct {
	Status []domain.Status `query:"status"`
	paged
}

// listExecutions shows a page, the newest first. Outputs are as short as in the terminal event: two hundred of a
// megabyte would be an answer of two hundred megabytes.
func (s *Server) listExecutions(ctx context.Context, request listExecutions) (responder, error) {
	filter := store.ExecutionFilter{Status: request.Status, Cursor: request.Cursor, Limit: request.Limit}
	page, err := s.reader.Executions(ctx, who(ctx).Tenant, filter)
	if err != nil {
		return nil, err
	}
	items := make([]api.Execution, len(page.Items))
	for i, execution := range page.Items {
		if execution.Output != nil {
			execution.Output = new(execution.Output.Shortened())
		}
		if items[i], err = s.shown(ctx, execution); err != nil {
			return nil, err
		}
	}
	return okJSON(api.ExecutionPage{Items: items, NextCursor: textOrNull(page.Next)}), nil
}

type getExecution struct {
	named
	Wait int `query:"wait"`
}

// getExecution shows one execution, at once or when it has ended.
func (s *Server) getExecution(ctx context.Context, request getExecution) (responder, error) {
	execution, err := s.execution(ctx, request.ID)
	if err != nil {
		return nil, err
	}
	if request.Wait > 0 {
		if execution, err = s.awaitEnd(ctx, execution, request.Wait); err != nil {
			return nil, err
		}
	}
	shown, err := s.shown(ctx, execution)
	if err == nil && execution.Status == domain.StatusQueued {
		shown.QueuePosition, err = s.queuePosition(ctx, execution)
	}
	if err == nil && goesOnByItself(shown) {
		shown.NextAttempt, err = s.nextAttempt(ctx, execution)
	}
	return okJSON(shown), err
}

// queuePosition counts those that are before it; lists, which would have to count for each, leave it out.
func (s *Server) queuePosition(ctx context.Context, execution domain.Execution) (*int, error) {
	position, err := s.reader.QueuePosition(ctx, execution.Tenant, execution.ID)
	if err != nil || position == 0 {
		return nil, err
	}
	return &position, nil
}

type cancelExecution struct {
	named
	preferring
	Body *api.CancelExecution
}

// cancelExecution stops an execution.
func (s *Server) cancelExecution(ctx context.Context, request cancelExecution) (responder, error) {
	id, err := domain.ParseExecutionID(request.ID)
	if err != nil {
		return nil, err
	}
	reason := ""
	if request.Body != nil {
		reason = api.Or(request.Body.Reason, "")
	}
	wait, err := request.wait()
	if err != nil {
		return nil, err
	}
	by := who(ctx)
	execution, err := s.sessions.Cancel(ctx, by.Tenant, id, reason, by.Actor)
	failpoint.Hit(failpoint.AfterHTTPCancel)
	return s.ending(ctx, id, execution, err, wait, domain.StatusCancelled)
}

type closeExecution struct {
	named
	preferring
}

// closeExecution lets an execution end when it has worked off what it has.
func (s *Server) closeExecution(ctx context.Context, request closeExecution) (responder, error) {
	id, err := domain.ParseExecutionID(request.ID)
	if err != nil {
		return nil, err
	}
	wait, err := request.wait()
	if err != nil {
		return nil, err
	}
	by := who(ctx)
	execution, err := s.sessions.Close(ctx, by.Tenant, id, by.Actor)
	failpoint.Hit(failpoint.AfterHTTPClose)
	return s.ending(ctx, id, execution, err, wait, domain.StatusCompleted)
}

// ending shows an execution whose end was asked for, with asked as the error of that. It waits for the end only where the client
// prefers that; one that ends otherwise than wanted is a conflict.
func (s *Server) ending(
	ctx context.Context, id domain.ExecutionID, execution domain.Execution, asked error, wait int, wanted domain.Status,
) (responder, error) {
	err := asked
	if err == nil && wait > 0 {
		execution, err = s.awaitEnd(ctx, execution, wait)
		if err == nil && execution.Status.Terminal() {
			err = dispatch.EndedOtherwise(execution, wanted)
		}
	}
	if err != nil {
		return nil, s.overExecution(ctx, id, err)
	}
	shown, err := s.shownTo(ctx, execution)
	if execution.Status.Terminal() {
		return okJSON(shown).with(applied(wait)), err
	}
	return acceptedJSON(shown).with(applied(wait)), err
}

type resumeExecution struct {
	named
	Body api.ResumeExecution
}

// resumeExecution chooses how an interrupted execution goes on.
func (s *Server) resumeExecution(ctx context.Context, request resumeExecution) (responder, error) {
	id, err := domain.ParseExecutionID(request.ID)
	if err != nil {
		return nil, err
	}
	by := who(ctx)
	if err := s.admission.AdmitResume(ctx, by, id, request.Body.Mode); err != nil {
		return nil, err
	}
	execution, err := s.sessions.Resume(ctx, by.Tenant, id, request.Body.Mode, by.Actor)
	failpoint.Hit(failpoint.AfterHTTPResume)
	if domain.CodeOf(err) == domain.CodeNotResumable { // the agent's session is gone, so this mode is not to be had
		return nil, domain.At("/mode", err)
	}
	if err != nil {
		return nil, s.overExecution(ctx, id, err)
	}
	shown, err := s.shownTo(ctx, execution)
	return acceptedJSON(shown), err
}

type deleteExecution struct {
	named
	preferring
}

// deleteExecution deletes an execution with everything that belongs to it. With Prefer: wait=N it stays until all of it is gone.
func (s *Server) deleteExecution(ctx context.Context, request deleteExecution) (responder, error) {
	wait, err := request.wait()
	if err != nil {
		return nil, err
	}
	id, err := domain.ParseExecutionID(request.ID)
	if err != nil {
		return nil, err
	}
	by := who(ctx)
	err = s.sessions.Delete(ctx, by.Tenant, id, by.Actor)
	failpoint.Hit(failpoint.AfterHTTPDelete)
	if err != nil || wait == 0 {
		return acceptedJSON(api.DeletedExecution{Id: request.ID}), err
	}
	gone, err := s.sessions.AwaitRemoval(ctx, id, time.Duration(wait)*time.Second)
	if name, value := applied(wait); gone {
		return noContent{name: value}, err
	}
	return acceptedJSON(api.DeletedExecution{Id: request.ID}).with(applied(wait)), err
}

// execution reads the execution that a path names.
func (s *Server) execution(ctx context.Context, id string) (domain.Execution, error) {
	known, err := domain.ParseExecutionID(id)
	if err != nil {
		return domain.Execution{}, err
	}
	return s.reader.Execution(ctx, who(ctx).Tenant, known)
}

// waiting is what of an execution waits for somebody, and how the newest blocks that it has generated stand.
type waiting struct {
	approvals  []domain.Approval
	calls      []domain.ClientCall
	generation *domain.Generation
}

// shown adds what waits for a person or for the client. Only where there can be such a thing it is looked for: most
// executions of a list cost no query.
func (s *Server) shown(ctx context.Context, execution domain.Execution) (api.Execution, error) {
	var waits waiting
	var err error
	if execution.Status == domain.StatusPendingToolApproval {
		if waits.approvals, err = s.reader.ApprovalsOf(ctx, execution.ID); err != nil {
			return api.Execution{}, err
		}
	}
	if asksClient(execution.Request) && !execution.Status.Terminal() {
		if waits.calls, err = s.reader.ClientCalls(ctx, execution.ID); err != nil {
			return api.Execution{}, err
		}
	}
	if execution.Request.Kind == domain.KindGeneration {
		if waits.generation, err = s.reader.NewestGeneration(ctx, execution.Tenant, execution.ID); err != nil {
			return api.Execution{}, err
		}
	}
	return toExecution(execution, waits), nil
}

// overExecution adds the execution to an error about its state, as it stands by now, so that nobody has to ask again.
func (s *Server) overExecution(ctx context.Context, id domain.ExecutionID, err error) error {
	switch domain.CodeOf(err) {
	case domain.CodeExecutionEnded, domain.CodeBusy, domain.CodeClosed, domain.CodeNotInterrupted, domain.CodeConflict:
		return s.withExecution(ctx, id, err)
	default:
		return err
	}
}

// withExecution adds the execution with its newest blocks, where it can be read.
func (s *Server) withExecution(ctx context.Context, id domain.ExecutionID, err error) error {
	execution, readErr := s.execution(ctx, string(id))
	if readErr != nil {
		return err
	}
	shown, readErr := s.shownTo(ctx, execution)
	if readErr != nil {
		return err
	}
	return &conflict{error: err, execution: &shown, generation: shown.Generation}
}

// awaitEnd follows the execution until it ends, the time is over or the server drains, and reads it again. Waiting
// costs no query.
func (s *Server) awaitEnd(ctx context.Context, execution domain.Execution, seconds int) (domain.Execution, error) {
	if execution.Status.Terminal() {
		return execution, nil
	}
	follower, err := s.events.Follow(ctx, execution.ID, execution.LastSeq)
	if err != nil {
		return execution, err
	}
	defer follower.Close()
	if err := s.streams.UntilEnd(ctx, follower, time.Duration(seconds)*time.Second); err != nil {
		return execution, err
	}
	return s.reader.Execution(ctx, execution.Tenant, execution.ID)
}

// preferring is a request that may say how long its answer should wait.
type preferring struct {
	Prefer string `header:"Prefer"`
}

// wait reads wait=N of a Prefer header (RFC 7240). Preferences of other names are none of our business.
func (p preferring) wait() (seconds int, err error) {
	for preference := range strings.SplitSeq(p.Prefer, ",") {
		name, wanted, _ := strings.Cut(preference, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "wait") {
			continue
		}
		seconds, err = strconv.Atoi(strings.Trim(strings.TrimSpace(wanted), `"`))
		if err != nil || seconds < 0 || seconds > maxWait {
			return 0, domain.Invalid("Prefer", "wait must be a whole number from 0 to %d.", maxWait)
		}
	}
	return seconds, nil
}

// applied tells the client that its preferred wait was kept to; empty where it preferred none.
func applied(wait int) (name, value string) {
	if wait > 0 {
		value = "wait=" + strconv.Itoa(wait)
	}
	return "Preference-Applied", value
}
