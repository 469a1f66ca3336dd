package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
)

// model is a scripted server of OpenAI's chat completions.
type model struct {
	server   *httptest.Server
	script   script
	requests atomic.Int32
	secrets  atomic.Pointer[[]spelling] // that it must not be sent, beside those that nobody may
}

// use sets the script of a model that was made without one, before it is asked for the first time.
func (m *model) use(s script) { m.script = s }

// script answers one request of the model. The conversation is all that it knows.
type script func(a *answer, conversation []message)

type message struct {
	Role       string `json:"role"`
	Content    string `json:"content"`
	ToolCallID string `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

func newModel(t *testing.T, s script) *model {
	t.Helper()
	m := &model{script: s}
	m.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(w, `{"object":"list","data":[{"id":"m","object":"model"}]}`)
			return
		}
		m.requests.Add(1)
		var request struct {
			Messages []message `json:"messages"`
			Tools    []struct {
				Function struct{ Name string }
			} `json:"tools"`
		}
		var more []spelling
		if own := m.secrets.Load(); own != nil {
			more = *own
		}
		body := io.TeeReader(r.Body, look("what the model was sent", more...))
		if err := json.NewDecoder(body).Decode(&request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		a := &answer{w: w, gone: r.Context().Done(), finish: "stop", used: [2]int{100, 20}}
		for _, tool := range request.Tools {
			a.tools = append(a.tools, tool.Function.Name)
		}
		m.script(a, request.Messages)
		a.end()
	}))
	t.Cleanup(m.server.Close)
	return m
}

func (m *model) url() string { return m.server.URL + "/v1" }

// answer is the stream of one answer.
type answer struct {
	w      http.ResponseWriter
	gone   <-chan struct{} // the other side has hung up
	tools  []string        // that the request offers
	calls  int
	finish string
	used   [2]int // tokens in and out, as the answer tells them
	broken bool
}

// refuse answers with an error in place of a stream; nothing may have been said before.
func (a *answer) refuse(status int) {
	a.broken = true
	a.w.Header().Set("Content-Type", "application/json")
	a.w.WriteHeader(status)
	fmt.Fprint(a.w, `{"error":{"message":"not today","type":"scripted"}}`)
}

func (a *answer) chunk(delta object, finish any) {
	encoded, _ := json.Marshal(object{
		"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
		"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}},
	})
	fmt.Fprintf(a.w, "data: %s\n\n", encoded)
	a.w.(http.Flusher).Flush()
}

// say streams text.
func (a *answer) say(pieces ...string) {
	for _, piece := range pieces {
		a.chunk(object{"role": "assistant", "content": piece}, nil)
	}
}

// think streams reasoning.
func (a *answer) think(text string) { a.chunk(object{"reasoning_content": text}, nil) }

// want asks for a tool.
func (a *answer) want(tool string, arguments object) {
	encoded, _ := json.Marshal(arguments)
	a.chunk(object{"tool_calls": []object{{
		"index": a.calls, "id": "provider-" + strconv.Itoa(a.calls), "type": "function",
		"function": object{"name": tool, "arguments": string(encoded)},
	}}}, nil)
	a.calls++
	a.finish = "tool_calls"
}

// bash asks for a command.
func (a *answer) bash(command string) { a.want("bash", object{"command": command}) }

func (a *answer) end() {
	if a.broken {
		return
	}
	a.chunk(object{}, a.finish)
	fmt.Fprintf(a.w, `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],`+
		`"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`+"\n\ndata: [DONE]\n\n", a.used[0], a.used[1], a.used[0]+a.used[1])
}

// last is the newest message of a conversation.
func last(conversation []message) message { return conversation[len(conversation)-1] }

// system is what a conversation tells the model before anybody speaks.
func system(conversation []message) string {
	if conversation[0].Role == "user" {
		return ""
	}
	return conversation[0].Content
}

// inTurn plays one step in each round, in order, and the last one again and again. Further turns go on where the one
// before has ended.
func inTurn(steps ...script) script {
	return func(a *answer, conversation []message) {
		steps[min(count(conversation, "assistant"), len(steps)-1)](a, conversation)
	}
}

// calls is a step that asks for one tool.
func calls(tool string, arguments object) script {
	return func(a *answer, _ []message) { a.want(tool, arguments) }
}

// finally is a step that says something and ends the turn.
func finally(text string) script {
	return func(a *answer, _ []message) { a.say(text) }
}

// once asks for one command and then says what it was told.
func once(command string) script {
	return func(a *answer, conversation []message) {
		if last(conversation).Role != "tool" {
			a.think("I should look.")
			a.say("Let me ", "look.")
			a.bash(command)
			return
		}
		a.say("told: ", last(conversation).Content)
	}
}
