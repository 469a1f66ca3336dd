package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/acp/settings"
	"signoff/internal/acp/wire"
	"signoff/internal/domain"
	"signoff/internal/mcp"
	"signoff/internal/tools/hosttest"
)

// whoami is what the agent was given.
type whoami struct {
	SessionID          string            `json:"sessionId"`
	Opened             string            `json:"opened"`
	Cwd                string            `json:"cwd"`
	McpServers         json.RawMessage   `json:"mcpServers"`
	Settings           map[string]string `json:"settings"`
	ClientCapabilities json.RawMessage   `json:"clientCapabilities"`
	ClientInfo         map[string]string `json:"clientInfo"`
}

// whoami asks the agent what it was given.
func (r *rig) whoami() whoami {
	r.Helper()
	before := len(r.host.Text())
	r.runs("whoami")
	return decoded[whoami](r, []byte(r.host.Text()[before:]))
}

func TestIntroductions(t *testing.T) {
	r := newRig(t, "-modes", "code,plan", "-models", "m1,m2").open()
	me := r.whoami()
	want(t, "client", fmt.Sprint(me.ClientInfo), "map[name:signoff title:Signoff version:1.2.3]")
	want(t, "capabilities", sorted(t, me.ClientCapabilities),
		`{"elicitation":{"form":{}},"fs":{"readTextFile":false,"writeTextFile":false},"subagents":{},"terminal":false}`)
	want(t, "cwd", me.Cwd, r.opening.Execution.Request.WorkingDirectory)
	want(t, "mcp servers", string(me.McpServers), "[]")
	intro := r.agent.Introduction()
	if intro.Name == "" || intro.Version == "" {
		t.Errorf("the agent has no name: %+v", intro)
	}
	intro.Name, intro.Version = "", ""
	want(t, "introduction", intro, domain.Introduction{AgentSession: me.SessionID, Resumable: true, Mode: "code", Model: "m1"})
}

// sorted is JSON with its members sorted.
func sorted(t testing.TB, raw json.RawMessage) string {
	t.Helper()
	return string(domain.Encode(decoded[any](t, raw)))
}

// TestPowers: what is advertised is what the registry offers and the execution allows.
func TestPowers(t *testing.T) {
	for name, test := range map[string]struct {
		files, terminals bool
		capabilities     domain.Capabilities
		wanted           string
	}{
		"all":        {true, true, domain.DefaultCapabilities, "true true true"},
		"none asked": {false, false, domain.DefaultCapabilities, "false false false"},
		"denied":     {true, true, domain.Capabilities{Read: domain.Deny, Write: domain.Deny, Execute: domain.Deny}, "false false false"},
		"read only":  {true, true, domain.Capabilities{Read: domain.Allow, Write: domain.Deny, Execute: domain.Deny}, "true false false"},
	} {
		a := &agent{config: Config{Files: test.files, Terminals: test.terminals}}
		a.execution.Request.Capabilities = test.capabilities
		powers := a.clientCapabilities()
		fs := powers["fs"].(map[string]bool)
		want(t, name, fmt.Sprint(fs["readTextFile"], fs["writeTextFile"], powers["terminal"]), test.wanted)
		for method, offered := range map[string]any{
			"fs/read_text_file": fs["readTextFile"], "fs/write_text_file": fs["writeTextFile"], "terminal/create": powers["terminal"],
			"session/request_permission": true, "elicitation/create": true, "session/unknown": false,
		} {
			a.terminals = &terminals{agent: a, open: map[string]*terminal{}}
			want(t, name+" "+method, a.serves(method) != nil, offered.(bool))
		}
	}
}

func TestStartsThatFail(t *testing.T) {
	for _, test := range []struct {
		name      string
		arguments []string
		prepare   func(r *rig)
		code      domain.Code
		message   string
	}{
		{"another version", []string{"-protocol", "2"}, nil, domain.CodeAgentProtocol, "The agent speaks version 2 of the protocol, and Signoff version 1."},
		{"sign-in", []string{"-auth", "login"}, nil, domain.CodeAgentUnauthorized, "under env in the registry"},
		{"a crash", []string{"-crash", "initialize"}, nil, domain.CodeAgentExited, "ended with exit code 1"},
		{"a crash with last words", []string{"-script", "new: stderr no disk\nnew: crash 7"}, nil, domain.CodeAgentExited, "exit code 7. It last wrote to its standard error:\nno disk"},
		{"no answer", []string{"-hang", "initialize"}, func(r *rig) { r.launch.StartTimeout = 300 * time.Millisecond }, domain.CodeAgentTimedOut, "did not answer initialize in time"},
		{"no session", []string{"-hang", "new"}, func(r *rig) {
			r.launch.StartTimeout = 3 * time.Second // in which a slow agent has to answer initialize
		}, domain.CodeAgentTimedOut, "did not answer session/new in time"},
		{"a refusal", []string{"-script", `new: fail -32603 "Internal error" {"details":"disk full"}`}, nil, domain.CodeAgentFailed, "The agent answered session/new with an error: Internal error: disk full (code -32603)"},
		{"a session without an id", []string{"-script", `new: result {"sessionId":""}`}, nil, domain.CodeAgentProtocol, "without an id"},
		{"a launcher that finds nothing", nil, func(r *rig) {
			r.launch.Process.Argv = []string{"/usr/bin/env", "no-such-agent"}
		}, domain.CodeAgentUnavailable, "cannot be run"},
		{"no program", nil, func(r *rig) { r.launch.Process.Argv = []string{"/no/such/agent"} }, domain.CodeAgentUnavailable, ""},
		{"a mode that is not there", []string{"-modes", "code,plan"}, func(r *rig) { r.launch.Selections = selects(settings.CategoryMode, "yolo") }, domain.CodeInvalid, `The agent does not offer the mode "yolo". It offers: code, plan.`},
		{"no modes", nil, func(r *rig) { r.launch.Selections = selects(settings.CategoryMode, "yolo") }, domain.CodeInvalid, "offers no choice of mode"},
		{"a model that is not there", []string{"-models", "m1,m2"}, func(r *rig) { r.launch.Selections = selects(settings.CategoryModel, "m3") }, domain.CodeInvalid, "m1, m2"},
		{"an MCP server it cannot use", nil, func(r *rig) {
			r.launch.MCPServers = []mcp.Endpoint{{Name: "far", Transport: "http", URL: "http://x"}}
		}, domain.CodeInvalid, `The agent cannot use the MCP server "far": it does not speak http.`},
		{"no way back", []string{"-no-load"}, func(r *rig) { r.opening.AgentSession = "old" }, domain.CodeNotResumable, "cannot resume"},
		{"a session that it does not know", nil, func(r *rig) { r.opening.AgentSession = "old" }, domain.CodeNotResumable, "does not resume its session old"},
		{"a load that fails", []string{"-load-fails"}, func(r *rig) { r.opening.AgentSession = "old" }, domain.CodeNotResumable, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, test.arguments...)
			if test.prepare != nil {
				test.prepare(r)
			}
			message := r.fails(r.tryOpen(), test.code)
			if !strings.Contains(message, test.message) {
				t.Errorf("the message is %q, want %q in it", message, test.message)
			}
		})
	}
}

func TestOpeningIsGivenUp(t *testing.T) {
	r := newRig(t, "-hang", "initialize")
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	time.AfterFunc(200*time.Millisecond, func() { cancel(reason) })
	_, err := Open(ctx, r.launch, r.opening)
	if !errors.Is(err, reason) {
		t.Errorf("got %v", err)
	}
}

// TestModeAndModel: by whichever way the agent offers them, and before the first prompt.
func TestModeAndModel(t *testing.T) {
	for name, arguments := range map[string][]string{
		"modes and models": {"-modes", "code,plan", "-models", "m1,m2"},
		"config options":   {"-modes", "code,plan", "-models", "m1,m2", "-config", "plain"},
		"odd options too":  {"-modes", "code,plan", "-models", "m1,m2", "-config", "odd"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, arguments...)
			r.launch.Selections = append(selects(settings.CategoryMode, "plan"), selects(settings.CategoryModel, "m2")...)
			r.open()
			intro := r.agent.Introduction()
			want(t, "introduced", intro.Mode+" "+intro.Model, "plan m2")
			settings := r.whoami().Settings
			want(t, "set", settings["mode"]+" "+settings["model"], "plan m2")
		})
	}
}

func TestMCPServersAreHandedOn(t *testing.T) {
	r := newRig(t, "-mcp", "http")
	r.launch.MCPServers = []mcp.Endpoint{
		{Name: "near", Command: "/bin/near", Env: map[string]string{"B": "2", "A": "1"}},
		{Name: "far", Transport: "http", URL: "http://x", Headers: map[string]string{"H": "v"}},
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	wanted := `[{"args":["mcp-relay","near","/bin/near"],"command":"` + binary + `","env":[{"name":"A","value":"1"},{"name":"B","value":"2"},` +
		`{"name":"SIGNOFF_MCP_RELAY","value":"its own"}],"name":"near"},{"headers":[{"name":"H","value":"v"}],"name":"far","type":"http","url":"http://x"}]`
	me := r.open().whoami()
	own := regexp.MustCompile(`@signoff-mcp-[A-Z0-9]+ [A-Z0-9]+`)
	want(t, "new", own.ReplaceAllString(sorted(t, me.McpServers), "its own"), wanted)
	again := r.again(me.SessionID)
	again.launch.MCPServers = r.launch.MCPServers
	want(t, "load", own.ReplaceAllString(sorted(t, again.open().whoami().McpServers), "its own"), wanted)
}

// TestStartOfServersIsTold: agents say nothing of the servers that they were handed, and some start none of them.
func TestStartOfServersIsTold(t *testing.T) {
	r := newRig(t, "-mcp", "http")
	r.launch.MCPServers = []mcp.Endpoint{
		{Name: "broken", Command: "/no/such/server"}, {Name: "far", Transport: "http", URL: "http://x"},
		{Name: "forgotten", Command: "/bin/true"}, {Name: "near", Command: "/bin/true"},
	}
	r.launch.Withheld = []string{"denied"}
	me := r.open().whoami() // a turn, in which the agent starts nothing
	start := func(name string) {
		for _, server := range decoded[[]struct {
			Name, Command string
			Args          []string
			Env           []pair
		}](t, me.McpServers) {
			if server.Name != name {
				continue
			}
			process := exec.Command(server.Command, server.Args...)
			for _, variable := range server.Env {
				process.Env = append(process.Env, variable.Name+"="+variable.Value)
			}
			_ = process.Run() // how it ends is told by the event
		}
	}
	status := func(name string, status domain.MCPServerStatus) func(domain.AgentMCPServerUpdated) bool {
		return func(update domain.AgentMCPServerUpdated) bool {
			return update.Server == name && update.Status == status
		}
	}
	for _, name := range []string{"near", "broken", "forgotten"} {
		await(r, r.host, status(name, domain.MCPServerNotStarted))
	}
	for _, name := range []string{"near", "near", "broken"} {
		start(name)
	}
	await(r, r.outside, status("near", domain.MCPServerStarted))
	failed := await(r, r.outside, status("broken", domain.MCPServerFailed))
	want(t, "why", failed.Message, "Its program cannot be started: no such file or directory.")
	await(r, r.outside, status("far", domain.MCPServerUnknown))
	await(r, r.outside, status("denied", domain.MCPServerWithheld))
	r.runs("say hello")
	told := map[string]int{}
	for _, update := range append(hosttest.Of[domain.AgentMCPServerUpdated](r.outside), hosttest.Of[domain.AgentMCPServerUpdated](r.host)...) {
		told[update.Server]++
	}
	if diff := cmp.Diff(map[string]int{"near": 2, "broken": 2, "far": 1, "denied": 1, "forgotten": 1}, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// TestMetaGoesAlong: what keeps an agent asking has to hold in a session that is resumed, too.
func TestMetaGoesAlong(t *testing.T) {
	for method, arguments := range map[string][]string{"session/load": nil, "session/resume": {"-resume"}} {
		r := newRig(t, arguments...)
		r.launch.Meta = json.RawMessage(`{"some":"thing"}`)
		r.opening.Execution.Request.Debug = true
		r.open()
		want(t, "new", sentMeta(r, "session/new"), `{"some":"thing"}`)
		again := r.again(r.agent.session)
		again.launch.Meta = r.launch.Meta
		want(t, method, sentMeta(again.open(), method), `{"some":"thing"}`)
	}
	r := newRig(t)
	r.opening.Execution.Request.Debug = true
	want(t, "none", sentMeta(r.open(), "session/new"), "")
}

// sentMeta is the _meta of the newest request of a method.
func sentMeta(r *rig, method string) string {
	r.Helper()
	for _, traced := range slices.Backward(r.outside.Traces()) {
		sent := wire.ReadObject([]byte(traced.Message))
		if sent.Text("method") == method {
			return string(sent.Object("params")["_meta"])
		}
	}
	r.Fatalf("%s was not sent", method)
	return ""
}

// TestSignInWithAKey: by the method that the agent offers, for new sessions and earlier ones, and only where it is wanted.
func TestSignInWithAKey(t *testing.T) {
	r := newRig(t, "-auth", "key")
	r.launch.AuthMethods = []string{"other", "key"}
	r.open().runs("say hello")
	again := r.again(r.agent.session)
	again.launch.AuthMethods = r.launch.AuthMethods
	again.open()
	want(t, "continued", again.agent.Introduction().Continued, "load")
	again.runs("say again")

	idle := newRig(t, "-script", "authenticate: crash 9")
	idle.launch.AuthMethods = []string{"key"}
	idle.open().runs("say hello")
}

func TestSignInThatFails(t *testing.T) {
	for name, arguments := range map[string][]string{
		"refused":     {"-auth", "key", "-script", `authenticate: fail -32603 "the key is wrong"`},
		"not offered": {"-auth", "browser"},
		"a terminal": {"-auth", "key", "-script", `initialize: result {"protocolVersion":1,"authMethods":[{"id":"key","type":"terminal"}]}` +
			"\nauthenticate: crash 9"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, arguments...)
			r.launch.AuthMethods = []string{"key"}
			r.fails(r.tryOpen(), domain.CodeAgentUnauthorized)
		})
	}
}

// again is a rig for the same session in another process.
func (r *rig) again(session string, arguments ...string) *rig {
	r.Helper()
	next := newRig(r, arguments...)
	next.launch.Process = r.launch.Process
	next.launch.Process.Argv = append(append([]string{}, r.launch.Process.Argv...), arguments...)
	next.opening.Execution = r.opening.Execution
	next.opening.AgentSession = session
	next.turns = r.turns
	return next
}

// TestLoadTellsNothingTwice: whether the agent replays before its answer or after it.
func TestLoadTellsNothingTwice(t *testing.T) {
	for _, when := range []string{"before", "after"} {
		t.Run(when, func(t *testing.T) {
			r := newRig(t, "-modes", "code,plan").open()
			r.runs("say secret of the first turn", "call c1 kind=read status=completed", "commands review", "usage 5 100")
			next := r.again(r.agent.session, "-replay", when)
			begun := time.Now()
			next.open()
			if took := time.Since(begun); took < quietPeriod {
				t.Errorf("it took %v", took)
			}
			intro := next.agent.Introduction()
			want(t, "session", intro.AgentSession+" "+intro.Continued, r.agent.session+" load")
			next.runs("say second", "call c1 kind=read status=completed")
			want(t, "text", next.host.Text(), "second")
			for _, payload := range next.outside.Payloads() {
				switch payload.(type) {
				case domain.CommandsUpdated, domain.UsageUpdated, domain.AgentUpdated, domain.AgentOptionsUpdated: // what still holds
				default:
					t.Errorf("told again: %#v", payload)
				}
			}
			id := hosttest.Of[domain.ToolCallRequested](next.host)[0].ToolCallID
			if id == "c1" || !strings.HasPrefix(id, "c1~") {
				t.Errorf("the call is called %q, as one of the earlier process", id)
			}
		})
	}
}

func TestResumeIsPreferred(t *testing.T) {
	r := newRig(t, "-resume").open()
	r.runs("say first")
	next := r.again(r.agent.session).open()
	want(t, "continued", next.agent.Introduction().Continued, "resume")
	want(t, "opened", next.whoami().Opened, "resume")
	want(t, "told between", len(next.outside.Payloads()), 0)
}

// TestUpdatesBeforeTheAnswer: they belong to a session whose id we do not know yet.
func TestUpdatesBeforeTheAnswer(t *testing.T) {
	r := newRig(t, "-script", "new: say before\nnew: as other\nnew: say foreign\nnew: as\nafter new: commands plan review").open()
	await[domain.CommandsUpdated](r, r.outside, nil)
	want(t, "text", r.outside.Text(), "before")
	foreign := await[domain.AgentUpdated](r, r.outside, nil)
	want(t, "kind", foreign.Kind, "foreignSession")
}

// TestFirstPrompt: a session that knows nothing is told who it is to be and what was said before; later ones are not.
func TestFirstPrompt(t *testing.T) {
	a := &agent{fresh: true}
	a.execution.Request.SystemPrompt, a.execution.Request.Instructions = "You are terse.", "Answer in French."
	prompt := domain.Prompt{Turn: 3, Text: "And now?", History: []domain.Message{
		{Role: domain.RoleUser, Text: "Hello"},
		{Role: domain.RoleAssistant, Text: "Hi", ToolCalls: []domain.ToolCall{{ID: "c", Tool: "bash", Arguments: json.RawMessage(`{"command":"ls"}`)}}},
		{Role: domain.RoleTool, ToolCallID: "c", Text: "a.txt"},
		{Role: domain.RoleUser, Text: "And now?"},
	}}
	wanted := []string{
		"You are terse.\n\nAnswer in French.",
		"This is the conversation so far, for you to know. Answer only the message that comes after it.\n" +
			"\n[user]\nHello\n\n[assistant]\nHi\n\n[tool call c: bash]\n{\"command\":\"ls\"}\n\n[result of the tool call c]\na.txt\n" +
			"\nThis is the end of the conversation so far.",
		"And now?",
	}
	if diff := cmp.Diff(wanted, texts(t, a, prompt)); diff != "" {
		t.Errorf("first prompt (-want +got):\n%s", diff)
	}
	a.fresh = false
	want(t, "later prompt", fmt.Sprint(texts(t, a, prompt)), "[And now?]")
	want(t, "nothing before", fmt.Sprint(texts(t, &agent{fresh: true}, domain.Prompt{Text: "x", History: []domain.Message{{Role: domain.RoleUser, Text: "x"}}})), "[x]")
}

// texts are the blocks of a prompt without files.
func texts(t *testing.T, a *agent, prompt domain.Prompt) (all []string) {
	t.Helper()
	params, err := a.promptParams(t.Context(), nil, prompt)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range wire.ReadObject(params).Objects("prompt") {
		want(t, "type", block.Text("type"), "text")
		all = append(all, block.Text("text"))
	}
	return all
}

func TestFirstPromptAsksForTheAnswersSchema(t *testing.T) {
	a := &agent{fresh: true}
	a.execution.Request.Instructions, a.execution.Request.OutputSchema = "Be brief.", json.RawMessage(`{"type":"object"}`)
	text := texts(t, a, domain.Prompt{Text: "x"})[0]
	if !strings.HasPrefix(text, "Be brief.\n\nYour final answer must be one JSON value") || !strings.HasSuffix(text, "```json\n{\"type\":\"object\"}\n```") {
		t.Error(text)
	}
}

func TestEmptyPromptIsRefused(t *testing.T) {
	r := newRig(t).open()
	_, err := r.say(t.Context(), " \n")
	r.fails(err, domain.CodeInvalid)
}

// TestNoProcessIsLeft: Close ends also what does not want to end, and what it has started.
func TestNoProcessIsLeft(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if err := r.tryOpen(); err != nil {
		t.Fatal(err)
	}
	r.runs("ignoreeof", "ignoreterm", "orphan pid.txt 60")
	begun := time.Now()
	if err := r.agent.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begun); took > 20*time.Second { // what it has started would live for a minute
		t.Errorf("it took %v", took)
	}
	if !r.agent.program.Gone() {
		t.Error("something of it lives")
	}
}
