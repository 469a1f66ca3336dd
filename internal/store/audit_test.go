package store_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	verify "signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// Nothing that a bug of ours may send changes or removes an entry.
func TestAuditIsOnlyAppendedTo(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		audit(t, s, 3)
		statements := []string{`update audit set record = record`, `update audit set hash = '' where seq = 2`, `delete from audit`,
			`delete from audit where seq = 3`, forged + ` on conflict (tenant_id, seq) do update set record = excluded.record`}
		if s.Shared() {
			statements = append(statements, `truncate audit`)
		} else {
			statements = append(statements, strings.Replace(forged, "insert", "insert or replace", 1), "replace"+strings.TrimPrefix(forged, "insert"))
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

// forged puts another record in the place of an entry.
const forged = `insert into audit (tenant_id, seq, time_us, execution_id, action, record, previous, hash)
	select tenant_id, seq, time_us, execution_id, action, '{}', previous, hash from audit where seq = 2`

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

// Where the head was taken away, the next entry would be number 1 again: nothing is written until somebody has looked.
func TestAuditWithoutItsHeadIsNotBegunAnew(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		audit(t, s, 3)
		create(t, s, "x")
		unguard(t, s)
		execute(t, s, `delete from audit_heads`)
		execute(t, s, `delete from audit where seq = 1`) // whose place would be free
		_, err := s.Commit(t.Context(), []store.Change{{Execution: "x", Epoch: 1, Audit: []domain.AuditRecord{{Action: "a"}}}})
		for way, err := range map[string]error{
			"by itself":   s.AppendAudit(t.Context(), domain.DefaultTenant, domain.AuditRecord{Action: "a"}),
			"in a change": err,
		} {
			if domain.CodeOf(err) != domain.CodeStorage || !strings.Contains(err.Error(), "its head is gone") {
				t.Errorf("%s: %v", way, err)
			}
		}
		entries, err := s.Audit(t.Context(), domain.DefaultTenant, store.AuditFilter{})
		if err != nil || len(entries) != 2 {
			t.Errorf("%d entries, %v", len(entries), err)
		}
		if err := s.AppendAudit(t.Context(), "other", domain.AuditRecord{Action: "a"}); err != nil {
			t.Errorf("another tenant: %v", err)
		}
	})
}

// Who verifies all audits also gets to those that are only half there.
func TestAuditTenantsOfHalfAnAudit(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		audit(t, s, 2)
		execute(t, s, `update audit_heads set tenant_id = 'entries are gone'`)
		tenants, err := s.AuditTenants(t.Context())
		slices.Sort(tenants)
		if want := []domain.TenantID{domain.DefaultTenant, "entries are gone"}; err != nil || !slices.Equal(tenants, want) {
			t.Errorf("%q, %v", tenants, err)
		}
	})
}

// What is in no hash is compared with what is: an entry cannot be hidden from those who look for its execution.
func TestVerifySeesWhatIsChangedBesideTheRecord(t *testing.T) {
	for name, statement := range map[string]string{
		"no execution":      `update audit set execution_id = null where seq = 2`,
		"another execution": `update audit set execution_id = 'y' where seq = 2`,
		"another action":    `update audit set action = 'toolCall.read' where seq = 2`,
		"no head":           `delete from audit_heads`,
	} {
		t.Run(name, func(t *testing.T) {
			storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
				create(t, s, "x")
				for range 3 {
					commit(t, s, store.Change{Execution: "x", Epoch: 1, Audit: []domain.AuditRecord{{Action: "a"}}})
				}
				if _, err := verify.Verify(t.Context(), s, domain.DefaultTenant); err != nil {
					t.Fatal(err)
				}
				unguard(t, s)
				execute(t, s, statement)
				var broken *verify.BrokenError
				if _, err := verify.Verify(t.Context(), s, domain.DefaultTenant); !errors.As(err, &broken) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// unguard takes off the triggers, as somebody can who may write to the database.
func unguard(t *testing.T, s *store.Store) {
	t.Helper()
	for _, trigger := range []string{"audit_is_kept", "audit_is_not_emptied"} {
		statement := "drop trigger " + trigger
		if s.Shared() {
			statement += " on audit"
		}
		execute(t, s, statement)
	}
}

func execute(t *testing.T, s *store.Store, statement string) {
	t.Helper()
	if _, err := s.DB().ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func audit(t *testing.T, s *store.Store, entries int) {
	t.Helper()
	for range entries {
		if err := s.AppendAudit(t.Context(), domain.DefaultTenant, domain.AuditRecord{Action: "a"}); err != nil {
			t.Fatal(err)
		}
	}
}
