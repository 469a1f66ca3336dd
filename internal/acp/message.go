package acp

import (
	"fmt"

	"signoff/internal/domain"
)

// addText adds text to what is being said, or begins something new. An agent that names its messages may leave the name out
// of some chunks.
func (t *translator) addText(thought bool, agentID, text string) {
	if text == "" {
		return
	}
	open := t.messages.open
	if open != nil && (open.thought != thought || (agentID != "" && open.agentID != "" && agentID != open.agentID)) {
		t.closeMessage(false)
		open = nil
	}
	if open == nil {
		open = &message{id: t.newMessageID(), thought: thought}
		t.messages.open, t.messages.round = open, open.id
	}
	if open.agentID == "" {
		open.agentID = agentID
	}
	open.length += len(text)
	if thought {
		t.emit(domain.ThoughtDelta{MessageID: open.id, Turn: t.turn, Text: text})
	} else {
		t.emit(domain.MessageDelta{MessageID: open.id, Turn: t.turn, Text: text})
	}
}

// closeMessage closes what is being said.
func (t *translator) closeMessage(interrupted bool) {
	open := t.messages.open
	if open == nil {
		return
	}
	t.messages.open = nil
	if open.thought {
		t.emit(domain.ThoughtCompleted{MessageID: open.id, Turn: t.turn, Length: open.length, Interrupted: interrupted})
	} else {
		t.emit(domain.MessageCompleted{MessageID: open.id, Turn: t.turn, Length: open.length, Interrupted: interrupted})
	}
}

func (t *translator) newMessageID() string {
	t.messages.count++
	return fmt.Sprintf("t%d-%d-%s", t.turn, t.messages.count, t.messages.process)
}
