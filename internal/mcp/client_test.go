package mcp

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"signoff/internal/domain"
)

// programs starts servers inside the test: each program is a goroutine at the other end of two pipes.
type programs struct {
	run     func(streams io.ReadWriteCloser) // the program; it ends when streams are closed
	lingers time.Duration                    // between the end of its streams and its own

	mu      sync.Mutex
	started int
}

func (p *programs) Start(context.Context, string, Server, Use) (Program, error) {
	p.mu.Lock()
	p.started++
	p.mu.Unlock()
	ours, theirs := net.Pipe()
	running := &program{Conn: ours, done: make(chan struct{})}
	go func() {
		defer close(running.done)
		p.run(theirs)
		theirs.Close()
		time.Sleep(p.lingers)
	}()
	return running, nil
}

func (p *programs) starts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.started
}

type program struct {
	net.Conn
	done chan struct{}
}

func (p *program) Close() error {
	p.Conn.Close()
	<-p.done
	return nil
}

func (p *program) Done() <-chan struct{} { return p.done }
func (p *program) Failure() error {
	return domain.Errorf(domain.CodeAgentUnavailable, "The program of the test has ended.")
}

// revisions are the two generations of the protocol that a server is tested with.
var revisions = []string{revisionStateless, revisionLegacy}

// withTools is a program that serves the tools of an SDK server, in one revision of the protocol.
func withTools(revision string, add func(*sdk.Server)) *programs {
	return &programs{run: func(streams io.ReadWriteCloser) {
		server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1.2.3"}, nil)
		if revision == revisionLegacy {
			server.AddReceivingMiddleware(withoutDiscovery)
		}
		add(server)
		_ = server.Run(context.Background(), &sdk.IOTransport{Reader: streams, Writer: streams})
	}}
}

func withoutDiscovery(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, request sdk.Request) (sdk.Result, error) {
		if method == "server/discover" {
			return nil, sdk.ErrConnectionClosed
		}
		return next(ctx, method, request)
	}
}

// opened is a session with one server, named s.
func opened(t testing.TB, server Server, started Programs) *Session {
	t.Helper()
	m := NewManager(ManagerConfig{Catalog: catalogOf(t, map[string]Server{"s": server}, nil), Programs: started})
	return openedBy(t, m)
}

func openedBy(t testing.TB, m *Manager) *Session {
	t.Helper()
	session, err := m.Open(Use{Tenant: "t", Execution: "e"}, []string{"s"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// call calls a tool as it is listed now.
func call(t testing.TB, session *Session, name, arguments string) (Answer, error) {
	t.Helper()
	return session.Call(t.Context(), callOf(t, session, name, arguments))
}

func callOf(t testing.TB, session *Session, name, arguments string) Call {
	t.Helper()
	tools, err := session.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		if tool.Tool == name {
			return Call{Server: tool.Server, Tool: name, Definition: tool.Definition, Arguments: json.RawMessage(arguments)}
		}
	}
	t.Fatalf("there is no tool %s among %v", name, tools)
	return Call{}
}

var stdioServer = Server{Command: "server"}

func addEcho(s *sdk.Server) {
	sdk.AddTool(s, &sdk.Tool{Name: "echo", Description: "Says it again."}, func(_ context.Context, _ *sdk.CallToolRequest, in struct {
		Text string `json:"text"`
	}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "you said " + in.Text}}}, nil, nil
	})
}

func TestACallInBothRevisionsOverEachTransport(t *testing.T) {
	for _, revision := range revisions {
		for name, open := range map[string]func(t *testing.T, add func(*sdk.Server)) *Session{
			"stdio": func(t *testing.T, add func(*sdk.Server)) *Session {
				return opened(t, stdioServer, withTools(revision, add))
			},
			"http": func(t *testing.T, add func(*sdk.Server)) *Session {
				return opened(t, Server{URL: overHTTP(t, revision, add)}, nil)
			},
			"sse": func(t *testing.T, add func(*sdk.Server)) *Session {
				server := sdkServer(revision, add)
				front := httptest.NewServer(sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return server }, nil))
				t.Cleanup(front.Close)
				return opened(t, Server{URL: front.URL, Transport: TransportSSE}, nil)
			},
		} {
			if name == "sse" && revision == revisionStateless {
				continue // no server speaks it over this transport
			}
			t.Run(revision+" "+name, func(t *testing.T) {
				session := open(t, addEcho)
				answer, err := call(t, session, "echo", `{"text":"hi"}`)
				if err != nil || answer.Result.Text != "you said hi" {
					t.Fatalf("%+v, %v", answer, err)
				}
				status := session.manager.Status("t")[0]
				if status.Protocol != revision || status.Version != "1.2.3" || status.Status != ServerAvailable || status.Transport != name ||
					status.Deprecated != (name == "sse") || len(status.Tools) != 1 || status.Connected != 1 {
					t.Errorf("%+v", status)
				}
				session.Close()
				if status := session.manager.Status("t")[0]; status.Connected != 0 {
					t.Errorf("%d are connected", status.Connected)
				}
			})
		}
	}
}

func sdkServer(revision string, add func(*sdk.Server)) *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1.2.3"}, nil)
	if revision == revisionLegacy {
		server.AddReceivingMiddleware(withoutDiscovery)
	}
	add(server)
	return server
}

// overHTTP serves tools, and returns the address.
func overHTTP(t testing.TB, revision string, add func(*sdk.Server)) string {
	server := sdkServer(revision, add)
	front := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server },
		&sdk.StreamableHTTPOptions{Stateless: revision == revisionStateless}))
	t.Cleanup(front.Close)
	return strings.Replace(front.URL, "127.0.0.1", "localhost", 1)
}
