package e2e

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"signoff/internal/domain"
)

// TestADailyBudget spends the day of a tenant: what runs is interrupted, and what is new is refused, also after a kill. The operator gives the tenant more, and the execution
// goes on with the request that was not sent.
func TestADailyBudget(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		look := calls("list", object{"path": "."})
		m := newModel(t, inTurn(look, look, look, look, look, finally("done"))) // each answer uses 120 tokens
		s := newServer(t, e, m)
		s.section("tenants", object{"default": object{"dailyTokens": 300}})
		s.start()
		id := s.create().ID
		s.reach(id, domain.StatusInterrupted)
		if asked := m.requests.Load(); asked != 3 {
			t.Errorf("the model was asked %d times; 300 tokens are spent with the third", asked)
		}
		shown := want[struct{ Cause, Status string }](s.client, http.StatusOK, "GET", "/executions/"+id, nil)
		if shown.Cause != "dailyBudget" {
			t.Errorf("the cause %q", shown.Cause)
		}

		for range 2 {
			response, content := s.do("POST", "/executions", object{"source": object{"type": "internal"}, "prompt": "go"})
			wait, err := strconv.Atoi(response.Header.Get("Retry-After"))
			if response.StatusCode != http.StatusTooManyRequests || err != nil || wait < 1 || wait > int(24*time.Hour/time.Second) {
				t.Errorf("%s, Retry-After %q: %s", response.Status, response.Header.Get("Retry-After"), content)
			}
			s.refused(http.StatusTooManyRequests, "dailyBudgetSpent", "POST", "/executions", object{"source": object{"type": "internal"}, "prompt": "go"})
			s.kill()
			s.start()
		}

		s.stop()
		s.models(object{"default": "test", "test": entry(m)})
		s.section("tenants", object{"default": object{"dailyTokens": 100_000}})
		s.start()
		want[execution](s.client, http.StatusAccepted, "POST", "/executions/"+id+"/resume", object{"mode": "retry"})
		s.finishes(id, domain.StatusCompleted)
		if asked := m.requests.Load(); asked != 6 {
			t.Errorf("the model was asked %d times in all", asked)
		}
	})
}
