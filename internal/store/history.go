package store

import (
	"context"

	"signoff/internal/domain"
)

// ClientCallPage returns calls that the client was asked to run, in the order of asking, from behind the call after on,
// whatever has become of them. It asks for no tenant: the caller has read the execution.
func (s *Store) ClientCallPage(ctx context.Context, execution domain.ExecutionID, after string, limit int) ([]domain.ClientCall, error) {
	return selectAll(ctx, s, "read the client's calls", scanClientCall, `
		select execution_id, call_id, tool, arguments, state, asked_us, expires_us, answer from client_calls
		where execution_id = $1 and n > coalesce((select n from client_calls where execution_id = $1 and call_id = $2), 0)
		order by n limit $3`, text(string(execution)), text(after), limit)
}

// PromptPage returns prompts in the order of their turns, from behind the prompt after on, whatever has become of them.
// It asks for no tenant: the caller has read the execution.
func (s *Store) PromptPage(ctx context.Context, execution domain.ExecutionID, after domain.PromptID, limit int) ([]domain.QueuedPrompt, error) {
	found, err := collect(ctx, s.read, scanPrompt, `
		select `+promptColumns+` from prompts p
		where p.execution_id = $1 and p.seq > coalesce((select seq from prompts where execution_id = $1 and id = $2), 0)
		order by p.seq limit $3`, text(string(execution)), text(string(after)), limit)
	if err != nil {
		return nil, s.failed("read prompts", err)
	}
	prompts := make([]domain.QueuedPrompt, len(found))
	for i, prompt := range found {
		prompts[i] = *prompt
	}
	return prompts, nil
}
