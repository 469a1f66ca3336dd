//go:build mcp && linux

package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/events/eventstest"
	"signoff/test/harness"
)

type object = harness.Object

// token is the secret of all servers. Nobody else may ever see it.
const token = "mcp-t0ken-Zq7wX2kVb9"

// patience is how long a test waits for one thing.
const patience = 2 * time.Minute

// server is Signoff over one database and one workspace. Its processes come and go.
type server struct {
	t         *testing.T
	home      string
	workspace string
	binary    string
	env       []string
	process   *harness.Process
	printed   *harness.Output // by all processes
	client    harness.Client
}

// newServer prepares a server with MCP servers and a model.
func newServer(t *testing.T, m *model, servers object, env ...string) *server {
	t.Helper()
	home := homeFolder(t)
	s := &server{t: t, home: home, workspace: filepath.Join(home, "workspace"), binary: binary, printed: &harness.Output{}}
	must(t, os.Mkdir(s.workspace, 0o755))
	s.configure(m, servers)
	s.env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TOKEN=" + token, "MODEL_KEY=k3y-of-the-model", "SIGNOFF_ADDR=127.0.0.1:0", "SIGNOFF_DATA_DIR=" + filepath.Join(home, "data"),
		"SIGNOFF_CONFIG=" + s.config(), "SIGNOFF_WORKSPACE_ROOT=" + s.workspace, "SIGNOFF_DRAIN_SECONDS=10",
	}, env...)
	t.Cleanup(func() {
		if s.process.Running() {
			s.stop()
		}
		s.hushed("the server's log", s.printed.String())
		if t.Failed() {
			said := s.printed.String()
			t.Logf("the server said:\n%s", said[max(0, len(said)-8000):])
		}
	})
	return s
}

// homeFolder is a folder outside of /tmp, from which an environment shows nothing.
func homeFolder(t *testing.T) string {
	t.Helper()
	cache := filepath.Dir(must2(npm())(t))
	home := must2(os.MkdirTemp(cache, "mcp-test-"))(t)
	t.Cleanup(func() { must(t, os.RemoveAll(home)) })
	must(t, os.Chmod(home, 0o755)) // servers run as another user
	return home
}

// replica prepares a second server over the database of the first, which has started.
func (s *server) replica(t *testing.T, env ...string) *server {
	t.Helper()
	r := *s
	r.t, r.home, r.printed, r.process = t, homeFolder(t), &harness.Output{}, nil
	r.env = append(slices.Clone(s.env), append([]string{"HOME=" + r.home, "SIGNOFF_DATA_DIR=" + filepath.Join(r.home, "data")}, env...)...)
	t.Cleanup(func() {
		if r.process.Running() {
			must(t, r.process.Kill())
		}
		r.hushed("the log of a replica", r.printed.String())
		if t.Failed() {
			said := r.printed.String()
			t.Logf("the replica said:\n%s", said[max(0, len(said)-4000):])
		}
	})
	return &r
}

func (s *server) config() string { return filepath.Join(s.home, "signoff.yaml") }

// configure writes the file of a server. JSON is YAML.
func (s *server) configure(m *model, servers object) {
	s.t.Helper()
	entry := object{"provider": "openai", "model": "m", "baseUrl": m.URL + "/v1", "apiKeyEnv": "MODEL_KEY"}
	file := object{
		"models": object{"default": "test", "test": entry}, "mcpServers": servers,
		"settings": object{"defaultCheckpoints": "off"}, // each checkpoint costs starts of git
	}
	must(s.t, os.WriteFile(s.config(), must2(json.MarshalIndent(file, "", " "))(s.t), 0o600))
}

func (s *server) start() {
	s.t.Helper()
	command := exec.Command(s.binary, "serve")
	command.Env, command.Dir, command.Stderr = s.env, s.home, s.printed
	before := len(s.printed.String())
	s.process = must2(harness.Start(command))(s.t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	must(s.t, s.process.Await(ctx, func() bool {
		s.client.Base = harness.Address(s.printed.String()[before:])
		return s.client.Base != ""
	}))
	if s.client.Token == "" {
		s.client.Token = strings.TrimSpace(string(must2(os.ReadFile(filepath.Join(s.home, "data", "token")))(s.t)))
	}
}

// stop is SIGTERM, and expects a clean end.
func (s *server) stop() {
	s.t.Helper()
	if obeyed := must2(s.process.Stop(time.Minute))(s.t); !obeyed {
		s.t.Error("the server does not stop")
	} else if code := s.process.End().ExitCode(); code != 0 {
		s.t.Errorf("the server has ended with exit code %d", code)
	}
}

// peak is the most memory that the process has ever had, in MiB.
func (s *server) peak() int {
	s.t.Helper()
	status := must2(os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.PID())))(s.t)
	_, value, _ := strings.Cut(string(status), "VmHWM:")
	return must2(strconv.Atoi(strings.Fields(value)[0]))(s.t) / 1024
}

// hushed looks for the token of the MCP servers in what somebody can read.
func (s *server) hushed(where, text string) {
	s.t.Helper()
	if at := strings.Index(text, token); at >= 0 {
		s.t.Errorf("the token is in %s: …%s…", where, text[max(0, at-200):min(len(text), at+200)])
	}
}

// send returns an answer whatever its status is.
func (s *server) send(method, path string, body any) (status int, content []byte, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	response, err := s.client.Send(ctx, method, path, body, "Accept", "application/json")
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	content, err = io.ReadAll(response.Body)
	s.hushed(method+" "+path, string(content))
	return response.StatusCode, content, err
}

// request sends a request, fails on what is no success, and decodes the answer.
func request[T any](t *testing.T, s *server, method, path string, body any) (answer T) {
	t.Helper()
	status, content, err := s.send(method, path, body)
	must(t, err)
	if status < 200 || status > 299 {
		t.Fatalf("%s %s: %d: %s", method, path, status, content)
	}
	must(t, json.Unmarshal(content, &answer))
	return answer
}

type execution struct {
	ID, Status string
	Output     *struct {
		Text  string
		Error *struct{ Code, Message string }
	}
}

func (e execution) ended() bool { return domain.Status(e.Status).Terminal() }

type approval struct {
	ID, Kind, Status, Tool, Summary, ArgumentsHash string
	Arguments                                      json.RawMessage
	Question                                       *struct {
		Message string
		Schema  object
		Host    string
		URL     string
	}
	Raw string
}

func (a *approval) UnmarshalJSON(text []byte) error {
	type fields approval
	*a = approval{Raw: string(text)}
	return json.Unmarshal(text, (*fields)(a))
}

// begin starts an execution.
func (s *server) begin(t *testing.T, prompt string, servers ...string) execution {
	t.Helper()
	return request[execution](t, s, "POST", "/executions", object{"source": object{"type": "internal"}, "prompt": prompt, "mcpServers": servers})
}

func (s *server) get(t *testing.T, id string) execution {
	t.Helper()
	return request[execution](t, s, "GET", "/executions/"+id, nil)
}

func (s *server) approvals(t *testing.T, id string) []approval {
	t.Helper()
	return request[harness.Page[approval]](t, s, "GET", "/executions/"+id+"/approvals", nil).Items
}

// decide answers an approval. One that is no longer open is no error: an execution may have ended meanwhile.
func (s *server) decide(t *testing.T, a approval, decision object) {
	t.Helper()
	body := harness.With(object{"argumentsHash": a.ArgumentsHash}, decision)
	if status, content, err := s.send("POST", "/approvals/"+a.ID, body); err != nil || status != http.StatusOK && status != http.StatusGone && status != http.StatusConflict {
		t.Fatalf("decide %+v: %d %s %v", a, status, content, err)
	}
}

// person decides all that an execution asks, until it has ended. It returns all approvals, in their order.
func (s *server) person(t *testing.T, id string, decide func(approval) object) (execution, []approval) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		e := s.get(t, id)
		all := s.approvals(t, id)
		if e.ended() {
			return e, all
		}
		for _, a := range all {
			if a.Status == "pending" {
				s.decide(t, a, decide(a))
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("execution %s hangs: it is %s\n%s", id, s.get(t, id).Status, s.tail(t, id))
	return execution{}, nil
}

// yes approves each call, and declines each question.
func yes(a approval) object {
	switch domain.ApprovalKind(a.Kind) {
	case domain.ApprovalUnknownOutcome:
		return object{"decision": "approve", "resolution": "failed"}
	case domain.ApprovalQuestion:
		return object{"decision": "deny"}
	default:
		return object{"decision": "approve"}
	}
}

// log reads a whole log and holds it against the invariants.
func (s *server) log(t *testing.T, id string) (all []harness.Event) {
	t.Helper()
	for after := int64(0); ; {
		page := request[harness.Page[harness.Event]](t, s, "GET", "/executions/"+id+"/events?limit=200&after="+strconv.FormatInt(after, 10), nil).Items
		if len(page) == 0 {
			break
		}
		all = append(all, page...)
		after = all[len(all)-1].Seq
	}
	for _, broken := range eventstest.Broken(must2(eventstest.Whole(harness.Domain(all)))(t)) {
		t.Error(broken)
	}
	return all
}

// tail is the end of a log, for a message.
func (s *server) tail(t *testing.T, id string) string {
	t.Helper()
	var lines []string
	for _, e := range s.log(t, id) {
		lines = append(lines, e.Raw[:min(len(e.Raw), 400)])
	}
	return strings.Join(lines[max(0, len(lines)-12):], "\n")
}

// outcomes are those of the calls of an execution, in their order.
func outcomes(t *testing.T, log []harness.Event) (all []domain.ToolCallCompleted) {
	t.Helper()
	for _, event := range log {
		if event.Type == string(domain.ToolCallCompletedType) {
			var completed domain.ToolCallCompleted
			must(t, event.Into(&completed))
			all = append(all, completed)
		}
	}
	return all
}

// model is a scripted vendor. It keeps what it was sent.
type model struct {
	*httptest.Server
	mu   sync.Mutex
	sent []string
}

func newModel(t *testing.T, script harness.Script) *model {
	t.Helper()
	m := &model{}
	chat := harness.Chat(script)
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		m.mu.Lock()
		m.sent = append(m.sent, string(body))
		m.mu.Unlock()
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		chat.ServeHTTP(w, r)
	}))
	t.Cleanup(m.Close)
	return m
}

// requests are those that hold a text.
func (m *model) requests(text string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(m.sent), func(sent string) bool { return !strings.Contains(sent, text) })
}

// said is the prompt of a conversation, and told are the results of its calls.
func said(conversation []harness.Message) string {
	i := slices.IndexFunc(conversation, func(m harness.Message) bool { return m.Role == "user" })
	return conversation[i].Content
}

func told(conversation []harness.Message) (all []string) {
	for _, m := range conversation {
		if m.Role == "tool" {
			all = append(all, m.Content)
		}
	}
	return all
}
