package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

func asks(id domain.ExecutionID, prompt domain.PromptID) store.Change {
	c := says(id, 0, 2)
	c.Prompt = &store.NewPrompt{Prompt: domain.QueuedPrompt{ID: prompt, WhenBusy: domain.WhenBusyEnqueue, Created: time.Now()},
		Idempotency: &store.Idempotency{Key: string(prompt)}}
	return c
}

// What became of a prompt is kept, although nobody waits for it any more.
func TestPromptsKeepTheirState(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		create(t, s, "x")
		for _, prompt := range []domain.PromptID{"a", "b", "c"} {
			commit(t, s, asks("x", prompt))
		}
		c := says("x", 1, 1)
		c.StartPrompt, c.Update, c.DiscardPrompts = "b", &store.Update{Turn: 7}, []domain.PromptID{"c"}
		commit(t, s, c)
		rows, err := s.DB().QueryContext(t.Context(), `select id, seq, state, coalesce(turn, 0), tenant_id from prompts order by id`)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var got []string
		for rows.Next() {
			var id, state, tenant string
			var seq, turn int
			if err := rows.Scan(&id, &seq, &state, &turn, &tenant); err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(id, " ", seq, " ", state, " ", turn, " ", tenant))
		}
		want := []string{"a 2 queued 0 default", "b 4 started 7 default", "c 6 discarded 0 default"}
		if !slices.Equal(got, want) || rows.Err() != nil {
			t.Errorf("%q, want %q, %v", got, want, rows.Err())
		}
	})
}

// Whatever table names an execution, nothing of a deleted one stays in it.
func TestDeleteLeavesNothing(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		tables := map[string]int{"execution_heads": 1, "events": 5, "approvals": 1, "permission_rules": 1, "idempotency_keys": 1,
			"prompts": 1, "debug_messages": 2, "client_calls": 1, "generations": 2, "feed": 3, "item_folds": 1, "item_rows": 3, "answer_states": 2, "execution_files": 1, "paused_requests": 2, "children": 1, "viewed_files": 2, "rollbacks": 1}
		if n := referrers(t); n != len(tables) {
			t.Fatalf("%d tables refer to executions, the test knows %d", n, len(tables))
		}
		rows := func(table string) (n int) {
			t.Helper()
			err := s.DB().QueryRowContext(t.Context(), `select count(*) from `+table+` where execution_id = 'x'`).Scan(&n)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		root := domain.Execution{ID: "w", Tenant: domain.DefaultTenant, Status: domain.StatusQueued, Created: time.Now()}
		child := domain.Execution{ID: "x", Tenant: domain.DefaultTenant, Status: domain.StatusQueued, Created: time.Now()}
		child.Request.Parent = root.ParentOf("call", "worker", false)
		commit(t, s, store.Change{Execution: "w", Epoch: 1, Create: &store.Creation{Owner: "one", Execution: root}})
		delegates := says("w", 1, 1)
		delegates.Linked = []store.Change{{Execution: "x", Epoch: 1, Create: &store.Creation{Owner: "one", Execution: child, Idempotency: &store.Idempotency{Key: "k"}}}}
		commit(t, s, delegates)
		commit(t, s, asks("x", "p"))
		c := says("x", 1, 2)
		c.Ask = []domain.Approval{{ID: "a", Kind: domain.ApprovalToolCall}}
		c.Remember = []domain.PermissionRule{{ID: "r", Scope: domain.RememberExecution, Effect: domain.Allow}}
		c.Debug = []domain.DebugMessage{{Message: "one"}, {Message: "two"}}
		c.States = []domain.AnswerState{{MessageID: "a", State: []byte("1")}, {MessageID: "b", State: []byte("2")}}
		c.Paused = []domain.PausedRequest{{ToolCallID: "a", Approval: "1", Repeat: []byte("1")}, {ToolCallID: "b", Approval: "2", Repeat: []byte("2")}}
		c.AskClient, c.Generate = []domain.ClientCall{{ToolCallID: "c"}}, &domain.Generation{Number: 1}
		commit(t, s, c)
		commit(t, s, store.Change{Execution: "x", Epoch: 1, Generate: &domain.Generation{Number: 2}})
		if _, err := s.SaveFile(t.Context(), domain.DefaultTenant, store.NewFile{ID: "f", UsedBy: "x", Epoch: 1, Room: 1, Content: []byte("x")}); err != nil {
			t.Fatal(err)
		}
		if err := s.SaveViewedFiles(t.Context(), domain.DefaultTenant, "x", 1, map[string]domain.ContentHash{"/a": "1", "/b": "2"}); err != nil {
			t.Fatal(err)
		}
		storeItems(t, s, "x", domain.ItemFold{}, domain.ItemFold{Version: 1, Seq: 2, Items: 3}, itemRows(3)...)
		if _, err := s.RequestRollback(t.Context(), domain.DefaultTenant, store.NewRollback{Execution: "x", Record: domain.AuditRecord{Action: "rollback.requested"}}); err != nil {
			t.Fatal(err)
		}
		end := says("x", 1, 1)
		end.Update, end.DiscardPrompts = &store.Update{Status: domain.StatusFailed}, []domain.PromptID{"p"}
		commit(t, s, end)
		commit(t, s, store.Change{Execution: "w", Epoch: 1, Update: &store.Update{Status: domain.StatusCancelled}})
		for table, want := range tables {
			if got := rows(table); got != want {
				t.Errorf("%s has %d rows of it, want %d", table, got, want)
			}
		}
		if err := s.Delete(t.Context(), domain.DefaultTenant, "w", domain.AuditRecord{Action: "execution.deleted"}); err != nil {
			t.Fatal(err)
		}
		if done, err := s.Remove(t.Context(), "x"); err != nil || done != store.RemovalComplete {
			t.Fatal(done, err)
		}
		for table := range tables {
			if got := rows(table); got != 0 {
				t.Errorf("%s still has %d rows", table, got)
			}
		}
	})
}

// referrers counts the tables that refer to executions.
func referrers(t *testing.T) (n int) {
	t.Helper()
	err := storetest.SQLite(t).DB().QueryRowContext(t.Context(), `
		select count(*) from sqlite_master where sql like '%references executions (id) on delete cascade%'`).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
