package http

import (
	"context"
	"slices"
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

// createExecution starts an execution. With Prefer: wait=N it waits for the end.
func (s *Server) createExecution(ctx context.Context, request createExecution) (responder, error) {
	wait, err := request.wait()
	if err != nil {
		return nil, err
	}
	key := request.idempotency()
	by := principalOf(ctx)
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
	view, err := s.view(ctx, execution)
	if warnings := approvals.RequestWarnings(execution.Request); warnings != nil {
		view.PolicyWarnings = &warnings
	}
	return createdJSON("/executions/"+string(execution.ID), view).with(replayedHeader(replayed)).with(preferenceApplied(wait)), err
}

// idempotent is a request that may carry an idempotency key.
type idempotent struct {
	Key  string        `header:"Idempotency-Key"`
	Hash contract.Hash // of the body
}

// idempotency returns nil if the client sent no key.
func (i idempotent) idempotency() *store.Idempotency {
	if i.Key == "" {
		return nil
	}
	return &store.Idempotency{Key: i.Key, BodyHash: i.Hash}
}

// replayedHeader says that the response is the one to an earlier request with the same key.
func replayedHeader(replayed bool) (name, value string) {
	if replayed {
		value = "true"
	}
	return "Idempotency-Replayed", value
}

type listExecutions struct {
	Status    []domain.Status `query:"status"`
	RunbookID string          `query:"runbookId"`
	BlockID   string          `query:"blockId"`
	Kind      domain.Kind     `query:"kind"`

	Parent domain.ExecutionID `query:"parent"`
	Root   domain.ExecutionID `query:"root"`
	paged
}

// listExecutions returns a page of roots, newest first, or of children where they are asked for. It shortens outputs as the terminal event does, because two hundred outputs of a
// megabyte would be a response of two hundred megabytes.
func (s *Server) listExecutions(ctx context.Context, request listExecutions) (responder, error) {
	filter := store.ExecutionFilter{
		Status: request.Status, RunbookID: request.RunbookID, BlockID: request.BlockID, Kind: request.Kind, Cursor: request.Cursor, Limit: request.Limit,
		Parent: request.Parent, Root: request.Root,
	}
	page, err := s.reader.Executions(ctx, principalOf(ctx).Tenant, filter)
	if err != nil {
		return nil, err
	}
	items, err := s.listed(ctx, page.Items)
	return okJSON(api.ExecutionPage{Items: items, NextCursor: textOrNull(page.Next)}), err
}

// listed are executions as a list shows them.
func (s *Server) listed(ctx context.Context, executions []domain.Execution) (items []api.Execution, err error) {
	items = make([]api.Execution, len(executions))
	for i, execution := range executions {
		if execution.Output != nil {
			execution.Output = new(execution.Output.Shortened())
		}
		execution.Request.Parts = nil // their texts are in the prompt
		if items[i], err = s.view(ctx, execution); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// getExecutionTree returns a root and all executions below it.
func (s *Server) getExecutionTree(ctx context.Context, request executionPath) (responder, error) {
	root, err := s.root(ctx, request.ID)
	if err != nil {
		return nil, err
	}
	tree, err := s.reader.Tree(ctx, root.Tenant, root.ID)
	if err != nil {
		return nil, err
	}
	items, err := s.listed(ctx, tree)
	var used domain.Usage
	for _, e := range tree {
		used = used.Add(e.Usage)
	}
	used.ContextUsed, used.ContextSize = nil, nil
	return okJSON(api.ExecutionTree{Items: items, Usage: used}), err
}

type getExecution struct {
	executionPath
	Wait int `query:"wait"`
}

// getExecution returns one execution, at once or when it has ended.
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
	view, err := s.view(ctx, execution)
	if err == nil && execution.Status == domain.StatusQueued {
		// Lists leave the position out, since it costs a query for each execution.
		var position int
		if position, err = s.reader.QueuePosition(ctx, execution.Tenant, execution.ID); position > 0 {
			view.QueuePosition = &position
		}
	}
	if err == nil && !execution.Status.Terminal() {
		var neighbours []domain.ExecutionID
		neighbours, err = s.reader.Neighbours(ctx, execution, domain.MaxNeighbours)
		view.SharesFolderWith = new(mapped(neighbours, func(id domain.ExecutionID) string { return string(id) }))
	}
	if err == nil && waitsForServer(view) {
		view.NextAttempt, err = s.nextAttempt(ctx, execution)
	}
	return okJSON(view), err
}

type cancelExecution struct {
	executionPath
	preferring
	Body *api.CancelExecution
}

// cancelExecution stops an execution.
func (s *Server) cancelExecution(ctx context.Context, request cancelExecution) (responder, error) {
	reason := ""
	if request.Body != nil {
		reason = api.Or(request.Body.Reason, "")
	}
	wait, err := request.wait()
	if err != nil {
		return nil, err
	}
	by := principalOf(ctx)
	execution, err := s.sessions.Cancel(ctx, by.Tenant, request.ID, reason, by.Actor)
	failpoint.Hit(failpoint.AfterHTTPCancel)
	return s.ending(ctx, request.ID, execution, err, wait, domain.StatusCancelled)
}

// previewClose returns the executions that closing an execution now would cancel.
func (s *Server) previewClose(ctx context.Context, request executionPath) (responder, error) {
	execution, err := s.execution(ctx, request.ID)
	if err != nil {
		return nil, err
	}
	tree, err := s.reader.Tree(ctx, execution.Tenant, execution.Root())
	if err != nil {
		return nil, err
	}
	live := map[domain.ExecutionID]bool{}
	if err := s.addLiveBelow(ctx, execution.ID, live); err != nil {
		return nil, err
	}
	items, err := s.listed(ctx, slices.DeleteFunc(tree, func(e domain.Execution) bool { return !live[e.ID] }))
	return okJSON(api.ClosePreview{Cancels: items}), err
}

// addLiveBelow adds the executions that the end of an execution cancels: its live children, and the live ones below these.
func (s *Server) addLiveBelow(ctx context.Context, id domain.ExecutionID, live map[domain.ExecutionID]bool) error {
	children, err := s.reader.Children(ctx, id)
	if err != nil {
		return err
	}
	for _, child := range children {
		if !child.Live {
			continue
		}
		live[child.Execution] = true
		if err := s.addLiveBelow(ctx, child.Execution, live); err != nil {
			return err
		}
	}
	return nil
}

type closeExecution struct {
	executionPath
	preferring
}

// closeExecution ends an execution after its queued prompts.
func (s *Server) closeExecution(ctx context.Context, request closeExecution) (responder, error) {
	wait, err := request.wait()
	if err != nil {
		return nil, err
	}
	by := principalOf(ctx)
	execution, err := s.sessions.Close(ctx, by.Tenant, request.ID, by.Actor)
	failpoint.Hit(failpoint.AfterHTTPClose)
	return s.ending(ctx, request.ID, execution, err, wait, domain.StatusCompleted)
}

// ending responds to a request to end an execution, whose error is requested. It waits for the end only if the client prefers that. An
// execution that ended in another status than wanted is a conflict.
func (s *Server) ending(
	ctx context.Context, id domain.ExecutionID, execution domain.Execution, requested error, wait int, wanted domain.Status,
) (responder, error) {
	err := requested
	if err == nil && wait > 0 {
		execution, err = s.awaitEnd(ctx, execution, wait)
		if err == nil && execution.Status.Terminal() {
			err = dispatch.EndedOtherwise(execution, wanted)
		}
	}
	if err != nil {
		return nil, s.attachExecution(ctx, id, err)
	}
	view, err := s.permittedView(ctx, execution)
	if execution.Status.Terminal() {
		return okJSON(view).with(preferenceApplied(wait)), err
	}
	return acceptedJSON(view).with(preferenceApplied(wait)), err
}

type resumeExecution struct {
	executionPath
	Body api.ResumeExecution
}

// resumeExecution chooses how an interrupted execution continues.
func (s *Server) resumeExecution(ctx context.Context, request resumeExecution) (responder, error) {
	by := principalOf(ctx)
	if err := s.admission.AdmitResume(ctx, by, request.ID, request.Body.Mode); err != nil {
		return nil, err
	}
	execution, err := s.sessions.Resume(ctx, by.Tenant, request.ID, request.Body.Mode, by.Actor)
	failpoint.Hit(failpoint.AfterHTTPResume)
	if domain.CodeOf(err) == domain.CodeNotResumable { // the agent's session is gone, so this mode is impossible
		return nil, domain.At("/mode", err)
	}
	if err != nil {
		return nil, s.attachExecution(ctx, request.ID, err)
	}
	view, err := s.permittedView(ctx, execution)
	return acceptedJSON(view), err
}

type deleteExecution struct {
	executionPath
	preferring
}

// deleteExecution deletes an execution with all its data. With Prefer: wait=N it waits until all of that is gone.
func (s *Server) deleteExecution(ctx context.Context, request deleteExecution) (responder, error) {
	wait, err := request.wait()
	if err != nil {
		return nil, err
	}
	by := principalOf(ctx)
	err = s.sessions.Delete(ctx, by.Tenant, request.ID, by.Actor)
	failpoint.Hit(failpoint.AfterHTTPDelete)
	accepted := acceptedJSON(api.DeletedExecution{Id: string(request.ID)})
	if err != nil || wait == 0 {
		return accepted, err
	}
	gone, err := s.sessions.AwaitRemoval(ctx, request.ID, time.Duration(wait)*time.Second)
	if name, value := preferenceApplied(wait); gone {
		return noContent{name: value}, err
	}
	return accepted.with(preferenceApplied(wait)), err
}

// execution reads the execution that a path names.
func (s *Server) execution(ctx context.Context, id domain.ExecutionID) (domain.Execution, error) {
	return s.reader.Execution(ctx, principalOf(ctx).Tenant, id)
}

// openQuestions are the approvals and client calls that an execution waits for, and its newest generation of blocks.
type openQuestions struct {
	approvals  []domain.Approval
	calls      []domain.ClientCall
	generation *domain.Generation
}

// view returns an execution with its open questions. It queries them only in states that can have them, so most executions of a
// list cost no query.
func (s *Server) view(ctx context.Context, execution domain.Execution) (api.Execution, error) {
	var open openQuestions
	var err error
	if execution.Status == domain.StatusPendingToolApproval {
		if open.approvals, err = s.reader.ApprovalsOf(ctx, execution.ID); err != nil {
			return api.Execution{}, err
		}
	}
	hasClientCalls := execution.Request.Kind == domain.KindAssistant || len(execution.Request.ClientTools) > 0
	if hasClientCalls && !execution.Status.Terminal() {
		if open.calls, err = s.reader.ClientCalls(ctx, execution.ID); err != nil {
			return api.Execution{}, err
		}
	}
	if execution.Request.Kind == domain.KindGeneration {
		if open.generation, err = s.reader.NewestGeneration(ctx, execution.Tenant, execution.ID); err != nil {
			return api.Execution{}, err
		}
	}
	return toExecution(execution, open), nil
}

// attachExecution adds the current execution to an error about its state, so that the client need not ask again.
func (s *Server) attachExecution(ctx context.Context, id domain.ExecutionID, err error) error {
	switch domain.CodeOf(err) {
	case domain.CodeExecutionEnded, domain.CodeBusy, domain.CodeClosed, domain.CodeNotInterrupted, domain.CodeConflict:
		return s.conflictWith(ctx, id, err)
	default:
		return err
	}
}

// conflictWith adds the execution and its newest blocks to an error, if they can be read.
func (s *Server) conflictWith(ctx context.Context, id domain.ExecutionID, err error) error {
	execution, readErr := s.execution(ctx, id)
	if readErr != nil {
		return err
	}
	view, readErr := s.permittedView(ctx, execution)
	if readErr != nil {
		return err
	}
	return &conflict{error: err, execution: &view, generation: view.Generation}
}

// awaitEnd follows the execution until it ends, the time is over or the server drains, and reads it again. Waiting costs no query.
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

// preferring is a request that may say how long its response should wait.
type preferring struct {
	Prefer string `header:"Prefer"`
}

// wait reads wait=N of a Prefer header (RFC 7240) and ignores other preferences.
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

// preferenceApplied says that the server waited as the client preferred; empty if the client preferred no wait.
func preferenceApplied(wait int) (name, value string) {
	if wait > 0 {
		value = "wait=" + strconv.Itoa(wait)
	}
	return "Preference-Applied", value
}
