package provider

import (
	"strings"
	"testing"
)

// TestEveryPieceCosts: a server that sends pieces of nothing for ever must come to the limit of an answer.
func TestEveryPieceCosts(t *testing.T) {
	var calls Calls
	first, err := calls.Add(CallPiece{})
	if err != nil || first != CallBytes+pieceBytes {
		t.Errorf("the first costs %d, %v", first, err)
	}
	next, err := calls.Add(CallPiece{ID: "four", Name: "four", Arguments: "four"})
	if err != nil || next != pieceBytes+12 {
		t.Errorf("the next costs %d, %v", next, err)
	}
}

func TestExtent(t *testing.T) {
	for text, whole := range map[string]bool{
		"": false, "{": false, "{}": true, " {} ": true, "[1, [2]]": true, "[1, [2]": false, `{"a": "}"`: false, `{"a": "}"}`: true,
		`{"a": "\"}"`: false, `{"a": "\\"}`: true, `{"a": "`: false, "nul": false, "}": false, "{}}": true, `{} "`: false,
	} {
		var e extent
		for _, letter := range strings.SplitAfter(text, "") {
			e.read(letter)
		}
		if e.whole() != whole {
			t.Errorf("%s: whole is %v", text, e.whole())
		}
	}
}
