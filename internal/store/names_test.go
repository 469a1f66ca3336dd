package store_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// A release that says "fate" writes and reads these rows, so they must stay as they are to the byte.
const (
	completedRow = `{"toolCallId":"t","fate":"succeeded","output":"{\"outcome\":1,\"fate\":2}"}`
	executedRow  = `"toolCallsExecuted":[{"toolCallId":"t","name":"bash","approved":true,"fate":"succeeded","resultSummary":"\"outcome\""}]`
	ofTheModel   = `{"outcome":"a word of the model","toolCallsExecuted":[{"outcome":3}]}`
)

// TestRowsKeepTheirNames writes what has a member that was renamed, looks at the rows, and reads it back by every way there is.
func TestRowsKeepTheirNames(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		create(t, s, "x")
		output := domain.Output{
			Structured: json.RawMessage(ofTheModel), Success: true, FinishReason: "stop", DurationSeconds: 1,
			ToolCallsExecuted: []domain.ExecutedToolCall{
				{ToolCallID: "t", Name: "bash", Approved: true, Outcome: domain.OutcomeSucceeded, ResultSummary: `"outcome"`},
			},
		}
		written := []domain.Event{
			domain.NewEvent("x", domain.ToolCallCompleted{ToolCallID: "t", Outcome: domain.OutcomeSucceeded, Output: `{"outcome":1,"fate":2}`}),
			domain.NewEvent("x", domain.StateChanged{From: domain.StatusPendingToolApproval, To: domain.StatusInitializing, Reason: "continued"}),
			domain.NewEvent("x", domain.ExecutionEnded{Status: domain.StatusCompleted, Output: output, FinishReason: "stop", DurationSeconds: 1}),
		}
		ended := time.Now()
		commit(t, s, store.Change{Execution: "x", Epoch: 1, Events: slices.Clone(written), Update: &store.Update{Status: domain.StatusCompleted, Output: &output, Ended: &ended}})

		rows := column(t, s, `select data from events where execution_id = 'x' order by seq`)
		if rows[0] != completedRow {
			t.Errorf("the row of the call is %s", rows[0])
		}
		if !strings.Contains(rows[1], `"reason":"takenUp"`) {
			t.Errorf("the row of the change is %s", rows[1])
		}
		for _, row := range append(rows[2:], column(t, s, `select output from executions where id = 'x'`)...) {
			if !strings.Contains(row, executedRow) || !strings.Contains(row, `"structured":`+ofTheModel) {
				t.Errorf("a row with an output is %s", row)
			}
		}

		log, err := s.Events(ctx, "x", 0, 10)
		feed := fed(ctx, t, s)
		for i := range written {
			if err != nil || string(log[i].Data) != string(written[i].Data) || string(feed[i].Data) != string(written[i].Data) {
				t.Errorf("%v\nwritten %s\nread    %s\nfed     %s", err, written[i].Data, log[i].Data, feed[i].Data)
			}
		}
		execution, err := s.Execution(ctx, domain.DefaultTenant, "x")
		if diff := cmp.Diff(&output, execution.Output); err != nil || diff != "" {
			t.Error("the output: ", err, diff)
		}
	})
}

func column(t *testing.T, s *store.Store, query string) (values []string) {
	t.Helper()
	rows, err := s.DB().QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return values
}

// fed reads the feed. What another transaction of the server holds back is waited for.
func fed(ctx context.Context, t *testing.T, s *store.Store) []store.FeedEvent {
	t.Helper()
	for {
		page, err := s.Feed(ctx, domain.DefaultTenant, store.FeedCursor{}, 10, 1<<20)
		if err != nil || !page.Later && !page.More {
			if len(page.Events) != 3 {
				t.Fatal(err, page)
			}
			return page.Events
		}
	}
}
