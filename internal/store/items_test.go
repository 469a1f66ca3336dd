package store_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

func storeItems(t *testing.T, s *store.Store, id domain.ExecutionID, before, after domain.ItemFold, rows ...domain.ItemRow) {
	t.Helper()
	after.State = json.RawMessage(`{"turn":1}`)
	if saved, err := s.SaveItems(t.Context(), id, before, after, rows); err != nil || !saved {
		t.Fatal(saved, err)
	}
}

// itemRows are n rows, two of each key.
func itemRows(n int) []domain.ItemRow {
	rows := make([]domain.ItemRow, n)
	for i := range rows {
		rows[i] = domain.ItemRow{Place: int64(i), Key: fmt.Sprint("k", i/2), State: json.RawMessage(fmt.Sprintf(`{"n":"%06d"}`, i))}
	}
	return rows
}

func TestItemsAreReadAsTheyWereStored(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		create(t, s, "x")
		create(t, s, "y")
		fold, err := s.ItemFold(t.Context(), "x")
		if diff := cmp.Diff(domain.ItemFold{}, fold); diff != "" || err != nil {
			t.Fatal(diff, err)
		}
		all := itemRows(200)
		storeItems(t, s, "y", domain.ItemFold{}, domain.ItemFold{Version: 1, Seq: 3, Items: 2}, itemRows(2)...)
		storeItems(t, s, "x", domain.ItemFold{}, domain.ItemFold{Version: 1, Seq: 7, Items: 200}, all...)
		all[3].State, all[5].Key = json.RawMessage(`{"text":"\u0000 <é>"}`), "other"
		storeItems(t, s, "x", domain.ItemFold{Version: 1, Seq: 7}, domain.ItemFold{Version: 1, Seq: 9, Items: 200}, all[3], all[5])

		fold, err = s.ItemFold(t.Context(), "x")
		wanted := domain.ItemFold{Version: 1, Seq: 9, Items: 200, State: json.RawMessage(`{"turn":1}`)}
		if diff := cmp.Diff(wanted, fold); diff != "" || err != nil {
			t.Error(diff, err)
		}
		same := func(what string, want, got []domain.ItemRow, err error) {
			t.Helper()
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Error(what, diff, err)
			}
		}
		got, err := s.ItemRows(t.Context(), "x", 2, 6, 1000)
		same("some", all[2:6], got, err)
		got, err = s.ItemRows(t.Context(), "x", 10, 20, 2*len(all[10].State))
		same("as many as there is room for", all[10:12], got, err)
		got, err = s.ItemRows(t.Context(), "x", 10, 20, 1)
		same("one at least", all[10:11], got, err)
		got, err = s.ItemRows(t.Context(), "x", 200, 300, 1000)
		same("past the end", nil, got, err)

		byKey := func(bytes int, keys ...string) ([]domain.ItemRow, int) {
			t.Helper()
			rows, complete, err := s.ItemRowsOf(t.Context(), "x", 100, keys, bytes)
			if err != nil {
				t.Fatal(err)
			}
			return rows, complete
		}
		got, complete := byKey(1000, "k20", "none", "other", "k2", "k99")
		same("by key", []domain.ItemRow{all[40], all[41], all[5], all[4]}, got, nil)
		if complete != 5 {
			t.Errorf("%d keys of 5", complete)
		}
		got, complete = byKey(1, "none", "k20", "gone", "k2")
		same("one key at least, with all its rows", all[40:42], got, nil)
		if complete != 3 {
			t.Errorf("%d keys of 3", complete)
		}
	})
}

// Of many who store the next portion at once one does, and a fold never goes back.
func TestOneOfManyStoresAPortion(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		create(t, s, "x")
		before := domain.ItemFold{}
		for seq := int64(1); seq <= 5; seq++ {
			after := domain.ItemFold{Version: 1, Seq: seq, Items: 1, State: json.RawMessage(`{}`)}
			var savers sync.WaitGroup
			var winners atomic.Int64
			for i := range 8 {
				savers.Go(func() {
					row := domain.ItemRow{Key: fmt.Sprint(i), State: json.RawMessage(`{}`)}
					saved, err := s.SaveItems(t.Context(), "x", before, after, []domain.ItemRow{row})
					if err != nil {
						t.Error(err)
					}
					if saved {
						winners.Add(1)
					}
				})
			}
			savers.Wait()
			if n := winners.Load(); n != 1 {
				t.Errorf("%d have stored the events up to %d", n, seq)
			}
			before = after
		}
		if saved, err := s.SaveItems(t.Context(), "x", domain.ItemFold{}, domain.ItemFold{Version: 1, Seq: 1}, nil); saved || err != nil {
			t.Error("it went back", err)
		}
		if saved, err := s.SaveItems(t.Context(), "x", before, domain.ItemFold{Version: 2, Seq: 1, State: json.RawMessage(`{}`)}, nil); !saved || err != nil {
			t.Error("another version does not begin anew", err)
		}
	})
}

// What is deleted gets no rows any more: they would only be in the way of its removal.
func TestItemsOfADeletedExecutionAreNotStored(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		create(t, s, "x")
		if err := s.Delete(t.Context(), domain.DefaultTenant, "x", domain.AuditRecord{Action: "execution.deleted"}); err != nil {
			t.Fatal(err)
		}
		for _, id := range []domain.ExecutionID{"x", "never"} {
			_, err := s.SaveItems(t.Context(), id, domain.ItemFold{}, domain.ItemFold{Version: 1, Seq: 1, State: json.RawMessage(`{}`)}, itemRows(1))
			if domain.CodeOf(err) != domain.CodeNotFound {
				t.Errorf("%s: %v", id, err)
			}
		}
		if fold, err := s.ItemFold(t.Context(), "x"); err != nil || fold.Seq != 0 {
			t.Error(fold, err)
		}
	})
}

// A page of a million items is found by its places, and what an event needs by its key: neither looks at the rows of all items.
func TestItemsAreFoundByIndexes(t *testing.T) {
	s := storetest.SQLite(t)
	for _, query := range []string{
		`select place, key, state from item_rows where execution_id = 'x' and place >= 5 and place < 9 order by place`,
		`with v (n, id, key) as (values (0, 'x', 'k')) select i.place, i.key, i.state, v.n from v
			join item_rows i on i.execution_id = v.id and i.key = v.key order by v.n, i.place`,
	} {
		plan, err := s.DB().QueryContext(t.Context(), `explain query plan `+query)
		if err != nil {
			t.Fatal(err)
		}
		defer plan.Close()
		var steps []string
		for plan.Next() {
			var id, parent, unused int
			var detail string
			if err := plan.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			steps = append(steps, detail)
		}
		if all := strings.Join(steps, "; "); plan.Err() != nil || !strings.Contains(all, "execution_id=? AND ") {
			t.Error(all, plan.Err())
		}
	}
}
