//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// question is an approval, as its event shows it.
type question struct {
	ApprovalID    string          `json:"approvalId"`
	ToolCallID    string          `json:"toolCallId"`
	Kind          string          `json:"kind"`
	Arguments     json.RawMessage `json:"arguments"`
	ArgumentsHash string          `json:"argumentsHash"`
	Repeats       bool            `json:"repeats"`
}

// commandOf is the command of a bash call.
func commandOf(arguments json.RawMessage) string {
	var bash struct{ Command string }
	_ = json.Unmarshal(arguments, &bash)
	return bash.Command
}

// A decision is written as a value that can be compared: approve, deny, "edit ./effect …", "resolution retry".
const (
	approve    = "approve"
	deny       = "deny"
	edit       = "edit "
	resolution = "resolution "
)

// choice is the decision of a person: mostly to approve.
func choice(d *dice, asked question) string {
	dice := d.below(20)
	if asked.Kind == "unknownOutcome" {
		return resolution + []string{"succeeded", "failed", "retry", "retry"}[dice%4]
	}
	switch dice {
	case 0, 1:
		return deny
	case 2, 3:
		return edited(asked, "edited"+string(rune('a'+d.below(3))))
	default:
		return approve
	}
}

// edited approves the same command under another tag. Where it is asked for under that tag, since an edited call is tried
// again, there is nothing to edit.
func edited(asked question, tag string) string {
	words := strings.Fields(commandOf(asked.Arguments))
	if len(words) != 5 || words[3] == tag {
		return approve
	}
	words[3] = tag
	return edit + strings.Join(words, " ")
}

// body is the request that asks for a decision.
func body(asked question, value string) object {
	if chosen, is := strings.CutPrefix(value, resolution); is {
		return object{"resolution": chosen, "argumentsHash": asked.ArgumentsHash}
	}
	if command, is := strings.CutPrefix(value, edit); is {
		return object{"decision": "approve", "argumentsHash": asked.ArgumentsHash, "arguments": object{"command": command}}
	}
	return object{"decision": value, "argumentsHash": asked.ArgumentsHash}
}

// approval is one as the server shows it.
type approval struct {
	Status   string `json:"status"`
	Decision *struct {
		Decision   string          `json:"decision"`
		Arguments  json.RawMessage `json:"arguments"`
		Resolution string          `json:"resolution"`
	} `json:"decision"`
}

// value is the decision of the approval; empty: it has none.
func (a approval) value() string {
	switch {
	case a.Decision == nil:
		return ""
	case a.Decision.Resolution != "":
		return resolution + a.Decision.Resolution
	case len(a.Decision.Arguments) > 0 && string(a.Decision.Arguments) != "null":
		return edit + commandOf(a.Decision.Arguments)
	default:
		return a.Decision.Decision
	}
}

// decide sends a decision to one replica after the other until one answers. Each request is an operation of its own: one whose answer was lost may
// still have won.
func (t *track) decide(d *dice, asked question, value string) {
	for t.load.ctx.Err() == nil {
		o, again := t.try(t.load.w.any(d), asked, value)
		t.keep(asked, o)
		if !again {
			t.load.w.run.operation(true)
			return
		}
		rest(t.load.ctx, 50*time.Millisecond)
	}
	t.load.w.run.operation(false)
}

func (t *track) keep(asked question, o operation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.decisions[asked.ApprovalID] = append(t.decisions[asked.ApprovalID], o)
}

// try sends one decision.
func (t *track) try(s *server, asked question, value string) (o operation, again bool) {
	o = operation{value: value, call: t.load.now(), ret: never, found: lost, replica: s.name}
	a := t.load.w.ask(t.load.ctx, s, http.MethodPost, "/approvals/"+asked.ApprovalID, body(asked, value))
	if a.again() {
		return o, true
	}
	o.ret = t.load.now()
	if err := o.answered(a); err != nil {
		t.load.w.run.violate("%s: deciding %s of %s as %q: %v", t.load.w.name, asked.ApprovalID, t.id, value, err)
	}
	return o, false
}

// answered reads the state of the register from the answer.
func (o *operation) answered(a answer) error {
	var problem struct {
		Code     string
		Approval *approval
	}
	switch a.status {
	case http.StatusOK:
		o.found = accepted
		var now approval
		if err := a.into(&now); err != nil || now.value() != o.value {
			return fmt.Errorf("accepted, and shown as %q: %s", now.value(), a)
		}
	case http.StatusConflict:
		if err := a.into(&problem); err != nil || problem.Approval == nil || problem.Code != "alreadyDecided" {
			return fmt.Errorf("a conflict without a winner: %s", a)
		}
		o.found, o.winner = conflict, problem.Approval.value()
	case http.StatusGone:
		o.found = gone
	default:
		o.ret = never
		return fmt.Errorf("unexpected: %s", a)
	}
	return nil
}

// look reads an approval.
func (t *track) look(d *dice, asked question) {
	s := t.load.w.any(d)
	o := operation{call: t.load.now(), replica: s.name}
	a := t.load.w.ask(t.load.ctx, s, http.MethodGet, "/approvals/"+asked.ApprovalID, nil)
	o.ret = t.load.now()
	var now approval
	if a.status != http.StatusOK || a.into(&now) != nil {
		return
	}
	switch o.winner = now.value(); {
	case now.Status == "pending":
		o.found = pended
	case o.winner != "":
		o.found = decided
	default:
		o.found = gone
	}
	t.keep(asked, o)
}
