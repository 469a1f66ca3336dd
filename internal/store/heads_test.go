package store_test

import (
	"testing"

	"signoff/internal/domain"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

func TestAHeadIsForItsTenantAlone(t *testing.T) {
	for name, config := range map[string]store.Config{
		"SQLite":   {Path: storetest.InMemory(t) + "/signoff.db"},
		"Postgres": {DatabaseURL: storetest.Postgres(t)},
	} {
		s := storetest.Open(t, config)
		create(t, s, "x")
		head, err := s.HeadOf(t.Context(), domain.DefaultTenant, "x")
		if err != nil || head.Execution != "x" || head.Owner != "one" || head.Terminal {
			t.Errorf("%s: %+v, %v", name, head, err)
		}
		for tenant, id := range map[domain.TenantID]domain.ExecutionID{"another": "x", domain.DefaultTenant: "y"} {
			if _, err := s.HeadOf(t.Context(), tenant, id); domain.CodeOf(err) != domain.CodeNotFound {
				t.Errorf("%s: %s of %s: %v", name, id, tenant, err)
			}
		}
	}
}
