package storetest

import (
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
)

const day = 24 * time.Hour

// keptFor creates an execution that says how many days it is kept, and ends it some time ago; 0 is not at all.
func (w *world) keptFor(days *int, endedAgo time.Duration) domain.ExecutionID {
	w.Helper()
	id := domain.ExecutionID(newID())
	c := creation(id)
	c.Create.Execution.Request.RetentionDays = days
	w.accepted(c)
	if endedAgo > 0 {
		end := ending(id, 1)
		end.Update.Ended = new(now().Add(-endedAgo))
		w.accepted(end)
	}
	return id
}

func (w *world) expired(keep time.Duration, limit int, want ...domain.ExecutionID) {
	w.Helper()
	found := ok(w.s.Expired(w.ctx, keep, limit))(w)
	claimed := make([]store.Acquired, len(found))
	for i := range found {
		claimed[i].Execution = found[i]
	}
	w.wantAcquired(claimed, want...)
}

func retention(w *world) {
	w.keptFor(nil, 0)
	w.keptFor(new(1), 0)
	forEver := w.keptFor(new(0), 4000*day)
	short, young := w.keptFor(new(2), 3*day), w.keptFor(new(2), day)
	old, recent := w.keptFor(nil, 11*day), w.keptFor(nil, 9*day)
	w.expired(0, 10, short)
	w.expired(10*day, 10, short, old)
	w.expired(10*day, 1, short)
	w.expired(day/2, 10, short, old, recent)
	w.must(w.s.Delete(w.ctx, tenant, short, record("execution.deleted")))
	w.expired(10*day, 10, old)
	for _, id := range []domain.ExecutionID{forEver, young} {
		if _, err := w.s.Execution(w.ctx, tenant, id); err != nil {
			w.Error(err)
		}
	}
	if e, err := w.s.Execution(w.ctx, tenant, young); err != nil || *e.Request.RetentionDays != 2 {
		w.Errorf("%+v, %v", e.Request, err)
	}
}
