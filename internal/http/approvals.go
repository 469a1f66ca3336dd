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
	page, err := s.reader.Approvals(ctx, who(ctx).Tenant, store.ApprovalFilter{
		Status: []domain.ApprovalStatus{request.Status},
		Cursor: request.Cursor,
		Limit:  request.Limit,
	})
	if err != nil {
		return nil, err
	}
	return okJSON(api.ApprovalPage{Items: toApprovals(page.Items), NextCursor: textOrNull(page.Next)}), nil
}

// listExecutionApprovals shows all approvals that one execution ever asked for.
func (s *Server) listExecutionApprovals(ctx context.Context, request named) (responder, error) {
	execution, err := s.execution(ctx, request.ID)
	if err != nil {
		return nil, err
	}
	all, err := s.reader.ApprovalsOf(ctx, execution.ID)
	if err != nil {
		return nil, err
	}
	return okJSON(api.ApprovalPage{Items: toApprovals(all)}), nil
}

// getApproval shows everything that a person needs to decide.
func (s *Server) getApproval(ctx context.Context, request named) (responder, error) {
	id, err := domain.ParseApprovalID(request.ID)
	if err != nil {
		return nil, err
	}
	approval, err := s.reader.Approval(ctx, who(ctx).Tenant, id)
	return okJSON(toApproval(approval)), err
}

type decideApproval struct {
	named
	Body api.Decide
}

// decideApproval hands an answer to the desk, which lets exactly one win.
func (s *Server) decideApproval(ctx context.Context, request decideApproval) (responder, error) {
	id, err := domain.ParseApprovalID(request.ID)
	if err != nil {
		return nil, err
	}
	by := who(ctx)
	answer, err := toAnswer(request.Body, by.Actor)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.admission.Literal("/arguments", answer.Arguments), s.admission.Literal("/answer", answer.Answer)); err != nil {
		return nil, err
	}
	answer.Unseen, answer.MayGlobal, answer.Channel = by.May(keys.ApprovalsDecideUnseen), by.May(keys.PoliciesWrite), audit.ByAPI
	answer.Reason = s.masker.MaskString(answer.Reason)
	approval, err := s.approvals.Decide(ctx, by.Tenant, id, answer)
	failpoint.Hit(failpoint.AfterHTTPDecide)
	if err != nil {
		return nil, overApproval(approval, err)
	}
	return okJSON(toApproval(approval)), nil
}

// overApproval adds the approval to an error about its state, so that the loser of a race sees the winner at once.
func overApproval(approval domain.Approval, err error) error {
	switch domain.CodeOf(err) {
	case domain.CodeAlreadyDecided, domain.CodeArgumentsHash, domain.CodeHashRequired, domain.CodeApprovalExpired,
		domain.CodeApprovalCancelled, domain.CodeConflict, domain.CodeStale, domain.CodeExecutionEnded:
		if approval.ID != "" {
			shown := toApproval(approval)
			return &conflict{error: err, approval: &shown}
		}
	}
	return err
}

func toApprovals(all []domain.Approval) []api.Approval {
	items := make([]api.Approval, len(all))
	for i, approval := range all {
		items[i] = toApproval(approval)
	}
	return items
}
