package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
)

// modern ends the name of a behaviour that speaks the revision 2026-07-28.
const modern = "-2026"

// object is a JSON object.
type object = map[string]any

// message is a message of the client.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string `json:"name"`
		Arguments struct {
			Key string `json:"key"`
		} `json:"arguments"`
		Meta struct {
			ProgressToken json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
		InputResponses json.RawMessage `json:"inputResponses"`
		RequestState   string          `json:"requestState"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
}

// peer is the way back to the client.
type peer struct {
	write func(raw string, ends bool) // ends: the message is whole
	die   func()                      // of the process, or of the connection
	gone  <-chan struct{}             // closed when the client has hung up; nil: nobody knows
}

func (p *peer) send(message object) {
	message["jsonrpc"] = "2.0"
	encoded, err := json.Marshal(message)
	if err != nil {
		panic(err) // unreachable: behaviours send JSON
	}
	p.write(string(encoded), true)
}

// server is a behaviour with its state.
type server struct {
	behaviour
	name    string
	modern  bool
	lists   atomic.Int64 // requests for the list of tools
	calls   atomic.Int64
	asked   atomic.Int64
	answers sync.Map // id of a request of ours → chan json.RawMessage
}

func newServer(full, behaviour string) *server {
	b := known[behaviour]
	if b == nil {
		fmt.Fprintf(os.Stderr, "there is no behaviour %q\n", behaviour)
		os.Exit(2)
	}
	return &server{behaviour: *b, name: full, modern: strings.HasSuffix(full, modern)}
}

// take does what the behaviour wants with a message, and otherwise what the protocol wants.
func (s *server) take(p *peer, m message) {
	if m.Method == "" {
		if waits, is := s.answers.LoadAndDelete(string(m.ID)); is {
			waits.(chan json.RawMessage) <- m.Result
		}
		return
	}
	if len(m.ID) == 0 {
		return // a notification
	}
	switch {
	case s.on[m.Method] != nil:
		s.on[m.Method](s, p, m)
	case m.Method == "server/discover" && s.modern:
		s.result(p, m, object{"supportedVersions": []string{"2026-07-28"}, "capabilities": object{"tools": object{}}, "serverInfo": s.info()})
	case m.Method == "initialize" && !s.modern:
		s.result(p, m, object{"protocolVersion": "2025-11-25", "capabilities": object{"tools": object{"listChanged": true}}, "serverInfo": s.info()})
	case m.Method == "tools/list":
		s.result(p, m, object{"tools": s.offers(s.lists.Add(1))})
	case m.Method == "tools/call":
		s.calls.Add(1)
		if s.call != nil {
			s.call(s, p, m)
			return
		}
		s.effect(m)
		s.text(p, m, "done "+m.Params.Arguments.Key)
	case m.Method == "ping":
		s.result(p, m, object{})
	default:
		p.send(object{"id": m.ID, "error": object{"code": -32601, "message": "Method not found"}})
	}
}

func (s *server) info() object { return object{"name": s.name, "version": "1.0.0"} }

func (s *server) offers(list int64) []object {
	if s.tools != nil {
		return s.tools(s, list)
	}
	return []object{touch("Touches something.")}
}

// touch is the tool that all behaviours have.
func touch(description string) object {
	return object{"name": "touch", "description": description, "inputSchema": object{
		"type": "object", "properties": object{"key": object{"type": "string"}}, "required": []string{"key"},
	}}
}

func (s *server) result(p *peer, m message, result object) {
	if s.modern {
		if _, set := result["resultType"]; !set {
			result["resultType"] = "complete"
		}
		if m.Method != "tools/call" {
			result["ttlMs"], result["cacheScope"] = 0, "private"
		}
	}
	p.send(object{"id": m.ID, "result": result})
}

func (s *server) text(p *peer, m message, text string) {
	s.result(p, m, object{"content": []object{{"type": "text", "text": text}}})
}

// ask sends a request to the client and waits for its result; nil: the client refuses it, or is gone.
func (s *server) ask(p *peer, method string, params object) json.RawMessage {
	id := fmt.Sprintf("%q", fmt.Sprintf("q%d-%d", os.Getpid(), s.asked.Add(1)))
	answer := make(chan json.RawMessage, 1)
	s.answers.Store(id, answer)
	p.send(object{"id": json.RawMessage(id), "method": method, "params": params})
	select {
	case result := <-answer:
		return result
	case <-p.gone:
		return nil
	}
}

// effect is what a tool does to the world.
func (s *server) effect(m message) { s.write(m.Params.Arguments.Key) }

// write appends a line to the ledger. One write of a short line is whole, also where several processes append.
func (s *server) write(line string) {
	file, err := os.OpenFile(os.Getenv("LEDGER"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // the test that starts it names the file
	if err == nil {
		_, err = file.WriteString(line + "\n")
		_ = file.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the ledger:", err)
		os.Exit(4) // a server that cannot count is no witness
	}
}
