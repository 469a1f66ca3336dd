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
			if removed, err := s.RemoveFiles(t.Context(), 0, 1); err != nil || removed != 1 {
				t.Errorf("%d removed, %v", removed, err)
			}
			contents(left)
		}
	})
}
