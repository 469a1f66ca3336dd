package acp

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestSilence: it is told after the limit, then at twice the time, and anew after a word or while the agent waits.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		at := func() int { return int(time.Since(begun) / time.Second) }
		var told []string
		heard, owed := begun, false
		s := newSilence(10*time.Second, func() time.Time { return heard }, func() bool { return owed }, func(quiet time.Duration) {
			told = append(told, fmt.Sprintf("%d:%d", at(), int(quiet/time.Second)))
		})
		defer s.timer.Stop()
		for at() < 200 {
			select {
			case <-s.timer.C:
				s.look()
			case <-time.After(time.Second):
			}
			switch at() {
			case 55: // a word, after the reports at 10, 20 and 40
				heard = time.Now()
			case 60:
				owed = true
			case 95: // between two looks, so that nothing hangs on which of two is first
				owed = false
			}
		}
		if got := fmt.Sprint(told); got != "[10:10 20:20 40:40 100:10 110:20 130:40 170:80]" {
			t.Errorf("told %s", got)
		}
	})
}
