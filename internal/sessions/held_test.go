package sessions_test

import (
	"context"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// What the agent says in the moment in which it is stopped goes with the end of its turn into one commit. A drain writes no end, and it is kept all the same.
func TestTheLastWordBeforeADrainIsKept(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s, func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
			if err := turn.Say("m", "begun"); err != nil {
				return "", err
			}
			<-ctx.Done()
			_ = turn.Say("m2", "the last word") // together with the end that follows
			return "", context.Cause(ctx)
		})
		id := w.start()
		w.until(id, domain.MessageDeltaType)
		w.drain()
		text := ""
		for _, event := range w.events(id) {
			if payload, err := event.Payload(); err == nil {
				if delta, says := payload.(domain.MessageDelta); says {
					text += delta.Text + "|"
				}
			}
		}
		if text != "begun|the last word|" {
			t.Errorf("the log has %q", text)
		}
	})
}
