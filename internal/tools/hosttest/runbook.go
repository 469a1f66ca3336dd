package hosttest

import (
	"context"
	"encoding/json"
	"slices"

	"signoff/internal/domain"
)

// Inquire implements [domain.Host]: Inquiry answers. Nil answers nothing.
func (h *Host) Inquire(ctx context.Context, inquiry domain.Inquiry) (domain.Answer, error) {
	if h.Inquiry == nil {
		return domain.Answer{Status: domain.ApprovalExpired}, nil
	}
	return h.Inquiry(ctx, inquiry)
}

// Reserve implements [domain.Host]: Budget answers.
func (h *Host) Reserve(_ context.Context, request domain.Estimate) (domain.Reservation, error) {
	if h.Budget == nil {
		return domain.Unbounded{}, nil
	}
	return h.Budget(request)
}

// CallClient implements [domain.Host]: the call is judged as by Authorize, and Client answers it. Nil answers nothing.
func (h *Host) CallClient(ctx context.Context, call domain.ToolCall) (string, error) {
	return h.handed(ctx, call, h.Client)
}

// Delegate implements [domain.Host]: the call is judged as by Authorize, and Children answers it. Nil answers nothing.
func (h *Host) Delegate(ctx context.Context, call domain.ToolCall) (string, error) {
	return h.handed(ctx, call, h.Children)
}

// handed is a call whose work somebody else does.
func (h *Host) handed(
	ctx context.Context, call domain.ToolCall, does func(ctx context.Context, call domain.ToolCall) (output string, err error),
) (string, error) {
	grant, err := h.Authorize(ctx, call)
	if err != nil || !grant.Allowed {
		return grant.Message, err
	}
	output := ""
	if does != nil {
		if output, err = does(ctx, call); err != nil {
			return "", err
		}
	}
	return output, h.Emit(ctx, domain.ToolCallCompleted{ToolCallID: call.ID, Outcome: domain.OutcomeSucceeded, Output: output})
}

// SubmitBlocks implements [domain.Host].
func (h *Host) SubmitBlocks(_ context.Context, call domain.ToolCall, blocks json.RawMessage) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.known[call.ID] || h.outcomes[call.ID] != "" {
		h.problem("the call %s handed in blocks, and is not open", call.ID)
	}
	if !h.submittedLocked(call.ID) {
		h.submitted = append(h.submitted, domain.Generation{Number: len(h.submitted) + 1, ToolCallID: call.ID, Blocks: blocks})
	}
	return nil
}

// Runbook implements [domain.Host].
func (h *Host) Runbook() domain.Runbook { return h.Book }

// Generations is what was handed in.
func (h *Host) Generations() []domain.Generation {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.submitted)
}
