package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"signoff/internal/domain"
)

// answering serves a script over HTTP. instead may answer a request in another way.
func answering(t testing.TB, s *script, instead func(w http.ResponseWriter, r *http.Request, method, id string) bool) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var message struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &message)
		if instead != nil && instead(w, r, message.Method, string(message.ID)) {
			return
		}
		if r.Method != http.MethodPost {
			http.Error(w, "no", http.StatusMethodNotAllowed)
			return
		}
		result := s.answer(message.Method, message.Params)
		switch {
		case message.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		case result == failing:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, message.ID)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, message.ID, result)
		}
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server
}

// localhost is the address of a test server under the name of the machine.
func localhost(server *httptest.Server) string {
	return strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
}

// TestNoLayerSendsACallTwice has each way in which HTTP fails after a request was sent, and counts.
func TestNoLayerSendsACallTwice(t *testing.T) {
	hangUp := func(w http.ResponseWriter) {
		connection, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = connection.(*net.TCPConn).SetLinger(0)
			connection.Close()
		}
	}
	status := func(code int) func(http.ResponseWriter, string) {
		return func(w http.ResponseWriter, _ string) { http.Error(w, "sorry", code) }
	}
	events := func(text string) func(http.ResponseWriter, string) {
		return func(w http.ResponseWriter, id string) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, strings.ReplaceAll(text, "ID", id))
		}
	}
	object := func(text string) func(http.ResponseWriter, string) {
		return func(w http.ResponseWriter, id string) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, strings.ReplaceAll(text, "ID", id))
		}
	}
	for name, row := range map[string]struct {
		answer func(w http.ResponseWriter, id string)
		want   domain.Code
	}{
		"the connection breaks": {func(w http.ResponseWriter, _ string) { hangUp(w) }, domain.CodeOutcomeUnknown},
		"500":                   {status(500), domain.CodeOutcomeUnknown},
		"502":                   {status(502), domain.CodeOutcomeUnknown},
		"503":                   {status(503), domain.CodeOutcomeUnknown},
		"400":                   {status(400), domain.CodeToolFailed},
		"401":                   {status(401), domain.CodeToolFailed},
		"404":                   {status(404), domain.CodeToolFailed},
		"429":                   {status(429), domain.CodeToolFailed},
		"an error of JSON-RPC with 400": {func(w http.ResponseWriter, id string) {
			w.WriteHeader(400)
			object(`{"jsonrpc":"2.0","id":ID,"error":{"code":1,"message":"m"}}`)(w, id)
		}, domain.CodeToolFailed},
		"an error without an id": {func(w http.ResponseWriter, id string) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(400)
			object(`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`)(w, id)
		}, domain.CodeToolFailed},
		"an empty answer": {object(``), domain.CodeOutcomeUnknown},
		"garbage":         {object(`{"jsonrpc":`), domain.CodeOutcomeUnknown},
		"another type": {func(w http.ResponseWriter, _ string) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<p>")
		}, domain.CodeOutcomeUnknown},
		"the answer to another request":      {object(`{"jsonrpc":"2.0","id":99999,"result":{}}`), domain.CodeOutcomeUnknown},
		"a stream that ends":                 {events("event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n"), domain.CodeOutcomeUnknown},
		"a stream with garbage":              {events("data: {\n\n"), domain.CodeOutcomeUnknown},
		"a resumable stream that ends":       {events("id: 1\nretry: 1\ndata:\n\n"), domain.CodeOutcomeUnknown},
		"an answer that is too large":        {object(`{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 20<<20) + `"}]}}`), domain.CodeToolFailed},
		"an event that is too large":         {events(`data: {"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 20<<20) + "\"}]}}\n\n"), domain.CodeToolFailed},
		"events without an end":              {events(strings.Repeat("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"progress\":1,\"message\":\""+strings.Repeat("x", 100<<10)+"\"}}\n\n", 300)), domain.CodeToolFailed},
		"silence":                            {func(http.ResponseWriter, string) { time.Sleep(1500 * time.Millisecond) }, domain.CodeOutcomeUnknown},
		"a stream with a large exact number": {events("data: {\"jsonrpc\":\"2.0\",\"id\":ID,\ndata: \"result\":{\"structuredContent\":{\"id\":9007199254740993}}}\r\n\r\n"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			calls := 0
			s := &script{}
			server := answering(t, s, func(w http.ResponseWriter, r *http.Request, method, id string) bool {
				if method != "tools/call" {
					return false
				}
				mu.Lock()
				calls++
				mu.Unlock()
				row.answer(w, id)
				return true
			})
			timeout := time.Minute
			if name == "silence" || name == "the answer to another request" {
				timeout = time.Second
			}
			session := opened(t, Server{URL: server.URL, CallTimeout: timeout}, nil)
			answer, err := session.Call(t.Context(), theCall(t))
			if code := domain.CodeOf(err); err != nil && code != row.want || err == nil && row.want != "" {
				t.Errorf("%.300v", err)
			}
			if err == nil && !strings.Contains(string(answer.Result.Structured), "9007199254740993") {
				t.Errorf("%s", answer.Result.Structured)
			}
			session.Close()
			mu.Lock()
			defer mu.Unlock()
			if calls != 1 {
				t.Errorf("the call was sent %d times", calls)
			}
		})
	}
}

// TestACutStreamGoesOn resumes the stream of a call where it was cut. The call is not sent again.
func TestACutStreamGoesOn(t *testing.T) {
	calls, resumed, id := 0, "", ""
	server := answering(t, &script{revision: revisionLegacy}, func(w http.ResponseWriter, r *http.Request, method, asked string) bool {
		switch {
		case method == "tools/call":
			calls, id = calls+1, asked
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "id: 7\nretry: 1\ndata:\n\n")
		case r.Header.Get("Last-Event-ID") != "":
			resumed = r.Header.Get("Last-Event-ID")
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "id: 8\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"late\"}]}}\n\n", id)
		default:
			return false
		}
		return true
	})
	session := opened(t, Server{URL: server.URL}, nil)
	answer, err := session.Call(t.Context(), theCall(t))
	if err != nil || answer.Result.Text != "late" || calls != 1 || resumed != "7" {
		t.Errorf("%+v, %v; %d calls, resumed at %q", answer, err, calls, resumed)
	}
}

// TestACallToNowhere has the server vanish between the list and the call: the call did not begin.
func TestACallToNowhere(t *testing.T) {
	s := &script{}
	var server *httptest.Server
	server = answering(t, s, func(w http.ResponseWriter, _ *http.Request, method, _ string) bool {
		w.Header().Set("Connection", "close")
		if method == "tools/list" {
			server.Listener.Close()
		}
		return false
	})
	session := opened(t, Server{URL: server.URL}, nil)
	if _, err := session.Call(t.Context(), theCall(t)); domain.CodeOf(err) != domain.CodeNotStarted {
		t.Error(err)
	}
	_, err := session.Call(t.Context(), theCall(t))
	if domain.CodeOf(err) != domain.CodeMCPServerUnavailable {
		t.Error(err)
	}
	if status := session.manager.Status("t")[0]; status.Status != ServerFailed || !strings.Contains(status.LastError, "refuses the connection") || strings.Contains(status.LastError, "127.0.0.1") {
		t.Errorf("%+v", status)
	}
}

// TestTheHeadersOfTheOperator go to the server, and not where it sends us.
func TestTheHeadersOfTheOperator(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]http.Header{}
	note := func(where string, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen[where] = r.Header.Clone()
	}
	s := &script{}
	elsewhere := answering(t, s, func(_ http.ResponseWriter, r *http.Request, _, _ string) bool { note("elsewhere", r); return false })
	server := answering(t, s, func(w http.ResponseWriter, r *http.Request, method, _ string) bool {
		note("server", r)
		if method != "tools/list" {
			return false
		}
		http.Redirect(w, r, localhost(elsewhere)+"/?token=x", http.StatusTemporaryRedirect)
		return true
	})
	catalog := catalogOf(t, map[string]Server{"s": {URL: localhost(server), HeadersEnv: map[string]string{"X-Key": "KEY", "Authorization": "KEY"}}}, map[string]string{"KEY": "s3cret"})
	session := openedBy(t, NewManager(ManagerConfig{Catalog: catalog}))
	if _, err := session.Call(t.Context(), theCall(t)); err != nil {
		t.Fatal(err)
	}
	if seen["server"].Get("X-Key") != "s3cret" || seen["server"].Get("Authorization") != "s3cret" {
		t.Errorf("%v", seen["server"])
	}
	if seen["elsewhere"] == nil || strings.Contains(fmt.Sprint(seen["elsewhere"]), "s3cret") || seen["elsewhere"].Get("Referer") != "" {
		t.Errorf("%v", seen["elsewhere"])
	}
}

// TestACallIsNotRedirectedToAnotherHost: nobody has approved that another host gets its arguments. On its own host the server may move it.
func TestACallIsNotRedirectedToAnotherHost(t *testing.T) {
	for name, own := range map[string]bool{"another host": false, "its own": true} {
		t.Run(name, func(t *testing.T) {
			s, other := &script{}, &script{}
			elsewhere := answering(t, other, nil)
			server := answering(t, s, func(w http.ResponseWriter, r *http.Request, method, _ string) bool {
				if method != "tools/call" || r.URL.Path == "/moved" {
					return false
				}
				to := localhost(elsewhere)
				if own {
					to = ""
				}
				http.Redirect(w, r, to+"/moved", http.StatusTemporaryRedirect)
				return true
			})
			_, err := call(t, opened(t, Server{URL: localhost(server)}, nil), "t", `{}`)
			if own {
				if err != nil || s.count("tools/call") != 1 {
					t.Errorf("%v, %d calls", err, s.count("tools/call"))
				}
				return
			}
			if domain.CodeOf(err) != domain.CodeToolFailed || !strings.Contains(err.Error(), "another host") || other.count("tools/call") != 0 {
				t.Errorf("%v, %d calls", err, other.count("tools/call"))
			}
		})
	}
}

// TestAForgottenSessionIsBegunAgain is a server of an older revision that was restarted. The list shows it before the call is sent.
func TestAForgottenSessionIsBegunAgain(t *testing.T) {
	var mu sync.Mutex
	current := "first"
	s := &script{revision: revisionLegacy}
	server := answering(t, s, func(w http.ResponseWriter, r *http.Request, method, _ string) bool {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Mcp-Session-Id", current)
		if got := r.Header.Get("Mcp-Session-Id"); got != "" && got != current {
			w.Header().Del("Mcp-Session-Id")
			http.Error(w, "no such session", http.StatusNotFound)
			return true
		}
		return false
	})
	session := opened(t, Server{URL: server.URL}, nil)
	for _, name := range []string{"first", "second"} {
		mu.Lock()
		current = name
		mu.Unlock()
		if _, err := session.Call(t.Context(), theCall(t)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s.count("tools/call") != 2 || s.count("initialize") != 2 {
		t.Errorf("%v", s.received)
	}
}

// TestMessagesStayAtTheirOrigin is a server of the SSE transport that names another one for the messages.
func TestMessagesStayAtTheirOrigin(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a message was sent elsewhere") }))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: endpoint\ndata: %s/messages\n\n", localhost(other))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	session := opened(t, Server{URL: localhost(server), Transport: TransportSSE, Required: true}, nil)
	if _, err := session.Tools(t.Context()); domain.CodeOf(err) != domain.CodeMCPServerUnavailable || !strings.Contains(err.Error(), "another origin") {
		t.Error(err)
	}
	session.Close()
}

// TestARequiredAddress says in words why it cannot be used.
func TestARequiredAddress(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	missing := httptest.NewServer(http.NotFoundHandler())
	defer missing.Close()
	locked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "who?", http.StatusUnauthorized) }))
	defer locked.Close()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<p>hello") }))
	defer page.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	secure.StartTLS()
	defer secure.Close()
	for address, want := range map[string]string{
		closed.URL:          "its host refuses the connection",
		missing.URL:         "it answered with HTTP status 404",
		locked.URL:          "it wants credentials (HTTP status 401)",
		page.URL:            "it does not speak the protocol",
		secure.URL:          "its certificate is not valid",
		"http://x.invalid/": "the name of its host cannot be resolved",
	} {
		session := opened(t, Server{URL: address, Required: true}, nil)
		if _, err := session.Tools(t.Context()); domain.CodeOf(err) != domain.CodeMCPServerUnavailable || !strings.Contains(domain.FailureOf(err).Message, want) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestTheEndOfACallReachesAnAddress by the end of its response.
func TestTheEndOfACallReachesAnAddress(t *testing.T) {
	for _, revision := range revisions {
		arrived, ended := make(chan struct{}), make(chan struct{})
		server := answering(t, &script{revision: revision}, func(_ http.ResponseWriter, r *http.Request, method, _ string) bool {
			if method != "tools/call" {
				return false
			}
			close(arrived)
			<-r.Context().Done()
			close(ended)
			return true
		})
		session := opened(t, Server{URL: server.URL}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-arrived; cancel() }()
		if _, err := session.Call(ctx, theCall(t)); domain.CodeOf(err) != domain.CodeOutcomeUnknown {
			t.Error(err)
		}
		<-ended
		session.Close()
	}
}

// TestAQuestionInsideACallOverHTTP comes on the stream of the call, or on the one of the session.
func TestAQuestionInsideACallOverHTTP(t *testing.T) {
	sse := func(t *testing.T) Server {
		server := sdkServer(revisionLegacy, addAsking)
		front := httptest.NewServer(sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return server }, nil))
		t.Cleanup(front.Close)
		return Server{URL: front.URL, Transport: TransportSSE}
	}
	for name, server := range map[string]func(t *testing.T) Server{
		"http": func(t *testing.T) Server { return Server{URL: overHTTP(t, revisionLegacy, addAsking)} },
		"sse":  sse,
	} {
		t.Run(name, func(t *testing.T) {
			session := opened(t, server(t), nil)
			c := callOf(t, session, "ask", `{}`)
			c.Ask = func(json.RawMessage) (domain.Answer, error) {
				return domain.Answer{Status: domain.ApprovalApproved, Content: json.RawMessage(`{"name":"Ada"}`)}, nil
			}
			if answer, err := session.Call(t.Context(), c); err != nil || answer.Result.Text != `accept {"name":"Ada"}` {
				t.Errorf("%+v, %v", answer, err)
			}
		})
	}
}

// TestAStreamOfMessagesThatEnds is the SSE transport, on which the answer comes back by another way than the call has gone.
func TestAStreamOfMessagesThatEnds(t *testing.T) {
	s := &script{revision: revisionLegacy}
	lines := make(chan string, 10)
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "event: endpoint\ndata: /messages\n\n")
			w.(http.Flusher).Flush()
			for line := range lines {
				if line == death {
					return
				}
				fmt.Fprintf(w, "data: %s\n\n", line)
				w.(http.Flusher).Flush()
			}
			return
		}
		var message struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_ = json.NewDecoder(r.Body).Decode(&message)
		w.WriteHeader(http.StatusAccepted)
		switch result := s.answer(message.Method, nil); {
		case message.ID == nil:
		case message.Method == "tools/call":
			calls++
			lines <- death
		case result == failing:
			lines <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, message.ID)
		default:
			lines <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, message.ID, result)
		}
	}))
	defer server.Close()
	session := opened(t, Server{URL: server.URL, Transport: TransportSSE}, nil)
	if _, err := session.Call(t.Context(), theCall(t)); domain.CodeOf(err) != domain.CodeOutcomeUnknown || calls != 1 {
		t.Errorf("%v, %d calls", err, calls)
	}
	session.Close()
}

// TestNothingIsLeftOfASession looks for goroutines of the client, once its session is closed.
func TestNothingIsLeftOfASession(t *testing.T) {
	left := func() (stacks []string) {
		all := make([]byte, 4<<20)
		for stack := range strings.SplitSeq(string(all[:runtime.Stack(all, true)]), "\n\n") {
			if strings.Contains(stack, "modelcontextprotocol/go-sdk") || strings.Contains(stack, "mcp/wire.") {
				stacks = append(stacks, stack)
			}
		}
		return stacks
	}
	for _, revision := range revisions {
		server := answering(t, &script{revision: revision, answers: map[string]func(json.RawMessage) string{"subscriptions/listen": says(`{}`)}}, func(w http.ResponseWriter, r *http.Request, method, _ string) bool {
			if r.Method != http.MethodGet && method != "subscriptions/listen" {
				return false
			}
			w.Header().Set("Content-Type", "text/event-stream")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return true
		})
		session := opened(t, Server{URL: server.URL}, nil)
		if _, err := session.Call(t.Context(), theCall(t)); err != nil {
			t.Error(err)
		}
		if len(left()) == 0 {
			t.Error("the test looks for the wrong goroutines")
		}
		session.Close()
		for deadline := time.Now().Add(time.Second); len(left()) > 0 && time.Now().Before(deadline); {
			runtime.Gosched()
		}
		if stacks := left(); len(stacks) > 0 {
			t.Errorf("%s: %s", revision, strings.Join(stacks, "\n\n"))
		}
	}
}
