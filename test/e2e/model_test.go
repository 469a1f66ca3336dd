package e2e

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"signoff/test/harness"
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

type (
	script  = harness.Script
	message = harness.Message
	answer  = harness.Answer
)

func newModel(t *testing.T, s script) *model {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	return newModelAt(t, listener, s)
}

// newModelAt is a model that listens elsewhere than on this machine's loopback.
func newModelAt(t *testing.T, listener net.Listener, s script) *model {
	t.Helper()
	m := &model{script: s}
	m.server = serveAt(t, listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			m.requests.Add(1)
		}
		var more []spelling
		if own := m.secrets.Load(); own != nil {
			more = *own
		}
		r.Body = seen{io.TeeReader(r.Body, look("what the model was sent", more...)), r.Body}
		harness.Chat(m.script).ServeHTTP(w, r)
	}))
	return m
}

// serveAt serves until the test is over.
func serveAt(t *testing.T, listener net.Listener, handler http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return server
}

func (m *model) url() string { return m.server.URL + "/v1" }

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
	return func(a *answer, _ []message) { a.Want(tool, arguments) }
}

// finally is a step that says something and ends the turn.
func finally(text string) script {
	return func(a *answer, _ []message) { a.Say(text) }
}

// once asks for one command and then says what it was told.
func once(command string) script {
	return func(a *answer, conversation []message) {
		if last(conversation).Role != "tool" {
			a.Think("I should look.")
			a.Say("Let me ", "look.")
			a.Bash(command)
			return
		}
		a.Say("told: ", last(conversation).Content)
	}
}
