package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestTheAgentSaysItsScript(t *testing.T) {
	var out bytes.Buffer
	in := strings.Join([]string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}`,
		`{"jsonrpc":"2.0","method":"session/cancel","params":{}}`,
		`{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"bench","prompt":[{"type":"text","text":"bench chunks=3"}]}}`,
	}, "\n")
	if err := serveAgent(strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), `"text":"@1`); n != 3 {
		t.Errorf("%d chunks in\n%s", n, &out)
	}
	if !strings.HasSuffix(out.String(), `{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}`+"\n") {
		t.Errorf("the turn does not end: %s", &out)
	}
	if err := serveAgent(strings.NewReader(strings.ReplaceAll(in, "chunks=3", "chunk=3")), &out); err == nil {
		t.Error("a misspelt script is taken")
	}
}
