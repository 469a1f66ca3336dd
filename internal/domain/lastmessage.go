package domain

import "strings"

// LastMessage keeps the newest message of the agent in a turn, which becomes the output of the execution. A message that was interrupted does not count
// if the agent continued without it: otherwise a model whose answer broke off, and whose next attempt is empty, would have half a sentence for its
// answer.
type LastMessage struct {
	id          string
	text        []byte
	cut         bool // text is only the beginning
	interrupted bool

	whole    string // the newest message that was not interrupted
	wholeCut bool
}

// lastMessageBytes bounds an output; the log has all of it. An endless message in one piece would exhaust the memory of the server, and then of every
// reader of the execution.
const lastMessageBytes = 1 << 20

// add adds a piece of a message. It adds nothing to a message that is cut: many pieces and the same text in one piece must give the same result.
func (m *LastMessage) add(id, text string) {
	if m.id != id {
		*m = LastMessage{id: id, whole: m.whole, wholeCut: m.wholeCut}
	}
	if m.cut {
		return
	}
	if room := lastMessageBytes - len(m.text); len(text) > room {
		m.cut = true
		text = strings.ToValidUTF8(text[:room], "")
	}
	m.text = append(m.text, text...)
}

// completed notes how a message ended.
func (m *LastMessage) completed(end MessageCompleted) {
	switch {
	case end.MessageID != m.id:
	case end.Interrupted:
		m.interrupted = true
	default:
		m.whole, m.wholeCut = string(m.text), m.cut
	}
}

// Last is the agent's last message, and whether it is cut. If the turn went well it is a whole message; otherwise it may be an interrupted one.
func (m *LastMessage) Last(well bool) (text string, cut bool) {
	if well && m.interrupted {
		return m.whole, m.wholeCut
	}
	return string(m.text), m.cut
}
