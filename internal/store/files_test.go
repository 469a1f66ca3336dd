package store_test

import (
	"testing"

	"signoff/internal/domain"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// TestBytesAreStoredOnce: bytes are stored once per tenant, and go with the last file that has them.
func TestBytesAreStoredOnce(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		contents := func(want int) {
			t.Helper()
			var n int
			if err := s.DB().QueryRowContext(t.Context(), `select count(*) from file_contents`).Scan(&n); err != nil || n != want {
				t.Errorf("%d contents, want %d (%v)", n, want, err)
			}
		}
		for n, tenant := range []domain.TenantID{"a", "a", "b"} {
			if _, err := s.SaveFile(t.Context(), tenant, store.NewFile{ID: domain.FileID([]string{"1", "2", "3"}[n]), Content: []byte("same"), Room: 100}); err != nil {
				t.Fatal(err)
			}
		}
		contents(2)
		for _, left := range []int{2, 1, 0} {
			if removed, err := s.RemoveUploads(t.Context(), 0, 1); err != nil || removed != 1 {
				t.Errorf("%d removed, %v", removed, err)
			}
			contents(left)
		}
	})
}

// TestOrphans: a binary of version 16 deletes an execution and leaves its files, which it does not know.
func TestOrphans(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		for _, id := range []domain.ExecutionID{"gone", "kept"} {
			create(t, s, id)
			if _, err := s.SaveFile(t.Context(), domain.DefaultTenant, store.NewFile{ID: domain.FileID(id), UsedBy: id, Epoch: 1, Content: []byte(id), Room: 100}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.DB().ExecContext(t.Context(), `delete from executions where id = 'gone'`); err != nil {
			t.Fatal(err)
		}
		if n, err := s.RemoveOrphans(t.Context(), 100); err != nil || n != 1 {
			t.Errorf("%d are removed, %v", n, err)
		}
		if _, content, err := s.ExecutionFile(t.Context(), "kept", "kept"); err != nil || string(content) != "kept" {
			t.Errorf("%q, %v", content, err)
		}
	})
}
