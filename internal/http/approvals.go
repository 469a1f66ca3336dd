package http

import (
	"context"
	"errors"

	"signoff/api"
	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/failpoint"
	"signoff/internal/keys"
	"signoff/internal/store"
)

type listApprovals struct {
	Status domain.ApprovalStatus `query:"status"`
	paged
}

// listApprovals is the inbox.
func (s *Server) listApprovals(ctx context.Context, request listApprovals) (responder, error) {
	page, err := s.reader.Approvals(ctx, principalOf(ctx).Tenant, store.ApprovalFilter{
		Status: []domain.ApprovalStatus{request.Status},
		Cursor: request.Cursor,
		Limit:  request.Limit,
	})
	return okJSON(api.ApprovalPage{Items: mapped(page.Items, toApproval), NextCursor: textOrNull(page.Next)}), err
}

// listExecutionApprovals returns all approvals of one execution, open and resolved.
func (s *Server) listExecutionApprovals(ctx context.Context, request executionPath) (responder, error) {
	execution, err := s.execution(ctx, request.ID)
	if err != nil {
		return nil, err
	}
	all, err := s.reader.ApprovalsOf(ctx, execution.ID)
	return okJSON(api.ApprovalPage{Items: mapped(all, toApproval)}), err
}

// getApproval returns all that a person needs to decide.
func (s *Server) getApproval(ctx context.Context, request approvalPath) (responder, error) {
	approval, err := s.reader.Approval(ctx, principalOf(ctx).Tenant, request.ID)
	return okJSON(toApproval(approval)), err
}

type decideApproval struct {
	approvalPath
	Body api.Decide
}

// decideApproval takes a decision. The first one wins.
func (s *Server) decideApproval(ctx context.Context, request decideApproval) (responder, error) {
	by := principalOf(ctx)
	answer, err := toAnswer(request.Body, by.Actor)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.admission.RefuseSecrets("/arguments", answer.Arguments), s.admission.RefuseSecrets("/answer", answer.Answer)); err != nil {
		return nil, err
	}
	answer.Unseen, answer.MayGlobal, answer.Channel = by.May(keys.ApprovalsDecideUnseen), by.May(keys.PoliciesWrite), audit.ByAPI
	answer.Reason = s.masker.MaskString(answer.Reason)
	if answer.StopTree != "" && !by.May(keys.ExecutionsCancel) {
		return nil, domain.Errorf(domain.CodeForbidden, "To stop the tree, the key needs the scope %s.", keys.ExecutionsCancel)
	}
	approval, err := s.approvals.Decide(ctx, by.Tenant, request.ID, answer)
	failpoint.Hit(failpoint.AfterHTTPDecide)
	if err != nil {
		return nil, attachApproval(approval, err)
	}
	return okJSON(toApproval(approval)), nil
}

// attachApproval adds the approval to an error about its state, so that the loser of a race sees the winner at once.
func attachApproval(approval domain.Approval, err error) error {
	switch domain.CodeOf(err) {
	case domain.CodeAlreadyDecided, domain.CodeArgumentsHash, domain.CodeHashRequired, domain.CodeApprovalExpired,
		domain.CodeApprovalCancelled, domain.CodeConflict, domain.CodeStale, domain.CodeExecutionEnded:
		if approval.ID != "" {
			return &conflict{error: err, approval: new(toApproval(approval))}
		}
	}
	return err
}
