package llm

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// message is what the model says and thinks in one attempt, on its way to the host. It belongs to one goroutine.
//
// Thought ends where text begins. A model that thinks again after it has spoken does so under an id of its own,
// because a closed thought stays closed for everybody who has read it.
type message struct {
	ctx  context.Context //nolint:containedctx // of the attempt, which a message does not outlive
	host domain.Host
	id   string

	text, thought strings.Builder // all of it
	maker         provider.Maker

	speaking  bool   // a text delta is out
	thinking  bool   // a thought delta is out and not completed
	thoughtID string // of the open thought
	thoughts  int    // completed ones
	held      string // white space before the first visible character of a text or a thought
	heldKind  bool   // true for a thought
	err       error  // the host's; final
}

func newMessage(ctx context.Context, host domain.Host, maker provider.Maker, id string) *message {
	return &message{ctx: ctx, host: host, maker: maker, id: id}
}

var _ provider.Sink = (*message)(nil)

// Text implements [provider.Sink].
func (m *message) Text(text string) error {
	if !m.speaking {
		if text = m.hold(text, false); text == "" {
			return m.err
		}
		m.speaking = true
	}
	if text == "" {
		return m.err
	}
	if m.thinking {
		_ = m.emit(m.thoughtEnd())
	}
	m.text.WriteString(text)
	return m.emit(domain.MessageDelta{MessageID: m.id, Text: text})
}

// Thought implements [provider.Sink].
func (m *message) Thought(text string) error {
	if !m.thinking {
		if text = m.hold(text, true); text == "" {
			return m.err
		}
		m.thinking, m.thoughtID = true, m.id
		if m.speaking || m.thoughts > 0 {
			m.thoughtID = fmt.Sprintf("%s.%d", m.id, m.thoughts+1)
		}
	}
	if text == "" {
		return m.err
	}
	m.thought.WriteString(text)
	return m.emit(domain.ThoughtDelta{MessageID: m.thoughtID, Text: text})
}

// hold keeps white space back until something visible follows, and drops the line breaks before it. Templates put
// blank lines around thoughts and before tool calls; a message of nothing but a blank line is no message.
func (m *message) hold(text string, thought bool) string {
	if m.heldKind == thought {
		text = m.held + text
	}
	m.held, m.heldKind = "", thought
	if strings.TrimSpace(text) == "" {
		m.held = text
		return ""
	}
	return strings.TrimLeft(text, "\r\n")
}

// complete returns the events that close what is open: the answer has come to its end. They are told together with the
// answer's calls. A server that died in between would leave an answer that is whole and asks for nothing, which is a turn that has ended.
func (m *message) complete() (end []domain.Payload) {
	if m.thinking {
		end = append(end, m.thoughtEnd())
	}
	if m.speaking {
		end = append(end, domain.MessageCompleted{MessageID: m.id})
	}
	return end
}

// interrupt closes what is open: the rest will never come.
func (m *message) interrupt() error {
	if m.thinking {
		cut := m.thoughtEnd()
		cut.Interrupted = true
		_ = m.emit(cut)
	}
	if m.speaking {
		_ = m.emit(domain.MessageCompleted{MessageID: m.id, Interrupted: true})
	}
	return m.err
}

// thoughtEnd closes the thought that is open.
func (m *message) thoughtEnd() domain.ThoughtCompleted {
	m.thinking = false
	m.thoughts++
	return domain.ThoughtCompleted{MessageID: m.thoughtID}
}

// emit keeps the host's first error, for everybody to return: what it refused once is not offered again.
func (m *message) emit(payload domain.Payload) error {
	if m.err == nil {
		m.err = m.host.Emit(m.ctx, payload)
	}
	return m.err
}

// randomName returns n characters that no other id has.
func randomName(n int) string { return strings.ToLower(rand.Text()[:n]) }
