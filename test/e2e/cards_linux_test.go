package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"signoff/internal/domain"
)

// card is what a person sees of a call.
type card struct {
	ID              string                      `json:"id"`
	Status          string                      `json:"status"`
	Reason          string                      `json:"reason"`
	Summary         string                      `json:"summary"`
	ArgumentsHash   string                      `json:"argumentsHash"`
	Environment     *domain.ApprovalEnvironment `json:"environment"`
	RememberOptions []struct {
		PreviewID string `json:"previewId"`
	} `json:"rememberOptions"`
}

// TestOneCommandInThreeEnvironments: the same command in workspace, machine and host has three cards, three hashes and three audit records, and a rule
// that is remembered in one of them asks in the others.
func TestOneCommandInThreeEnvironments(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.environments(object{"host": object{"isolation": "none", "user": "operator"}})
	o.start()
	users := map[string]string{"workspace": "root", "machine": "nobody", "host": "operator"}
	names := []string{"workspace", "machine", "host"}
	var hashes []string
	for _, name := range names {
		// What is remembered from the environments before does not hold here, nor do capabilities and trust that cover commands.
		s := o.story(t, calls("bash", object{"command": "id -un"}), reports)
		change := object{"prompt": s.prompt("go"), "capabilities": object{}}
		id := s.in(name, change)
		shown := s.card(id)
		if e := shown.Environment; e == nil || e.Name != name || len(e.Digest) != 64 || string(e.Risk) != name {
			t.Errorf("the card of %s has %+v", name, e)
		}
		if onHost := strings.Contains(shown.Reason, ", as operator, without isolation"); onHost != (name == "host") {
			t.Errorf("the card of %s says %q", name, shown.Reason)
		}
		hashes = append(hashes, shown.ArgumentsHash)
		s.remember(shown)
		s.finds(id, users[name])

		again := o.story(t, calls("bash", object{"command": "id -un"}), reports)
		next := again.in(name, object{"prompt": again.prompt("go"), "capabilities": object{}})
		again.finds(next, users[name])
		if asked := want[list[card]](again.client, http.StatusOK, "GET", "/executions/"+next+"/approvals", nil).Items; len(asked) != 0 {
			t.Errorf("what was remembered in %s is asked there again: %+v", name, asked)
		}
		s.recorded(id, name)
	}
	slices.Sort(hashes)
	if len(slices.Compact(hashes)) != len(names) {
		t.Errorf("%d environments have the hashes %q", len(names), hashes)
	}
	hostAsks(t, o)
}

// card waits for the one question of an execution.
func (s *story) card(id string) card {
	s.t.Helper()
	return want[card](s.client, http.StatusOK, "GET", "/approvals/"+s.pending(id).ID, nil)
}

// remember approves a call for all executions, as narrowly as the server offers it.
func (s *story) remember(c card) {
	s.t.Helper()
	if len(c.RememberOptions) == 0 {
		s.t.Fatalf("nothing of %+v can be remembered", c)
	}
	want[object](s.client, http.StatusOK, "POST", "/approvals/"+c.ID, object{
		"decision": "approve", "argumentsHash": c.ArgumentsHash, "remember": object{"scope": "global", "previewId": c.RememberOptions[0].PreviewID},
	})
}

// recorded holds the audit of one call against the environment in which it ran.
func (s *story) recorded(id, environment string) {
	s.t.Helper()
	type entry struct {
		Action string
		Record struct{ Environment *domain.EnvironmentStamp }
	}
	found := 0
	for _, e := range want[list[entry]](s.client, http.StatusOK, "GET", "/audit?limit=200&executionId="+id, nil).Items {
		if strings.HasPrefix(e.Action, "toolCall.") || e.Action == "approval.decided" {
			found++
			if e.Record.Environment == nil || e.Record.Environment.Name != environment || len(e.Record.Environment.Digest) != 64 {
				s.t.Errorf("the audit says of %s in %s: %+v", e.Action, environment, e.Record.Environment)
			}
		}
	}
	if found < 2 {
		s.t.Errorf("the audit has %d records of the call in %s", found, environment)
	}
}

// hostAsks: neither capabilities nor full trust let a command run on the host unasked, and an unattended one does not run.
func hostAsks(t *testing.T, o *operator) {
	for name, change := range map[string]object{
		"capabilities": {"capabilities": looks}, "full trust": {"safeMode": false}, "bash policy": {"tools": object{"bashPolicy": object{"defaultBehavior": "allow"}}},
	} {
		s := o.story(t, calls("bash", object{"command": "id -g"}), reports)
		id := s.in("host", object{"prompt": s.prompt("go")}, change)
		s.decide(s.pending(id), object{"decision": "deny", "reason": "not with " + name})
		if output := s.finds(id, "not with "+name); strings.Contains(output, "4242") {
			t.Errorf("%s: it ran all the same: %s", name, output)
		}
	}
	s := o.story(t, calls("bash", object{"command": "id -g"}), reports)
	id := s.in("host", object{"prompt": s.prompt("go"), "policy": object{"unattended": true}, "safeMode": false})
	if output := s.finds(id); strings.Contains(output, "4242") {
		t.Errorf("nobody was asked, and it ran: %s", output)
	}
}
