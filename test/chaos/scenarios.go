//go:build linux

package main

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"signoff/test/harness"
)

// scenarios is a model server with scenarios beside the commands of [model], which answers every other prompt. The prompt `scenario NAME KEY` chooses
// one. As there, an answer depends on the conversation alone.
type scenarios struct {
	server *httptest.Server
	all    map[string]scenario
}

// scenario is what the model does after so many results of tools.
type scenario func(a *harness.Answer, key string, results int)

func newScenarios(all map[string]scenario) *scenarios {
	s := &scenarios{all: all}
	s.server = httptest.NewServer(harness.Chat(s.play))
	return s
}

func (s *scenarios) close() {
	s.server.CloseClientConnections()
	s.server.Close()
}

// config writes a configuration with this model and these agents into a folder, and returns its path.
func (s *scenarios) config(r *run, folder string, agents object) string {
	content, err := json.Marshal(object{"agents": agents, "agentProfiles": specialists, "settings": r.stage.settings(), "models": object{"default": "m", "m": object{
		"provider": "openai", "model": "m", "baseUrl": s.server.URL + "/v1",
	}}})
	r.must(err)
	path := filepath.Join(folder, "signoff.yaml")
	r.must(os.WriteFile(path, content, 0o600))
	return path
}

// specialists are the agents below the root of a tree: the lead delegates the root's task, and the worker does it.
var specialists = object{
	"lead": object{"source": object{"type": "internal", "model": "m"},
		"capabilities": object{"delegate": "allow", "execute": "ask", "write": "ask"}, "delegation": object{"profiles": []string{"worker"}}},
	"worker": object{"source": object{"type": "internal", "model": "m"}, "capabilities": object{"execute": "ask", "write": "ask"}},
}

// mayDelegate are the fields of a request that may delegate to them.
var mayDelegate = object{"capabilities": object{"delegate": "allow"}, "delegation": object{
	"profiles": []string{"lead", "worker"}, "ceiling": object{"capabilities": object{"delegate": "allow", "execute": "ask", "write": "ask"}},
}}

func (s *scenarios) play(a *harness.Answer, conversation []message) {
	name, key, results := newest(conversation)
	if play, known := s.all[name]; known {
		play(a, key, results)
		return
	}
	play(a, conversation)
}

// newest finds the last prompt that names a scenario, and how many results of tools came after it.
func newest(conversation []message) (name, key string, results int) {
	for _, m := range conversation {
		if m.Role == "tool" {
			results++
		}
		_, said, found := strings.Cut(m.Content, "scenario ")
		if words := strings.Fields(said); m.Role == "user" && found && len(words) >= 2 {
			name, key, results = words[0], words[1], 0
		}
	}
	return name, key, results
}

// reference is what the sweep of the failpoints goes through: each scenario is a use of the server that [model] makes none of.
var reference = map[string]scenario{
	"talk":   once("", nil),
	"write":  once("write", func(key string) object { return object{"path": key + ".txt", "content": key + "\n"} }),
	"blocks": once("submit_blocks", func(string) object { return object{"blocks": []object{{"type": "paragraph", "props": object{}}}} }),
	"client": once("ring_bell", func(string) object { return object{"times": 2} }),
	"late":   once("bash", func(key string) object { return object{"command": "echo late " + key} }),
	"tree":   handsOn("lead", "team"),
	"team":   handsOn("worker", "late"),
	"twice": func(a *harness.Answer, key string, results int) {
		if results < 2 {
			a.Want("bash", object{"command": "echo twice " + key})
			return
		}
		farewell(a, key)
	},
}

// handsOn is a scenario whose call delegates another scenario to a specialist.
func handsOn(profile, next string) scenario {
	return once("delegate", func(key string) object {
		return object{"profile": profile, "prompt": "scenario " + next + " " + key + "-" + next, "write": true}
	})
}

// once is a scenario with one call, or none, and a few words before and after it.
func once(tool string, arguments func(key string) object) scenario {
	return func(a *harness.Answer, key string, results int) {
		speak(a, plan{Key: key, Pieces: 3, Delay: 10 * time.Millisecond}, results)
		if tool != "" && results == 0 {
			a.Want(tool, arguments(key))
			return
		}
		farewell(a, key)
	}
}
