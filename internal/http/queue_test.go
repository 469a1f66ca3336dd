package http

import (
	"context"
	"testing"

	"signoff/internal/domain"
)

// crowded is a reader to whom all executions wait for room, at the third place.
type crowded struct{ Reader }

func (c crowded) Execution(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID) (domain.Execution, error) {
	execution, err := c.Reader.Execution(ctx, tenant, id)
	execution.Status = domain.StatusQueued
	return execution, err
}

func (c crowded) QueuePosition(context.Context, domain.TenantID, domain.ExecutionID) (int, error) {
	return 3, nil
}

func TestThePlaceInTheQueue(t *testing.T) {
	h := newTestServer(t)
	id := h.create("hello")
	if at := h.ask("GET", "/executions/"+id, "").want(200).get("queuePosition"); at != nil {
		t.Errorf("one that does not wait is at %v", at)
	}
	h = newTestServer(t, func(c *Config) { c.Reader = crowded{c.Reader} })
	id = h.create("hello")
	if at := h.ask("GET", "/executions/"+id, "").want(200).get("queuePosition"); at != 3.0 {
		t.Errorf("it is at %v", at)
	}
	if at := h.ask("GET", "/executions", "").want(200).get("items", "0", "queuePosition"); at != nil {
		t.Errorf("in a list it is at %v", at)
	}
}

// A full queue has time, and all else that is refused for now may be asked again at once.
func TestRetryAfter(t *testing.T) {
	for code, want := range map[domain.Code]struct {
		status int
		after  string
	}{
		domain.CodeTooMany:     {429, "15"},
		domain.CodeOverloaded:  {503, "15"},
		domain.CodeUnavailable: {503, "2"},
		domain.CodeStorage:     {503, "2"},
	} {
		s := &failing{err: domain.Errorf(code, "Not now.")}
		h := newTestServer(t, func(c *Config) { s.Sessions, c.Sessions = c.Sessions, s })
		a := h.ask("POST", "/executions/"+someID+"/cancel", "").problem(want.status, code)
		if got := a.header.Get("Retry-After"); got != want.after {
			t.Errorf("%s: again after %q", code, got)
		}
	}
}
