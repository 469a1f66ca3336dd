package dispatch

import (
	"cmp"
	"context"

	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/failpoint"
	"signoff/internal/store"
)

// AnswerClient takes the client's answer to a call, on whichever replica. It returns the call as it then stands, also beside an
// error about its state.
//
// Errors: CodeNotFound; CodeAlreadyAnswered (otherwise: the same again is no error); CodeCallEnded.
func (m *Manager) AnswerClient(
	ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, toolCallID string, answer domain.ClientAnswer,
) (domain.ClientCall, error) {
	execution, err := m.store.Execution(ctx, tenant, id)
	if err != nil {
		return domain.ClientCall{}, err
	}
	record := audit.Execution("toolCall.answered", execution, answer.By, audit.ByAPI)
	record.Subject = toolCallID
	answer.Output, answer.Error = m.masker.MaskString(answer.Output), m.masker.MaskString(answer.Error)
	failpoint.Hit(failpoint.BeforeAnswerRequest)
	_, err = m.log.Commit(ctx, store.Change{
		Execution: id, AnswerClient: &store.ClientAnswering{ToolCallID: toolCallID, Answer: answer},
		Audit: []domain.AuditRecord{record},
	})
	failpoint.Hit(failpoint.AfterAnswerRequest)
	rows, lookup := m.store.ClientCalls(ctx, id, toolCallID)
	switch {
	case lookup != nil:
		return domain.ClientCall{}, cmp.Or(err, lookup)
	case len(rows) == 0:
		return domain.ClientCall{}, cmp.Or(err, error(domain.Errorf(domain.CodeNotFound, "There is no such call.")))
	default:
		return rows[0], err
	}
}
