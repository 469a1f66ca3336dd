package sessions_test

import (
	"context"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
)

// That a model is asked costs no commit of its own where the answer is fast, and is in the log soon where it is slow.
func TestARequestIsWrittenWithItsAnswer(t *testing.T) {
	for _, c := range []struct {
		answers  time.Duration
		together bool
	}{{50 * time.Millisecond, true}, {time.Second, false}} {
		onFakeTime(t, func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
			if err := t.Host.Emit(ctx, domain.ModelRequested{Model: "m", Iteration: 1}); err != nil {
				return "", err
			}
			time.Sleep(c.answers)
			return domain.StopEndTurn, t.Say("m1", "ok")
		}, func(t *testing.T, w *world) {
			id := w.start()
			w.ended(id)
			at := map[domain.EventType]time.Time{}
			for _, event := range w.events(id) {
				if _, known := at[event.Type]; !known {
					at[event.Type] = event.Time
				}
			}
			requested, answered := at[domain.ModelRequestedType], at[domain.MessageDeltaType]
			if together := requested.Equal(answered); requested.IsZero() || together != c.together {
				t.Errorf("answered after %s: asked at %s, answered at %s", c.answers, requested, answered)
			}
			if late := requested.Sub(at[domain.TurnStartedType]); late > 110*time.Millisecond {
				t.Errorf("written %s after the turn began", late)
			}
			if told := payloads[domain.ModelRequested](t, w.events(id)); len(told) != 1 || told[0].Turn != 1 {
				t.Errorf("%+v", told)
			}
		})
	}
}
