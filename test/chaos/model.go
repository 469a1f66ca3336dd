package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// model is a scripted server of OpenAI's chat completions. Its answers are a pure function of the conversation, so a turn that
// another server takes up goes on as it would have here.
//
// What it is to do stands in the prompt: `chaos <key> calls=3 pieces=10 delay=5 ms=80` asks for three commands, one after the
// other, each after ten pieces of text with 5 ms between them, each running for 80 ms.
type model struct {
	server   *httptest.Server
	requests atomic.Int64
	away     atomic.Pointer[absent] // nil: it serves; see provider.go
}

func newModel() *model {
	m := &model{}
	m.server = httptest.NewServer(m)
	return m
}

func (m *model) url() string { return m.server.URL + "/v1" }

func (m *model) close() {
	m.server.CloseClientConnections()
	m.server.Close()
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		fmt.Fprint(w, `{"object":"list","data":[{"id":"m","object":"model"}]}`)
		return
	}
	m.requests.Add(1)
	if a := m.away.Load(); a != nil {
		a.turnAway(w)
		return
	}
	var request struct {
		Messages []message `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	s := speaker{w: w, gone: r.Context().Done()}
	plan, results := planOf(request.Messages)
	s.pieces(plan, results)
	if results < plan.Calls {
		s.call("bash", object{"command": plan.command(results+1, "shown")})
		s.end("tool_calls")
		return
	}
	s.say("That was " + plan.Key + ".")
	s.end("stop")
}

// plan is what one execution is to do.
type plan struct {
	Key    string
	Calls  int
	Pieces int
	Delay  time.Duration // between two pieces
	Run    time.Duration // of a command
}

func (p plan) prompt() string {
	return fmt.Sprintf("chaos %s calls=%d pieces=%d delay=%d ms=%d", p.Key, p.Calls, p.Pieces, p.Delay.Milliseconds(), p.Run.Milliseconds())
}

// command is what a call runs. What an editor writes in its place has another tag.
func (p plan) command(call int, tag string) string {
	return fmt.Sprintf("./%s %s %d %s %d", effectName, p.Key, call, tag, p.Run.Milliseconds())
}

// planOf reads the plan out of a conversation, and how many calls have got their result.
func planOf(conversation []message) (p plan, results int) {
	for _, m := range conversation {
		if m.Role == "tool" {
			results++
		}
		_, said, found := strings.Cut(m.Content, "chaos ")
		if m.Role != "user" || !found {
			continue
		}
		words := strings.Fields(said)
		p.Key = words[0]
		for _, word := range words[1:] {
			name, value, _ := strings.Cut(word, "=")
			n, _ := strconv.Atoi(value)
			switch name {
			case "calls":
				p.Calls = n
			case "pieces":
				p.Pieces = n
			case "delay":
				p.Delay = time.Duration(n) * time.Millisecond
			case "ms":
				p.Run = time.Duration(n) * time.Millisecond
			}
		}
	}
	return p, results
}

// speaker streams one answer.
type speaker struct {
	w    http.ResponseWriter
	gone <-chan struct{}
}

func (s speaker) chunk(delta object, finish any) {
	encoded, _ := json.Marshal(object{
		"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
		"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}},
	})
	fmt.Fprintf(s.w, "data: %s\n\n", encoded)
	if flusher, ok := s.w.(http.Flusher); ok {
		flusher.Flush()
	}
}

func (s speaker) say(text string) { s.chunk(object{"role": "assistant", "content": text}, nil) }

func (s speaker) pieces(p plan, round int) {
	for i := range p.Pieces {
		s.say(fmt.Sprintf("piece %d of round %d of %s. ", i, round, p.Key))
		select {
		case <-s.gone:
			return
		case <-time.After(p.Delay):
		}
	}
}

func (s speaker) call(tool string, arguments object) {
	encoded, _ := json.Marshal(arguments)
	s.chunk(object{"tool_calls": []object{{
		"index": 0, "id": "provider-0", "type": "function", "function": object{"name": tool, "arguments": string(encoded)},
	}}}, nil)
}

func (s speaker) end(finish string) {
	s.chunk(object{}, finish)
	fmt.Fprint(s.w, `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],`+
		`"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}}`+"\n\ndata: [DONE]\n\n")
}
