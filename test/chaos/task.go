//go:build linux

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"signoff/internal/domain"
	"signoff/test/harness"
)

// task is the task of one agent of a tree: the script of its model, which is its prompt, with the scripts of all agents below it.
type task struct {
	Key   string `json:"key"`
	Steps []step `json:"steps"`
}

// step is one answer of the model; one field is set.
type step struct {
	Run     time.Duration `json:"run,omitempty"`     // a command that takes so long
	Each    []task        `json:"each,omitempty"`    // delegate all of them at once, and wait
	Start   *task         `json:"start,omitempty"`   // delegate, and do not wait
	Await   bool          `json:"await,omitempty"`   // wait for all started agents
	Message *task         `json:"message,omitempty"` // a further prompt for the agent that has answered first
}

// calls is how many calls the step makes.
func (s step) calls() int { return max(1, len(s.Each)) }

// below are the tasks that are delegated, each by a call of its own.
func (t task) below() (all []task) {
	for _, s := range t.Steps {
		all = append(all, s.Each...)
		if s.Start != nil {
			all = append(all, *s.Start)
		}
	}
	return all
}

// walk visits the task and all below it.
func (t task) walk(visit func(task)) {
	visit(t)
	for _, child := range t.below() {
		child.walk(visit)
	}
}

// turns is the number of turns in which a child works for its parent.
func (t task) turns(key string) (n int) {
	for _, child := range t.below() {
		if child.Key == key {
			n++
		}
	}
	for _, s := range t.Steps {
		if s.Message != nil && s.Message.Key == key {
			n++
		}
	}
	return n
}

const taskMark = "grow "

func (t task) prompt() string { return taskMark + string(domain.Encode(t)) }

// readTask reads a task out of a prompt.
func readTask(prompt string) (t task, found bool) {
	_, encoded, found := strings.Cut(prompt, taskMark)
	return t, found && json.NewDecoder(strings.NewReader(encoded)).Decode(&t) == nil
}

// newestTask is the last task in a conversation, and the number of results after it.
func newestTask(conversation []message) (t task, results int) {
	for _, m := range conversation {
		if m.Role == "tool" {
			results++
		}
		if newer, found := readTask(m.Content); found && m.Role == "user" {
			t, results = newer, 0
		}
	}
	return t, results
}

// playTask answers as the task of the conversation says.
func playTask(a *harness.Answer, conversation []message) {
	t, results := newestTask(conversation)
	speak(a, plan{Key: t.Key, Pieces: 3, Delay: 10 * time.Millisecond}, results)
	for i, s := range t.Steps {
		if results == 0 {
			s.want(a, plan{Key: t.Key, Run: s.Run}.command(i+1, "shown"), conversation)
			return
		}
		results -= s.calls()
	}
	farewell(a, t.Key)
}

// want makes the calls of the step.
func (s step) want(a *harness.Answer, command string, conversation []message) {
	switch {
	case s.Run > 0:
		a.Bash(command)
	case s.Start != nil:
		a.Want(domain.DelegateTool, s.Start.wanted(object{"wait": false}))
	case s.Await:
		a.Want(domain.AwaitDelegatesTool, object{})
	case s.Message != nil:
		a.Want(domain.MessageDelegateTool, object{"id": firstToAnswer(conversation), "prompt": s.Message.prompt()})
	default:
		for _, t := range s.Each {
			a.Want(domain.DelegateTool, t.wanted(nil))
		}
	}
}

// wanted are the arguments of a call that delegates the task.
func (t task) wanted(more object) object {
	profile := "worker"
	if len(t.below()) > 0 {
		profile = "lead"
	}
	return harness.With(object{"profile": profile, "prompt": t.prompt(), "write": true}, more)
}

var answered = regexp.MustCompile(`Result of \w+ \(([0-9a-f-]{36})\)`)

// firstToAnswer is the id of the agent whose result comes first in a conversation.
func firstToAnswer(conversation []message) string {
	for _, m := range conversation {
		if found := answered.FindStringSubmatch(m.Content); m.Role == "tool" && found != nil {
			return found[1]
		}
	}
	return ""
}

// growTask makes a random task for an agent at a depth.
func growTask(key string, depth int, d *dice) task {
	t := task{Key: key}
	children, answers := 0, ""
	var started []string // and not awaited
	child := func() task {
		children++
		return growTask(fmt.Sprintf("%s-%d", key, children), depth+1, d)
	}
	if depth == domain.MaxDelegationDepth {
		t.Steps = []step{{Run: d.between(10*time.Millisecond, 500*time.Millisecond)}}
		return t
	}
	for range 1 + d.below(3) {
		switch dice := d.below(6); {
		case dice == 0:
			t.Steps = append(t.Steps, step{Run: d.between(10*time.Millisecond, 500*time.Millisecond)})
		case dice == 1:
			begun := child()
			t.Steps, started = append(t.Steps, step{Start: &begun}), append(started, begun.Key)
		case dice == 2 && started != nil:
			t.Steps, answers, started = append(t.Steps, step{Await: true}), cmp.Or(answers, started[0]), nil
		case dice == 3 && answers != "":
			t.Steps = append(t.Steps, step{Message: &task{Key: answers}})
		default:
			var each []task
			for range 1 + d.below(3-depth) {
				each = append(each, child())
			}
			t.Steps, answers = append(t.Steps, step{Each: each}), cmp.Or(answers, each[0].Key)
		}
	}
	return t
}
