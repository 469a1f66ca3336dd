package http

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"signoff/internal/admission"
	"signoff/internal/admission/admissiontest"
	"signoff/internal/approvals"
	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/events/items/paging"
	promptfiles "signoff/internal/files"
	"signoff/internal/keys"
	"signoff/internal/profiles"
	"signoff/internal/secrets"
	"signoff/internal/sessions"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
	"signoff/internal/tools"
	"signoff/internal/webhooks"
	"signoff/internal/workspace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testServer is a whole server on SQLite with a scripted agent; every answer that a test gets is held against the document.
type testServer struct {
	testing.TB
	server  *Server
	store   *store.Store
	log     *events.Log
	manager *dispatch.Manager
	logs    *syncBuffer
	url     string
	token   string // with every scope, of the default tenant
	root    string // of the workspace
}

func newTestServer(t testing.TB, change ...func(*Config)) *testServer {
	t.Helper()
	return newTestServerWith(t, func(*admission.Config) {}, change...)
}

// newTestServerWith is a server that admits requests in another way.
func newTestServerWith(t testing.TB, admit func(*admission.Config), change ...func(*Config)) *testServer {
	t.Helper()
	h := &testServer{TB: t, store: storetest.SQLite(t), logs: &syncBuffer{}, root: t.TempDir()}
	h.log = events.NewLog(h.store)
	files, err := workspace.New(h.root)
	must(t, err)
	children := &struct{ *admission.Admission }{}
	h.manager = dispatch.NewManager(dispatch.Config{Config: sessions.Config{
		Delegates:    children,
		Environments: admissiontest.Environments(), Workspace: files, Sandbox: sessionstest.Sandbox{}, DrainGrace: time.Second, Masker: secrets.NewMasker(canary),
		Agents: map[domain.SourceType]sessions.OpenAgent{
			domain.SourceInternal: sessionstest.Open(script), domain.SourceACP: sessionstest.Open(script),
		},
	}}, h.store, h.log)
	h.run()

	verifier := keys.NewVerifier(h.store)
	t.Cleanup(verifier.Close)
	admitting := admission.Config{
		Executions: h.store, Models: admissiontest.Models{"demo", "dear"}, Agents: admissiontest.Agents{}, Tools: admissiontest.Tools{"bash", "think"},
		Secrets: admissiontest.Secrets{"github"}, Masker: secrets.NewMasker(canary), Templates: &admissiontest.Templates{}, Workspace: files, Environments: admissiontest.Environments(),
		MCPServers: admissiontest.MCPServers{},
	}
	named := profiles.NewService(h.store, map[string]profiles.Operator{"house": {AgentProfile: domain.AgentProfile{
		Name: "house", Definition: json.RawMessage(`{"source":{"type":"internal","model":"demo"},"systemPrompt":"Be kind.","environment":{"name":"app"}}`), Grants: profiles.Grants,
	}}})
	admitting.Profiles = named
	decisions := approvals.NewService(h.store, h.log, describing{})
	decisions.UseEnvironments(admissiontest.Environments())
	promptFiles := promptfiles.NewService(h.store, decisions, h.manager, secrets.NewMasker(canary))
	admitting.Files = promptFiles
	admit(&admitting)
	config := Config{
		Admission: admitted(&children.Admission, admitting), Sessions: h.manager, Approvals: decisions, Log: h.log,
		Reader: h.store, Items: paging.New(h.store), Files: promptFiles, Models: modelRegistry{"demo", "dear"}, Agents: agentRegistry{}, Tools: toolRegistry{}, Environments: admissiontest.Environments(), MCPServers: mcpRegistry{}, Profiles: named,
		Webhooks: webhooks.NewService(h.store, webhooks.Targets{AllowHosts: []string{"127.0.0.1:9000"}},
			webhooks.NewLinks([]byte("key"), "https://signoff.example"), func() {}),
		Masker: secrets.NewMasker(canary), Keys: verifier, Version: "test",
		Logger: slog.New(slog.NewJSONHandler(h.logs, nil)),
	}
	for _, c := range change {
		c(&config)
	}
	h.server, err = NewServer(config)
	must(t, err)
	server := httptest.NewServer(h.server.Handler())
	t.Cleanup(func() {
		h.server.Drain()
		server.Close()
	})
	h.url = server.URL
	h.token = h.key("", everyScope()...)
	return h
}

// admitted makes the admission, also that of children.
func admitted(ofChildren **admission.Admission, config admission.Config) *admission.Admission {
	*ofChildren = admission.New(config)
	return *ofChildren
}

// describing knows the tool read as it is; all others take any arguments.
type describing struct{ sessionstest.AnyTool }

func (d describing) Describe(request domain.Request, tool string, arguments json.RawMessage) (domain.ToolCall, error) {
	if tool == "read" {
		return tools.NewRegistry(tools.Read{}).Describe(tool, arguments, request.WorkingDirectory)
	}
	return d.AnyTool.Describe(request, tool, arguments)
}

func (h *testServer) run() {
	ctx, cancel := context.WithCancel(context.Background())
	logCtx, cancelLog := context.WithCancel(context.Background())
	var managers, logs sync.WaitGroup
	logs.Go(func() { h.log.Run(logCtx) })
	ready := make(chan struct{})
	managers.Go(func() {
		if err := h.manager.Run(ctx, func() { close(ready) }); err != nil {
			h.Error(err)
		}
	})
	<-ready
	h.Cleanup(func() {
		cancel()
		managers.Wait()
		cancelLog()
		logs.Wait()
	})
}

// script does what the prompt says.
func script(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
	text := t.Prompt.Text
	if text == "" { // a conversation that the client brought along
		text = t.Prompt.History[len(t.Prompt.History)-1].Text
	}
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "hang":
		<-ctx.Done()
		return "", ctx.Err()
	case "fail":
		return "", domain.Errorf(domain.CodeModelFailed, "%s", rest)
	case "only":
		return domain.StopEndTurn, t.Say("end", rest)
	case "use": // seven tokens
		used := domain.Usage{TotalTokens: new(int64(7)), ContextUsed: new(int64(7))}
		if err := t.Host.Emit(ctx, domain.UsageUpdated{Usage: used}); err != nil {
			return "", err
		}
		return domain.StopEndTurn, t.Say("end", rest)
	case "ask", "askAndHang":
		if err := t.Think("m1", "Disks, then."); err != nil {
			return "", err
		}
		call := sessionstest.Bash("c1", rest)
		if err := t.Want("m1", call); err != nil {
			return "", err
		}
		if _, err := t.Use(call, func(arguments json.RawMessage) string { return string(arguments) }); err != nil {
			return "", err
		}
		if word == "askAndHang" {
			<-ctx.Done()
			return "", ctx.Err()
		}
	case "permit":
		return domain.StopEndTurn, permit(ctx, t, domain.Question{Kind: domain.ApprovalAgentPermission, Options: json.RawMessage(rest)})
	case "question":
		return domain.StopEndTurn, permit(ctx, t, domain.Question{Kind: domain.ApprovalQuestion, Form: json.RawMessage(rest)})
	case "blocks":
		return domain.StopEndTurn, t.Submit(fmt.Sprintf("b%d", t.Prompt.Turn), rest)
	case "insert":
		if _, err := t.Give("m1", sessionstest.Insert("c1", rest)); err != nil {
			return "", err
		}
	case "delegate": // to the demo model, and say its answer
		answer, err := t.Delegate("m1", sessionstest.Delegation("d1", domain.DelegateTool, domain.DelegateArguments{
			Source: &domain.Source{Type: domain.SourceInternal, Model: "demo"}, Prompt: rest,
			Capabilities: map[domain.Class]domain.Verdict{domain.ClassExecute: domain.Ask},
		}), false)
		if err != nil {
			return "", err
		}
		return domain.StopEndTurn, t.Say("end", answer)
	case "trace":
		for i := range 5 {
			t.Host.Trace(domain.ToAgent, fmt.Appendf(nil, `{"id":%d,"method":"<ping>"}`, i))
			t.Host.Trace(domain.FromAgent, fmt.Appendf(nil, `{"id":%d,"result":null}`, i))
		}
	case "many":
		count, err := strconv.Atoi(rest)
		if err != nil {
			return "", err
		}
		for i := range count {
			if err := t.Say(fmt.Sprintf("m%d", i), "piece\u2028 <b>&\r\nid: 99\n\n"); err != nil {
				return "", err
			}
		}
	}
	return domain.StopEndTurn, t.Say(fmt.Sprintf("end%d", t.Prompt.Turn), "done: ", rest)
}

// permit asks as an external agent does, and says what came back.
func permit(ctx context.Context, t *sessionstest.Turn, question domain.Question) error {
	question.Call = sessionstest.Bash("c1", "df")
	if err := t.Want("m1", question.Call); err != nil {
		return err
	}
	answer, err := t.Host.Ask(ctx, question)
	if err != nil {
		return err
	}
	return t.Say("end", string(answer.Status), " ", answer.OptionID, string(answer.Content))
}

// agentRegistry is a registry of external agents: one that is there, and one that is not.
type agentRegistry struct{}

func (agentRegistry) Agents(context.Context) []AgentInfo {
	return []AgentInfo{
		{Name: "mock", Description: "A scripted agent.", Available: true, Version: "1.2.3", Mode: "ask"},
		{Name: "absent", Reason: "absent is not installed; type: npm install -g absent"},
	}
}

func (agentRegistry) Agent(_ context.Context, name string, probe bool) (AgentDetails, bool) {
	switch {
	case name == "absent":
		return AgentDetails{AgentInfo: AgentInfo{Name: name}}, true
	case name != "mock":
		return AgentDetails{}, false
	case !probe:
		return AgentDetails{
			AgentInfo: AgentInfo{Name: name}, Probing: true, Failure: &domain.Failure{Code: domain.CodeAgentExited, Message: "It wrote: " + canary},
		}, true
	}
	return AgentDetails{AgentInfo: AgentInfo{Name: name, Available: true}, Offers: &AgentOffers{
		At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Version: "7", MediaTypes: []string{domain.MediaPNG}, Options: []domain.AgentOption{{
			ID: "effort", Category: "thought_level", Current: "low", Choices: []domain.AgentChoice{{Value: "low"}, {Value: "high", Name: canary}},
		}},
	}}, true
}

// modelRegistry shows models, the first of which is the default.
type modelRegistry admissiontest.Models

func (s modelRegistry) Models(context.Context) []ModelInfo {
	infos := make([]ModelInfo, len(s))
	for i, name := range s {
		infos[i] = ModelInfo{Name: name, Provider: "demo", Model: name, Default: i == 0, Available: true, ContextWindow: 4096,
			Settings: []string{"effort"}, Efforts: []domain.Effort{"low"}, MaxOutputTokens: 512}
	}
	return infos
}

func (s modelRegistry) Names() []string { return s }

func (s modelRegistry) Default() string { return admissiontest.Models(s).Default() }

// toolRegistry is a small registry of tools.
type toolRegistry struct{}

func (toolRegistry) Tools() []ToolInfo {
	schema := json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`)
	return []ToolInfo{
		{Name: "bash", Version: "1", Class: domain.ClassExecute, Description: "Run a command.", Schema: schema},
		{Name: "think", Version: "2", Class: domain.ClassNone, Description: "Think.", Schema: json.RawMessage(`{}`)},
	}
}

// canary is the value of a secret: it must not come out anywhere.
const canary = "canary-4f1e9c-value"

func everyScope() []string {
	var names []string
	for _, scope := range keys.Scopes {
		names = append(names, string(scope))
	}
	return names
}

// key makes a key and returns its token.
func (h *testServer) key(tenant domain.TenantID, scopes ...string) string {
	h.Helper()
	token, _, err := keys.Create(h.Context(), h.store, keys.CreateParams{Tenant: tenant, Name: "ann", Scopes: scopes})
	must(h, err)
	return token
}

// answer is a response that was read to its end.
type answer struct {
	testing.TB
	status int
	header http.Header
	body   []byte
}

// ask sends a request. Extra are header names and values; one that is empty takes the header away.
func (h *testServer) ask(method, path, body string, extra ...string) answer {
	h.Helper()
	r := h.request(method, path, body, extra...)
	response, err := client.Do(r)
	must(h, err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	must(h, err)
	a := answer{h, response.StatusCode, response.Header, content}
	check(h, r, a)
	return a
}

var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}

func (h *testServer) request(method, path, body string, extra ...string) *http.Request {
	h.Helper()
	r, err := http.NewRequestWithContext(h.Context(), method, h.url+path, strings.NewReader(body))
	must(h, err)
	if body == "" {
		r.Body, r.ContentLength = http.NoBody, 0
	} else {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Authorization", "Bearer "+h.token)
	for i := 0; i < len(extra); i += 2 {
		switch name, value := extra[i], extra[i+1]; {
		case name == "Host":
			r.Host = value
		case value == "":
			r.Header.Del(name)
		default:
			r.Header.Set(name, value)
		}
	}
	return r
}

func (a answer) want(status int) answer {
	a.Helper()
	if a.status != status {
		a.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// problem checks status and code.
func (a answer) problem(status int, code domain.Code) answer {
	a.Helper()
	a.want(status)
	if got := a.get("code"); got != string(code) {
		a.Fatalf("code %v, want %s: %s", got, code, a.body)
	}
	return a
}

// get walks into the body: names, and numbers for arrays.
func (a answer) get(path ...string) any {
	a.Helper()
	var value any
	must(a, json.Unmarshal(a.body, &value))
	for _, step := range path {
		switch node := value.(type) {
		case map[string]any:
			value = node[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(node) {
				a.Fatalf("no %q in %s", step, a.body)
			}
			value = node[i]
		default:
			a.Fatalf("no %q in %s", step, a.body)
		}
	}
	return value
}

func (a answer) text(path ...string) string {
	a.Helper()
	text, ok := a.get(path...).(string)
	if !ok {
		a.Fatalf("%v is no string in %s", path, a.body)
	}
	return text
}

func (a answer) count(path ...string) int {
	a.Helper()
	list, ok := a.get(path...).([]any)
	if !ok {
		a.Fatalf("%v is no list in %s", path, a.body)
	}
	return len(list)
}

// create starts an execution and returns its id.
func (h *testServer) create(prompt string, extra ...string) string {
	h.Helper()
	body, err := json.Marshal(map[string]any{"source": map[string]string{"type": "internal"}, "prompt": prompt})
	must(h, err)
	return h.ask("POST", "/executions", string(body), extra...).want(201).text("id")
}

// open starts an external agent that stays open, and returns the execution's id when its first turn has ended.
func (h *testServer) open(prompt string) string {
	h.Helper()
	body, err := json.Marshal(map[string]any{
		"source": map[string]string{"type": "acp", "command": "mock"}, "prompt": prompt, "keepOpen": true,
	})
	must(h, err)
	id := h.ask("POST", "/executions", string(body)).want(201).text("id")
	h.idle(id, 1)
	return id
}

// idle waits until a turn has ended and the execution with it waits for the next prompt.
func (h *testServer) idle(id string, turn int) {
	h.Helper()
	eventually(h, "it is idle", func() bool {
		a := h.ask("GET", "/executions/"+id, "").want(200)
		return a.text("status") == "idle" && a.get("turn") == float64(turn)
	})
}

// ended waits until the execution has ended.
func (h *testServer) ended(id string) answer {
	h.Helper()
	a := h.ask("GET", "/executions/"+id+"?wait=30", "").want(200)
	if a.get("endedAt") == nil {
		h.Fatalf("it has not ended: %s", a.body)
	}
	return a
}

// pending waits until the execution asks, and returns the approval's id and hash.
func (h *testServer) pending(id string) (approval, hash string) {
	h.Helper()
	s := h.follow(id)
	defer s.close()
	for {
		if frame := s.next(); frame.event == "approval.requested" {
			var event struct {
				Data struct{ ApprovalID, ArgumentsHash string }
			}
			must(h, json.Unmarshal([]byte(frame.data), &event))
			return event.Data.ApprovalID, event.Data.ArgumentsHash
		}
	}
}

// listener is a client of a stream.
type listener struct {
	testing.TB
	response *http.Response
	parser   *parserSSE
	cancel   context.CancelFunc
}

func (h *testServer) follow(id string, extra ...string) *listener {
	h.Helper()
	return h.followURL("/executions/"+id+"/events", extra...)
}

func (h *testServer) followURL(path string, extra ...string) *listener {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.Context(), 30*time.Second)
	response, err := client.Do(h.request("GET", path, "", extra...).WithContext(ctx))
	must(h, err)
	if response.StatusCode != 200 || response.Header.Get("Content-Type") != typeStream {
		body, _ := io.ReadAll(response.Body)
		h.Fatalf("status %d, %s: %s", response.StatusCode, response.Header, body)
	}
	return &listener{h, response, newParserSSE(response.Body), cancel}
}

func (l *listener) close() {
	l.cancel()
	l.response.Body.Close()
}

// next returns the next event, checked against its schema; one without data is a mark, a comment or the end.
func (l *listener) next() frame {
	l.Helper()
	for {
		frame, err := l.parser.next()
		if err != nil {
			l.Fatalf("the stream ended: %v", err)
		}
		if frame.data != "" {
			checkFrame(l, frame)
			return frame
		}
	}
}

// all reads to the end of the stream.
func (l *listener) all() (frames []frame) {
	l.Helper()
	defer l.close()
	for {
		frame, err := l.parser.next()
		if errors.Is(err, io.EOF) {
			return frames
		}
		must(l, err)
		if frame.data != "" {
			checkFrame(l, frame)
		}
		frames = append(frames, frame)
	}
}

// frame is one block of a stream: an event, or a comment or retry hint alone.
type frame struct {
	id, event, data, retry, comment string
	raw                             string
}

// parserSSE is a strict reader of server-sent events: it knows our fields and no others, each at most once, and one
// kind of line end.
type parserSSE struct{ lines *bufio.Reader }

func newParserSSE(r io.Reader) *parserSSE { return &parserSSE{bufio.NewReader(r)} }

func (p *parserSSE) next() (f frame, err error) {
	for {
		line, err := p.lines.ReadString('\n')
		if err != nil {
			if errors.Is(err, io.EOF) && line+f.raw != "" {
				err = io.ErrUnexpectedEOF
			}
			return f, err
		}
		f.raw += line
		if strings.ContainsAny(line, "\r\x00") {
			return f, fmt.Errorf("a control character in %q", line)
		}
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			return f, f.agrees()
		}
		name, value, ok := strings.Cut(line, ": ")
		into := map[string]*string{"": &f.comment, "id": &f.id, "event": &f.event, "data": &f.data, "retry": &f.retry}[name]
		if !ok || into == nil || *into != "" || value == "" {
			return f, fmt.Errorf("not a line of ours: %q", line)
		}
		*into = value
	}
}

// agrees holds the type of the frame against that of its data.
func (f *frame) agrees() error {
	if f.data == "" {
		return nil
	}
	var data struct{ Type string }
	err := json.Unmarshal([]byte(f.data), &data)
	if err == nil && f.event != data.Type {
		err = fmt.Errorf("the frame and its data have different types: %q", f.raw)
	}
	return err
}

// syncBuffer is a buffer for a logger.
type syncBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *syncBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(data)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Fatalf("not within ten seconds: %s", what)
}

// dial opens a bare connection, for requests that no client would send.
func (h *testServer) dial() net.Conn {
	h.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
	must(h, err)
	h.Cleanup(func() { connection.Close() })
	must(h, connection.SetDeadline(time.Now().Add(20*time.Second)))
	return connection
}
