package sessions_test

import (
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/sessions"
	"signoff/internal/store/storetest"
)

// What a replica lets go of as it ends is gone on with at once: the other one is rung for, and does not wait until it looks
// the next time.
func TestDrainHandsOverAtOnce(t *testing.T) {
	replicas := storetest.PostgresReplicas(t, 2)
	release := make(chan struct{})
	seldom := func(c *sessions.Config) { c.LookEvery = time.Hour }
	script := busyUntil(release) // one, so that no two of its messages have the same id
	peer := newWorld(t, replicas[0], script, seldom)
	leaving := newWorld(t, replicas[1], script, seldom)
	ids := []domain.ExecutionID{leaving.start(), leaving.start(), leaving.start()}
	for _, id := range ids {
		leaving.until(id, domain.MessageDeltaType)
	}
	for deadline := time.Now().Add(peer.patience); !peer.log.Stats().Listening && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
	}
	leaving.drain()
	close(release)
	for _, id := range ids {
		peer.until(id, domain.ExecutionCompletedType)
		peer.events(id)
	}
}
