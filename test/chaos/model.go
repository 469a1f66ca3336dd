//go:build linux

package main

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"signoff/test/harness"
)

// model is a scripted server of OpenAI's chat completions. Its answers are a pure function of the conversation, so a turn that
// another server takes up goes on as it would have here.
//
// What it is to do stands in the prompt: `chaos <key> calls=3 pieces=10 delay=5 ms=80` asks for three commands, one after the
// other, each after ten pieces of text with 5 ms between them, each running for 80 ms.
type model struct {
	server   *httptest.Server
	script   harness.Script
	requests atomic.Int64
	away     atomic.Pointer[absent] // nil: it serves; see provider.go
}

func newModel(script harness.Script) *model {
	m := &model{script: script}
	m.server = httptest.NewServer(m)
	return m
}

// goAway begins an outage: the model serves nobody. An outage that hangs up also breaks the answers under way.
func (m *model) goAway(o outage) {
	m.away.Store(&absent{outage: o, until: time.Now().Add(o.lasts)})
	if o.how == hangsUp {
		m.server.CloseClientConnections()
	}
}

// noticed reports whether a request has been turned away.
func (m *model) noticed() bool { return m.away.Load().turnedAway.Load() > 0 }

type message = harness.Message

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		m.requests.Add(1)
		if a := m.away.Load(); a != nil {
			a.turnAway(w)
			return
		}
	}
	harness.Chat(m.script).ServeHTTP(w, r)
}

// play answers by the plan of the conversation.
func play(a *harness.Answer, conversation []message) {
	plan, results := planOf(conversation)
	speak(a, plan, results)
	if results < plan.Calls {
		a.Want("bash", object{"command": plan.command(results+1, "shown")})
		return
	}
	farewell(a, plan.Key)
}

// plan is the script of one execution.
type plan struct {
	Key    string
	Calls  int
	Pieces int
	Delay  time.Duration // between two pieces
	Run    time.Duration // of a command
	Tree   *task         // it delegates: the rest is up to the task
}

func (p plan) prompt() string {
	if p.Tree != nil {
		return p.Tree.prompt()
	}
	return fmt.Sprintf("chaos %s calls=%d pieces=%d delay=%d ms=%d", p.Key, p.Calls, p.Pieces, p.Delay.Milliseconds(), p.Run.Milliseconds())
}

// request is the body that creates the execution.
func (p plan) request() object {
	body := object{"source": object{"type": "internal"}, "prompt": p.prompt(), "metadata": object{"key": p.Key}}
	if p.Tree != nil {
		maps.Copy(body, mayDelegate)
	}
	return body
}

// command is the command of a call. An edited one has another tag.
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

// lastWords end every answer of the model.
func lastWords(key string) string { return "That was " + key + "." }

// speak says the pieces of a round, until the client has gone.
func speak(a *harness.Answer, p plan, round int) {
	for i := range p.Pieces {
		a.Say(fmt.Sprintf("piece %d of round %d of %s. ", i, round, p.Key))
		select {
		case <-a.Gone:
			return
		case <-time.After(p.Delay):
		}
	}
}

func farewell(a *harness.Answer, key string) { a.Say(lastWords(key)) }
