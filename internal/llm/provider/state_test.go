package provider

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
)

// TestStateGoesToItsMakerAlone: any of the four makes another model of it; the key does not.
func TestStateGoesToItsMakerAlone(t *testing.T) {
	entry := Model{Name: "a", Provider: "p", BaseURL: "https://a.test", Model: "m", APIKey: "k"}
	message := domain.Message{State: State{Maker: entry.Maker(), Parts: []Part{{Kind: "x", JSON: json.RawMessage(`"<s>"`)}}}.Encode()}
	rotated := entry
	rotated.APIKey = "another"
	if got := rotated.Maker().StateOf(message); string(Find(got.Parts, "x")) != `"<s>"` {
		t.Errorf("with another key: %+v", got)
	}
	for field, change := range map[string]func(*Model){
		"entry":    func(m *Model) { m.Name = "b" },
		"provider": func(m *Model) { m.Provider = "q" },
		"address":  func(m *Model) { m.BaseURL = "https://b.test" },
		"model":    func(m *Model) { m.Model = "n" },
	} {
		other := entry
		change(&other)
		if got := other.Maker().StateOf(message); got.Maker != "" || len(got.Parts) > 0 {
			t.Errorf("another %s may read %+v", field, got)
		}
	}
	if strings.Contains(string(message.State), "a.test") {
		t.Error("the log would show the address")
	}
}

// TestWireIDs: a call has the model's own id on the wire, unless there is none, it is doubled, or it was used before.
func TestWireIDs(t *testing.T) {
	const maker, other = Maker("maker"), Maker("other")
	said := func(by Maker, ids string, own ...string) domain.Message {
		var (
			answer  Answer
			message domain.Message
		)
		for i, id := range own {
			answer.Calls = append(answer.Calls, Call{ID: id})
			message.ToolCalls = append(message.ToolCalls, domain.ToolCall{ID: ids + string(rune('0'+i))})
		}
		var ours []string
		for _, call := range message.ToolCalls {
			ours = append(ours, call.ID)
		}
		message.State = StateOfAnswer(by, answer, ours).Encode()
		return message
	}
	got := WireIDs(maker, []domain.Message{
		said(maker, "a", "functions.bash:0", "own", ""), said(maker, "b", "twice", "twice"), said(maker, "c", "own"), said(other, "d", "foreign"),
	}, Word)
	want := map[string]string{"a0": "functions.bash:0", "a1": "own", "a2": "a2", "b0": "b0", "b1": "b1", "c0": "c0", "d0": "d0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPartsOfACallArrive with any of its pieces; the newest of a kind counts.
func TestPartsOfACallArrive(t *testing.T) {
	var calls Calls
	for _, piece := range []CallPiece{
		{Index: new(int64(0)), ID: "own", Name: "bash", State: []Part{{Kind: "x", JSON: json.RawMessage(`1`)}}},
		{Index: new(int64(0)), Arguments: "{}", State: []Part{{Kind: "x", JSON: json.RawMessage(`2`)}, {Kind: "y", JSON: json.RawMessage(`3`)}}},
	} {
		if _, err := calls.Add(piece); err != nil {
			t.Fatal(err)
		}
	}
	want := []Call{{ID: "own", Name: "bash", Arguments: "{}", State: []Part{{Kind: "x", JSON: json.RawMessage(`2`)}, {Kind: "y", JSON: json.RawMessage(`3`)}}}}
	if diff := cmp.Diff(want, calls.Result()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
