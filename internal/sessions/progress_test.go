package sessions_test

import (
	"context"
	"reflect"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/store"
)

// asTheLogTells compares every session of a server with its log after each of its commits: the session must know exactly as much
// of itself as another server would read there. Each event is read once, since logs get long.
func asTheLogTells(t testing.TB, s *store.Store) func(*dispatch.Config) {
	type reader struct {
		seq      int64
		progress *domain.Progress
	}
	var mu sync.Mutex
	readers := map[domain.ExecutionID]*reader{}
	return func(c *dispatch.Config) {
		c.OnCommit(func(id domain.ExecutionID, seq int64, live *domain.Progress) {
			mu.Lock()
			r := readers[id] // one session of an execution commits at once
			if r == nil {
				r = &reader{progress: domain.NewProgress()}
				readers[id] = r
			}
			mu.Unlock()
			var more []domain.Event
			if seq > r.seq {
				var err error
				if more, err = s.Events(context.Background(), id, r.seq, int(seq-r.seq)); err != nil {
					t.Errorf("%s: %v", id, err)
					return
				}
			}
			for _, event := range more {
				if err := r.progress.Apply(event); err != nil {
					t.Errorf("%s: %v", id, err)
				}
			}
			if r.seq += int64(len(more)); r.seq != seq {
				t.Errorf("%s has %d events of %d", id, r.seq, seq)
			}
			if !reflect.DeepEqual(live, r.progress) {
				if diff := cmp.Diff(r.progress, live, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
					t.Errorf("%s after event %d, from the log to the session:\n%s", id, seq, diff)
				}
			}
		})
	}
}
