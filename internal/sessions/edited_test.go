package sessions_test

import (
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"signoff/internal/approvals"
	"signoff/internal/domain"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

func edit(arguments string) func(*approvals.Answer) {
	return func(a *approvals.Answer) { a.Arguments = json.RawMessage(arguments) }
}

const editedNote = `[alice changed the arguments of this call. What ran instead: {"command":"ls -a"}]` + "\n"

// TestAnEditedClientCallSaysSo: its client ran what the model did not write, also where another server takes the answer.
func TestAnEditedClientCallSaysSo(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		for _, killed := range []bool{false, true} {
			w := newWorld(t, s, inserts)
			id := w.start()
			w.decide(w.approvals(id, 1)[0], edit(`{"command": "ls -a"}`))
			w.becomes(id, domain.StatusExecutingTool, 1)
			if killed {
				w.killed()
				w = newWorld(t, s, inserts)
			}
			w.answers(id, "c1", "inserted")
			if end := w.ended(id); end.Output.Text != "told: "+editedNote+"inserted" {
				t.Errorf("killed %v: %q", killed, end.Output.Text)
			}
			started := payloads[domain.ToolCallStarted](t, w.events(id))
			if len(started) != 1 || started[0].EditedBy == nil || *started[0].EditedBy != alice {
				t.Errorf("killed %v: %+v", killed, started)
			}
			if outcome := w.outcomeOf(id); outcome.Output != "inserted" || outcome.ModelOutput != "" {
				t.Errorf("killed %v: %+v", killed, outcome)
			}
		}
	})
}

// TestACallThatIsWrittenAnotherWayIsNotEdited: with blanks in it, it says the same.
func TestACallThatIsWrittenAnotherWayIsNotEdited(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), one("ls"))
	id := w.start()
	w.decide(w.approvals(id, 1)[0], edit(`{ "command": "ls" }`))
	w.ended(id)
	if started := payloads[domain.ToolCallStarted](t, w.events(id)); len(started) != 1 || started[0].EditedBy != nil {
		t.Errorf("%+v", started)
	}
}

// TestALostEditedCall: what is found out about it is about what ran, and so is a further run.
func TestALostEditedCall(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		lost := func() (*world, domain.ExecutionID, *atomic.Int32) {
			starts := new(atomic.Int32)
			first := newWorld(t, s, printing(sessionstest.Bash("c1", "ls"), starts))
			id := first.start()
			first.decide(first.approvals(id, 1)[0], edit(`{"command":"ls -a"}`))
			first.until(id, domain.ToolCallUpdatedType)
			first.killed()
			w := newWorld(t, s, again(starts))
			if question := w.approvals(id, 2)[1]; string(question.Call.Arguments) != `{"command":"ls -a"}` {
				t.Errorf("asked about %s", question.Call.Arguments)
			}
			w.reach(id, domain.StatusPendingToolApproval)
			return w, id, starts
		}

		w, id, _ := lost()
		w.decide(w.approvals(id, 2)[1], resolve(domain.ResolutionSucceeded, "I looked"))
		if end := w.ended(id); !strings.HasPrefix(end.Output.Text, "told: "+editedNote) || !strings.Contains(end.Output.Text, "I looked") {
			t.Errorf("%q", end.Output.Text)
		}

		w, id, starts := lost()
		w.decide(w.approvals(id, 2)[1], resolve(domain.ResolutionRetry, ""))
		w.decide(w.approvals(id, 3)[2])
		w.ended(id)
		started := payloads[domain.ToolCallStarted](t, w.events(id))
		if len(started) != 2 || starts.Load() != 2 || string(started[1].Arguments) != `{"command":"ls -a"}` || started[1].EditedBy == nil || *started[1].EditedBy != alice {
			t.Errorf("%d starts: %+v", starts.Load(), started)
		}
	})
}
