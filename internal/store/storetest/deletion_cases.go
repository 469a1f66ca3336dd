package storetest

import (
	"fmt"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// removed removes all of a deleted execution and tells in how many portions.
func (w *world) removed(id domain.ExecutionID) (portions int) {
	w.Helper()
	for {
		done := ok(w.replicas[portions%2].Remove(w.ctx, id))(w)
		if done == store.RemovalNone {
			w.Fatalf("nothing of %s is removed after %d portions", id, portions)
		}
		if portions++; done == store.RemovalComplete {
			return portions
		}
	}
}

// gone fails the test where a client could see anything of an execution that is deleted, before and after its rows are removed.
func (w *world) gone(id domain.ExecutionID, approval domain.ApprovalID, key string) {
	w.Helper()
	_, err := w.s.Execution(w.ctx, tenant, id)
	w.refused(err, domain.CodeNotFound)
	_, err = w.s.HeadOf(w.ctx, tenant, id)
	w.refused(err, domain.CodeNotFound)
	_, err = w.s.Approval(w.ctx, tenant, approval)
	w.refused(err, domain.CodeNotFound)
	_, _, err = w.s.ExecutionByKey(w.ctx, tenant, key)
	w.refused(err, domain.CodeNotFound)
	w.refused(w.s.CreateRule(w.ctx, rule(id), record("rule.created")), domain.CodeNotFound)
	w.refused(w.commit(said(id, 0, 1)).Err, domain.CodeStale)
	w.refused(w.commit(resolved(id, approval, domain.ApprovalApproved, "late")).Err, domain.CodeStale)
	executions := ok(w.s.Executions(w.ctx, tenant, store.ExecutionFilter{}))(w)
	approvals := ok(w.s.Approvals(w.ctx, tenant, store.ApprovalFilter{}))(w)
	expired := ok(w.s.Expired(w.ctx, 1, 100))(w)
	for _, e := range append(executions.Items, expired...) {
		if e.ID == id {
			w.Errorf("%s is in a list", id)
		}
	}
	for _, a := range approvals.Items {
		if a.Execution == id {
			w.Errorf("%s is in the inbox", a.ID)
		}
	}
	for _, r := range w.allRules(store.RuleFilter{IncludeEnded: true}) {
		if r.Execution == id {
			w.Errorf("rule %s is in the list", r.ID)
		}
	}
	for _, e := range w.merged(tenant, store.FeedCursor{}) {
		if e.Execution == id {
			w.Fatalf("event %d is in the feed", e.Seq)
		}
	}
}

func deletes(w *world) {
	id := domain.ExecutionID(newID())
	c := creation(id)
	c.Create.Idempotency = &store.Idempotency{Key: "k", BodyHash: []byte{1}}
	w.accepted(c)
	a := w.asked(id, 0)
	decided := resolved(id, a, domain.ApprovalApproved, "k")
	decided.Remember = []domain.PermissionRule{rule(id)}
	w.accepted(decided)
	neighbour := w.create()
	w.asked(neighbour, 0)
	for _, id := range []domain.ExecutionID{id, neighbour} {
		w.accepted(prompted(id, domain.WhenBusyEnqueue, "k"))
		w.accepted(traced(id, 3, "x"))
		w.accepted(stated(said(id, 1, 1), "a", "b"))
		w.must(w.s.SaveViewedFiles(w.ctx, tenant, id, 1, viewed("/a", "one", "/b", "two")))
	}

	end := ending(id, 1)
	end.DiscardPrompts = w.waiting(id)
	w.accepted(end)
	w.untouched(neighbour, func() {
		w.must(w.s.Delete(w.ctx, tenant, id, record("execution.deleted")))
		w.gone(id, a, "k")
		w.removed(id)
	})
	w.refused(w.s.Delete(w.ctx, tenant, id, record("execution.deleted")), domain.CodeNotFound)

	_, err := w.s.Execution(w.ctx, tenant, id)
	w.refused(err, domain.CodeNotFound)
	_, err = w.s.Head(w.ctx, id)
	w.refused(err, domain.CodeNotFound)
	_, err = w.s.Approval(w.ctx, tenant, a)
	w.refused(err, domain.CodeNotFound)
	_, _, err = w.s.ExecutionByKey(w.ctx, tenant, "k")
	w.refused(err, domain.CodeNotFound)
	_, _, err = w.s.PromptByKey(w.ctx, id, "k")
	w.refused(err, domain.CodeNotFound)
	_, err = w.s.ControlRequests(w.ctx, id)
	w.refused(err, domain.CodeNotFound)
	events := ok(w.s.Events(w.ctx, id, 0, 10))(w)
	rules := ok(w.s.Rules(w.ctx, tenant, id))(w)
	files := ok(w.s.ViewedFiles(w.ctx, id, "/a", "/b"))(w)
	if feed := w.feed(id); len(events) != 0 || len(rules) != 0 || len(feed) != 0 || len(w.states(id)) != 0 || len(files) != 0 {
		w.Errorf("left behind: %d events, %d rules, %d raw messages, %d viewed files", len(events), len(rules), len(feed), len(files))
	}
	w.refused(w.commit(said(id, 1, 1)).Err, domain.CodeStale)
	again := creation(domain.ExecutionID(newID()))
	again.Create.Idempotency = &store.Idempotency{Key: "k"}
	w.accepted(again)
}

func deleteUnderWrite(w *world) {
	for range 15 {
		id := w.create()
		a := w.asked(id, 0)
		w.accepted(store.Change{Execution: id, Epoch: 1, Update: &store.Update{Status: domain.StatusFailed}})
		errs := atOnce(6, func(i int) error {
			if i == 0 {
				return w.replicas[0].Delete(w.ctx, tenant, id, record("execution.deleted"))
			}
			results, err := w.replicas[i%2].Commit(w.ctx, []store.Change{resolved(id, a, domain.ApprovalApproved, fmt.Sprint(i))})
			if err == nil && domain.CodeOf(results[0].Err) != domain.CodeStale {
				return fmt.Errorf("an ended execution took a change: %w", results[0].Err)
			}
			return err
		})
		for _, err := range errs {
			w.must(err)
		}
	}
}

// deletesLive: whoever deletes a live execution does not see it again; its driver still has to end it, and then its rows go.
func deletesLive(w *world) {
	w.heartbeat("one")
	id := domain.ExecutionID(newID())
	c := creation(id)
	c.Create.Idempotency = &store.Idempotency{Key: "k", BodyHash: []byte{1}}
	w.accepted(c)
	a := w.asked(id, 0)
	own := rule(id)
	w.must(w.s.CreateRule(w.ctx, own, record("rule.created")))
	neighbour := w.create()
	w.asked(neighbour, 0)
	before := ok(w.s.Head(w.ctx, id))(w)

	record := record("execution.deleted")
	record.Actor = &domain.Actor{KeyID: "me", Name: "me"}
	w.refused(w.s.Delete(w.ctx, "other", id, record), domain.CodeNotFound)
	w.untouched(neighbour, func() { w.must(w.s.Delete(w.ctx, tenant, id, record)) })
	w.gone(id, a, "k")
	head := ok(w.s.Head(w.ctx, id))(w)
	if !head.Deleted || head.ForeignWrites == before.ForeignWrites || head.Epoch != before.Epoch {
		w.Errorf("its driver hears nothing: %+v, before %+v", head, before)
	}
	if wish := w.controlRequests(id).Cancel; wish == nil || wish.By != *record.Actor {
		w.Errorf("the wish to cancel is %+v", wish)
	}
	w.unaudited(func() { w.must(w.s.Delete(w.ctx, tenant, id, record)) }) // again
	if done, err := w.s.Remove(w.ctx, id); err != nil || done != store.RemovalNone {
		w.Errorf("a live one is removed: %v, %v", done, err)
	}
	if left, err := w.s.Deleted(w.ctx, 10); err != nil || len(left) != 1 || left[0] != (store.Deleted{Execution: id}) {
		w.Errorf("%+v, %v", left, err)
	}
	w.accepted(said(id, 1, 1)) // what its driver still has to say
	end := ending(id, 1)
	end.Resolve = []store.Resolution{{Approval: a, Status: domain.ApprovalCancelled}}
	w.accepted(end)
	w.gone(id, a, "k")
	w.untouched(neighbour, func() { w.removed(id) })
	w.gone(id, a, "k")
	w.refused(w.s.Delete(w.ctx, tenant, id, record), domain.CodeNotFound)
	if left, err := w.s.Deleted(w.ctx, 10); err != nil || len(left) != 0 {
		w.Errorf("%+v, %v", left, err)
	}
}

// deletesUndriven: what nobody drives is anybody's when it is deleted, so that somebody ends it.
func deletesUndriven(w *world) {
	w.heartbeat("two")
	parked, queued := w.create(), creation(domain.ExecutionID(newID()))
	w.accepted(store.Change{Execution: parked, Epoch: 1, Park: &store.Park{}})
	queued.Create.Queued, queued.Create.Owner = true, ""
	w.accepted(queued)
	w.acquire("two")
	for _, id := range []domain.ExecutionID{parked, queued.Execution} {
		w.must(w.s.Delete(w.ctx, tenant, id, record("execution.deleted")))
	}
	w.acquire("two", parked, queued.Execution)
}

// removedAtOnce: two replicas that remove the same remove it once, and writers of others do not mind.
func removedAtOnce(w *world) {
	for range 5 {
		id, other := w.create(), w.create()
		for range 150 {
			w.accepted(said(id, 1, 20))
		}
		w.accepted(ending(id, 1))
		w.must(w.s.Delete(w.ctx, tenant, id, record("execution.deleted")))
		complete := atOnce(4, func(i int) error {
			for range 20 {
				if i < 2 {
					if results, err := w.replicas[i].Commit(w.ctx, []store.Change{said(other, 0, 1)}); err != nil || results[0].Err != nil {
						return fmt.Errorf("%w, %v", err, results)
					}
					continue
				}
				if _, err := w.replicas[i-2].Remove(w.ctx, id); err != nil {
					return err
				}
			}
			return nil
		})
		for _, err := range complete {
			w.must(err)
		}
		if _, err := w.s.Head(w.ctx, id); domain.CodeOf(err) != domain.CodeNotFound {
			w.removed(id)
		}
		w.log(other)
	}
}
