package main

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"os"
)

// open makes a session known, with what the request says of it.
func (t *turn) open(id string, settings map[string]json.RawMessage) error {
	s := &session{id: id, file: t.agent.fileOf(id), busy: make(chan struct{}, 1)}
	if err := json.Unmarshal(t.params, &s.facts); err != nil {
		return failed(codeInvalidParams, "%v", err)
	}
	s.facts.Opened, s.facts.Settings = t.phase, settings
	t.agent.mu.Lock()
	t.agent.sessions[id] = s
	t.agent.mu.Unlock()
	t.session = s
	t.offers()
	return s.save()
}

func (t *turn) newSession() error {
	if err := t.agent.mayHaveSession(); err != nil {
		return err
	}
	id := "ses_" + rand.Text()
	t.result["sessionId"] = id
	return t.open(id, t.agent.settings())
}

// settings are those of a new session.
func (a *agent) settings() map[string]json.RawMessage {
	settings := map[string]json.RawMessage{}
	for name, offered := range map[string]words{"mode": a.modes, "model": a.models} {
		if len(offered) > 0 {
			settings[name] = mustJSON(offered[0])
		}
	}
	return settings
}

func (t *turn) loadSession() error {
	if t.agent.noLoad {
		return failed(codeMethodNotFound, "Method not found: session/load")
	}
	if t.agent.loadFails {
		return failed(codeInternal, "the session cannot be loaded")
	}
	history, err := t.restore()
	if err != nil {
		return err
	}
	if t.agent.replay == "after" {
		t.late = append(t.late, lateStep{run: func() { t.repeat(history) }})
	} else {
		t.repeat(history)
	}
	return nil
}

func (t *turn) resumeSession() error {
	if !t.agent.resume {
		return failed(codeMethodNotFound, "Method not found: session/resume")
	}
	_, err := t.restore()
	return err
}

// restore opens the session whose file is there and returns its history.
func (t *turn) restore() (history []json.RawMessage, err error) {
	if err := t.agent.mayHaveSession(); err != nil {
		return nil, err
	}
	content, err := os.ReadFile(t.agent.fileOf(t.sessionID))
	if err != nil {
		return nil, failed(codeNotFound, "Session not found: %s", t.sessionID)
	}
	var facts sessionFacts
	for line := range bytes.Lines(content) {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			break // the process before this one died while it wrote
		}
		if e.Facts != nil {
			facts = *e.Facts
		} else {
			history = append(history, e.Update)
		}
	}
	if t.agent.forget {
		facts.Settings = t.agent.settings()
	}
	return history, t.open(t.sessionID, facts.Settings)
}

// repeat sends the history without keeping it twice.
func (t *turn) repeat(history []json.RawMessage) {
	for _, update := range history {
		t.agent.wire.notify("session/update", object{"sessionId": t.session.id, "update": update})
	}
}

// prompt waits for the session, and keeps what the user says.
func (t *turn) prompt() error {
	if t.session == nil {
		return failed(codeNotFound, "Session not found: %s", t.sessionID)
	}
	busy := t.session.busy
	select {
	case busy <- struct{}{}:
	case <-t.ctx.Done():
		return nil
	}
	t.release = func() { <-busy }
	if err := t.mayHaveBlocks(); err != nil {
		return err
	}
	text, err := promptText(t.params)
	if err != nil {
		return err
	}
	t.session.record(mustJSON(object{
		"sessionUpdate": "user_message_chunk", "content": object{"type": "text", "text": text},
	}))
	return t.session.save()
}
