package e2e

import (
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store/storetest"
)

// parksSoon has a server park what waits after a second.
const parksSoon = "SIGNOFF_PARK_SECONDS=1"

// deserted waits until the server drives nothing, so that all it has is parked.
func (s *server) deserted() {
	s.t.Helper()
	s.eventually("a server that drives nothing", func() bool { return s.metric("signoff_executions_live") == 0 })
}

// TestParkedExecutionsWake lets executions wait until their server has let go of all of them, and then wakes each in
// another way. Nobody may see at the API that it was parked.
func TestParkedExecutionsWake(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		s := up(t, e, newModel(t, once("echo ran >> ledger.txt")), parksSoon)
		decided, denied, cancelled := s.waiting(), s.waiting(), s.waiting()
		expired := s.create(object{"approvalTimeoutSeconds": 4}).ID // not looked at while it is open, which a busy machine may miss
		idle, closed := s.resting(), s.resting()
		s.deserted()
		if status := s.get(decided.ExecutionID).Status; status != "pendingToolApproval" {
			t.Errorf("parked it is %s", status)
		}

		s.decide(decided)
		s.finishes(decided.ExecutionID, domain.StatusCompleted)
		s.decide(denied, object{"decision": "deny"})
		s.finishes(denied.ExecutionID, domain.StatusCompleted)
		s.cancelled(cancelled.ExecutionID, nil)
		s.finishes(cancelled.ExecutionID, domain.StatusCancelled)
		s.finishes(expired, domain.StatusCompleted)
		want[execution](s.client, http.StatusOK, "POST", "/executions/"+closed+"/close", nil, waits)
		s.finishes(closed, domain.StatusCompleted)
		want[object](s.client, http.StatusAccepted, "POST", "/executions/"+idle+"/prompts", object{"prompt": "more"})
		s.decide(s.asking(idle), object{"decision": "deny"})
		s.eventually("a second turn", func() bool { e := s.get(idle); return e.Turn == 2 && e.Status == "idle" })
		want[execution](s.client, http.StatusOK, "POST", "/executions/"+idle+"/close", nil, waits)
		s.finishes(idle, domain.StatusCompleted)
		if ledger := s.written(); ledger != "ran\n" {
			t.Errorf("ran, of all that asked, and one was approved: %q", ledger)
		}
	})
}

// waiting is the question of a new execution.
func (s *server) waiting(change ...object) approval {
	s.t.Helper()
	return s.asked(s.create(change...).ID, 1)[0]
}

// asking is the question that is open.
func (s *server) asking(id string) approval {
	s.t.Helper()
	all := s.asked(id, 1)
	return all[slices.IndexFunc(all, func(a approval) bool { return a.Status == "pending" })]
}

// resting is a new execution that is between two turns, after a question that was answered with no.
func (s *server) resting() string {
	s.t.Helper()
	asked := s.waiting(object{"keepOpen": true})
	s.decide(asked, object{"decision": "deny"})
	s.reach(asked.ExecutionID, domain.StatusIdle)
	return asked.ExecutionID
}

// finishes expects an end, and a log that is sound.
func (s *server) finishes(id string, status domain.Status) {
	s.t.Helper()
	if end := s.ended(id); end.Status != string(status) {
		s.t.Errorf("it ended as %s, want %s: %+v", end.Status, status, end.Output)
	}
	s.sound(id)
}

// TestParkedOverAKill kills a server of which all is parked.
func TestParkedOverAKill(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		s := up(t, e, newModel(t, once("echo ran >> ledger.txt")), parksSoon)
		asked := s.waiting()
		s.deserted()
		s.kill()
		s.start()
		s.deserted()
		s.decide(asked)
		s.finishes(asked.ExecutionID, domain.StatusCompleted)
		if ledger := s.written(); ledger != "ran\n" {
			t.Errorf("%q", ledger)
		}
	})
}

// TestAnotherReplicaWakesWhatIsParked decides on a replica that has never driven the execution.
func TestAnotherReplicaWakesWhatIsParked(t *testing.T) {
	t.Parallel()
	e := engine{url: storetest.Postgres(t)}
	m := newModel(t, once("echo ran >> ledger.txt"))
	first := up(t, e, m, parksSoon)
	second := newServer(t, e, m, parksSoon, "SIGNOFF_WORKSPACE_ROOT="+first.workspace)
	second.Token = first.Token
	second.start()
	asked := first.waiting()
	first.deserted()
	second.deserted()
	second.decide(asked)
	second.finishes(asked.ExecutionID, domain.StatusCompleted)
	if took := second.metric("signoff_executions_taken_up_total"); took == 0 {
		t.Error("the replica that was asked did not take it up")
	}
	if ledger := first.written(); ledger != "ran\n" {
		t.Errorf("%q", ledger)
	}
}

// TestAnIdleAgentIsParked sees the process of an external agent go, and come back with its session.
func TestAnIdleAgentIsParked(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		h := openHouse(t, e, map[string]object{"scripted": {}}, parksSoon)
		v := h.visit(t, "scripted")
		id := v.startAs(object{"keepOpen": true}, "say <one>")
		v.reach(id, domain.StatusIdle)
		if left := soon(h.marked); len(left) > 0 {
			t.Errorf("the agent is still there: %v", left)
		}
		h.deserted()
		v.prompt(id, "whoami")
		v.eventually("a second turn", func() bool { e := v.get(id); return e.Turn == 2 && e.Status == "idle" })
		if said := whoamis(t, v.page(id)); len(said) != 1 || said[0].Opened != "load" {
			t.Errorf("it came back as %+v", said)
		}
	})
}

// TestTheQueue has more executions than there is room for, and more than may wait.
func TestTheQueue(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		s := up(t, e, newModel(t, once("true")), "SIGNOFF_PARK_SECONDS=600",
			"SIGNOFF_MAX_LIVE=2", "SIGNOFF_MAX_QUEUED=4", "SIGNOFF_MAX_QUEUED_PER_TENANT=3")
		other := s.with(s.newKey("--name", "other", "--scopes", "all", "--tenant", "other"))
		first, second := s.waiting(), s.waiting()
		ids := []string{s.create().ID, s.create().ID, s.create().ID}
		s.places(ids, 1, 2, 3)

		response, _ := s.do("POST", "/executions", object{"source": object{"type": "internal"}, "prompt": "go"})
		if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); response.StatusCode != http.StatusTooManyRequests || err != nil || seconds < 5 {
			t.Errorf("%s, again after %q", response.Status, response.Header.Get("Retry-After"))
		}
		s.refused(http.StatusTooManyRequests, "tooMany", "POST", "/executions", object{"source": object{"type": "internal"}, "prompt": "go"})
		others := other.create().ID
		if at := other.place(others); at != 1 {
			t.Errorf("of another tenant, at %d", at)
		}
		other.refused(http.StatusServiceUnavailable, "overloaded", "POST", "/executions", object{"source": object{"type": "internal"}, "prompt": "go"})
		if n := s.metric("signoff_executions_refused_total"); n != 3 {
			t.Errorf("%d were refused", n)
		}

		want[execution](s.client, http.StatusOK, "POST", "/executions/"+ids[1]+"/cancel", nil, waits)
		s.finishes(ids[1], domain.StatusCancelled)
		s.places(ids, 1, 0, 2)
		s.kill()
		s.start()
		other.Base = s.Base

		next, its := s.asked(ids[0], 1)[0], other.asked(others, 1)[0] // what only waited takes no room any more
		s.places(ids, 0, 0, 1)
		s.decide(first)
		s.finishes(first.ExecutionID, domain.StatusCompleted)
		s.places(ids, 0, 0, 1)
		s.decide(next)
		s.finishes(ids[0], domain.StatusCompleted)
		s.decide(s.asked(ids[2], 1)[0])
		other.decide(its)
		other.ended(others)
		s.decide(second)
		s.finishes(second.ExecutionID, domain.StatusCompleted)
		s.finishes(ids[2], domain.StatusCompleted)
		if a, b := s.began(ids[0]), s.began(ids[2]); !a.Before(b) {
			t.Errorf("the first of the queue began at %s, the last at %s", a, b)
		}
	})
}

// place is the queuePosition of an execution; 0: null.
func (c client) place(id string) int {
	c.t.Helper()
	at := want[struct{ QueuePosition *int }](c, http.StatusOK, "GET", "/executions/"+id, nil).QueuePosition
	if at == nil {
		return 0
	}
	return *at
}

func (c client) places(ids []string, wanted ...int) {
	c.t.Helper()
	for i, id := range ids {
		if at := c.place(id); at != wanted[i] {
			c.t.Errorf("%d is at %d, want %d", i, at, wanted[i])
		}
	}
}

// began is when an execution left the queue.
func (s *server) began(id string) time.Time {
	s.t.Helper()
	for _, event := range s.page(id) {
		if event.Type == string(domain.StateChangedType) {
			return event.Time
		}
	}
	s.t.Fatalf("%s has not begun", id)
	panic("unreachable")
}
