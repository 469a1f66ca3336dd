//go:build linux

package main

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"signoff/internal/domain"
)

// treeCheck compares a tree with its task: it has the task, the executions of the tree, and the requests to the model for each of them.
type treeCheck struct {
	task     task
	members  []treeMember
	requests map[string][][]message // by key
}

// treeMember is an execution of a tree as the server shows it, with the log that the load has read.
type treeMember struct {
	ID     string
	Status domain.Status
	Parent *struct{ ExecutionID, ToolCallID, Root string }
	key    string // of its task; empty: the load has not followed it
	log    []event
}

// broken lists the broken promises: each call has one child, each child names its parent, each result is delivered once, and all executions have ended.
func (f treeCheck) broken() (wrong []string) {
	tasks, members := map[string]task{}, map[string]treeMember{}
	f.task.walk(func(t task) { tasks[t.Key] = t })
	for _, m := range f.members {
		if _, twice := members[m.key]; twice {
			wrong = append(wrong, fmt.Sprintf("the task %q was given to two executions", m.key))
		}
		members[m.key] = m
	}
	if planned, made := slices.Sorted(maps.Keys(tasks)), slices.Sorted(maps.Keys(members)); !slices.Equal(planned, made) {
		return append(wrong, fmt.Sprintf("%q were to work, and %q did", planned, made))
	}
	for key, m := range members {
		if !m.Status.Terminal() {
			wrong = append(wrong, fmt.Sprintf("I3: %s is %s", key, m.Status))
		}
		for _, text := range append(f.children(m, tasks[key], members), m.conversation(f.requests[key])...) {
			wrong = append(wrong, key+": "+text)
		}
	}
	return wrong
}

// children checks the log and the model requests of a parent for its children.
func (f treeCheck) children(m treeMember, its task, members map[string]treeMember) (wrong []string) {
	started, returned := map[string]string{}, map[string][]int{}
	for _, e := range m.log {
		var start domain.DelegateStarted
		var result domain.DelegateReturned
		switch {
		case e.Type == string(domain.DelegateStartedType) && e.Into(&start) == nil:
			if call, twice := started[string(start.ExecutionID)]; twice {
				wrong = append(wrong, fmt.Sprintf("the child %s was started by %s and %s", start.ExecutionID, call, start.ToolCallID))
			}
			started[string(start.ExecutionID)] = start.ToolCallID
		case e.Type == string(domain.DelegateReturnedType) && e.Into(&result) == nil:
			returned[string(result.ExecutionID)] = append(returned[string(result.ExecutionID)], result.Rest)
		}
	}
	if len(started) != len(its.below()) {
		wrong = append(wrong, fmt.Sprintf("it has started %d children for %d calls", len(started), len(its.below())))
	}
	for _, t := range its.below() {
		child, turns := members[t.Key], its.turns(t.Key)
		switch p := child.Parent; {
		case p == nil || p.ExecutionID != m.ID || p.Root != f.members[0].ID:
			wrong = append(wrong, fmt.Sprintf("its child %s has the parent %+v", child.ID, p))
		case started[child.ID] != p.ToolCallID:
			wrong = append(wrong, fmt.Sprintf("its child %s was started by %q, and says %q", child.ID, started[child.ID], p.ToolCallID))
		}
		if rests := returned[child.ID]; len(rests) != turns || len(slices.Compact(slices.Sorted(slices.Values(rests)))) != turns {
			wrong = append(wrong, fmt.Sprintf("the results %v of %s were delivered; it was asked %d times", rests, t.Key, turns))
		}
		if n := countResults(f.requests[m.key], t.Key); n != turns {
			wrong = append(wrong, fmt.Sprintf("the model was told %d times what %s said; it was asked %d times", n, t.Key, turns))
		}
	}
	return wrong
}

// countResults counts the results of an agent in the longest conversation.
func countResults(requests [][]message, key string) (n int) {
	for _, m := range longest(requests) {
		if m.Role != "assistant" {
			n += strings.Count(m.Content, lastWords(key))
		}
	}
	return n
}

func longest(requests [][]message) (most []message) {
	for _, conversation := range requests {
		if len(conversation) >= len(most) { // of repeated requests, the last one counts
			most = conversation
		}
	}
	return most
}

// startsWith reports whether a conversation starts with an earlier request. A server sends the output of a command before the output is on disk. If it dies in
// between, a person is asked about the command, and the next driver sends that person's answer. The result of a child is on disk first.
func startsWith(conversation, request []message) bool {
	newest := len(request) - 1
	for newest > 0 && request[newest].Role == "tool" {
		newest--
	}
	commands := map[string]bool{}
	for _, call := range request[newest].ToolCalls {
		commands[call.ID] = call.Function.Name == "bash"
	}
	for i, said := range request {
		if i > newest && commands[said.ToolCallID] {
			said.Content = conversation[i].Content
		}
		if !reflect.DeepEqual(said, conversation[i]) {
			return false
		}
	}
	return true
}

// conversation checks the requests to the model for an execution: each request continues the one before, no call has two results, and only a new driver of
// the execution repeats a request.
func (m treeMember) conversation(requests [][]message) (wrong []string) {
	most := longest(requests)
	again, drivers := 0, 0
	lengths := map[int]bool{}
	for _, conversation := range requests {
		if !startsWith(most, conversation) {
			wrong = append(wrong, fmt.Sprintf("the model was sent two conversations:\n%+v\n%+v", conversation, most))
		}
		if lengths[len(conversation)] {
			again++
		}
		lengths[len(conversation)] = true
	}
	results := map[string]bool{}
	for _, said := range most {
		if said.Role == "tool" && results[said.ToolCallID] {
			wrong = append(wrong, fmt.Sprintf("the call %s has two results", said.ToolCallID))
		}
		results[said.ToolCallID] = true
	}
	for _, e := range m.log {
		if takesOver(e) {
			drivers++
		}
	}
	if len(requests) == 0 || again > drivers {
		wrong = append(wrong, fmt.Sprintf("the model was asked %d times, %d of them again; the execution has changed its driver %d times", len(requests), again, drivers))
	}
	return wrong
}

// takesOver reports whether an event says that the execution continues with another driver: the earlier one has died, or has lost its lease on a busy machine
// and given the execution up.
func takesOver(e event) bool {
	var change struct{ Reason string }
	return recovers(e) || e.Type == "execution.stateChanged" && e.Into(&change) == nil && change.Reason == "continued"
}

// delegates reports whether a tool is one by which an agent delegates.
func delegates(tool string) bool {
	switch tool {
	case domain.DelegateTool, domain.AwaitDelegatesTool, domain.MessageDelegateTool, domain.CancelDelegateTool:
		return true
	default:
		return false
	}
}
