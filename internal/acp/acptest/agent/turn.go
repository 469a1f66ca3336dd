package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// turn is one request from its arrival to its answer, with the steps in between. One goroutine plays the steps; the
// reader only cancels.
type turn struct {
	agent     *agent
	phase     string
	id        json.RawMessage
	params    json.RawMessage
	sessionID string // as the request names it

	ctx       context.Context // ends when the agent heeds a cancel
	interrupt context.CancelFunc
	manners   atomic.Value // string: what a cancel does, see oncancel

	session   *session // nil in phases that have none
	steps     []*step
	trouble   error // of reading the prompt
	result    object
	reason    string // stopReason
	release   func() // gives the session to the next prompt
	silent    bool   // there will be no answer
	exits     bool   // right behind the answer
	exitCode  int
	late      []lateStep
	as        string // session id to send under instead
	messageID string
	pace      time.Duration
	asks      []*ask
	answers   map[string]string // by call: the option's id, or cancelled, or error
	verdicts  map[string]string // by call: allowed, rejected, cancelled or error
}

func (a *agent) newTurn(phase string, m message) *turn {
	t := &turn{
		agent: a, phase: phase, id: m.ID, params: m.Params, steps: a.script.before[phase],
		result: object{}, reason: "end_turn", release: func() {}, answers: map[string]string{}, verdicts: map[string]string{},
	}
	var named struct {
		SessionID string `json:"sessionId"`
	}
	_ = json.Unmarshal(m.Params, &named) // the handler complains
	t.sessionID = named.SessionID
	t.session = a.session(named.SessionID)
	t.ctx, t.interrupt = context.WithCancel(context.Background())
	t.manners.Store("good")
	t.behave()
	return t
}

// errEnded ends the steps and is no failure.
var errEnded = errors.New("the turn is over")

// readPrompt takes the steps out of the prompt's last text.
func (t *turn) readPrompt() {
	text, err := promptText(t.params)
	if err != nil {
		t.trouble = failed(codeInvalidParams, "%v", err)
		return
	}
	steps, err := parsePrompt(text)
	if err != nil {
		t.trouble = failed(codeInvalidParams, "script: %v", err)
	}
	if len(steps) == 0 && len(t.steps) == 0 {
		steps = []*step{{verb: table["say"], args: args{text: greeting}}}
	}
	t.steps = append(t.steps[:len(t.steps):len(t.steps)], steps...)
	t.behave()
}

// greeting is the answer to a prompt without steps.
const greeting = "Hello from the scripted agent."

// behave takes oncancel in advance: a cancel right behind the prompt comes before the first step has run.
func (t *turn) behave() {
	for _, s := range t.steps {
		if s.verb.name == "oncancel" {
			t.manners.Store(s.args.word(0, ""))
		}
	}
}

func promptText(params json.RawMessage) (text string, err error) {
	var asked struct {
		Prompt []struct{ Type, Text string } `json:"prompt"`
	}
	err = json.Unmarshal(params, &asked)
	for _, block := range asked.Prompt {
		if block.Type == "text" {
			text = block.Text
		}
	}
	return text, err
}

// serve handles the request, plays the steps, answers, and plays what comes after the answer.
func (t *turn) serve(handle func(*turn) error) {
	err := t.trouble
	if err == nil {
		err = handle(t)
	}
	if err == nil {
		err = t.play(t.steps)
	}
	t.answer(err)
	t.agent.end(t)
	if t.exits {
		os.Exit(t.exitCode)
	}
	t.release()
	go playLate(t.late)
	t.ctx = context.Background()
	if err := t.play(t.agent.script.after[t.phase]); err != nil && !errors.Is(err, errEnded) {
		fmt.Fprintln(os.Stderr, "after the answer:", err)
	}
}

// lateStep is played so long after the turn's answer.
type lateStep struct {
	after time.Duration
	run   func()
}

// playLate plays one behind the other: of two timers that a busy machine finds due together the scheduler would choose.
func playLate(steps []lateStep) {
	begun := time.Now()
	slices.SortStableFunc(steps, func(a, b lateStep) int { return cmp.Compare(a.after, b.after) })
	for _, s := range steps {
		time.Sleep(time.Until(begun.Add(s.after)))
		s.run()
	}
}

// play runs steps until one ends the turn or a cancel is heeded.
func (t *turn) play(steps []*step) error {
	for i := 0; i < len(steps) && t.ctx.Err() == nil; i++ {
		if err := steps[i].run(t); err != nil {
			return err
		}
	}
	return nil
}

func (t *turn) answer(err error) {
	if t.session != nil {
		if lost := t.session.save(); lost != nil {
			fmt.Fprintln(os.Stderr, lost)
		}
	}
	if t.silent {
		return
	}
	fail := t.failure(err)
	if t.phase == "prompt" {
		t.result = merge(object{"stopReason": t.reason}, t.result)
	}
	t.agent.wire.respond(t.id, t.result, fail)
}

// failure is the error to answer with, if any. A heeded cancel comes before what the steps made of it.
func (t *turn) failure(err error) *failure {
	var known *failure
	switch {
	case t.ctx.Err() != nil:
		return t.cancelled()
	case err == nil || errors.Is(err, errEnded):
		return nil
	case errors.As(err, &known):
		return known
	default:
		return failed(codeInvalidParams, "script: %v", err)
	}
}

// cancelled is the end of a turn whose cancel was heeded.
func (t *turn) cancelled() *failure {
	switch {
	case t.manners.Load() == "error":
		return failed(codeInternal, "aborted")
	case t.phase != "prompt":
		return failed(codeRequestCancelled, "Request cancelled")
	case t.manners.Load() == "endturn":
		t.reason = "end_turn"
	default:
		t.reason = "cancelled"
	}
	return nil
}

// cancel is called by the reader.
func (t *turn) cancel() {
	if t.manners.Load() != "ignore" {
		t.interrupt()
	}
}

// sleep waits, unless a cancel comes.
func (t *turn) sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-t.ctx.Done():
	}
}

// update sends one session/update and keeps it for a later load.
func (t *turn) update(update any) error {
	if t.session == nil {
		return errors.New("there is no session yet")
	}
	raw := mustJSON(update)
	id := t.session.id
	if t.as != "" {
		id = t.as
	} else {
		t.session.record(raw)
	}
	t.agent.wire.notify("session/update", object{"sessionId": id, "update": raw})
	if t.pace > 0 {
		t.sleep(t.pace)
	}
	return nil
}

// say sends text as a message of the agent.
func (t *turn) say(text string) error { return t.chunk("agent_message_chunk", text) }

func (t *turn) chunk(kind, text string) error {
	update := object{"sessionUpdate": kind, "content": object{"type": "text", "text": text}}
	if t.messageID != "" {
		update["messageId"] = t.messageID
	}
	return t.update(update)
}

// tell says what a step led to, as `NAME=OUTCOME` on a line. Where there is no session yet nobody could hear it.
func (t *turn) tell(name string, outcome ...string) error {
	if t.session == nil {
		return nil
	}
	return t.say(name + "=" + strings.Join(outcome, " ") + "\n")
}

// merge puts the fields of over into base, objects within objects as well.
func merge(base, over object) object {
	for key, value := range over {
		inner, isObject := asObject(value)
		old, wasObject := asObject(base[key])
		if isObject && wasObject {
			base[key] = merge(old, inner)
		} else {
			base[key] = value
		}
	}
	return base
}

func asObject(value any) (object, bool) {
	switch v := value.(type) {
	case object:
		return v, true
	case map[string]any:
		return v, true
	}
	return nil, false
}
