package e2e

import (
	"testing"

	"signoff/internal/domain"
)

// parksSoon has a server park what waits after a second.
const parksSoon = "SIGNOFF_PARK_SECONDS=1"

// deserted waits until the server drives nothing, so that all it has is parked.
func (s *server) deserted() {
	s.t.Helper()
	s.eventually("a server that drives nothing", func() bool { return s.metric("signoff_executions_live") == 0 })
}

// waiting is the question of a new execution.
func (s *server) waiting(change ...object) approval {
	s.t.Helper()
	return s.asked(s.create(change...).ID, 1)[0]
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
	e := engine{url: postgres(t)}
	m := newModel(t, once("echo ran >> ledger.txt"))
	first := up(t, e, m, parksSoon)
	second := newServer(t, e, m, parksSoon, "SIGNOFF_WORKSPACE_ROOT="+first.workspace)
	second.Token = first.Token
	second.start()
	asked := first.waiting()
	first.deserted()
	second.deserted()
	first.kill() // or it may be faster than the one that was asked, which a busy machine has shown
	second.decide(asked)
	second.finishes(asked.ExecutionID, domain.StatusCompleted)
	if took := second.metric("signoff_executions_acquired_total"); took == 0 {
		t.Error("the replica that was asked did not take it up")
	}
	if ledger := first.written(); ledger != "ran\n" {
		t.Errorf("%q", ledger)
	}
}

// TestAnIdleAgentIsParked sees the process of an external agent go, and come back with its session.
func TestAnIdleAgentIsParked(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t *testing.T, e engine) {
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
