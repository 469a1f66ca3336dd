package checkpoints

import (
	"maps"

	"signoff/internal/domain"
)

// History lists the checkpoints of an execution in their order.
type History []Point

// Point is one checkpoint of an execution.
type Point struct {
	Number     int
	Turn       int
	Moment     domain.CheckpointMoment
	ToolCallID string
	Host       string            // the name of the machine that has it
	Trees      map[string]string // the ids of its trees, by folder
}

// Holds reports whether an absolute path lies in a folder of the checkpoint.
func (p Point) Holds(path string) bool {
	for folder := range p.Trees {
		if within(path, folder) {
			return true
		}
	}
	return false
}

// HistoryOf builds the history of an execution from its checkpoint events.
func HistoryOf(log []domain.CheckpointCreated) History {
	var all History
	trees := map[string]string{}
	for _, event := range log {
		if event.Status != domain.CheckpointTaken {
			continue
		}
		trees = maps.Clone(trees)
		for _, folder := range event.Folders {
			trees[folder.Path] = folder.Tree
		}
		all = append(all, Point{
			Number: event.Checkpoint, Turn: event.Turn, Moment: event.Moment, ToolCallID: event.ToolCallID, Host: event.Host, Trees: trees,
		})
	}
	return all
}

// HistoryFrom builds the history from a log of events, and ignores the other event types.
func HistoryFrom(log []domain.Event) (History, error) {
	points, err := domain.PayloadsOf[domain.CheckpointCreated](log)
	return HistoryOf(points), err
}

// Range is a pair of checkpoints. To is not earlier than From.
type Range struct{ From, To Point }

// Descendants returns the range from the first to the last checkpoint of each execution that has checkpoints.
func Descendants(ids []domain.ExecutionID, history func(domain.ExecutionID) (History, error)) ([]Range, error) {
	all := []Range{}
	for _, id := range ids {
		h, err := history(id)
		if err != nil {
			return nil, err
		}
		if whole, err := h.Whole(); err == nil {
			all = append(all, whole)
		}
	}
	return all, nil
}

var errNoCheckpoint = domain.Errorf(domain.CodeNoCheckpoints, "This execution has no checkpoint.")

// Whole is from the first checkpoint to the last one.
func (h History) Whole() (Range, error) {
	if len(h) == 0 {
		return Range{}, errNoCheckpoint
	}
	return Range{h[0], h[len(h)-1]}, nil
}

// Between returns the range between two numbers. 0 means the first checkpoint for from, and the last one for to.
func (h History) Between(from, to int) (Range, error) {
	all, err := h.Whole()
	if err != nil {
		return all, err
	}
	if from != 0 {
		if all.From, err = h.Numbered(from); err != nil {
			return all, domain.At("/from", err)
		}
	}
	if to != 0 {
		if all.To, err = h.Numbered(to); err != nil {
			return all, domain.At("/to", err)
		}
	}
	if all.From.Number > all.To.Number {
		return all, domain.Invalid("/to", "Checkpoint %d is earlier than checkpoint %d.", all.To.Number, all.From.Number)
	}
	return all, nil
}

// Numbered returns the checkpoint with a number.
func (h History) Numbered(number int) (Point, error) {
	for _, point := range h {
		if point.Number == number {
			return point, nil
		}
	}
	if len(h) == 0 {
		return Point{}, errNoCheckpoint
	}
	return Point{}, domain.Errorf(domain.CodeInvalid, "There is no checkpoint %d; the last one is %d.", number, h[len(h)-1].Number)
}

// OfTurn returns the range from the checkpoint before a turn to the last one of that turn.
func (h History) OfTurn(turn int) (Range, error) {
	return h.of(func(p Point) bool { return p.Turn == turn })
}

// OfCall returns the range from the checkpoint before a call to the last one that was taken for the call.
func (h History) OfCall(call string) (Range, error) {
	return h.of(func(p Point) bool { return p.ToolCallID == call && p.Moment != domain.BeforeToolCall })
}

// of returns the range from the checkpoint before the first match to the last match. Without a match, the range is empty: it ends where it begins.
func (h History) of(matches func(Point) bool) (Range, error) {
	all, err := h.Whole()
	if err != nil {
		return all, err
	}
	found, first := Range{all.To, all.To}, true
	for i, point := range h {
		if !matches(point) {
			continue
		}
		if first {
			found.From, first = h[max(i-1, 0)], false
			if point.Moment == domain.TurnBegins {
				found.From = point
			}
		}
		found.To = point
	}
	return found, nil
}
