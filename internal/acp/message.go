package acp

import (
	"crypto/rand"
	"encoding/base32"
	"fmt"
	"strings"

	"signoff/internal/domain"
)

// messages are what the agent says and thinks. Agents send chunks, with an id of the message or without; a run of chunks
// of one kind and one id is a message of ours. Its id is ours too, since an agent's may come again: after a retry, in
// the next turn, in the next process.
type messages struct {
	process string // what sets the ids of this process apart from those of an earlier one
	count   int
	open    *message // nil between messages
	round   string   // the message that the next call belongs to; empty: none yet
}

// message is a message or a thought that may go on.
type message struct {
	id      string
	agentID string // as the agent calls it; empty where it does not
	thought bool
	length  int // UTF-8 bytes
}

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

// randomName is n letters and digits that nobody can guess, if they are enough.
func randomName(n int) string {
	random := make([]byte, n)
	_, _ = rand.Read(random) // it never fails
	return strings.ToLower(base32.StdEncoding.EncodeToString(random))[:n]
}
