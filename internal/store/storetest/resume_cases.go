package storetest

import (
	"fmt"
	"strings"
	"sync"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// continuing is a change that creates an execution which goes on with an earlier session of an agent.
func continuing(of domain.TenantID, agent, session string) store.Change {
	c := creation(domain.ExecutionID(newID()))
	e := &c.Create.Execution
	e.Tenant, e.Request.Source = of, domain.Source{Type: domain.SourceACP, Command: agent}
	e.Request.ResumeFrom, e.Request.ResumeSession = "earlier", session
	return c
}

// Two agents on one session would write into one transcript.
func oneAtATimeResumes(w *world) {
	w.heartbeat("one")
	w.heartbeat("two")
	long := strings.Repeat("x", 10_000) // an id is what the agent says
	for _, session := range []string{"s", long} {
		first := continuing(tenant, "a", session)
		w.accepted(first)
		w.accepted(parked(first.Execution, nil))
		second, queued := continuing(tenant, "a", session), continuing(tenant, "a", session)
		queued.Create.Owner, queued.Create.Queued = "", true
		queued.Create.Idempotency = &store.Idempotency{Key: "k" + session[:1], BodyHash: []byte("h")}
		for _, c := range []store.Change{second, queued} {
			err := w.commit(c).Err
			w.refused(err, domain.CodeNotResumable)
			if !strings.Contains(err.Error(), string(first.Execution)) {
				w.Errorf("%v does not name %s", err, first.Execution)
			}
		}
		w.accepted(continuing("another", "a", session))
		w.accepted(continuing(tenant, "b", session))

		w.accepted(store.Change{Execution: first.Execution, Notify: true})
		w.accepted(ending(first.Execution, w.acquire("two", first.Execution)[0].Epoch))
		w.accepted(queued) // with the key that it had not used up
		w.refused(w.commit(second).Err, domain.CodeNotResumable)
	}
	w.create()
	w.create() // which go on with nothing
}

// Of many at once, in one batch and on several replicas, one wins, and nobody waits for somebody who waits for him.
func oneOfManyResumes(w *world) {
	const sessions = 10
	created := make([][]store.Change, 2*len(w.replicas))
	var working sync.WaitGroup
	for i := range created {
		working.Go(func() {
			var changes []store.Change
			for n := range 2 * sessions {
				if i%2 == 1 {
					n = -n // crosswise
				}
				changes = append(changes, continuing(tenant, "a", fmt.Sprint((n+2*sessions)%sessions)))
			}
			results, err := w.replicas[i%len(w.replicas)].Commit(w.ctx, changes)
			if err != nil {
				w.Error(err)
				return
			}
			for j, result := range results {
				if result.Err == nil {
					created[i] = append(created[i], changes[j])
				} else if domain.CodeOf(result.Err) != domain.CodeNotResumable {
					w.Error(result.Err)
				}
			}
		})
	}
	working.Wait()
	winners := map[string]int{}
	for _, changes := range created {
		for _, c := range changes {
			winners[c.Create.Execution.Request.ResumeSession]++
		}
	}
	for session, n := range winners {
		if n != 1 {
			w.Errorf("%d go on with the session %s", n, session)
		}
	}
	if len(winners) != sessions {
		w.Errorf("%d sessions are gone on with, want %d", len(winners), sessions)
	}
}
