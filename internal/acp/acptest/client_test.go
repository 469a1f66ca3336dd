package acptest_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"signoff/internal/acp/acptest"
)

func TestMain(m *testing.M) { os.Exit(acptest.Main(leakFree{m})) }

// leakFree fails a run that leaves goroutines behind.
type leakFree struct{ m *testing.M }

func (l leakFree) Run() int {
	code := l.m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

// patience is for what should take milliseconds.
const patience = 20 * time.Second

// frame is a line of the agent.
type frame struct {
	line   string
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
}

// agent is a running agent and, seen from it, a client that sends what the test says and no more.
type agent struct {
	testing.TB
	process *exec.Cmd
	stdin   *os.File
	stderr  *tape
	frames  chan frame // closed at the end of stdout
	exited  chan struct{}
	next    int
	session string
}

func start(t testing.TB, arguments ...string) *agent {
	t.Helper()
	return startWith(t, nil, arguments...)
}

// startWith changes the command before it starts.
func startWith(t testing.TB, change func(*exec.Cmd), arguments ...string) *agent {
	t.Helper()
	a := &agent{TB: t, stderr: &tape{}, frames: make(chan frame, 1<<16), exited: make(chan struct{})}
	a.process = exec.Command(acptest.Build(t), append([]string{"-state", t.TempDir()}, arguments...)...)
	a.process.Dir = t.TempDir()
	if change != nil {
		change(a.process)
	}
	// Pipes of our own: those of exec.Cmd are closed when the process ends, and a child of it may still have to speak.
	in, out, problem := pipe(t), pipe(t), pipe(t)
	a.process.Stdin, a.process.Stdout, a.process.Stderr = in.read, out.write, problem.write
	a.stdin = in.write
	must(t, a.process.Start())
	_, _, _ = in.read.Close(), out.write.Close(), problem.write.Close()
	var readers sync.WaitGroup
	readers.Go(func() { a.read(out.read) })
	readers.Go(func() { _, _ = io.Copy(a.stderr, problem.read) })
	go func() {
		_ = a.process.Wait()
		close(a.exited)
	}()
	t.Cleanup(func() {
		_ = a.process.Process.Kill()
		_ = in.write.Close()
		<-a.exited
		readers.Wait()
	})
	return a
}

type ends struct{ read, write *os.File }

func pipe(t testing.TB) ends {
	t.Helper()
	read, write, err := os.Pipe()
	must(t, err)
	return ends{read, write}
}

func (a *agent) read(stdout *os.File) {
	defer close(a.frames)
	defer stdout.Close()
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		f := frame{}
		_ = json.Unmarshal([]byte(line), &f) // noise has no fields
		f.line = strings.TrimSuffix(line, "\n")
		a.frames <- f
	}
}

// tape keeps what is written to it.
type tape struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *tape) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

func (t *tape) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

func (a *agent) line(line string) {
	a.Helper()
	must(a, a.stdin.SetWriteDeadline(time.Now().Add(patience)))
	if _, err := a.stdin.WriteString(line + "\n"); err != nil {
		a.Fatal(err)
	}
}

// send sends a request and returns its id.
func (a *agent) send(method, params string) (id string) {
	a.Helper()
	a.next++
	id = fmt.Sprintf(`"c%d"`, a.next)
	a.line(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`)
	return id
}

func (a *agent) notify(method, params string) {
	a.Helper()
	a.line(`{"jsonrpc":"2.0","method":"` + method + `","params":` + params + `}`)
}

func (a *agent) respond(to frame, body string) {
	a.Helper()
	a.line(`{"jsonrpc":"2.0","id":` + string(to.ID) + `,` + body + `}`)
}

// receive returns the agent's next line.
func (a *agent) receive() frame {
	a.Helper()
	f, open := a.receiveOrEnd()
	if !open {
		a.Fatalf("the agent's output ended; stderr: %s", a.stderr)
	}
	return f
}

func (a *agent) receiveOrEnd() (f frame, open bool) {
	a.Helper()
	select {
	case f, open = <-a.frames:
		return f, open
	case <-time.After(patience):
		a.Fatalf("the agent says nothing; stderr: %s", a.stderr)
		return frame{}, false
	}
}

// answer returns the answer to a request, which has to be the agent's next line.
func (a *agent) answer(id string) frame {
	a.Helper()
	f := a.receive()
	if string(f.ID) != id || f.Method != "" {
		a.Fatalf("got %s instead of the answer to %s", f.line, id)
	}
	return f
}

func (a *agent) call(method, params string) frame {
	a.Helper()
	return a.answer(a.send(method, params))
}

// result is the answer's result, which may not be an error.
func (a *agent) result(method, params string) string {
	a.Helper()
	f := a.call(method, params)
	if f.Error != nil {
		a.Fatalf("%s: %s", method, f.line)
	}
	return string(f.Result)
}

// refused checks that the answer is this error.
func (a *agent) refused(code int, method, params string) {
	a.Helper()
	if f := a.call(method, params); f.Error == nil || f.Error.Code != code {
		a.Errorf("%s: got %s, want error %d", method, f.line, code)
	}
}

const hello = `{"protocolVersion":1,"clientCapabilities":{"terminal":true},"clientInfo":{"name":"test","version":"7"}}`

// opened starts an agent with a session.
func opened(t testing.TB, arguments ...string) *agent {
	t.Helper()
	a := start(t, arguments...)
	a.result("initialize", hello)
	a.open()
	return a
}

func (a *agent) open() {
	a.Helper()
	var created struct{ SessionID string }
	decode(a, a.result("session/new", newParams(a)), &created)
	a.session = created.SessionID
}

func newParams(a *agent) string {
	return `{"cwd":` + quoted(a.process.Dir) + `,"mcpServers":[{"name":"m","command":"/bin/true","args":[],"env":[]}]}`
}

// loadParams name the session of another process.
func loadParams(a *agent, id string) string {
	return `{"sessionId":"` + id + `","cwd":` + quoted(a.process.Dir) + `,"mcpServers":[]}`
}

// here is the parameters of a request about the session.
func (a *agent) here(more string) string { return `{"sessionId":"` + a.session + `"` + more + `}` }

func (a *agent) prompt(steps ...string) (id string) {
	a.Helper()
	return a.send("session/prompt", a.here(`,"prompt":[{"type":"text","text":`+quoted(acptest.Prompt(steps...))+`}]`))
}

// turn is a prompt with all that came until its answer.
type turn struct {
	said     string   // messages, one behind the other
	updates  []update // all of them
	requests []frame
	answer   frame
	stop     string // stopReason
}

// update is an update, as far as tests look at it.
type update struct {
	raw           string
	SessionID     string
	SessionUpdate string
	MessageID     string
	ToolCallID    string
	Status        string
	Content       json.RawMessage
}

func (u update) text() string {
	var content struct{ Text string }
	_ = json.Unmarshal(u.Content, &content) // a list has no text
	return content.Text
}

// replies answers requests of the agent by method: with the body of an answer, or not at all.
type replies map[string]string

func (a *agent) play(replies replies, steps ...string) turn {
	a.Helper()
	return a.follow(a.prompt(steps...), replies)
}

// follow reads to the answer of a prompt.
func (a *agent) follow(id string, replies replies) (t turn) {
	a.Helper()
	for {
		f := a.receive()
		switch {
		case f.Method == "" && string(f.ID) == id:
			var result struct{ StopReason string }
			_ = json.Unmarshal(f.Result, &result) // an error has none
			t.answer, t.stop = f, result.StopReason
			return t
		case f.Method == "session/update":
			t.add(a, f)
		case f.Method != "":
			t.requests = append(t.requests, f)
			if body, known := replies[f.Method]; known && len(f.ID) > 0 {
				a.respond(f, body)
			}
		}
	}
}

func (t *turn) add(a *agent, f frame) {
	a.Helper()
	u := updateOf(a, f)
	t.updates = append(t.updates, u)
	if u.SessionUpdate == "agent_message_chunk" {
		t.said += u.text()
	}
}

func updateOf(t testing.TB, f frame) update {
	t.Helper()
	var params struct {
		SessionID string
		Update    json.RawMessage
	}
	decode(t, string(f.Params), &params)
	u := update{raw: string(params.Update), SessionID: params.SessionID}
	decode(t, u.raw, &u)
	u.SessionID = params.SessionID
	return u
}

// statuses lists what was said of calls, as `ID STATUS`.
func (t turn) statuses() (list []string) {
	for _, u := range t.updates {
		if u.Status != "" {
			list = append(list, u.ToolCallID+" "+u.Status)
		}
	}
	return list
}

// ended waits for the process and returns its exit code; -1 is a signal.
func (a *agent) ended() int {
	a.Helper()
	select {
	case <-a.exited:
		return a.process.ProcessState.ExitCode()
	case <-time.After(patience):
		a.Fatal("the agent lives on")
		return 0
	}
}

// lives checks that a process which may do whatever it likes has not ended.
func (a *agent) lives() {
	a.Helper()
	select {
	case <-a.exited:
		a.Fatalf("the agent has ended: %v", a.process.ProcessState)
	case <-time.After(100 * time.Millisecond):
	}
}

// silent checks that nothing comes for a moment.
func (a *agent) silent() {
	a.Helper()
	select {
	case f, open := <-a.frames:
		a.Errorf("got %q (open: %v), want silence", f.line, open)
	case <-time.After(100 * time.Millisecond):
	}
}

func decode(t testing.TB, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

func quoted(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func want[V comparable](t testing.TB, what string, got, wanted V) {
	t.Helper()
	if got != wanted {
		t.Errorf("%s: got %v, want %v", what, got, wanted)
	}
}

// holds checks that a text has these parts.
func holds(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %s", text, part)
		}
	}
}

// exists tells whether a file is there.
func exists(name string) bool {
	_, err := os.Stat(name)
	return !errors.Is(err, os.ErrNotExist)
}
