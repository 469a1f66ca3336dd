package sessions_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// TestAnAgentKnowsWhatWasCompacted before, and what its provider counted: it would cut the conversation differently otherwise, and know its
// length by a guess alone.
func TestAnAgentKnowsWhatWasCompacted(t *testing.T) {
	compacted := domain.ContextCompacted{Turn: 1, Reason: "nearLimit", Results: 2, Before: 900, After: 500, Through: "c1"}
	counted := int64(1234)
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		var last domain.Prompt
		w := newWorld(t, s, func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
			last = turn.Prompt
			if turn.Prompt.Turn > 1 {
				return domain.StopEndTurn, nil
			}
			if err := turn.Host.Emit(ctx, compacted); err != nil {
				return "", err
			}
			if err := turn.Say("m1", "one"); err != nil {
				return "", err
			}
			return domain.StopEndTurn, turn.Host.Emit(ctx, domain.UsageUpdated{
				Usage: domain.Usage{ContextUsed: &counted}, Request: &domain.Usage{ContextUsed: &counted}, Model: "a", MessageID: "m1",
			})
		})
		id := w.start(keepOpen)
		w.becomes(id, domain.StatusIdle, 1)
		w.say(id, "two", "")
		w.becomes(id, domain.StatusIdle, 2)
		w.close(id)
		if diff := cmp.Diff([]domain.ContextCompacted{compacted}, last.Compacted); diff != "" {
			t.Errorf("compacted (-want +got):\n%s", diff)
		}
		var counts []domain.TokenCount
		for _, message := range last.History {
			if message.Counted != nil {
				counts = append(counts, *message.Counted)
			}
		}
		if diff := cmp.Diff([]domain.TokenCount{{Model: "a", Tokens: counted, Compactions: 1}}, counts); diff != "" {
			t.Errorf("counts (-want +got):\n%s", diff)
		}
	})
}
