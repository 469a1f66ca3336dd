package acp

import (
	"fmt"

	"signoff/internal/domain"
)

// addText adds text to what is being said, or begins something new. An agent that names its messages may leave the name out
// of some chunks.
func (s *translator) addText(thought bool, agentID, text string) {
	if text == "" {
		return
	}
	open := s.messages.open
	if open != nil && (open.thought != thought || (agentID != "" && open.agentID != "" && agentID != open.agentID)) {
		s.closeMessage(false)
		open = nil
	}
	if open == nil {
		open = &message{id: s.newMessageID(), thought: thought}
		s.messages.open, s.messages.round = open, open.id
	}
	if open.agentID == "" {
		open.agentID = agentID
	}
	open.length += len(text)
	if thought {
		s.emit(domain.ThoughtDelta{MessageID: open.id, Turn: s.turn, Text: text})
	} else {
		s.emit(domain.MessageDelta{MessageID: open.id, Turn: s.turn, Text: text})
	}
}

// closeMessage closes what is being said.
func (s *translator) closeMessage(interrupted bool) {
	open := s.messages.open
	if open == nil {
		return
	}
	s.messages.open = nil
	if open.thought {
		s.emit(domain.ThoughtCompleted{MessageID: open.id, Turn: s.turn, Length: open.length, Interrupted: interrupted})
	} else {
		s.emit(domain.MessageCompleted{MessageID: open.id, Turn: s.turn, Length: open.length, Interrupted: interrupted})
	}
}

// roundID is the message that a call belongs to. Calls in a row belong to the same; what comes after a result is a new
// answer of the model, also where it says nothing.
func (s *translator) roundID() string {
	if s.messages.round == "" {
		s.messages.round = s.newMessageID()
	}
	return s.messages.round
}

func (s *translator) newMessageID() string {
	s.messages.count++
	return fmt.Sprintf("t%d-%d-%s", s.turn, s.messages.count, s.messages.process)
}
