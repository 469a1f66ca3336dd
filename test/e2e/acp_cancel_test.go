package e2e

import (
	"net/http"
	"time"

	"signoff/internal/domain"
)

var cancelScenes = scenes{
	"in the middle of text":   cancelledIn(domain.StatusStreaming, "pace 5", "burst 100000"),
	"before it says anything": cancelledIn(domain.StatusWaiting, forever),
	"while it asks":           cancelledIn(domain.StatusPendingToolApproval, askLs, "say on"),
	"while a call runs": cancelledIn(domain.StatusExecutingTool,
		"call c1 kind=execute title=Run status=in_progress", forever),
	"it answers with an error": cancelledIn(domain.StatusExecutingTool,
		"oncancel error", "call c1 kind=execute title=Run status=in_progress", forever),
	"it says that it is done": cancelledIn(domain.StatusStreaming, "oncancel endturn", "say half", forever),
	"it needs every answer": cancelledIn(domain.StatusPendingToolApproval,
		"oncancel needanswer", "ask& c1 kind=execute title=Run", "ask& c2 kind=edit title=Write", "call c3 title=Other",
		"join"),
	"it takes its questions back": cancelledIn(domain.StatusPendingToolApproval, "oncancel withdraw", askLs),
	"it ignores it": cancelledIn(domain.StatusExecutingTool, "oncancel ignore",
		"call c1 kind=execute title=Run status=in_progress", forever),
	"it is deaf": cancelledIn(domain.StatusWaiting, "deafen", forever),
	"it hangs":   cancelledIn(domain.StatusStreaming, "say half", "hang"),
}

// cancelledIn is the scene in which an execution is cancelled in a status: it ends soon, as cancelled, whatever the
// agent makes of it.
func cancelledIn(status domain.Status, steps ...string) scene {
	return scene{"scripted", func(v *visit) {
		id := v.start(steps...)
		if status == domain.StatusWaiting {
			v.eventually("its turn", func() bool { return len(of[domain.TurnStarted](v.t, v.page(id))) == 1 })
		}
		v.reach(id, status)
		begun := time.Now()
		end := v.cancelled(id, object{"reason": "enough"})
		if took := time.Since(begun); end.Status != "cancelled" || took > patience {
			v.t.Errorf("after %s it is %s", took, end.Status)
		}
		again := want[execution](v.client, http.StatusOK, "POST", "/executions/"+id+"/cancel", object{"reason": "really"})
		if again.Status != "cancelled" || again.LastSeq != end.LastSeq {
			v.t.Errorf("the second cancel answers %+v", again)
		}
		log := v.page(id)
		if ends := of[domain.ExecutionEnded](v.t, log); len(ends) != 1 || ends[0].Reason != "enough" ||
			ends[0].CancelledBy == nil || ends[0].Error != nil {
			v.t.Errorf("the end is %+v", ends)
		}
		if turns := of[domain.TurnEnded](v.t, log); len(turns) != 1 || turns[0].StopReason != domain.StopCancelled {
			v.t.Errorf("turns: %+v", turns)
		}
		if open := v.get(id).PendingApprovals; len(open) > 0 {
			v.t.Errorf("approvals stay open: %+v", open)
		}
	}}
}
