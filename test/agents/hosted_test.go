//go:build agents && linux

package agents

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/test/harness"
)

// hosted drives an agent through Signoff, by its public API alone: what clients can see is all that it knows.
type hosted struct {
	testing.TB
	home   home
	server *server
	fields object       // of the request for an execution, beside those that all have
	all    []*execution // in this scenario; the last one is spoken with
}

// execution is what a client knows of one that it follows. All of it belongs to the goroutine of the test.
type execution struct {
	id      string
	prompts []string
	log     []wireEvent
	events  chan wireEvent // closed where the stream has ended
	leave   context.CancelFunc

	turns   map[int]*hostedTurn
	texts   map[string]int // the turn of each message, by its id
	running int            // the number of the newest turn
	pending []string       // approvals
	ended   time.Time      // when the terminal event came; zero before
	failure domain.Code    // of the last turn or of the execution
}

type hostedTurn struct {
	turn
	ended bool
}

type wireEvent = harness.Event

// host begins a scenario. Its end is the end of all executions, and a look at what they leave.
func host(t testing.TB, h home, s *server) *hosted {
	s.t = t
	driver := &hosted{TB: t, home: h, server: s}
	t.Cleanup(func() {
		for _, e := range driver.all {
			e.leave()
			if t.Failed() {
				t.Logf("the log of %s:\n%s", e.id, strings.Join(e.tail(), "\n"))
				driver.remove(e)
			}
		}
	})
	return driver
}

// remove ends an execution that a failed scenario has left, so that the next one finds nothing of it.
func (h *hosted) remove(e *execution) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if response, err := h.server.try(ctx, "DELETE", "/executions/"+e.id, nil, "application/json"); err == nil {
		_ = response.Body.Close() // it was said already what has failed
	}
}

func (h *hosted) now() *execution { return h.all[len(h.all)-1] }

// path is that of something of the newest execution.
func (h *hosted) path(of string) string { return "/executions/" + h.now().id + of }

// turn is what is known of the newest prompt's turn.
func (e *execution) turn() *hostedTurn { return e.numbered(len(e.prompts)) }

func (e *execution) numbered(n int) *hostedTurn {
	if e.turns[n] == nil {
		e.turns[n] = &hostedTurn{}
	}
	return e.turns[n]
}

// tail is the end of the log, for whoever looks into a failure.
func (e *execution) tail() (lines []string) {
	for _, event := range e.log[max(0, len(e.log)-25):] {
		lines = append(lines, event.Raw[:min(len(event.Raw), 600)])
	}
	return lines
}

// prompt goes to the execution that is open. Where that has ended, another one takes up its session.
func (h *hosted) prompt(text string) {
	h.Helper()
	if len(h.all) > 0 && h.now().ended.IsZero() {
		h.further(text, "enqueue")
		return
	}
	body := harness.With(object{
		"source": object{"type": "acp", "command": h.home.builtin()}, "prompt": text, "keepOpen": true, "debug": true,
	}, h.fields)
	if len(h.all) > 0 {
		body["resumeFrom"] = h.now().id
	}
	created := request[struct{ ID string }](h.server, "POST", "/executions", body)
	h.all = append(h.all, &execution{id: created.ID, prompts: []string{text}, turns: map[int]*hostedTurn{}, texts: map[string]int{}})
	h.follow()
}

func (h *hosted) further(text, whenBusy string) {
	h.Helper()
	h.now().prompts = append(h.now().prompts, text)
	request[any](h.server, "POST", "/executions/"+h.now().id+"/prompts", object{"prompt": text, "whenBusy": whenBusy})
}

// follow begins to read the events behind those that are known.
func (h *hosted) follow() {
	e := h.now()
	ctx, leave := context.WithCancel(context.Background())
	e.events, e.leave = make(chan wireEvent, 64), leave
	path := "/executions/" + e.id + "/events?after=" + strconv.Itoa(len(e.log))
	go stream(ctx, h.server, path, e.events)
}

func stream(ctx context.Context, s *server, path string, events chan<- wireEvent) {
	defer close(events)
	response, err := s.try(ctx, "GET", path, nil, "text/event-stream")
	if err != nil {
		return // the server is gone, and whoever waits for an event will see that
	}
	defer response.Body.Close()
	for event, err := range harness.Events(response.Body) {
		if err != nil {
			return // as above
		}
		select {
		case events <- event:
		case <-ctx.Done():
			return
		}
	}
}

// until reads events until something holds.
func (h *hosted) until(what string, holds func(e *execution) bool) {
	h.Helper()
	e := h.now()
	limit := time.After(patience)
	for !holds(e) {
		if !e.ended.IsZero() {
			h.Fatalf("the execution has ended (%s) while the test waited for %s; turn: %+v", e.failure, what, e.turn())
		}
		select {
		case event, more := <-e.events:
			if !more {
				h.Fatalf("the stream has broken while the test waited for %s", what)
			}
			h.take(e, event)
		case <-limit:
			h.Fatalf("no sign of %s in %v; turn: %+v", what, patience, e.turn())
		}
	}
}

// turnOf is the turn of a message, which its first piece tells.
func (e *execution) turnOf(messageID string, told int) int {
	if _, known := e.texts[messageID]; !known {
		e.texts[messageID] = told
	}
	return e.texts[messageID]
}

func (h *hosted) take(e *execution, event wireEvent) {
	e.log = append(e.log, event)
	payload, err := event.Domain().Payload()
	must(h, err)
	switch p := payload.(type) {
	case domain.TurnStarted:
		e.running = p.Turn
	case domain.MessageDelta:
		e.numbered(e.turnOf(p.MessageID, p.Turn)).text += p.Text
	case domain.ThoughtDelta:
		e.numbered(e.turnOf(p.MessageID, p.Turn)).thoughts += p.Text
	case domain.UsageUpdated:
		e.numbered(e.running).usage = true
	case domain.ApprovalRequested:
		e.pending = append(e.pending, string(p.ApprovalID))
	case domain.ApprovalResolved:
		e.pending = slices.DeleteFunc(e.pending, func(id string) bool { return id == string(p.ApprovalID) })
	case domain.TurnEnded:
		if p.Error != nil {
			e.failure = p.Error.Code
		}
		e.end(p.Turn, map[domain.StopReason]outcome{
			domain.StopEndTurn: completed, domain.StopCancelled: cancelled, domain.StopError: failed,
		}[p.StopReason])
	case domain.ExecutionEnded:
		e.ended = time.Now()
		if p.Error != nil {
			e.failure = p.Error.Code
		}
		e.end(e.running, map[domain.Status]outcome{
			domain.StatusCompleted: completed, domain.StatusCancelled: cancelled, domain.StatusFailed: failed,
		}[p.Status])
	}
}

// end notes how a turn has ended. What the execution ends with later on is not how its last turn did.
func (e *execution) end(n int, how outcome) {
	if t := e.numbered(n); !t.ended {
		t.ended, t.outcome = true, how
	}
}

func (h *hosted) shows(part string) {
	h.Helper()
	h.until("the text "+part, func(e *execution) bool { return strings.Contains(e.turn().text, part) || e.turn().ended })
	if t := h.now().turn(); !strings.Contains(t.text, part) {
		h.Fatalf("the turn has ended with %q", t.text)
	}
}

func (h *hosted) asks() question {
	h.Helper()
	h.until("a question", func(e *execution) bool { return len(e.pending) > 0 || e.turn().ended })
	if len(h.now().pending) == 0 {
		h.Fatalf("the turn has ended without a question, with %q", h.now().turn().text)
	}
	id := h.now().pending[0]
	shown := request[map[string]json.RawMessage](h.server, "GET", "/approvals/"+id, nil)
	return question{id: id, about: string(shown["arguments"]) + string(shown["summary"])}
}

func (h *hosted) answer(q question, approve bool) {
	h.Helper()
	shown := request[struct{ ArgumentsHash string }](h.server, "GET", "/approvals/"+q.id, nil)
	decision := object{"decision": "deny", "reason": "the test says so"}
	if approve {
		decision = object{"decision": "approve", "argumentsHash": shown.ArgumentsHash}
	}
	request[any](h.server, "POST", "/approvals/"+q.id, decision)
	h.until("the decision", func(e *execution) bool { return !slices.Contains(e.pending, q.id) })
}

// approves approves whatever the agent asks until its turn ends.
func (h *hosted) approves() turn {
	h.Helper()
	for {
		h.until("a question or the end of the turn", func(e *execution) bool { return len(e.pending) > 0 || e.turn().ended })
		if len(h.now().pending) == 0 {
			return h.now().turn().turn
		}
		h.answer(question{id: h.now().pending[0]}, true)
	}
}

// cancel is that of the execution. Its session can be taken up nevertheless.
func (h *hosted) cancel() {
	h.Helper()
	request[any](h.server, "POST", "/executions/"+h.now().id+"/cancel", object{"reason": "the test says so"})
	h.until("the end", func(e *execution) bool { return !e.ended.IsZero() })
}

func (h *hosted) ends() turn {
	h.Helper()
	h.until("the end of the turn", func(e *execution) bool { return e.turn().ended })
	return h.now().turn().turn
}

// below wants a call of a subagent that ran, below a call of this tool that has ended.
func (h *hosted) below(tool string) {
	h.Helper()
	requested, ended := map[string]domain.ToolCallRequested{}, map[string]domain.Outcome{}
	for _, event := range h.now().log {
		switch p := must2(event.Domain().Payload())(h).(type) {
		case domain.ToolCallRequested:
			requested[p.ToolCallID] = p
		case domain.ToolCallCompleted:
			ended[p.ToolCallID] = p.Outcome
		}
	}
	for id, call := range requested {
		parent, known := requested[call.ParentToolCallID]
		if known && parent.Tool == tool && ended[id] == domain.OutcomeSucceeded && ended[parent.ToolCallID] == domain.OutcomeSucceeded {
			return
		}
	}
	h.Errorf("no call has run below one of %s: %v, %v", tool, requested, ended)
}

// crash kills the agent's process, as a fault of the agent would, and no process that the agent has started. The turn ends with
// the error; the execution stays open, and its next prompt starts the agent again.
func (h *hosted) crash() {
	h.Helper()
	begun := time.Now()
	h.killAgent()
	if h.ends(); h.now().turn().outcome != failed || h.now().failure != domain.CodeAgentExited {
		h.Fatalf("the turn is %s, with the code %q", h.now().turn().outcome, h.now().failure)
	}
	if took := time.Since(begun); took > leftAlone {
		h.Errorf("the failure was told after %v", took)
	}
	h.nothingLeft(begun)
}

func (h *hosted) killAgent() {
	h.Helper()
	killed := 0
	for _, p := range running() {
		if !signoff(p.PID) && signoff(p.Parent) {
			must(h, syscall.Kill(p.PID, syscall.SIGKILL))
			killed++
		}
	}
	if killed != 1 {
		h.Fatalf("%d agents run: %v", killed, running())
	}
}

// signoff tells whether a process is the server or one of its supervisors.
func signoff(pid int) bool {
	program, _ := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe")) // none where it has ended
	return program == binary
}

// leftAlone is how long a process of an agent may live on.
const leftAlone = 5 * time.Second

// nothingLeft waits until no process of an agent is left, nor one that guards it, for so long as it may take.
func (h *hosted) nothingLeft(since time.Time) {
	h.Helper()
	for left := running(); len(left) > 0; left = running() {
		if time.Since(since) > leftAlone {
			h.Fatalf("still running after %v: %v", leftAlone, left)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// restart lets the server's process end in some way, and starts another one.
func (h *hosted) restart(end func()) {
	h.Helper()
	end()
	h.nothingLeft(time.Now())
	h.server.start()
	h.now().leave()
	for event := range h.now().events {
		h.take(h.now(), event)
	}
	h.follow()
}

// close lets the executions end, and holds what is known of them against what must be true of all.
func (h *hosted) close() {
	h.Helper()
	e := h.now()
	if e.ended.IsZero() {
		request[any](h.server, "POST", "/executions/"+e.id+"/close", nil)
		h.until("the end", func(e *execution) bool { return !e.ended.IsZero() })
	}
	h.nothingLeft(e.ended)
	for _, e := range h.all {
		h.sound(e)
	}
}

// closed is what a server answers to somebody who reads on behind the end.
func (h *hosted) closed(e *execution) bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	response := must2(h.server.try(ctx, "GET", "/executions/"+e.id+"/events?after="+strconv.Itoa(len(e.log)), nil, "text/event-stream"))(h)
	defer response.Body.Close()
	return response.StatusCode == http.StatusNoContent
}
