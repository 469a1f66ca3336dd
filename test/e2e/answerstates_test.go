package e2e

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/llm/provider/providertest"
)

// vendorAt is a vendor's server that is as strict as the real one, and stricter: see [providertest.Mock].
type vendorAt struct {
	*providertest.Mock
	address string
}

func (v vendorAt) url() string { return v.address + "/v1" }

func newVendor(t *testing.T, mock *providertest.Mock) vendorAt {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	server := serveAt(t, listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		response, err := mock.RoundTrip(r)
		if err != nil {
			t.Error(err)
			return
		}
		defer response.Body.Close()
		maps.Copy(w.Header(), response.Header)
		w.WriteHeader(response.StatusCode)
		_, _ = io.Copy(w, response.Body) // who was killed does not read it
	}))
	return vendorAt{mock, server.URL}
}

// pendingOf waits until n questions are open, and returns those.
func (c client) pendingOf(id string, n int) []approval {
	c.t.Helper()
	return slices.DeleteFunc(c.asked(id, n), func(a approval) bool { return a.Status != "pending" })
}

// TestStatesOfAnswersOverTenTurns, with parallel calls: the server is killed in each turn, parks between call and result in every third, and another
// vendor stands in for the first in some. Each gets the state of all its answers back, as it was, and nobody else ever sees it.
func TestStatesOfAnswersOverTenTurns(t *testing.T) {
	t.Parallel()
	for _, pair := range []struct {
		on            func(*testing.T, func(*testing.T, engine))
		first, second providertest.MockDialect
	}{
		{onSQLite, providertest.MockGemini, providertest.MockMessages},
		{onPostgres, providertest.MockResponses, providertest.MockKimi},
	} {
		t.Run(pair.first.Name+" and "+pair.second.Name, func(t *testing.T) {
			t.Parallel()
			pair.on(t, func(t *testing.T, e engine) {
				away := []int{11, 13, 14, 19} // within the turns 4, 5 and 8, and from the beginning of turn 6
				first := newVendor(t, &providertest.Mock{Dialect: pair.first, Model: "m-a", Remembers: true,
					Away: func(request int) bool { return slices.Contains(away, request) }})
				second := newVendor(t, &providertest.Mock{Dialect: pair.second, Model: "m-b", Remembers: true})
				s := newServer(t, e, first, parksSoon)
				models := object{"default": "a"}
				for name, v := range map[string]vendorAt{"a": first, "b": second} {
					models[name] = entry(v, object{"provider": v.Dialect.Name, "model": v.Model})
					if v.Dialect.Name == "anthropic" {
						maps.Copy(models[name].(object), object{"thinkingTokens": 2000})
					}
				}
				s.models(models)
				s.start()
				id := s.tenTurns()
				for name, v := range map[string]vendorAt{"the first": first, "the second": second} {
					if refusals := v.Refusals(); len(refusals) > 0 {
						t.Errorf("%s refused: %s", name, strings.Join(refusals, "; "))
					}
				}
				if a, b := len(first.Bodies()), len(second.Bodies()); a+b != 30 || b < 6 {
					t.Errorf("asked %d and %d times", a, b)
				}
				s.sound(id)
				s.withoutStates(id)
			})
		})
	}
}

// tenTurns has an execution of ten turns of three answers each: two calls, one call, and a text.
func (s *server) tenTurns() (id string) {
	s.t.Helper()
	source := object{"type": "internal", "model": "a", "fallbacks": []string{"b"}}
	for turn := range 10 {
		if turn == 0 {
			id = s.create(object{"source": source, "keepOpen": true, "prompt": "Turn 0."}).ID
		} else {
			want[object](s.client, http.StatusAccepted, "POST", "/executions/"+id+"/prompts", object{"prompt": fmt.Sprintf("Turn %d.", turn)})
		}
		both := s.pendingOf(id, 2)
		if turn%2 == 1 { // one of two parallel calls has its result
			s.decide(both[0])
			both = both[1:]
			s.eventually("its result", func() bool { return s.completed(id) == 3*turn+1 })
		}
		s.kill()
		s.start()
		if turn%3 == 0 {
			s.deserted()
		}
		for _, a := range both {
			s.decide(a)
		}
		s.decide(s.pendingOf(id, 1)[0])
		s.eventually("the end of the turn", func() bool { e := s.get(id); return e.Turn == turn+1 && e.Status == string(domain.StatusIdle) })
	}
	return id
}

// completed counts the calls that have their result.
func (s *server) completed(id string) (n int) {
	s.t.Helper()
	for _, event := range s.page(id) {
		if event.Type == string(domain.ToolCallCompletedType) {
			n++
		}
	}
	return n
}

// withoutStates holds all that is shown of an execution against what only the vendors may see: signatures, and their ids of calls.
func (s *server) withoutStates(id string) {
	s.t.Helper()
	for _, path := range []string{"", "/events", "/items", "/approvals", "/export", "/debug"} {
		response, shown := s.do("GET", "/executions/"+id+path, nil, headers{"Accept": "application/json, application/x-ndjson"})
		if path != "/debug" && response.StatusCode != http.StatusOK {
			s.t.Errorf("%s: %s %.300s", path, response.Status, shown)
		}
		for _, private := range []string{"sig+m-", "own_m-"} {
			if strings.Contains(string(shown), private) {
				s.t.Errorf("%q is in %s", private, path)
			}
		}
	}
}
