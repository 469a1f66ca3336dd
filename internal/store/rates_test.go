package store_test

import (
	"fmt"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// TestOldRatesAreForgotten: else each runbook and each document would leave a row for ever.
func TestOldRatesAreForgotten(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		create := func(target string, window time.Duration) {
			t.Helper()
			id := domain.ExecutionID(fmt.Sprintf("of-%s", target))
			results, err := s.Commit(t.Context(), []store.Change{{
				Execution: id, Epoch: 1,
				Create: &store.Creation{
					Execution: domain.Execution{ID: id, Tenant: domain.DefaultTenant, Status: domain.StatusQueued, Created: time.Now()},
					Limit:     &store.RateLimit{Target: target, Count: 1, Window: window},
				},
				Events: []domain.Event{domain.NewEvent(id, domain.ExecutionCreated{Status: domain.StatusQueued})},
			}})
			if err != nil || results[0].Err != nil {
				t.Fatal(results, err)
			}
		}
		create("kept", time.Hour)
		for i := range 10 {
			create(fmt.Sprint(i), time.Microsecond)
		}
		create("last", time.Hour)
		var rows, kept int
		err := s.DB().QueryRowContext(t.Context(), `select count(*), sum(case when target in ('kept', 'last') then 1 else 0 end) from creation_rates`).Scan(&rows, &kept)
		if err != nil || rows != 2 || kept != 2 {
			t.Errorf("%d rows, %d of them kept: %v", rows, kept, err)
		}
	})
}
