package storetest

import (
	"errors"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// limited creates an execution of which there may be so many within window.
func limited(tenant domain.TenantID, target string, count int, window time.Duration) store.Change {
	c := creation(domain.ExecutionID(newID()))
	c.Create.Execution.Tenant, c.Create.Limit = tenant, &store.RateLimit{Target: target, Count: count, Window: window}
	return c
}

// tooOften expects that the limit has refused a change, which has left nothing, and returns the wait.
func (w *world) tooOften(c store.Change) time.Duration {
	w.Helper()
	err := w.commit(c).Err
	w.refused(err, domain.CodeRateLimited)
	_, missing := w.s.Execution(w.ctx, c.Create.Execution.Tenant, c.Execution)
	w.refused(missing, domain.CodeNotFound)
	if coded, is := errors.AsType[*domain.Error](err); is {
		return coded.RetryAfter
	}
	return 0
}

func creationsAreLimited(w *world) {
	const target = "[\"<book>\",\"\u2028\"]"
	slow, fast := limited(tenant, target, 2, time.Hour), limited(tenant, target, 2, time.Hour)
	slow.Create.Execution.Created, fast.Create.Execution.Created = now().Add(-2*time.Hour), now().Add(2*time.Hour) // clocks differ
	fast.Create.Idempotency = &store.Idempotency{Key: "second", BodyHash: make([]byte, 32)}
	w.accepted(slow)
	w.accepted(fast)
	if wait := w.tooOften(limited(tenant, target, 2, time.Hour)); wait <= 50*time.Minute || wait > time.Hour {
		w.Errorf("wait %v", wait)
	}
	keyed := limited(tenant, target, 2, time.Hour)
	keyed.Create.Idempotency = &store.Idempotency{Key: "third", BodyHash: make([]byte, 32)}
	w.tooOften(keyed)
	_, _, err := w.s.ExecutionByKey(w.ctx, tenant, "third")
	w.refused(err, domain.CodeNotFound)

	repeated := limited(tenant, target, 2, time.Hour)
	repeated.Create.Idempotency = fast.Create.Idempotency
	w.refused(w.commit(repeated).Err, domain.CodeConflict)
	w.accepted(limited(tenant, target, 3, time.Hour)) // the refused ones and the repeated one do not count
	w.tooOften(limited(tenant, target, 3, time.Hour))

	w.accepted(limited(tenant, "another", 2, time.Hour))
	w.accepted(limited("another", target, 2, time.Hour))
	w.create()
	w.must(w.s.Delete(w.ctx, tenant, slow.Execution, record("deleted")))
	w.tooOften(limited(tenant, target, 3, time.Hour))
}

func limitInABatch(w *world) {
	id := w.create()
	changes := []store.Change{said(id, 1, 1)}
	for range 4 {
		c := limited(tenant, "book", 2, time.Hour)
		c.Create.Idempotency = &store.Idempotency{Key: newID(), BodyHash: make([]byte, 32)}
		changes = append(changes, c, limited(tenant, "other", 3, time.Hour))
	}
	admitted := map[string]int{}
	for i, result := range ok(w.s.Commit(w.ctx, changes))(w) {
		switch {
		case i == 0:
			w.must(result.Err)
		case result.Err == nil:
			admitted[changes[i].Create.Limit.Target]++
		default:
			w.refused(result.Err, domain.CodeRateLimited)
		}
	}
	if admitted["book"] != 2 || admitted["other"] != 3 {
		w.Errorf("admitted: %v", admitted)
	}
}

// limitWindow: the oldest creation leaves the window after its time by the clock of the database, and not before.
func limitWindow(w *world) {
	const window = 60 * time.Millisecond
	first := ok(w.s.Now(w.ctx))(w)
	w.accepted(limited(tenant, "book", 1, window))
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		err := w.commit(limited(tenant, "book", 1, window)).Err
		if err == nil {
			break
		}
		w.refused(err, domain.CodeRateLimited)
		if time.Now().After(end) {
			w.Fatal("the window does not end")
		}
	}
	if after := ok(w.s.Now(w.ctx))(w).Sub(first); after < window {
		w.Errorf("admitted after %v", after)
	}
}

func limitAtOnce(w *world) {
	const most = 10
	for round, target := range []string{"fresh", "known"} {
		room := most
		if round == 1 {
			w.accepted(limited(tenant, target, most, time.Hour))
			room--
		}
		admitted := 0
		for _, err := range atOnce(2*most, func(i int) error {
			results, err := w.replicas[i%len(w.replicas)].Commit(w.ctx, []store.Change{limited(tenant, target, most, time.Hour)})
			if err != nil {
				return err
			}
			return results[0].Err
		}) {
			if err == nil {
				admitted++
				continue
			}
			w.refused(err, domain.CodeRateLimited)
		}
		if admitted != room {
			w.Errorf("%s: %d were admitted, want %d", target, admitted, room)
		}
	}
}
