package sessions

import (
	"bytes"
	"encoding/json"

	"signoff/internal/domain"
)

// The values of secrets never reach the log: what an agent, a tool or a person has said is masked on its way there.

// event encodes a payload without secrets. Text that flows was masked piece by piece: a second time would change its
// length, and with it the offsets of what follows.
func (r *recorder) event(payload domain.Payload) domain.Event {
	if thought, is := payload.(domain.ThoughtCompleted); is && !bytes.Equal(r.engine.masker.JSON(thought.Thinking), thought.Thinking) {
		thought.Thinking = nil // it is signed: changed, its provider refuses it; as it is, it would be in the log
		payload = thought
	}
	event := domain.NewEvent(r.execution.ID, payload)
	if _, id, _ := growing(payload); id == "" {
		event.Data = r.engine.masker.JSON(event.Data)
	}
	return event
}

// hides tells whether text holds a secret.
func (r *recorder) hides(text string) bool { return r.engine.masker.MaskString(text) != text }

func (r *recorder) maskRecord(record domain.AuditRecord) (masked domain.AuditRecord) {
	if json.Unmarshal(r.engine.masker.JSON(domain.Encode(record)), &masked) != nil {
		return domain.AuditRecord{Action: record.Action, Execution: record.Execution, Channel: record.Channel, Outcome: record.Outcome}
	}
	return masked
}

// veil takes the secrets out of what an agent asks about. What is shown and decided is what is stored, and where that is
// not what would run, our own calls do not run: see [Session.asked].
func (s *Session) veil(a *ask) (changed bool) {
	arguments := s.engine.masker.JSON(a.Call.Arguments)
	changed = !bytes.Equal(arguments, a.Call.Arguments)
	a.Call.Arguments, a.Call.Summary = arguments, s.engine.masker.MaskString(a.Call.Summary)
	a.Options, a.Form = s.engine.masker.JSON(a.Options), s.engine.masker.JSON(a.Form)
	return changed
}
