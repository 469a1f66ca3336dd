package storetest

import (
	"fmt"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
)

func oneDecisionWins(w *world) {
	id := w.create()
	a := w.asked(id, time.Hour)
	results := atOnce(32, func(i int) store.Result {
		status := []domain.ApprovalStatus{domain.ApprovalApproved, domain.ApprovalDenied}[i%2]
		results, err := w.replicas[i%2].Commit(w.ctx, []store.Change{resolved(id, a, status, fmt.Sprint(i))})
		if err != nil {
			w.Error(err)
			return store.Result{}
		}
		return results[0]
	})
	winner := -1
	for i, result := range results {
		if result.Err == nil {
			if winner >= 0 {
				w.Errorf("both %d and %d won", winner, i)
			}
			winner = i
			continue
		}
		w.refused(result.Err, domain.CodeStale)
	}
	got := ok(w.s.Approval(w.ctx, tenant, a))(w)
	if got.Decision == nil || got.Decision.By.KeyID != fmt.Sprint(winner) {
		w.Errorf("%d won, the row says %+v", winner, got.Decision)
	}
	if n := len(w.log(id)); n != 3 {
		w.Errorf("%d events, want created, requested, resolved", n)
	}
}

func expiry(w *world) {
	id := w.create()
	over, open, never := w.asked(id, -time.Second), w.asked(id, time.Hour), w.asked(id, 0)
	refused := func(a domain.ApprovalID, statuses ...domain.ApprovalStatus) {
		w.Helper()
		for _, status := range statuses {
			w.untouched(id, func() { w.refused(w.commit(resolved(id, a, status, "k")).Err, domain.CodeStale) })
		}
	}
	refused(over, domain.ApprovalApproved, domain.ApprovalDenied)
	refused(open, domain.ApprovalExpired)
	refused(never, domain.ApprovalExpired)
	w.accepted(resolved(id, over, domain.ApprovalExpired, ""))
	w.accepted(resolved(id, open, domain.ApprovalApproved, "k"))
	w.accepted(resolved(id, never, domain.ApprovalDenied, "k"))
	for _, a := range []domain.ApprovalID{over, open, never} {
		refused(a, domain.ApprovalApproved, domain.ApprovalDenied, domain.ApprovalExpired, domain.ApprovalCancelled)
	}
	late, early := w.asked(id, -time.Second), w.asked(id, time.Hour)
	w.accepted(resolved(id, late, domain.ApprovalCancelled, ""))
	w.accepted(resolved(id, early, domain.ApprovalCancelled, ""))

	soon := w.asked(id, 30*time.Millisecond)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if w.commit(resolved(id, soon, domain.ApprovalExpired, "")).Err == nil {
			break
		}
		if time.Now().After(end) {
			w.Fatal("an approval does not become due")
		}
	}
	got := ok(w.s.Approval(w.ctx, tenant, soon))(w)
	if got.Status != domain.ApprovalExpired || got.Decision != nil || got.Resolved.Before(*got.Expires) {
		w.Errorf("%+v", got)
	}
}

func foreignResolution(w *world) {
	mine, theirs := w.create(), w.create()
	a := w.asked(theirs, 0)
	w.untouched(theirs, func() {
		w.untouched(mine, func() {
			w.refused(w.commit(resolved(mine, a, domain.ApprovalApproved, "k")).Err, domain.CodeStale)
			w.refused(w.commit(resolved(mine, domain.ApprovalID(newID()), domain.ApprovalApproved, "k")).Err, domain.CodeStale)
		})
	})
}
