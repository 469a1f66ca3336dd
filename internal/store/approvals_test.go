package store_test

import (
	"database/sql"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// TestApprovalsWithoutAnEnvironment: the column isolation has two forms. Rows of the release before environments are read as they are, and an approval
// without an environment is written as that release wrote it, so that it reads ours.
func TestApprovalsWithoutAnEnvironment(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		create(t, s, "x")
		asked := says("x", 1, 1)
		asked.Ask = []domain.Approval{
			{ID: "none", Kind: domain.ApprovalToolCall, Status: domain.ApprovalPending, Requested: time.Now()},
			{ID: "confined", Kind: domain.ApprovalToolCall, Status: domain.ApprovalPending, Requested: time.Now(), Isolation: &domain.Isolation{Name: "bubblewrap"}},
			{ID: "file", Kind: domain.ApprovalToolCall, Status: domain.ApprovalPending, Requested: time.Now(), Environment: &domain.ApprovalEnvironment{
				EnvironmentStamp: domain.EnvironmentStamp{Name: "host", Digest: "d"}, Risk: domain.ViewHost, AsServer: true, Lends: []string{},
			}},
		}
		commit(t, s, asked)
		for id, want := range map[string]sql.NullString{"none": {}, "confined": {String: `{"name":"bubblewrap"}`, Valid: true}} {
			var got sql.NullString
			if err := s.DB().QueryRowContext(t.Context(), `select isolation from approvals where id = $1`, id).Scan(&got); err != nil || got != want {
				t.Errorf("%s is written as %+v, want %+v (%v)", id, got, want, err)
			}
		}
		if _, err := s.DB().ExecContext(t.Context(), `update approvals set isolation = '{"name":"none"}' where id = 'none'`); err != nil {
			t.Fatal(err)
		}
		for id, isolated := range map[domain.ApprovalID]bool{"none": true, "confined": true, "file": false} {
			got, err := s.Approval(t.Context(), domain.DefaultTenant, id)
			if err != nil || (got.Isolation != nil) != isolated || (got.Environment != nil) != (id == "file") {
				t.Errorf("%s: %+v, %+v (%v)", id, got.Isolation, got.Environment, err)
			}
		}
	})
}
