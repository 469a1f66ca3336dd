package sessions

import (
	"maps"

	"signoff/internal/domain"
)

// flowed takes a piece of text, as far as it may be seen already.
func (s *Session) flowed(d *draft, piece *delta) {
	key := domain.TextKey{Kind: piece.kind, ID: piece.id}
	if s.progress.Closed[key] || !s.speaks(piece) {
		return
	}
	if text := s.masking.write(key, piece.text.String()); text != "" {
		s.shown(d, key, text)
	}
}

// shown numbers a piece of text. The status is told before the first piece: who shows "streaming" shows it in time.
func (s *Session) shown(d *draft, key domain.TextKey, text string) {
	if key.Kind == domain.ToolCallUpdatedType {
		printed := 0
		if c := s.progress.Calls[key.ID]; c != nil {
			printed = c.Printed
		}
		s.emit(d, domain.ToolCallUpdated{ToolCallID: key.ID, Offset: printed, Output: text})
		return
	}
	s.deriveWith(d, true)
	offset := 0
	if open := s.progress.Texts[key]; open != nil {
		offset = open.Length
	}
	if key.Kind == domain.ThoughtDeltaType {
		s.emit(d, domain.ThoughtDelta{MessageID: key.ID, Turn: s.now(), Offset: offset, Text: text})
	} else {
		s.emit(d, domain.MessageDelta{MessageID: key.ID, Turn: s.now(), Offset: offset, Text: text})
	}
}

// speaks tells whether a piece of output is of a call that is open: what is printed after its outcome is lost.
func (s *Session) speaks(piece *delta) bool {
	_, open := s.calls[piece.id]
	return open || piece.kind != domain.ToolCallUpdatedType
}

// endText tells the rest of a text that has begun, which was held back because it might have become a secret, and returns its length.
// Each text ends once.
func (s *Session) endText(d *draft, key domain.TextKey) (length int, begun bool) {
	if s.progress.Texts[key] == nil && !s.masking.holds(key) {
		return 0, false
	}
	s.release(d, key)
	s.masking.forget(key)
	if open := s.progress.Texts[key]; open != nil {
		length = open.Length
	}
	return length, true
}

// release tells the end of a text that was held back.
func (s *Session) release(d *draft, key domain.TextKey) {
	if rest := s.masking.release(key); rest != "" {
		s.shown(d, key, rest)
	}
}

// releaseAll tells what of all texts was held back, in a change of its own: what comes after it may have to be drafted
// more than once, and a text can be let go of only once.
func (s *Session) releaseAll() error {
	d := &draft{}
	for _, key := range s.masking.keys() {
		s.release(d, key)
	}
	return s.commit(d)
}

// closeTexts drafts the end of all texts that have begun. Whole, nothing of them is missing; otherwise they broke off, but for those after
// which the model went on to ask for a tool.
func (s *Session) closeTexts(d *draft, whole bool) {
	for _, key := range sortedTexts(maps.Keys(s.progress.Texts)) {
		open := *s.progress.Texts[key]
		interrupted := !whole && !open.Whole
		if key.Kind == domain.ThoughtDeltaType {
			s.emit(d, domain.ThoughtCompleted{MessageID: key.ID, Turn: s.now(), Length: open.Length, Interrupted: interrupted})
		} else {
			s.emit(d, domain.MessageCompleted{MessageID: key.ID, Turn: s.now(), Length: open.Length, Interrupted: interrupted})
		}
	}
}

// closeBroken closes the texts that the earlier driver did not.
func (s *Session) closeBroken(d *draft) {
	s.closeTexts(d, false)
}

// endOutput tells what of the output was held back; it belongs before the outcome.
func (s *Session) endOutput(d *draft, c *call) { s.endText(d, outputOf(c)) }

func outputOf(c *call) domain.TextKey {
	return domain.TextKey{Kind: domain.ToolCallUpdatedType, ID: c.ID}
}

// endCall forgets a call that has its outcome.
func (s *Session) endCall(c *call) {
	c.vacate()
	delete(s.calls, c.ID)
	s.masking.forget(outputOf(c))
}
