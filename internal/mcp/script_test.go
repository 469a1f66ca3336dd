package mcp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
)

// script is a server that says what the test wants. Its keys are methods; a notification has no answer. The answer is a result, or one of the words
// below.
type script struct {
	revision string
	answers  map[string]func(params json.RawMessage) string

	mu       sync.Mutex
	received []string // methods
	say      func(line string)
}

const (
	silence = ""     // no answer
	death   = "die"  // the program ends
	failing = "fail" // an error of JSON-RPC
)

const oneTool = `{"tools":[{"name":"t","description":"d","inputSchema":{"type":"object"}}]}`

func says(result string) func(json.RawMessage) string {
	return func(json.RawMessage) string { return result }
}

// first gives the results one after the other, and the last one again and again.
func first(results ...string) func(json.RawMessage) string {
	return func(json.RawMessage) string {
		result := results[0]
		if len(results) > 1 {
			results = results[1:]
		}
		return result
	}
}

func (s *script) answer(method string, params json.RawMessage) string {
	s.mu.Lock()
	s.received = append(s.received, method)
	given := s.answers[method]
	s.mu.Unlock()
	switch {
	case given != nil:
		return given(params)
	case method == "server/discover" && s.revision != revisionLegacy:
		return `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{},"prompts":{}},"resultType":"complete"}`
	case method == "initialize":
		return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{},"prompts":{}},"serverInfo":{"name":"script","version":"1"}}`
	case method == "tools/list":
		return oneTool
	case method == "tools/call":
		return `{"content":[{"type":"text","text":"done"}],"resultType":"complete"}`
	}
	return failing
}

// count is how often a method has been received.
func (s *script) count(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(s.received), func(m string) bool { return m != method }))
}

// send has the program print a line.
func (s *script) send(line string) {
	s.mu.Lock()
	say := s.say
	s.mu.Unlock()
	say(line)
}

func (s *script) run(streams io.ReadWriteCloser) {
	lines := bufio.NewReader(streams)
	var writing sync.Mutex
	say := func(line string) {
		writing.Lock()
		defer writing.Unlock()
		_, _ = io.WriteString(streams, line+"\n")
	}
	s.mu.Lock()
	s.say = say
	s.mu.Unlock()
	for {
		raw, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var message struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if json.Unmarshal(raw, &message) != nil || message.Method == "" {
			continue
		}
		switch result := s.answer(message.Method, message.Params); {
		case result == death:
			return
		case message.ID == nil || result == silence:
		case result == failing:
			say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, message.ID))
		default:
			say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, message.ID, result))
		}
	}
}

// played is a session with a script.
func played(t testing.TB, server Server, s *script) (*Session, *programs) {
	t.Helper()
	started := &programs{run: s.run}
	return opened(t, server, started), started
}
