package storetest

import (
	"strings"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/store"
)

func pausedRequests(w *world) {
	id, neighbour := w.create(), w.create()
	paused := func(call string, question domain.ApprovalID, repeat string) domain.PausedRequest {
		return domain.PausedRequest{ToolCallID: call, Approval: question, Repeat: []byte(repeat)}
	}
	pauses := func(id domain.ExecutionID, epoch int64, all ...domain.PausedRequest) store.Change {
		c := said(id, epoch, 1)
		c.Paused = all
		return c
	}
	stored := func(id domain.ExecutionID, want ...domain.PausedRequest) {
		w.Helper()
		if diff := cmp.Diff(want, ok(w.replicas[1].PausedRequests(w.ctx, id))(w)); diff != "" {
			w.Error(diff)
		}
	}
	large := strings.Repeat("x", domain.MaxInquiryRepeat)
	w.accepted(pauses(neighbour, 1, paused("a", "0", "of another execution")))
	w.accepted(pauses(id, 1, paused("b", "1", opaque), paused("a", "2", large)))
	stored(id, paused("a", "2", large), paused("b", "1", opaque))
	w.accepted(pauses(id, 1, paused("b", "3", "again")))
	stored(id, paused("a", "2", large), paused("b", "3", "again"))

	w.refused(w.commit(pauses(id, 2, paused("a", "4", "late"))).Err, domain.CodeStale)
	if _, err := w.s.Commit(w.ctx, []store.Change{pauses(id, 0, paused("a", "4", "foreign"))}); err == nil {
		w.Error("somebody who does not drive it has written a request")
	}
	stored(id, paused("a", "2", large), paused("b", "3", "again"))
	stored(neighbour, paused("a", "0", "of another execution"))
}
