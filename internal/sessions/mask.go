package sessions

import (
	"encoding/json"

	"signoff/internal/domain"
)

// The values of secrets never reach the log: what an agent, a tool or a person has said is masked on its way there.

// event encodes a payload without secrets. Text that flows was masked piece by piece: a second time would change its
// length, and with it the offsets of what follows.
func (m *Manager) event(execution domain.ExecutionID, payload domain.Payload) domain.Event {
	event := domain.NewEvent(execution, payload)
	if _, id, _ := growing(payload); id == "" {
		event.Data = m.masker.JSON(event.Data)
	}
	return event
}

func (s *session) event(payload domain.Payload) domain.Event {
	return s.Manager.event(s.execution.ID, payload)
}

func (s *session) maskRecord(record domain.AuditRecord) (masked domain.AuditRecord) {
	if json.Unmarshal(s.masker.JSON(domain.Encode(record)), &masked) != nil {
		return domain.AuditRecord{Action: record.Action, Execution: record.Execution, Channel: record.Channel, Outcome: record.Outcome}
	}
	return masked
}

// maskRequest takes the secrets out of what a client asked for, before anything of it is stored.
func (m *Manager) maskRequest(request domain.Request) (masked domain.Request, err error) {
	plain := request.Marshal()
	hidden := m.masker.JSON(plain)
	if len(hidden) == len(plain) && string(hidden) == string(plain) {
		return request, nil
	}
	if err := json.Unmarshal(hidden, &masked); err != nil {
		return request, domain.Invalid("/prompt", "The request holds the value of a secret in a place where it cannot be masked.").With(err)
	}
	return masked, nil
}
