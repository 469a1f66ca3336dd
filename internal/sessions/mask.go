package sessions

import (
	"bytes"
	"encoding/json"
	"slices"

	"signoff/internal/domain"
)

// The values of secrets never reach the log: what an agent, a tool or a person has said is masked on its way there.

// event encodes a payload without secrets. Text that flows was masked piece by piece: a second time would change its
// length, and with it the offsets of what follows.
func (s *session) event(payload domain.Payload) domain.Event {
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
func (s *session) hides(text string) bool { return s.deps.masker.MaskString(text) != text }

func (s *session) maskRecord(record domain.AuditRecord) (masked domain.AuditRecord) {
	if json.Unmarshal(s.deps.masker.JSON(domain.Encode(record)), &masked) != nil {
		return domain.AuditRecord{Action: record.Action, Execution: record.Execution, Channel: record.Channel, Outcome: record.Outcome}
	}
	return masked
}

// maskRequest takes the secrets out of what a client asked for, before anything of it is stored. That is for texts: a
// rule with a masked pattern would be another rule, and one in which [masked] is a class of letters.
func (m *Manager) maskRequest(request domain.Request) (masked domain.Request, err error) {
	plain := request.Marshal()
	hidden := m.masker.JSON(plain)
	if bytes.Equal(hidden, plain) {
		return request, nil
	}
	err = json.Unmarshal(hidden, &masked)
	if err != nil || !bytes.Equal(withoutTexts(request), withoutTexts(masked)) {
		return request, domain.Errorf(domain.CodeSecretExposed,
			"The request holds the value of a secret where it is no text that could be masked; name the secret instead.").With(err)
	}
	return masked, nil
}

// withoutTexts is what of a request decides what happens.
func withoutTexts(r domain.Request) []byte {
	r.Prompt, r.Messages, r.Context, r.SystemPrompt, r.Instructions, r.Metadata = "", nil, nil, "", "", nil
	if r.Runbook.Document != nil {
		r.Runbook.Document = &domain.Document{Revision: r.Runbook.Document.Revision}
	}
	r.Runbook.BlockTypes = slices.Clone(r.Runbook.BlockTypes)
	for i := range r.Runbook.BlockTypes {
		r.Runbook.BlockTypes[i].Docs = ""
	}
	return r.Marshal()
}

// maskEdit takes the secrets out of a document. One in its revision cannot be masked: nobody could ever accept for it.
func (m *Manager) maskEdit(edit domain.Edit) (*domain.Edit, error) {
	if edit.Document == nil {
		return &edit, nil
	}
	document := domain.Document{Revision: edit.Document.Revision, Blocks: m.masker.JSON(edit.Document.Blocks)}
	if m.masker.MaskString(document.Revision) != document.Revision {
		return nil, domain.Invalid("/document/revision", "The revision holds the value of a secret.")
	}
	edit.Document = &document
	return &edit, nil
}

// veil takes the secrets out of what an agent asks about. What is shown and decided is what is stored, and where that is
// not what would run, our own calls do not run: see [session.asked].
func (s *session) veil(a *ask) (changed bool) {
	arguments := s.deps.masker.JSON(a.Call.Arguments)
	changed = !bytes.Equal(arguments, a.Call.Arguments)
	a.Call.Arguments, a.Call.Summary = arguments, s.deps.masker.MaskString(a.Call.Summary)
	a.Options, a.Form = s.deps.masker.JSON(a.Options), s.deps.masker.JSON(a.Form)
	return changed
}
