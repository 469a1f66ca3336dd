package sessions_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store/storetest"
)

// TestProgressOfCalls: a call that tells its progress all the time makes a few events a second, and the last one is among them. One that takes its
// time loses none.
func TestProgressOfCalls(t *testing.T) {
	const secret = "ghp_a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2"
	tell := func(ctx context.Context, t *sessionstest.Turn, id string, done float64, message string) {
		_ = t.Host.Emit(ctx, domain.ToolCallUpdated{ToolCallID: id, Progress: &domain.CallProgress{Done: done, Total: 2000, Message: message}})
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
			for _, id := range []string{"fast", "slow"} {
				_ = turn.Want("m1", readCall(id))
				if _, err := turn.Host.Authorize(ctx, readCall(id)); err != nil {
					return "", err
				}
			}
			for i := range 2000 {
				tell(ctx, turn, "fast", float64(i+1), strings.Repeat("x ", 235)+secret)
				time.Sleep(time.Millisecond)
			}
			tell(ctx, turn, "fast", math.NaN(), "")
			for i := range 4 {
				tell(ctx, turn, "slow", float64(i+1), "step")
				_ = turn.Host.Emit(ctx, domain.ToolCallUpdated{ToolCallID: "slow", Output: "line\n"})
				time.Sleep(300 * time.Millisecond)
			}
			for _, id := range []string{"fast", "slow"} {
				_ = turn.Host.Emit(ctx, domain.ToolCallCompleted{ToolCallID: id, Outcome: domain.OutcomeSucceeded})
				tell(ctx, turn, id, 9, "too late")
			}
			return domain.StopEndTurn, nil
		})
		id := w.start()
		w.ended(id)
		told := map[string][]float64{}
		for _, updated := range payloads[domain.ToolCallUpdated](t, w.events(id)) {
			if p := updated.Progress; p != nil {
				told[updated.ToolCallID] = append(told[updated.ToolCallID], p.Done)
				if p.Total != 2000 || len(p.Message) > 500 || strings.Contains(p.Message, "a1B2") {
					t.Errorf("%+v", p)
				}
			}
		}
		if n := len(told["fast"]); n < 5 || n > 10 || told["fast"][n-1] != 2000 {
			t.Errorf("%v", told["fast"])
		}
		if diff := cmp.Diff([]float64{1, 2, 3, 4}, told["slow"]); diff != "" {
			t.Error(diff)
		}
	})
}
