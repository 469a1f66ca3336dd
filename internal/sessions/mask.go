package sessions

import (
	"bytes"
	"encoding/json"

	"signoff/internal/domain"
)

// The values of secrets never reach the log: what an agent, a tool or a person has said is masked on its way there.

// event encodes a payload without secrets. Text that flows was masked piece by piece: a second time would change its
// length, and with it the offsets of what follows.
func (s *Session) event(payload domain.Payload) domain.Event {
	if thought, is := payload.(domain.ThoughtCompleted); is && !bytes.Equal(s.deps.masker.JSON(thought.Thinking), thought.Thinking) {
		thought.Thinking = nil // it is signed: changed, its provider refuses it; as it is, it would be in the log
		payload = thought
	}
	event := domain.NewEvent(s.execution.ID, payload)
	if _, id, _ := growing(payload); id == "" {
		event.Data = s.deps.masker.JSON(event.Data)
	}
	return event
}

// hides tells whether text holds a secret.
func (s *Session) hides(text string) bool { return s.deps.masker.MaskString(text) != text }

func (s *Session) maskRecord(record domain.AuditRecord) (masked domain.AuditRecord) {
	if json.Unmarshal(s.deps.masker.JSON(domain.Encode(record)), &masked) != nil {
		return domain.AuditRecord{Action: record.Action, Execution: record.Execution, Channel: record.Channel, Outcome: record.Outcome}
	}
	return masked
}

// veil takes the secrets out of what an agent asks about. What is shown and decided is what is stored, and where that is
// not what would run, our own calls do not run: see [Session.asked].
func (s *Session) veil(a *ask) (changed bool) {
	arguments := s.deps.masker.JSON(a.Call.Arguments)
	changed = !bytes.Equal(arguments, a.Call.Arguments)
	a.Call.Arguments, a.Call.Summary = arguments, s.deps.masker.MaskString(a.Call.Summary)
	a.Options, a.Form = s.deps.masker.JSON(a.Options), s.deps.masker.JSON(a.Form)
	return changed
}
