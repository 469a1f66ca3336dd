package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
)

// session is one conversation. It is kept in a file, so that another process can load it.
type session struct {
	id   string
	file string
	busy chan struct{} // has a place for the one prompt that runs

	mu    sync.Mutex
	facts sessionFacts
	log   []json.RawMessage // updates that are not in the file yet
}

// sessionFacts is what the client made the session of.
type sessionFacts struct {
	Opened      string                     `json:"opened"` // new, load or resume
	Cwd         string                     `json:"cwd"`
	Additional  json.RawMessage            `json:"additionalDirectories,omitempty"`
	MCPServers  json.RawMessage            `json:"mcpServers"`
	Settings    map[string]json.RawMessage `json:"settings"` // mode, model, and other config options, by id
	SessionMeta json.RawMessage            `json:"_meta,omitempty"`
}

// entry is a line of a session's file.
type entry struct {
	Facts  *sessionFacts   `json:"facts,omitempty"`
	Update json.RawMessage `json:"update,omitempty"`
}

// session returns a known session, or nil.
func (a *agent) session(id string) *session {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sessions[id]
}

// fileOf is the file of a session. A client may name sessions as it likes, but no other folder.
func (a *agent) fileOf(id string) string { return filepath.Join(a.state, filepath.Base(id)+".jsonl") }

func (s *session) record(update json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, update)
}

// save appends to the file what is not in it yet. A process that dies in a turn loses what the turn said, as real
// agents do.
func (s *session) save() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines bytes.Buffer
	facts := s.facts
	entries := []entry{{Facts: &facts}}
	for _, update := range s.log {
		entries = append(entries, entry{Update: update})
	}
	for _, e := range entries {
		lines.Write(append(mustJSON(e), '\n'))
	}
	if err := appendTo(s.file, lines.Bytes()); err != nil {
		return failed(codeInternal, "%v", err)
	}
	s.log = nil
	return nil
}

func appendTo(name string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := file.Write(content); err != nil {
		_ = file.Close() // the error before it says more
		return err
	}
	return file.Close()
}
