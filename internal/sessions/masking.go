package sessions

import (
	"cmp"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/secrets"
)

// The values of secrets never reach the log: the words of agents, tools and people are masked on their way there.

// masking hides secrets in messages, thoughts and outputs that grow. It holds back text that may be the beginning of a secret.
type masking struct {
	masker  *secrets.Masker
	streams map[domain.TextKey]*secrets.Stream
}

// write takes a piece of a text, and returns the part that may be seen now.
func (m *masking) write(key domain.TextKey, text string) string {
	stream := m.streams[key]
	if stream == nil {
		stream = secrets.NewStream(m.masker)
		m.streams[key] = stream
	}
	return stream.Write(text)
}

// release returns the part of a text that was held back. Nothing may follow in that text: if the first half of a secret was
// released, its second half is not found.
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

// event encodes a payload without secrets. Text that grows was masked piece by piece: a second time would change its length, and
// the offsets of the next pieces.
func (r *recorder) event(payload domain.Payload) domain.Event {
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
