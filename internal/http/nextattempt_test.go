package http

import (
	"context"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// waits is a reader of executions that nobody works on for now, with the end of their logs.
type waits struct {
	Reader
	status   domain.Status
	recovers time.Time
	tail     []domain.Payload
}

func (w waits) Execution(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID) (domain.Execution, error) {
	execution, err := w.Reader.Execution(ctx, tenant, id)
	execution.Status, execution.Ended = w.status, nil
	if !w.recovers.IsZero() {
		execution.RecoversAt = &w.recovers
	}
	return execution, err
}

func (w waits) Executions(ctx context.Context, tenant domain.TenantID, filter store.ExecutionFilter) (store.Page[domain.Execution], error) {
	page, err := w.Reader.Executions(ctx, tenant, filter)
	for i := range page.Items {
		page.Items[i].Status, page.Items[i].RecoversAt = w.status, &w.recovers
	}
	return page, err
}

func (w waits) EventPage(_ context.Context, id domain.ExecutionID, _ int64, _, _ int) (events []domain.Event, err error) {
	for _, payload := range w.tail {
		events = append(events, domain.NewEvent(id, payload))
	}
	return events, nil
}

func TestTheNextAttempt(t *testing.T) {
	soon, later, past := time.Now().Add(time.Hour), time.Now().Add(2*time.Hour), time.Now().Add(-time.Second)
	retry := func(at time.Time) domain.ModelRetrying {
		return domain.ModelRetrying{Model: "m", Attempt: 1, At: at.UTC(), Code: domain.CodeModelFailed, Message: "busy"}
	}
	for name, c := range map[string]struct {
		waits
		reason string
		at     time.Time
	}{
		"a request is repeated": {waits{status: domain.StatusWaiting, tail: []domain.Payload{
			domain.UsageUpdated{}, retry(soon), domain.StateChanged{From: domain.StatusStreaming, To: domain.StatusWaiting}}}, "model", soon},
		"the newest counts":              {waits{status: domain.StatusWaiting, tail: []domain.Payload{retry(later), retry(soon)}}, "model", soon},
		"it is being repeated":           {waits{status: domain.StatusWaiting, tail: []domain.Payload{retry(past)}}, "", past},
		"another model is asked":         {waits{status: domain.StatusWaiting, tail: []domain.Payload{retry(soon), domain.ModelSwitched{}}}, "", soon},
		"it is answered":                 {waits{status: domain.StatusStreaming, tail: []domain.Payload{retry(soon)}}, "", soon},
		"its driver is lost":             {waits{status: domain.StatusStreaming, recovers: soon}, "recovery", soon},
		"it may be recovered by now":     {waits{status: domain.StatusStreaming, recovers: past}, "", past},
		"its driver is lost, too":        {waits{status: domain.StatusWaiting, recovers: later, tail: []domain.Payload{retry(soon)}}, "recovery", later},
		"it is recovered before":         {waits{status: domain.StatusWaiting, recovers: soon, tail: []domain.Payload{retry(later)}}, "model", later},
		"somebody is to resume it":       {waits{status: domain.StatusInterrupted, recovers: soon}, "", soon},
		"a person is to decide":          {waits{status: domain.StatusPendingToolApproval, recovers: soon}, "", soon},
		"it waits for the next question": {waits{status: domain.StatusIdle, recovers: soon}, "", soon},
	} {
		h := newTestServer(t, func(config *Config) { c.Reader, config.Reader = config.Reader, &c.waits })
		a := h.ask("GET", "/executions/"+h.create("hello"), "").want(200)
		if c.reason == "" {
			if next := a.get("nextAttempt"); next != nil {
				t.Errorf("%s: it goes on by itself: %v", name, next)
			}
			continue
		}
		at, err := time.Parse(time.RFC3339Nano, a.text("nextAttempt", "at"))
		if got := a.text("nextAttempt", "reason"); got != c.reason || err != nil || !at.Equal(c.at.Truncate(time.Microsecond)) {
			t.Errorf("%s: %s at %v, want %s at %v", name, got, at, c.reason, c.at)
		}
		if next := h.ask("GET", "/executions", "").want(200).get("items", "0", "nextAttempt"); next != nil {
			t.Errorf("%s: in a list it is %v", name, next)
		}
	}
}
