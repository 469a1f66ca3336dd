package domain_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"signoff/internal/domain"
)

// everything has cmp look into the private fields too.
var everything = cmp.Exporter(func(reflect.Type) bool { return true })

// pieces are texts that begin, flow and end in any order, among calls and turns.
func pieces(t *rapid.T) []domain.Payload {
	ids := rapid.SampledFrom([]string{"a", "b"})
	texts := rapid.SampledFrom([]string{"", "x", "é", "y", "z", "one ", "two ", "three ", strings.Repeat("long é", 1<<17)})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) domain.Payload {
		id := ids.Draw(t, "id")
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			return domain.TurnStarted{Turn: 1}
		case 1:
			return domain.TurnEnded{Turn: 1}
		case 2:
			return domain.MessageCompleted{MessageID: id, Interrupted: rapid.Bool().Draw(t, "interrupted")}
		case 3:
			return requested(id, "call of "+id)
		case 4:
			return domain.ToolCallStarted{ToolCallID: "call of " + id}
		case 5:
			return domain.ToolCallUpdated{ToolCallID: "call of " + id, Output: texts.Draw(t, "output")}
		case 6:
			return domain.ThoughtDelta{MessageID: id, Text: texts.Draw(t, "thought")}
		default:
			return domain.MessageDelta{MessageID: id, Text: texts.Draw(t, "text")}
		}
	}), 0, 30).Draw(t, "log")
}

// merged has one event for neighbours of one text.
func merged(all []domain.Payload) (some []domain.Payload) {
	for _, next := range all {
		if n := len(some) - 1; n >= 0 {
			switch last := some[n].(type) {
			case domain.MessageDelta:
				if p, same := next.(domain.MessageDelta); same && p.MessageID == last.MessageID {
					some[n] = domain.MessageDelta{MessageID: p.MessageID, Text: last.Text + p.Text}
					continue
				}
			case domain.ThoughtDelta:
				if p, same := next.(domain.ThoughtDelta); same && p.MessageID == last.MessageID {
					some[n] = domain.ThoughtDelta{MessageID: p.MessageID, Text: last.Text + p.Text}
					continue
				}
			case domain.ToolCallUpdated:
				if p, same := next.(domain.ToolCallUpdated); same && p.ToolCallID == last.ToolCallID {
					some[n] = domain.ToolCallUpdated{ToolCallID: p.ToolCallID, Output: last.Output + p.Output}
					continue
				}
			}
		}
		some = append(some, next)
	}
	return some
}

// TestPiecesOfATextApplyAlike: how a text was cut into events changes nothing, also where it is longer than what is kept of it.
func TestPiecesOfATextApplyAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := pieces(t)
		one, err := domain.Fold(log(all...))
		if err != nil {
			t.Fatal(err)
		}
		other, err := domain.Fold(log(merged(all)...))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(one, other) {
			t.Fatal(cmp.Diff(one, other, everything))
		}
	})
}

// TestACloneIsApart: what is applied to one of the two does not change the other.
func TestACloneIsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, rest := log(pieces(t)...), log(pieces(t)...)
		p, err := domain.Fold(first)
		if err != nil {
			t.Fatal(err)
		}
		as := p.Clone()
		for i, event := range append(rest, log(domain.UsageUpdated{}, domain.BudgetWarned{Limit: "cost"}, retryAt(9),
			domain.ToolCallCompleted{ToolCallID: "call of a"}, domain.ToolCallCompleted{ToolCallID: "call of b"})...) {
			event.Time = time.Unix(int64(i), 0)
			if err := p.Apply(event); err != nil {
				t.Fatal(err)
			}
		}
		again, err := domain.Fold(first)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(again, as) { // cmp takes a text of a megabyte byte by byte
			t.Fatal(cmp.Diff(again, as, everything))
		}
	})
}

// TestOtherPeoplesEventsChangeNothing: the driver does not hear of them at once, and need not.
func TestOtherPeoplesEventsChangeNothing(t *testing.T) {
	own := log(domain.ExecutionCreated{Status: domain.StatusQueued}, domain.TurnStarted{Turn: 1}, requested("m", "c"),
		domain.ApprovalRequested{ApprovalID: "a", ToolCallID: "c"})
	others := log(domain.PromptQueued{Text: "more"}, domain.BlocksAccepted{Generation: 1},
		domain.ApprovalResolved{ApprovalID: "a", ToolCallID: "c", Status: domain.ApprovalApproved})
	for i := range others {
		others[i].Time = time.Unix(1000, 0)
	}
	alone, err := domain.Fold(own)
	if err != nil {
		t.Fatal(err)
	}
	with, err := domain.Fold(append(own, others...))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(alone, with, everything); diff != "" {
		t.Error(diff)
	}
}
