package store_test

import (
	"testing"

	"signoff/internal/domain"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// A log of some thousand events goes in several transactions, each of which leaves the rest as it is: whoever is cut off between two of them
// goes on where the other one was, and no writer waits for more than one.
func TestADeletedExecutionIsRemovedInPortions(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		create(t, s, "x")
		for range 350 {
			commit(t, s, says("x", 1, 10))
		}
		storeItems(t, s, "x", domain.ItemFold{}, domain.ItemFold{Version: 1, Seq: 3000, Items: 1500}, itemRows(1500)...)
		end := says("x", 1, 1)
		end.Update = &store.Update{Status: domain.StatusFailed}
		commit(t, s, end)
		rows := func() (n int) {
			t.Helper()
			if err := s.DB().QueryRowContext(t.Context(), `select (select count(*) from events where execution_id = 'x') +
				(select count(*) from feed where execution_id = 'x') + (select count(*) from executions where id = 'x') +
				(select count(*) from item_rows where execution_id = 'x') + (select count(*) from item_folds where execution_id = 'x')`).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		if err := s.Delete(t.Context(), domain.DefaultTenant, "x", domain.AuditRecord{Action: "execution.deleted"}); err != nil {
			t.Fatal(err)
		}
		if n := rows(); n < 5000 {
			t.Errorf("the mark alone has removed rows, %d are left", n)
		}
		portions := 0
		for done := store.RemovalNone; done != store.RemovalComplete; portions++ {
			before := rows()
			var err error
			if done, err = s.Remove(t.Context(), "x"); err != nil {
				t.Fatal(err)
			}
			after := rows()
			if before-after > store.RemovedAtOnce+2 || done == store.RemovalPortion && after == before {
				t.Fatalf("%d rows, then %d: a portion is too large, or none", before, after)
			}
			if done == store.RemovalComplete && after != 0 {
				t.Errorf("%d rows are left", after)
			}
			page, err := s.Events(t.Context(), "x", 0, 3000)
			if domain.CodeOf(err) != domain.CodeNotFound && (err != nil || len(page) > 0 && page[0].Seq != 1) {
				t.Fatalf("a log with a hole is read: %d events, %v", len(page), err)
			}
		}
		if portions < 4 {
			t.Errorf("all is gone in %d portions", portions)
		}
	})
}

// A server of an older version deletes and removes a root alone. Its children can still be deleted.
func TestAChildWhoseRootIsGoneIsDeletedByItself(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		create(t, s, "root")
		delegate(t, s, "root", "one")
		delegate(t, s, "root", "two")
		for _, step := range []struct {
			older string
			child domain.ExecutionID
		}{
			{`update execution_heads set deleted_us = 1 where execution_id = 'root'`, "one"},
			{`delete from executions where id = 'root'`, "two"},
		} {
			if _, err := s.DB().ExecContext(t.Context(), step.older); err != nil {
				t.Fatal(err)
			}
			if err := s.Delete(t.Context(), domain.DefaultTenant, step.child, domain.AuditRecord{Action: "execution.deleted"}); err != nil {
				t.Fatal(err)
			}
			if head, err := s.Head(t.Context(), step.child); err != nil || !head.Deleted {
				t.Errorf("%+v, %v", head, err)
			}
		}
	})
}
