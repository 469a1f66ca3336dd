package domain_test

import (
	"encoding/json"
	"strings"
	"testing"

	"signoff/internal/domain"
)

// TestAnEditedCallStaysAsItWasMade: another model, too, is not told that it wrote what a person wrote.
func TestAnEditedCallStaysAsItWasMade(t *testing.T) {
	edited := domain.ToolCallStarted{ToolCallID: "c1", Arguments: json.RawMessage(`{"a":2}`), EditedBy: &domain.Actor{Name: "alice"}, Version: "2"}
	asked := requested("m", "c1")
	asked.Arguments = json.RawMessage(`{"a":1}`)
	events := log(asked, edited)
	open, err := fold(events)
	if err != nil {
		t.Fatal(err)
	}
	call := open.Messages[0].ToolCalls[0]
	if string(call.Arguments) != `{"a":1}` || string(call.Edited) != `{"a":2}` || call.Version != "2" {
		t.Errorf("while it runs: %+v", call)
	}
	if c := open.Calls["c1"]; string(c.Call.Arguments) != `{"a":2}` || c.EditedBy == nil || c.EditedBy.Name != "alice" {
		t.Errorf("it goes on as %+v", c)
	}
	ended, err := fold(append(events, log(domain.ToolCallCompleted{ToolCallID: "c1", Output: "whole", ModelOutput: "short"})...))
	if err != nil {
		t.Fatal(err)
	}
	if want := "[alice changed the arguments of this call. What ran instead: {\"a\":2}]\nshort"; ended.Messages[1].Text != want {
		t.Errorf("the model gets %q", ended.Messages[1].Text)
	}
}

func TestEditNote(t *testing.T) {
	ran := json.RawMessage("{\n \"a\": \"x]\\n\" }")
	for name, want := range map[string]string{
		"alice":                  `[alice changed the arguments of this call. What ran instead: {"a":"x]\n"}]` + "\n",
		" a\n b ":                `[a b changed the arguments of this call. What ran instead: {"a":"x]\n"}]` + "\n",
		"":                       `[A person changed the arguments of this call. What ran instead: {"a":"x]\n"}]` + "\n",
		strings.Repeat("日", 101): `[` + strings.Repeat("日", 100) + ` changed the arguments of this call. What ran instead: {"a":"x]\n"}]` + "\n",
	} {
		note := domain.EditNote(&domain.Actor{Name: name}, ran)
		if note != want {
			t.Errorf("%q: %s", name, note)
		}
		if cut, rest := domain.CutEditNote(note + "out]\nput"); cut != note || rest != "out]\nput" {
			t.Errorf("%q: cut into %q and %q", name, cut, rest)
		}
	}
	if note := domain.EditNote(nil, ran); note != "" {
		t.Error(note)
	}
	large := domain.EditNote(&domain.Actor{Name: "alice"}, domain.Encode(strings.Repeat("日", 1<<20)))
	if len(large) > 17<<10 || !strings.HasSuffix(large, "… (the first 16384 of 3145730 bytes)]\n") {
		t.Errorf("%d bytes, ending in %q", len(large), large[max(0, len(large)-60):])
	}
	if cut, _ := domain.CutEditNote(large + "x"); cut != large {
		t.Error("the largest note is not found")
	}
	for _, result := range []string{"", "x", "[x]\n", "a\n" + large, "[\n changed the arguments of this call. What ran instead: ]\n", strings.Repeat("[", 1<<16) + large} {
		if note, rest := domain.CutEditNote(result); note != "" || rest != result {
			t.Errorf("%.20q has the note %.100q", result, note)
		}
	}
}
