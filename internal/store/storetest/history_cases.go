package storetest

import (
	"slices"

	"signoff/internal/domain"
)

// pagesOfHistory reads what an export is made of: all, whatever has become of it, in pieces of any size.
func pagesOfHistory(w *world) {
	id, neighbour, bare := w.create(), w.create(), w.create()
	w.askedClient(neighbour, "a", "z")
	w.askedClient(id, "d", "c", "b", "a")
	w.accepted(answered(id, "c", "x", ""))
	w.accepted(closedClient(id, "a", domain.ClientCallCancelled))
	var prompts []domain.PromptID
	for range 3 {
		c := prompted(id, domain.WhenBusyEnqueue, "")
		w.accepted(c)
		prompts = append(prompts, c.Prompt.Prompt.ID)
	}
	w.queued(neighbour, domain.WhenBusyEnqueue)
	w.accepted(started(id, prompts[0], 1))
	for limit := 1; limit <= 5; limit++ {
		w.historyOf(id, limit, []string{"d", "c", "b", "a"}, prompts)
		w.historyOf(bare, limit, nil, nil)
	}
}

func (w *world) historyOf(id domain.ExecutionID, limit int, calls []string, prompts []domain.PromptID) {
	w.Helper()
	var gotCalls []string
	for after := ""; len(gotCalls) <= len(calls); after = gotCalls[len(gotCalls)-1] {
		page := ok(w.s.ClientCallPage(w.ctx, id, after, limit))(w)
		if len(page) == 0 {
			break
		}
		for _, call := range page {
			gotCalls = append(gotCalls, call.ToolCallID)
		}
	}
	var gotPrompts []domain.PromptID
	for after := domain.PromptID(""); len(gotPrompts) <= len(prompts); after = gotPrompts[len(gotPrompts)-1] {
		page := ok(w.s.PromptPage(w.ctx, id, after, limit))(w)
		if len(page) == 0 {
			break
		}
		for _, prompt := range page {
			gotPrompts = append(gotPrompts, prompt.ID)
		}
	}
	if !slices.Equal(gotCalls, calls) || !slices.Equal(gotPrompts, prompts) {
		w.Errorf("by %d: %v and %v, want %v and %v", limit, gotCalls, gotPrompts, calls, prompts)
	}
}
