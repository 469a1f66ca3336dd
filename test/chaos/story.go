package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// stories is a model server that plays more than the commands of [model], to which it leaves whatever is none of its own. A prompt
// `story NAME KEY` says which one. As there, an answer depends on the conversation alone.
type stories struct {
	model  model
	server *httptest.Server
	tell   map[string]story
}

// story is what the model does after so many results of tools.
type story func(s speaker, key string, results int)

func newStories(tell map[string]story) *stories {
	s := &stories{tell: tell}
	s.server = httptest.NewServer(s)
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

func (s *stories) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the server that asked is dead
	}
	var request struct{ Messages []message }
	_ = json.Unmarshal(body, &request) // a GET has none
	name, key, results := newest(request.Messages)
	tell, known := s.tell[name]
	if !known {
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.model.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	tell(speaker{w: w, gone: r.Context().Done()}, key, results)
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
	"twice": func(s speaker, key string, results int) {
		if results < 2 {
			s.call("bash", object{"command": "echo twice " + key})
			s.end("tool_calls")
			return
		}
		s.farewell(key)
	},
}

// once is a story with one call, or none, and a few words before and after it.
func once(tool string, arguments func(key string) object) story {
	return func(s speaker, key string, results int) {
		s.pieces(plan{Key: key, Pieces: 3, Delay: 10 * time.Millisecond}, results)
		if tool != "" && results == 0 {
			s.call(tool, arguments(key))
			s.end("tool_calls")
			return
		}
		s.farewell(key)
	}
}

func (s speaker) farewell(key string) {
	s.say("That was " + key + ".")
	s.end("stop")
}
