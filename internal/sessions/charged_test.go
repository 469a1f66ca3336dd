package sessions_test

import (
	"context"
	"encoding/json"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store/storetest"
)

// Who pays for an execution, and which block of which runbook has started it, stand in its reports of usage and on record.
func TestWhoPaysIsCarriedAlong(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
		call := sessionstest.Bash("c1", "ls")
		_ = turn.Want("m1", call)
		if _, err := turn.Use(call, func(json.RawMessage) string { return "ran" }); err != nil {
			return "", err
		}
		return domain.StopEndTurn, turn.Host.Emit(ctx, domain.UsageUpdated{Usage: domain.Usage{InputTokens: new(int64(7))}})
	})
	id := w.start(func(r *domain.Request) {
		r.SafeModeOff, r.RunbookID, r.Block = true, "deploy", &domain.BlockName{ID: "b1", Name: "Check"}
		r.Metadata = map[string]string{"chargeTarget": "team-a", "username": "ada", "ticket": "OPS-1"}
	})
	w.ended(id)
	pays := domain.Charged{ChargeTarget: "team-a", Username: "ada"}
	log := w.events(id)
	if used := payloads[domain.UsageUpdated](t, log); len(used) != 1 || used[0].Charged != pays {
		t.Errorf("usage: %+v", used)
	}
	if ended := payloads[domain.ExecutionEnded](t, log); len(ended) != 1 || ended[0].Charged != pays {
		t.Errorf("end: %+v", ended)
	}
	for _, subject := range []string{"c1", string(id)} {
		if r := w.lastRecord(id, subject); r.Charged != pays || r.RunbookID != "deploy" || r.BlockID != "b1" || r.BlockName != "Check" {
			t.Errorf("on record: %+v", r)
		}
	}
}

// lastRecord is the newest entry about a subject.
func (w *world) lastRecord(id domain.ExecutionID, subject string) (found domain.AuditRecord) {
	w.t.Helper()
	for _, record := range w.records(id) {
		if record.Subject == subject {
			found = record
		}
	}
	return found
}
