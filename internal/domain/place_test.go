package domain

import "testing"

// TestPlaces: two requests have the same place where runbook or document and block are the same, and the same target where runbook or document are.
func TestPlaces(t *testing.T) {
	at := func(runbook, document, after string) Request {
		return Request{Kind: KindGeneration, RunbookID: runbook, Runbook: Runbook{Document: &Document{ID: document}, InsertAfter: after}}
	}
	seen := map[string]string{}
	for name, r := range map[string]Request{
		"a runbook": at("x", "", "b"), "a document": at("", "x", "b"), "another document": at("", "y", "b"), "the beginning": at("", "x", ""),
		"a runbook with the name of the kind": at("document", "", "x"), "a runbook with its block": at("document", "", "b"),
	} {
		place := r.Place()
		if other, taken := seen[place]; taken || place == "" {
			t.Errorf("%s has the place %q, like %q", name, place, other)
		}
		seen[place] = name
	}
	if at("x", "", "b").Target() == at("", "x", "b").Target() {
		t.Error("a document has the target of a runbook")
	}
	if r := at("", "x", "b"); r.Target() == "" || r.Target() != at("", "x", "c").Target() {
		t.Errorf("the target of a document is %q", r.Target())
	}
	if at("x", "y", "b").Place() != at("x", "", "b").Place() || at("x", "", "b").Place() != `["x","b"]` {
		t.Error("a runbook goes before its document, and has the place that older servers write")
	}
	agent := at("x", "y", "b")
	agent.Kind = KindAssistant
	for name, r := range map[string]Request{"another kind": agent, "no id": at("", "", "b"), "no document": {Kind: KindGeneration}} {
		if r.Place() != "" || r.Target() != "" {
			t.Errorf("%s has a place", name)
		}
	}
}
