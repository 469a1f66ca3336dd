package eventstest

import (
	"encoding/json"
	"fmt"

	"signoff/internal/domain"
)

// BrokenReceived is [Broken] of a log as the API sends it.
func BrokenReceived(log []domain.Event) []string {
	whole, err := Whole(log)
	if err != nil {
		return []string{err.Error()}
	}
	return Broken(whole)
}

// Whole puts back what the API leaves out of pieces of a text, as every reader of a log can do: the turn and the offset
// of a piece follow from the pieces of the same text before it. The log may begin anywhere; a text whose beginning is not in it
// must have its place before [Whole] knows it, so its first pieces are left as they are. An error tells of a piece whose place is not
// where the one before it ends.
func Whole(log []domain.Event) ([]domain.Event, error) {
	ends := map[string]place{}
	whole := make([]domain.Event, len(log))
	for i, event := range log {
		data, err := placed(event, ends)
		if err != nil {
			return nil, fmt.Errorf("event %d: %w", event.Seq, err)
		}
		whole[i] = event
		whole[i].Data = data
	}
	return whole, nil
}

// place is where the next piece of a text begins.
type place struct{ turn, offset int }

// piece is what the three types of pieces have in common. A message and a call name their text by different members.
type piece struct {
	MessageID, ToolCallID string
	Turn, Offset          *int
	Text, Output          string
	Progress              *domain.CallProgress
}

func placed(event domain.Event, ends map[string]place) (json.RawMessage, error) {
	if !event.Type.Piece() {
		return event.Data, nil
	}
	var p piece
	if err := json.Unmarshal(event.Data, &p); err != nil {
		return nil, err
	}
	text := string(event.Type) + p.MessageID + p.ToolCallID
	at, known := ends[text]
	switch {
	case p.Offset == nil && !known:
		return event.Data, nil
	case p.Offset == nil:
	case known && *p.Offset != at.offset:
		return nil, fmt.Errorf("a piece of %s begins at %d, and the one before it ends at %d", text, *p.Offset, at.offset)
	default:
		at.offset = *p.Offset
		if p.Turn != nil {
			at.turn = *p.Turn
		}
	}
	ends[text] = place{at.turn, at.offset + len(p.Text) + len(p.Output)}
	return domain.NewEvent(event.Execution, at.payload(event.Type, p)).Data, nil
}

func (at place) payload(t domain.EventType, p piece) domain.Payload {
	switch t {
	case domain.MessageDeltaType:
		return domain.MessageDelta{MessageID: p.MessageID, Turn: at.turn, Offset: at.offset, Text: p.Text}
	case domain.ThoughtDeltaType:
		return domain.ThoughtDelta{MessageID: p.MessageID, Turn: at.turn, Offset: at.offset, Text: p.Text}
	default:
		return domain.ToolCallUpdated{ToolCallID: p.ToolCallID, Offset: at.offset, Output: p.Output, Progress: p.Progress}
	}
}
