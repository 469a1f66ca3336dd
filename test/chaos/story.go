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

// stories is a model server that plays more than the commands of [model], to which it leaves whatever is none of its own. A prompt
// `story NAME KEY` says which one. As there, an answer depends on the conversation alone.
type stories struct {
	server *httptest.Server
	tell   map[string]story
}

// story is what the model does after so many results of tools.
type story func(a *harness.Answer, key string, results int)

func newStories(tell map[string]story) *stories {
	s := &stories{tell: tell}
	s.server = httptest.NewServer(harness.Chat(s.play))
	return s
}

func (s *stories) close() {
	s.server.CloseClientConnections()
	s.server.Close()
}

// config writes a configuration with this model and these agents into a folder, and returns its path.
func (s *stories) config(r *run, folder string, agents object) string {
	content, err := json.Marshal(object{"agents": agents, "models": object{"default": "m", "m": object{
		"provider": "openai", "model": "m", "baseUrl": s.server.URL + "/v1",
	}}})
	r.must(err)
	path := filepath.Join(folder, "signoff.yaml")
	r.must(os.WriteFile(path, content, 0o600))
	return path
}

func (s *stories) play(a *harness.Answer, conversation []message) {
	name, key, results := newest(conversation)
	if tell, known := s.tell[name]; known {
		tell(a, key, results)
		return
	}
	play(a, conversation)
}

// newest finds the last prompt that names a story, and how many results of tools came after it.
func newest(conversation []message) (name, key string, results int) {
	for _, m := range conversation {
		if m.Role == "tool" {
			results++
		}
		_, said, found := strings.Cut(m.Content, "story ")
		if words := strings.Fields(said); m.Role == "user" && found && len(words) >= 2 {
			name, key, results = words[0], words[1], 0
		}
	}
	return name, key, results
}

// reference is what the sweep of the failpoints goes through: each story is a use of the server that [model] makes none of.
var reference = map[string]story{
	"talk":   once("", nil),
	"write":  once("write", func(key string) object { return object{"path": key + ".txt", "content": key + "\n"} }),
	"blocks": once("submit_blocks", func(string) object { return object{"blocks": []object{{"type": "paragraph", "props": object{}}}} }),
	"client": once("ring_bell", func(string) object { return object{"times": 2} }),
	"late":   once("bash", func(key string) object { return object{"command": "echo late " + key} }),
	"twice": func(a *harness.Answer, key string, results int) {
		if results < 2 {
			a.Want("bash", object{"command": "echo twice " + key})
			return
		}
		farewell(a, key)
	},
}

// once is a story with one call, or none, and a few words before and after it.
func once(tool string, arguments func(key string) object) story {
	return func(a *harness.Answer, key string, results int) {
		speak(a, plan{Key: key, Pieces: 3, Delay: 10 * time.Millisecond}, results)
		if tool != "" && results == 0 {
			a.Want(tool, arguments(key))
			return
		}
		farewell(a, key)
	}
}
