//go:build mcp && linux

package mcp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/test/harness"
)

// real is a server from npm with one call to it.
type real struct {
	name      string
	arguments func(workspace string) []string
	variable  string // that is the path of its file in the workspace; empty: it keeps none
	tool      string
	input     func(workspace string) object
	result    string                               // that the model is told
	left      func(t *testing.T, workspace string) // what the call leaves behind; nil: nothing
}

var reals = []real{
	{
		name: "filesystem", arguments: func(workspace string) []string { return []string{workspace} },
		tool: "write_file", input: func(workspace string) object {
			return object{"path": filepath.Join(workspace, "written.txt"), "content": "by the filesystem server"}
		},
		result: "Successfully wrote",
		left: func(t *testing.T, workspace string) {
			if content := must2(os.ReadFile(filepath.Join(workspace, "written.txt")))(t); string(content) != "by the filesystem server" {
				t.Errorf("the file says %q", content)
			}
		},
	},
	{
		name: "everything", arguments: func(string) []string { return nil },
		tool: "get-sum", input: func(string) object { return object{"a": 19, "b": 23} }, result: "42",
	},
	{
		name: "memory", arguments: func(string) []string { return nil },
		variable: "MEMORY_FILE_PATH",
		tool:     "create_entities", input: func(string) object {
			return object{"entities": []object{{"name": "Ada", "entityType": "person", "observations": []string{"writes programs"}}}}
		},
		result: "writes programs",
		left: func(t *testing.T, workspace string) {
			if content := must2(os.ReadFile(filepath.Join(workspace, "memory.jsonl")))(t); !strings.Contains(string(content), "writes programs") {
				t.Errorf("the memory is %q", content)
			}
		},
	},
	{
		name: "sequential-thinking", arguments: func(string) []string { return nil },
		tool: "sequentialthinking", input: func(string) object {
			return object{"thought": "One.", "thoughtNumber": 1, "totalThoughts": 1, "nextThoughtNeeded": false}
		},
		result: "thoughtHistoryLength",
	},
}

func (r real) variables(workspace string) object {
	if r.variable == "" {
		return object{}
	}
	return object{r.variable: filepath.Join(workspace, "memory.jsonl")}
}

// TestRealServers has a scripted model call servers that others have written: each call waits for a person, runs once, and its result reaches the model.
func TestRealServers(t *testing.T) {
	t.Parallel()
	m := newModel(t, func(a *harness.Answer, conversation []harness.Message) {
		if results := told(conversation); len(results) > 0 {
			a.Say("told: ", results[0])
			return
		}
		var want struct {
			Tool  string
			Input object
		}
		if err := json.Unmarshal([]byte(said(conversation)), &want); err != nil {
			a.Refuse(400, "")
			return
		}
		a.Want(want.Tool, want.Input)
	})
	s := newServer(t, m, nil)
	servers := object{}
	for _, r := range reals {
		program, script := node(t, "server-"+r.name+"/dist/index.js")
		servers[r.name] = object{
			"command": program, "args": append([]string{script}, r.arguments(s.workspace)...), "setEnv": r.variables(s.workspace), "required": true,
			// The packages of the server, and the folder that it may write: the operator's word that it takes no code from there.
			"mounts": object{must2(npm())(t): "read", s.workspace: "write"},
		}
	}
	s.configure(m, servers)
	s.start()
	for _, r := range reals {
		t.Run(r.name, func(t *testing.T) {
			tool := "mcp__" + r.name + "__" + r.tool
			prompt := must2(json.Marshal(object{"tool": tool, "input": r.input(s.workspace)}))(t)
			id := s.begin(t, string(prompt), r.name).ID
			end, asked := s.person(t, id, yes)
			if end.Status != string(domain.StatusCompleted) || !strings.Contains(end.Output.Text, r.result) {
				t.Fatalf("it ended as %s: %+v\n%s", end.Status, end.Output, s.tail(t, id))
			}
			if len(asked) != 1 || asked[0].Status != "approved" || asked[0].Tool != tool {
				t.Errorf("a person was asked: %+v", asked)
			}
			if calls := outcomes(t, s.log(t, id)); len(calls) != 1 || calls[0].Outcome != domain.OutcomeSucceeded {
				t.Errorf("calls: %+v", calls)
			}
			if r.left != nil {
				r.left(t, s.workspace)
			}
		})
	}
}
