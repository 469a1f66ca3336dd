package items

import (
	"cmp"
	"fmt"

	"signoff/internal/domain"
)

// begin adds the messages of the request. The first turn answers the last message; those before it are history.
func (r *Reducer) begin(p domain.ExecutionCreated) {
	r.external = p.Source.Type == domain.SourceACP
	var given []Message
	for _, message := range r.request.Messages {
		given = append(given, Message{Role: message.Role, Text: message.Content})
	}
	if r.request.Prompt != "" || r.request.Parts != nil {
		given = append(given, Message{Role: domain.RoleUser, Text: r.request.Prompt, Parts: r.request.Parts})
	}
	for n, message := range given {
		turn := 0
		if n == len(given)-1 {
			turn = 1
		}
		r.addPrompt(fmt.Sprint(n+1), turn, message)
	}
}

// prompted adds the prompt of a further turn.
func (r *Reducer) prompted(p domain.TurnStarted) {
	if p.Text != "" || p.Parts != nil {
		id := cmp.Or(string(p.PromptID), fmt.Sprintf("turn%d", p.Turn))
		r.addPrompt(id, p.Turn, Message{Role: domain.RoleUser, Text: p.Text, Parts: p.Parts, Edits: p.Edits, Repair: p.Repair, Delegates: p.Delegates})
	}
}

// addPrompt adds a complete message.
func (r *Reducer) addPrompt(id string, turn int, message Message) {
	message.Text, message.Truncated = bounded(message.Text, TextBytes)
	r.add(Item{ID: "prompt:" + id, Kind: KindMessage, Turn: turn, Status: StatusComplete, Message: &message})
}

// addText adds a piece to a message or to reasoning, which may share the id of the model's answer.
func (r *Reducer) addText(kind Kind, messageID string, turn, offset int, piece string) error {
	id := textID(kind, messageID)
	open, known := r.messages[id]
	if !known {
		open = &item{}
	}
	if err := open.text.fits(offset, id); err != nil {
		return err
	}
	if !known {
		open = r.add(newMessage(kind, id, turn))
		r.messages[id] = open
	}
	open.text.add(piece)
	switch kind {
	case KindReasoning:
		open.Reasoning.Text, open.Reasoning.Truncated = open.text.kept.String(), open.text.cut
	default:
		open.Message.Text, open.Message.Truncated = open.text.kept.String(), open.text.cut
	}
	r.touch(open)
	return nil
}

func newMessage(kind Kind, id string, turn int) Item {
	i := Item{ID: id, Kind: kind, Turn: turn, Status: StatusOpen}
	if kind == KindReasoning {
		i.Reasoning = &Reasoning{}
	} else {
		i.Message = &Message{Role: domain.RoleAssistant}
	}
	return i
}

// messageEnded ends a message. A message without text has no item.
func (r *Reducer) messageEnded(kind Kind, messageID string, interrupted bool) {
	open, known := r.messages[textID(kind, messageID)]
	if !known {
		return
	}
	open.Status = StatusComplete
	if kind == KindReasoning {
		open.Reasoning.Interrupted = interrupted
	} else {
		open.Message.Interrupted = interrupted
	}
	r.touch(open)
}

// summarized adds the summary of a compaction, if it has one.
func (r *Reducer) summarized(p domain.ContextCompacted) {
	if p.Summary == "" {
		return
	}
	summary := &Summary{Messages: p.Messages, Model: p.Model}
	summary.Text, summary.Truncated = bounded(p.Summary, TextBytes)
	r.add(Item{ID: fmt.Sprintf("summary:%d", r.event.Seq), Kind: KindSummary, Turn: p.Turn, Status: StatusComplete, Summary: summary})
}
