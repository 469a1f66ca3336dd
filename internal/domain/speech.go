package domain

import "strings"

// Speech keeps the newest message of the agent in a turn: what it said last is the output of the execution. A message that was
// interrupted, with an agent that went on without it, does not count there: a model whose answer broke off in the middle and that had
// nothing to say in its next attempt would have half a sentence for its answer.
type Speech struct {
	id          string
	text        []byte
	cut         bool // text is only the beginning
	interrupted bool

	whole    string // the newest message that was not interrupted
	wholeCut bool
}

// SpeechBytes bounds an output. The whole of it is in the log; kept in one piece, a message without an end would take the
// memory of the server, and then of whoever reads the execution.
const SpeechBytes = 1 << 20

// add takes a piece of a message. Once a message is cut nothing is added to it any more: pieces that come one by one and the same pieces
// in one must amount to the same.
func (s *Speech) add(id, text string) {
	if s.id != id {
		*s = Speech{id: id, whole: s.whole, wholeCut: s.wholeCut}
	}
	if s.cut {
		return
	}
	if room := SpeechBytes - len(s.text); len(text) > room {
		s.cut = true
		text = strings.ToValidUTF8(text[:room], "")
	}
	s.text = append(s.text, text...)
}

// completed notes how a message ended.
func (s *Speech) completed(m MessageCompleted) {
	switch {
	case m.MessageID != s.id:
	case m.Interrupted:
		s.interrupted = true
	default:
		s.whole, s.wholeCut = string(s.text), s.cut
	}
}

// Last is what the agent said last, and whether that is only the beginning of it. Where all went well it is a whole message; otherwise it
// may be what the agent was about to say.
func (s *Speech) Last(well bool) (text string, cut bool) {
	if well && s.interrupted {
		return s.whole, s.wholeCut
	}
	return string(s.text), s.cut
}
