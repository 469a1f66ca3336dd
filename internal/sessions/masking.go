package sessions

import (
	"bytes"
	"cmp"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/secrets"
)

// The values of secrets never reach the log: what an agent, a tool or a person has said is masked on its way there.

// masking hides secrets in texts that flow. It holds back what may be the beginning of a secret, of messages, thoughts and outputs.
type masking struct {
	masker  *secrets.Masker
	streams map[domain.TextKey]*secrets.Stream
}

// write takes a piece of a text, and returns what may be seen now.
func (m *masking) write(key domain.TextKey, text string) string {
	stream := m.streams[key]
	if stream == nil {
		stream = secrets.NewStream(m.masker)
		m.streams[key] = stream
	}
	return stream.Write(text)
}

// release returns what of a text was held back. Nothing may follow in it: of a secret whose first half was let go of, the second half is
// not found.
func (m *masking) release(key domain.TextKey) string {
	if stream := m.streams[key]; stream != nil {
		return stream.Close()
	}
	return ""
}

func (m *masking) forget(key domain.TextKey) { delete(m.streams, key) }

func (m *masking) keys() []domain.TextKey { return sortedTexts(maps.Keys(m.streams)) }

func sortedTexts(keys iter.Seq[domain.TextKey]) []domain.TextKey {
	return slices.SortedFunc(keys, func(a, b domain.TextKey) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.ID, b.ID))
	})
}

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
