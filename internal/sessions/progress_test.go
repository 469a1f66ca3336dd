package sessions_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/store"
)

// asTheLogTells has every session of a server held against its log after each of its commits: what it knows of itself is what another
// server would read there.
func asTheLogTells(t testing.TB, s *store.Store) func(*dispatch.Config) {
	return func(c *dispatch.Config) {
		c.OnCommit(func(id domain.ExecutionID, seq int64, live *domain.Progress) {
			log, err := s.Events(context.Background(), id, 0, int(seq))
			if err != nil {
				t.Errorf("%s: %v", id, err)
				return
			}
			read, err := domain.Fold(log)
			if err != nil {
				t.Errorf("%s: %v", id, err)
				return
			}
			if int64(len(log)) != seq {
				t.Errorf("%s has %d events of %d", id, len(log), seq)
			}
			if !reflect.DeepEqual(live, read) {
				if diff := cmp.Diff(read, live, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
					t.Errorf("%s after event %d, from the log to the session:\n%s", id, seq, diff)
				}
			}
		})
	}
}
