package sessions

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/secrets"
)

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

// holds tells whether a text has begun here.
func (m *masking) holds(key domain.TextKey) bool { return m.streams[key] != nil }

func (m *masking) forget(key domain.TextKey) { delete(m.streams, key) }

func (m *masking) keys() []domain.TextKey { return sortedTexts(maps.Keys(m.streams)) }

func sortedTexts(keys iter.Seq[domain.TextKey]) []domain.TextKey {
	return slices.SortedFunc(keys, func(a, b domain.TextKey) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.ID, b.ID))
	})
}
