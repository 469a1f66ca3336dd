//go:build agents && linux

package agents

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// patience is how long the raw client waits for anything.
const patience = 60 * time.Second

type object = map[string]any

// raw drives an agent by JSON lines over its stdin and stdout, with nothing between them. It reads only while it waits
// for something, so that all of it belongs to the goroutine of the test.
type raw struct {
	testing.TB
	home    home
	process *exec.Cmd
	stdin   io.WriteCloser
	lines   chan string // what the agent says; closed at the end of it
	stderr  *os.File
	trace   *os.File

	answers   map[int]message // by the id of our request
	last      int             // id of the last request
	session   string
	turn      turn
	turnID    int // the request that the turn is
	questions []message
}

// message is a request, a notification or an answer.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Update   json.RawMessage `json:"update"`
		ToolCall json.RawMessage `json:"toolCall"`
		Options  []option        `json:"options"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

type option struct {
	ID   string `json:"optionId"`
	Kind string `json:"kind"`
}

// dial starts an agent and opens a session with it that asks.
func dial(t testing.TB, h home) *raw {
	r := &raw{TB: t, home: h}
	write(t, h.folder, h.byRow.files, h.fill)
	t.Cleanup(func() {
		r.stop()
		if t.Failed() {
			complaints, _ := os.ReadFile(r.stderr.Name())
			t.Logf("the agent said on stderr:\n%s", complaints[max(0, len(complaints)-4000):])
		}
	})
	r.start()
	var session struct {
		ID string `json:"sessionId"`
	}
	r.request("session/new", object{"cwd": h.workspace, "mcpServers": []any{}, "_meta": h.byRow.meta}, &session)
	r.session = session.ID
	r.setMode()
	return r
}

func (r *raw) setMode() {
	if r.home.byRow.mode != "" {
		r.request("session/set_mode", object{"sessionId": r.session, "modeId": r.home.byRow.mode}, nil)
	}
}

// start runs a process and shakes hands with it.
func (r *raw) start() {
	r.Helper()
	r.process = exec.Command(r.home.command, r.home.byRow.args...)
	r.process.Dir = r.home.workspace
	r.process.Env = r.home.environment(r.home.env, r.home.setEnv, r.home.byRow.env)
	r.stdin = must2(r.process.StdinPipe())(r)
	stdout := must2(r.process.StdoutPipe())(r)
	r.stderr = must2(os.OpenFile(filepath.Join(r.home.folder, "stderr"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600))(r)
	r.process.Stderr = r.stderr
	r.openTrace()
	must(r, r.process.Start())
	r.answers, r.questions = map[int]message{}, nil
	r.lines = make(chan string, 1024)
	go read(stdout, r.lines)
	var introduction struct {
		ProtocolVersion int `json:"protocolVersion"`
	}
	r.request("initialize", object{
		"protocolVersion": 1, "clientInfo": object{"name": "signoff-test", "version": "1"},
		"clientCapabilities": object{"fs": object{"readTextFile": false, "writeTextFile": false}, "terminal": false},
	}, &introduction)
	if introduction.ProtocolVersion != 1 {
		r.Fatalf("the agent speaks version %d of the protocol", introduction.ProtocolVersion)
	}
}

func read(stdout io.Reader, lines chan<- string) {
	defer close(lines)
	scanner := bufio.NewScanner(stdout)
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		lines <- scanner.Text()
	}
}

// openTrace writes all that passes into a file of a folder that somebody who wants to look asks for.
func (r *raw) openTrace() {
	folder := os.Getenv("SIGNOFF_AGENTS_TRACE")
	if folder == "" || r.trace != nil {
		return
	}
	name := strings.NewReplacer("/", "-").Replace(r.Name()) + ".jsonl"
	r.trace = must2(os.Create(filepath.Join(folder, name)))(r)
}

func (r *raw) send(m object) {
	r.Helper()
	m["jsonrpc"] = "2.0"
	line := must2(json.Marshal(m))(r)
	if r.trace != nil {
		fmt.Fprintf(r.trace, "> %s\n", line)
	}
	_, err := r.stdin.Write(append(line, '\n'))
	must(r, err)
}

// call sends a request and does not wait for its answer.
func (r *raw) call(method string, params any) (id int) {
	r.Helper()
	r.last++
	r.send(object{"id": r.last, "method": method, "params": params})
	return r.last
}

// request sends a request, waits, and fails on an error.
func (r *raw) request(method string, params, result any) {
	r.Helper()
	id := r.call(method, params)
	r.until("an answer to "+method, func() bool { return r.answered(id) })
	answer := r.answers[id]
	if answer.Error != nil {
		r.Fatalf("%s: %s", method, answer.Error)
	}
	if result != nil {
		must(r, json.Unmarshal(answer.Result, result))
	}
}

func (r *raw) answered(id int) bool { _, is := r.answers[id]; return is }

// until reads what the agent says until something holds.
func (r *raw) until(what string, holds func() bool) {
	r.Helper()
	limit := time.After(patience)
	for !holds() {
		select {
		case line, more := <-r.lines:
			if !more {
				r.Fatalf("the agent ended while the test waited for %s", what)
			}
			r.take(line)
		case <-limit:
			r.Fatalf("no sign of %s in %v; the turn so far: %+v", what, patience, r.turn)
		}
	}
}

func (r *raw) take(line string) {
	if r.trace != nil {
		fmt.Fprintf(r.trace, "< %s\n", line)
	}
	var m message
	if json.Unmarshal([]byte(line), &m) != nil {
		return // some print other things between the messages
	}
	switch {
	case m.Method == "session/update":
		r.update(m.Params.Update)
	case m.Method == "session/request_permission":
		r.questions = append(r.questions, m)
	case m.Method != "" && m.ID != nil:
		r.send(object{"id": m.ID, "error": object{"code": -32601, "message": "not offered"}})
	case m.Method == "":
		var id int
		must(r, json.Unmarshal(m.ID, &id))
		r.answers[id] = m
	}
}

func (r *raw) update(raw json.RawMessage) {
	var u struct {
		Kind    string          `json:"sessionUpdate"`
		Content json.RawMessage `json:"content"`
		Meta    json.RawMessage `json:"_meta"`
	}
	must(r, json.Unmarshal(raw, &u))
	var content struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(u.Content, &content) // that of a tool call is a list, and of no interest
	switch u.Kind {
	case "agent_message_chunk":
		r.turn.text += content.Text
		r.turn.usage = r.turn.usage || strings.Contains(string(u.Meta), "usage")
	case "agent_thought_chunk":
		r.turn.thoughts += content.Text
	case "usage_update":
		r.turn.usage = true
	}
}

func (r *raw) prompt(text string) {
	r.Helper()
	r.turn, r.questions = turn{}, nil
	r.turnID = r.call("session/prompt", object{
		"sessionId": r.session, "prompt": []any{object{"type": "text", "text": text}},
	})
}

func (r *raw) shows(part string) {
	r.Helper()
	r.until("the text "+part, func() bool { return strings.Contains(r.turn.text, part) || r.answered(r.turnID) })
	if !strings.Contains(r.turn.text, part) {
		r.Fatalf("the turn has ended with %q", r.turn.text)
	}
}

func (r *raw) asks() question {
	r.Helper()
	r.until("a question", func() bool { return len(r.questions) > 0 || r.answered(r.turnID) })
	if len(r.questions) == 0 {
		r.Fatalf("the turn has ended without a question, with %q", r.turn.text)
	}
	q := r.questions[len(r.questions)-1]
	return question{id: string(q.ID), about: string(q.Params.ToolCall)}
}

func (r *raw) answer(q question, approve bool) {
	r.Helper()
	kind := "reject_once"
	if approve {
		kind = "allow_once"
	}
	at := slices.IndexFunc(r.questions, func(m message) bool { return string(m.ID) == q.id })
	options := r.questions[at].Params.Options
	chosen := slices.IndexFunc(options, func(o option) bool { return o.Kind == kind })
	if chosen < 0 {
		r.Fatalf("nothing of kind %s among %v", kind, options)
	}
	r.settle(r.questions[at], object{"outcome": "selected", "optionId": options[chosen].ID})
	r.questions = slices.Delete(r.questions, at, at+1)
}

func (r *raw) settle(q message, outcome object) {
	r.Helper()
	r.send(object{"id": q.ID, "result": object{"outcome": outcome}})
}

func (r *raw) cancel() {
	r.Helper()
	for _, q := range r.questions {
		r.settle(q, object{"outcome": "cancelled"})
	}
	r.questions = nil
	r.send(object{"method": "session/cancel", "params": object{"sessionId": r.session}})
}

func (r *raw) ends() turn {
	r.Helper()
	r.until("the end of the turn", func() bool { return r.answered(r.turnID) })
	answer := r.answers[r.turnID]
	var result struct {
		StopReason string          `json:"stopReason"`
		Usage      json.RawMessage `json:"usage"`
		Meta       json.RawMessage `json:"_meta"`
	}
	if answer.Error != nil {
		r.Logf("the prompt was answered with %s", answer.Error)
		r.turn.outcome = failed
		return r.turn
	}
	must(r, json.Unmarshal(answer.Result, &result))
	r.turn.outcome = map[string]outcome{"end_turn": completed, "cancelled": cancelled}[result.StopReason]
	r.turn.usage = r.turn.usage || result.Usage != nil || strings.Contains(string(result.Meta), "token")
	return r.turn
}

func (r *raw) crash() {
	r.Helper()
	r.stop()
	r.start()
	r.request("session/load", object{
		"sessionId": r.session, "cwd": r.home.workspace, "mcpServers": []any{}, "_meta": r.home.byRow.meta,
	}, nil)
	r.setMode()
}

// stop kills the agent and what it has started.
func (r *raw) stop() {
	_ = r.process.Process.Kill() // it may have ended
	_, _ = r.process.Process.Wait()
	if left := sweep(r); len(left) > 0 {
		r.Logf("outlived SIGKILL of its parent: %v", left)
	}
	for range r.lines { // what was said too late
	}
	_ = r.process.Wait() // closes the pipes
	_ = r.stderr.Close()
}

// must2 is must for a value and an error.
func must2[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		must(t, err)
		return value
	}
}
