package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// agent is the process: it reads, and gives each request a turn of its own.
type agent struct {
	*options
	wire      *wire
	ignoreEOF atomic.Bool
	deaf      atomic.Bool

	mu       sync.Mutex
	client   clientFacts
	signedIn bool
	sessions map[string]*session
	turns    map[*turn]bool // those without an answer
}

// clientFacts is what initialize tells about the client.
type clientFacts struct {
	Capabilities json.RawMessage `json:"clientCapabilities"`
	Info         json.RawMessage `json:"clientInfo"`
}

func newAgent(o *options) *agent {
	if o.state == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		o.state = filepath.Join(home, ".scripted-agent")
	}
	return &agent{options: o, wire: newWire(os.Stdout), sessions: map[string]*session{}, turns: map[*turn]bool{}}
}

// run lives until the input ends.
func (a *agent) run(in io.Reader) {
	a.moment("start")
	read(in, a.take)
	if a.ignoreEOF.Load() {
		forever()
	}
	a.moment("eof")
}

// moment runs the steps of a phase that is no request.
func (a *agent) moment(phase string) {
	t := a.newTurn(phase, message{})
	for _, list := range [][]*step{a.script.before[phase], a.script.after[phase]} {
		if err := t.play(list); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
}

// take reads a line, unless the agent is deaf: then the line and all behind it stay where they are.
func (a *agent) take(line []byte) {
	if a.deaf.Load() {
		forever()
	}
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		fmt.Fprintln(os.Stderr, "not a message:", err)
		return
	}
	a.handle(m)
}

// handle must not wait: an answer may be behind this message.
func (a *agent) handle(m message) {
	switch {
	case m.Method == "":
		a.wire.answered(m)
	case len(m.ID) == 0:
		a.notified(m)
	default:
		method, known := methods[m.Method]
		if !known {
			a.wire.respond(m.ID, nil, failed(codeMethodNotFound, "Method not found: %s", m.Method))
			return
		}
		t := a.newTurn(method.phase, m)
		if method.phase == "prompt" {
			t.readPrompt()
		}
		a.begin(t)
		go t.serve(method.handle)
	}
}

// notified knows the two ways to cancel; all other notifications are ignored.
func (a *agent) notified(m message) {
	var named struct {
		SessionID string          `json:"sessionId"`
		RequestID json.RawMessage `json:"requestId"`
	}
	_ = json.Unmarshal(m.Params, &named) // what has no such field cancels nothing
	a.mu.Lock()
	defer a.mu.Unlock()
	for t := range a.turns {
		bySession := m.Method == "session/cancel" && t.phase == "prompt" && t.sessionID == named.SessionID
		byRequest := m.Method == "$/cancel_request" && string(t.id) == string(named.RequestID)
		if bySession || byRequest {
			t.cancel()
		}
	}
}

// begin makes a turn known to cancels, before anything that the client sends later is read.
func (a *agent) begin(t *turn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turns[t] = true
}

func (a *agent) end(t *turn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.turns, t)
}

// methods are the requests that the agent knows.
var methods = map[string]struct {
	phase  string
	handle func(*turn) error
}{
	"initialize":                {"initialize", (*turn).initialize},
	"authenticate":              {"authenticate", (*turn).authenticate},
	"session/new":               {"new", (*turn).newSession},
	"session/load":              {"load", (*turn).loadSession},
	"session/resume":            {"resume", (*turn).resumeSession},
	"session/prompt":            {"prompt", (*turn).prompt},
	"session/set_mode":          {"mode", (*turn).setMode},
	"session/set_model":         {"model", (*turn).setModel},
	"session/set_config_option": {"config", (*turn).setConfigOption},
}

func (t *turn) initialize() error {
	a := t.agent
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := json.Unmarshal(t.params, &a.client); err != nil {
		return failed(codeInvalidParams, "%v", err)
	}
	sessions := object{}
	if a.resume {
		sessions["resume"] = object{}
	}
	t.result = object{
		"protocolVersion": a.protocol,
		"agentInfo":       object{"name": "scripted-agent", "title": "Scripted agent", "version": "1"},
		"authMethods":     []object{},
		"agentCapabilities": object{
			"loadSession":         !a.noLoad,
			"promptCapabilities":  object{"image": a.may("image"), "audio": false, "embeddedContext": a.may("embeddedContext")},
			"mcpCapabilities":     object{"http": slices.Contains(a.mcp, "http"), "sse": slices.Contains(a.mcp, "sse")},
			"sessionCapabilities": sessions,
		},
	}
	if a.auth != "" {
		t.result["authMethods"] = []object{{"id": a.auth, "name": "Sign in with " + a.auth}}
	}
	return nil
}

func (t *turn) authenticate() error {
	var asked struct {
		MethodID string `json:"methodId"`
	}
	if err := json.Unmarshal(t.params, &asked); err != nil || asked.MethodID == "" || asked.MethodID != t.agent.auth {
		return failed(codeInvalidParams, "unknown method of authentication")
	}
	t.agent.mu.Lock()
	defer t.agent.mu.Unlock()
	t.agent.signedIn = true
	return nil
}

// mayHaveSession refuses who has not signed in.
func (a *agent) mayHaveSession() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.auth != "" && !a.signedIn {
		return failed(codeAuthRequired, "Authentication required")
	}
	return nil
}

// forever sleeps: a bare select would make the runtime report a deadlock and exit.
func forever() {
	for {
		time.Sleep(time.Hour)
	}
}
