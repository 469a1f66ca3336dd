package store_test

import (
	"slices"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// What a binary of version 4 does to heads, while newer ones run beside it.
const (
	olderClaims   = `update execution_heads set owner = 'old', epoch = epoch + 1, recoveries = recoveries + 1 where owner is null`
	olderLetsGo   = `update execution_heads set owner = null, recoveries = recoveries - 1 where owner = 'old'`
	olderIsHeard  = `update execution_heads set bell = bell + 1`
	olderSaysMore = `update execution_heads set last_seq = last_seq + 1, bell = bell + 0`
)

// A binary of version 4 does not know that executions are parked or queued. What it has taken up or written to is not asleep.
func TestOlderBinariesWake(t *testing.T) {
	for name, test := range map[string]struct {
		queued bool
		older  []string
		awake  bool
	}{
		"it was parked and taken up":  {older: []string{olderClaims, olderLetsGo}, awake: true},
		"it was parked and written":   {older: []string{olderIsHeard}, awake: true},
		"it was parked and is":        {older: []string{olderSaysMore}},
		"it was queued and taken up":  {queued: true, older: []string{olderClaims, olderLetsGo}, awake: true},
		"it was queued and is":        {queued: true, older: []string{olderIsHeard}},
		"it is driven by the old one": {older: []string{olderIsHeard, olderClaims}},
	} {
		t.Run(name, func(t *testing.T) {
			s := storetest.PostgresReplicas(t, 1)[0]
			sleeper(t, s, test.queued)
			for _, statement := range test.older {
				if _, err := s.DB().ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			for _, replica := range []store.ReplicaID{"new", "old"} {
				if err := s.Heartbeat(t.Context(), replica, time.Hour); err != nil {
					t.Fatal(err)
				}
			}
			claimed, err := s.Acquire(t.Context(), "new", 10)
			if err != nil || (len(claimed) == 1) != test.awake {
				t.Errorf("claimed %v, %v", claimed, err)
			}
			if own, _, err := s.Waiting(t.Context(), domain.DefaultTenant); err != nil || (own == 1) != (test.queued && !test.awake) {
				t.Errorf("%d wait for room, %v", own, err)
			}
		})
	}
}

// sleeper is an execution that is parked without end, or waits for room.
func sleeper(t *testing.T, s *store.Store, queued bool) {
	t.Helper()
	if !queued {
		create(t, s, "x")
		commit(t, s, store.Change{Execution: "x", Epoch: 1, Park: &store.Park{}})
		return
	}
	commit(t, s, store.Change{Execution: "x", Epoch: 1, Create: &store.Creation{Queued: true, Execution: domain.Execution{
		ID: "x", Tenant: domain.DefaultTenant, Status: domain.StatusQueued, Created: time.Now()}}})
}

// A binary of version 14 would drive an execution without the environment that it was given. It does not get one that requires more than it
// understands, however it tries; it gets the others, and a newer binary gets all.
func TestOlderBinariesLeaveWhatTheyDoNotUnderstand(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		for id, requires := range map[domain.ExecutionID]int{"plain": 0, "environment": domain.RequiresEnvironments, "later": domain.Understands + 1} {
			commit(t, s, store.Change{Execution: id, Epoch: 1, Create: &store.Creation{Owner: "dead", Execution: domain.Execution{
				ID: id, Tenant: domain.DefaultTenant, Status: domain.StatusQueued, Created: time.Now(), Request: domain.Request{Requires: requires}}}})
			queued := id + "-queued"
			commit(t, s, store.Change{Execution: queued, Epoch: 1, Create: &store.Creation{Queued: true, Execution: domain.Execution{
				ID: queued, Tenant: domain.DefaultTenant, Status: domain.StatusQueued, Created: time.Now(), Request: domain.Request{Requires: requires}}}})
		}
		delegate(t, s, "plain", "child") // which says nothing of what it requires
		if _, err := s.DB().ExecContext(t.Context(), `insert into replicas (id, lease_until_us, started_us) values ('old', 9000000000000000, 0)`); err != nil {
			t.Fatal(err)
		}
		if err := s.Heartbeat(t.Context(), "new", time.Hour); err != nil {
			t.Fatal(err)
		}
		for _, driver := range []struct {
			replica store.ReplicaID
			gets    []domain.ExecutionID
		}{{"old", []domain.ExecutionID{"plain", "plain-queued"}}, {"new", []domain.ExecutionID{"child", "environment", "environment-queued"}}} {
			var got []domain.ExecutionID
			take := func(acquired []store.Acquired, err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
				for _, one := range acquired {
					got = append(got, one.Execution.ID)
				}
			}
			take(s.AcquireNow(t.Context(), driver.replica, []domain.ExecutionID{"plain", "environment", "later"}))
			take(s.AcquireQueued(t.Context(), driver.replica, 10, 10, nil))
			take(s.Acquire(t.Context(), driver.replica, 10))
			slices.Sort(got)
			if !slices.Equal(got, driver.gets) {
				t.Errorf("%s drives %v, not %v", driver.replica, got, driver.gets)
			}
		}
		var left int
		if err := s.DB().QueryRowContext(t.Context(), `select count(*) from execution_heads where requires > 2 and (owner is null or owner = 'dead') and epoch = 1`).Scan(&left); err != nil || left != 2 {
			t.Errorf("%d executions wait for a newer binary, %v", left, err)
		}
	})
}

// TestOlderBinariesLeaveFurtherPromptsWithFiles: a binary of version 16 would ask the model without the picture.
func TestOlderBinariesLeaveFurtherPromptsWithFiles(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		if _, err := s.DB().ExecContext(t.Context(), `insert into replicas (id, lease_until_us, started_us, understands) values ('old', 9000000000000000, 0, 1)`); err != nil {
			t.Fatal(err)
		}
		if err := s.Heartbeat(t.Context(), "new", time.Hour); err != nil {
			t.Fatal(err)
		}
		if _, err := s.SaveFile(t.Context(), domain.DefaultTenant, store.NewFile{ID: "f", Content: []byte("f"), Room: 1}); err != nil {
			t.Fatal(err)
		}
		for _, id := range []domain.ExecutionID{"text", "picture"} {
			create(t, s, id)
			commit(t, s, store.Change{Execution: id, Epoch: 1, Park: &store.Park{}})
			c := asks(id, domain.PromptID(id))
			if id == "picture" {
				c.Prompt.Prompt.Parts = []domain.PromptPart{{Type: domain.PartImage, FileID: "f"}}
			}
			commit(t, s, c)
		}
		for _, driver := range []struct {
			replica store.ReplicaID
			gets    domain.ExecutionID
		}{{"old", "text"}, {"new", "picture"}} {
			got, err := s.AcquireNow(t.Context(), driver.replica, []domain.ExecutionID{"picture", "text"})
			if err != nil || len(got) != 1 || got[0].Execution.ID != driver.gets {
				t.Errorf("%s drives %v, %v", driver.replica, got, err)
			}
		}
	})
}
