package store_test

import (
	"strings"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// Nothing that a bug of ours may send changes or removes an entry.
func TestAuditIsOnlyAppendedTo(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		audit(t, s, 3)
		statements := []string{`update audit set record = record`, `update audit set hash = '' where seq = 2`, `delete from audit`,
			`delete from audit where seq = 3`}
		if s.Shared() {
			statements = append(statements, `truncate audit`)
		}
		for _, statement := range statements {
			if _, err := s.DB().ExecContext(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "only ever appended") {
				t.Errorf("%s: %v", statement, err)
			}
		}
		if n := len(storetest.Chain(t, s, domain.DefaultTenant)); n != 3 {
			t.Errorf("%d entries are left", n)
		}
	})
}

// A clock that was set back does not bring the chain into another order.
func TestAuditTimeDoesNotGoBack(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		audit(t, s, 1)
		ahead := time.Now().Add(time.Hour).Truncate(time.Microsecond).UTC()
		if _, err := s.DB().ExecContext(t.Context(), `update audit_heads set time_us = $1`, ahead.UnixMicro()); err != nil {
			t.Fatal(err)
		}
		audit(t, s, 2)
		for _, e := range storetest.Chain(t, s, domain.DefaultTenant)[1:] {
			if !e.Time.Equal(ahead) {
				t.Errorf("an entry of %v came after one of %v", e.Time, ahead)
			}
		}
	})
}

func audit(t *testing.T, s *store.Store, entries int) {
	t.Helper()
	for range entries {
		if err := s.AppendAudit(t.Context(), domain.DefaultTenant, domain.AuditRecord{Action: "a"}); err != nil {
			t.Fatal(err)
		}
	}
}
