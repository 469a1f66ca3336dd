//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"signoff/internal/domain"
)

// aTreeCheck is a root that has asked one agent twice and has not waited for another one. Each request was sent once, but for one: its server had died.
func aTreeCheck() treeCheck {
	root := task{Key: "r", Steps: []step{{Each: []task{{Key: "r-1"}}}, {Message: &task{Key: "r-1"}}, {Start: &task{Key: "r-2"}}}}
	log := written(
		domain.DelegateStarted{ExecutionID: "one", ToolCallID: "c1"}, domain.DelegateReturned{ExecutionID: "one", Rest: 1},
		domain.StateChanged{From: domain.StatusWaiting, To: domain.StatusWaiting, Reason: "recovered"},
		domain.DelegateReturned{ExecutionID: "one", Rest: 2},
		domain.DelegateStarted{ExecutionID: "two", ToolCallID: "c3"}, domain.DelegateReturned{ExecutionID: "two", Rest: 1},
	)
	said := []message{
		{Role: "user", Content: root.prompt()},
		{Role: "assistant"}, {Role: "tool", ToolCallID: "c1", Content: "Result of worker: " + lastWords("r-1")},
		{Role: "assistant"}, {Role: "tool", ToolCallID: "c2", Content: "Result of worker: " + lastWords("r-1")},
		{Role: "assistant"}, {Role: "tool", ToolCallID: "c3", Content: "It works on it."},
		{Role: "assistant", Content: lastWords("r")}, {Role: "user", Content: "Result of worker: " + lastWords("r-2")},
	}
	below := func(call string) *struct{ ExecutionID, ToolCallID, Root string } {
		return &struct{ ExecutionID, ToolCallID, Root string }{"root", call, "root"}
	}
	return treeCheck{
		task: root,
		members: []treeMember{
			{ID: "root", Status: domain.StatusCompleted, key: "r", log: log},
			{ID: "one", Status: domain.StatusCompleted, key: "r-1", Parent: below("c1")},
			{ID: "two", Status: domain.StatusCompleted, key: "r-2", Parent: below("c3")},
		},
		requests: map[string][][]message{
			"r": {said[:1], said[:3], said[:3], said[:5], said[:7], said}, "r-1": {said[:1]}, "r-2": {said[:1]},
		},
	}
}

func TestASoundTreeIsSound(t *testing.T) {
	if wrong := aTreeCheck().broken(); len(wrong) > 0 {
		t.Error(wrong)
	}
}

// TestAServerMayTakeAnOutputAlong when it dies, but not what a child has said, and no older output.
func TestAServerMayTakeAnOutputAlong(t *testing.T) {
	sent := func(tool, output string, more ...message) []message {
		asked := message{Role: "assistant"}
		if err := json.Unmarshal([]byte(`{"tool_calls": [{"id": "c", "function": {"name": "`+tool+`"}}]}`), &asked); err != nil {
			t.Fatal(err)
		}
		return append([]message{{Role: "user"}, asked, {Role: "tool", ToolCallID: "c", Content: output}}, more...)
	}
	said := message{Role: "assistant", Content: "So."}
	for name, test := range map[string]struct {
		later, request []message
		begins         bool
	}{
		"an output":       {sent("bash", "lost", said), sent("bash", "done"), true},
		"an older output": {sent("bash", "lost", said), sent("bash", "done", said), false},
		"a result":        {sent("delegate", "lost", said), sent("delegate", "done"), false},
		"the same result": {sent("delegate", "done", said), sent("delegate", "done"), true},
	} {
		if startsWith(test.later, test.request) != test.begins {
			t.Errorf("%s: %v", name, !test.begins)
		}
	}
}

// TestBrokenTreesAreFound: a checker that finds nothing is worth nothing.
func TestBrokenTreesAreFound(t *testing.T) {
	logged := func(f *treeCheck, payload domain.Payload) {
		f.members[0].log = append(f.members[0].log, written(payload)...)
	}
	for name, test := range map[string]struct {
		spoil func(f *treeCheck)
		says  string
	}{
		"a child is missing":             {func(f *treeCheck) { f.members = f.members[:2] }, "were to work"},
		"a call has two children":        {func(f *treeCheck) { f.members = append(f.members, f.members[1]) }, "given to two executions"},
		"nobody knows a child":           {func(f *treeCheck) { f.members = append(f.members, treeMember{ID: "three"}) }, "were to work"},
		"one has not ended":              {func(f *treeCheck) { f.members[2].Status = domain.StatusIdle }, "I3"},
		"a child has no parent":          {func(f *treeCheck) { f.members[1].Parent = nil }, "has the parent"},
		"a child has another parent":     {func(f *treeCheck) { f.members[1].Parent.ExecutionID = "two" }, "has the parent"},
		"a child is in another tree":     {func(f *treeCheck) { f.members[1].Parent.Root = "two" }, "has the parent"},
		"another call has made it":       {func(f *treeCheck) { f.members[1].Parent.ToolCallID = "c3" }, "was started by"},
		"a child is started twice":       {func(f *treeCheck) { logged(f, domain.DelegateStarted{ExecutionID: "one", ToolCallID: "c9"}) }, "was started by c1 and c9"},
		"a call starts one more":         {func(f *treeCheck) { logged(f, domain.DelegateStarted{ExecutionID: "four"}) }, "started 3 children for 2 calls"},
		"a result is delivered twice":    {func(f *treeCheck) { logged(f, domain.DelegateReturned{ExecutionID: "two", Rest: 1}) }, "[1 1] of r-2 were delivered"},
		"a result is not delivered":      {func(f *treeCheck) { f.members[0].log = f.members[0].log[:5] }, "[] of r-2 were delivered"},
		"the same result in place of it": {func(f *treeCheck) { f.members[0].log[3] = f.members[0].log[1] }, "[1 1] of r-1 were delivered"},
		"the model is told it twice": {func(f *treeCheck) {
			all := f.requests["r"]
			all[5] = append(slices.Clone(all[5]), message{Role: "user", Content: lastWords("r-2")})
		}, "told 2 times what r-2 said"},
		"the model is not told":        {func(f *treeCheck) { f.requests["r"] = f.requests["r"][:5] }, "told 0 times what r-2 said"},
		"the model is told else later": {func(f *treeCheck) { f.requests["r"][1] = []message{{Content: "else"}} }, "two conversations"},
		"a call has two results":       {func(f *treeCheck) { f.requests["r"][5][4].ToolCallID = "c1" }, "c1 has two results"},
		"a request is sent again":      {func(f *treeCheck) { f.requests["r-1"] = append(f.requests["r-1"], f.requests["r-1"][0]) }, "its driver 0 times"},
		"the model is never asked":     {func(f *treeCheck) { delete(f.requests, "r-2") }, "was asked 0 times"},
	} {
		t.Run(name, func(t *testing.T) {
			f := aTreeCheck()
			test.spoil(&f)
			wrong := f.broken()
			if !slices.ContainsFunc(wrong, func(text string) bool { return strings.Contains(text, test.says) }) {
				t.Errorf("want %q among %q", test.says, wrong)
			}
		})
	}
}

// TestTasksCanBeDone: each is read as it was written, has a key of its own, and sends further prompts to its children only.
func TestTasksCanBeDone(t *testing.T) {
	r := newRun(t.Context(), &stage{}, block{name: "test"}, 7, 1)
	for n := range 200 {
		keys := map[string]bool{}
		growTask(fmt.Sprint("k-", n), 0, &r.dice).walk(func(its task) {
			if read, found := readTask("Please " + its.prompt()); !found || read.prompt() != its.prompt() {
				t.Errorf("%s is read as %s", its.prompt(), read.prompt())
			}
			if keys[its.Key] {
				t.Errorf("%s is there twice", its.Key)
			}
			keys[its.Key] = true
			for _, s := range its.Steps {
				if s.Message != nil && !slices.ContainsFunc(its.below(), func(child task) bool { return child.Key == s.Message.Key }) {
					t.Errorf("a message to %s in %s", s.Message.Key, its.prompt())
				}
			}
		})
	}
}
