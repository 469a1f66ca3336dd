package llm_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"signoff/internal/domain"
	"signoff/internal/llm"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
	"signoff/test/harness"
)

// TestMockServer speaks to a server that others have written and keep: @copilotkit/aimock, from npm. Our own doubles
// send what we believe of the vendors' protocols; this one sends what somebody else believes. It also refuses a
// conversation that goes back to Anthropic without its thoughts.
func TestMockServer(t *testing.T) {
	if testing.Short() {
		t.Skip("installs a server from npm")
	}
	for _, model := range []llm.Model{
		{Provider: "openai", Model: "mock", ContextWindow: 8000},
		{Provider: "anthropic", Model: "claude-sonnet-4-5", ContextWindow: 8000, ThinkingTokens: 2000},
	} {
		t.Run(model.Provider, func(t *testing.T) { mockVendor(t, model) })
	}
}

// mockVendor has a server of its own: some of its answers come once.
func mockVendor(t *testing.T, model llm.Model) {
	mock, err := harness.StartAimock(t.Context(), "", harness.AimockFixtures(), "--chunk-size", "7", "--strict")
	want(t, "error", err, nil)
	t.Cleanup(func() { want(t, "error", mock.Stop(), nil) })
	model.BaseURL = mock.Base + "/v1"
	for name, test := range map[string]func(*testing.T, llm.Config){
		"text, reasoning and parallel calls": mockParallelCalls,
		"a torn connection":                  mockTornConnection,
		"a rate limit":                       mockRateLimit,
		"blocks, and an edit of them":        mockEdit,
		"a refused request":                  mockRefusedRequest,
		"the list of models":                 mockModels,
	} {
		t.Run(name, func(t *testing.T) {
			transport := &http.Transport{}
			t.Cleanup(transport.CloseIdleConnections)
			test(t, llm.Config{
				Transport: transport, Logger: slog.New(slog.DiscardHandler), Models: map[string]llm.Model{"mock": model},
			})
		})
	}
}

func mockParallelCalls(t *testing.T, c llm.Config) {
	host := &hosttest.Host{
		Command: prints("up 3 days\n"),
		Files:   fstest.MapFS{"notes.txt": {Data: []byte("ok\n")}},
	}
	stop, err := open(t, c, execution()).Prompt(t.Context(), host, prompt("Please check both hosts."))
	want(t, "error", err, nil)
	want(t, "stop", stop, domain.StopEndTurn)
	host.Finish(t, true)
	want(t, "thought", host.Thought(), "Two hosts, two independent checks. I can ask for both at once.")
	want(t, "text", host.Text(), "I look at both hosts.Both are well – the first is up for 3 days, the notes say “ok” 👍.")
	want(t, "calls", strings.Join(requested(host), " | "), `bash {"command":"uptime --pretty"} | read {"path":"notes.txt"}`)
	want(t, "successes", strings.Count(outcomes(host), "succeeded"), 2)
	usage := hosttest.Of[domain.UsageUpdated](host)
	want(t, "input tokens", *usage[len(usage)-1].Usage.InputTokens, 900)
	want(t, "context used", *usage[len(usage)-1].Usage.ContextUsed, 520)
}

// mockEdit: each of the two turns is one request, also the one that begins with a result and a word of the person.
func mockEdit(t *testing.T, c llm.Config) {
	counted := &counter{next: c.Transport}
	c.Transport = counted
	host := &hosttest.Host{}
	agent := open(t, c, working(domain.KindGeneration), someTools()...)
	if _, err := agent.Prompt(t.Context(), host, prompt("Please write two blocks.")); err != nil {
		t.Fatal(err)
	}
	want(t, "requests of the first turn", counted.requests, 1)
	submitted := host.Generations()[0].ToolCallID
	const edit = "The same without the paragraph."
	history := append(prompt("Please write two blocks.").History, host.Fold(t).Messages...)
	history = append(history,
		domain.Message{Role: domain.RoleTool, ToolCallID: submitted, Text: "The person asks for changes."},
		domain.Message{Role: domain.RoleUser, Text: edit},
	)
	stop, err := agent.Prompt(t.Context(), host, domain.Prompt{Turn: 2, Edits: 1, Text: edit, History: history})
	want(t, "error", err, nil)
	want(t, "stop", stop, domain.StopEndTurn)
	want(t, "requests of both turns", counted.requests, 2)
	want(t, "blocks", string(host.Generations()[1].Blocks), `[{"type":"script","props":{"code":"uptime"}}]`)
	host.Finish(t, true)
}

type counter struct {
	next     http.RoundTripper
	requests int // one after the other
}

func (c *counter) RoundTrip(request *http.Request) (*http.Response, error) {
	c.requests++
	return c.next.RoundTrip(request)
}

func mockTornConnection(t *testing.T, c llm.Config) {
	host := &hosttest.Host{}
	_, err := open(t, c, execution()).Prompt(t.Context(), host, prompt("Please break off once."))
	want(t, "error", err, nil)
	host.Finish(t, true)
	if begun, whole := strings.CutSuffix(host.Text(), "Whole."); !whole || !strings.HasPrefix(begun, "This") {
		t.Errorf("text %q", host.Text())
	}
	want(t, "code", hosttest.Of[domain.ModelRetrying](host)[0].Code, domain.CodeModelStreamBroken)
}

func mockRateLimit(t *testing.T, c llm.Config) {
	host := &hosttest.Host{}
	_, err := open(t, c, execution()).Prompt(t.Context(), host, prompt("Please overload once."))
	want(t, "error", err, nil)
	want(t, "text", host.Text(), "Calm again.")
	told := hosttest.Of[domain.ModelRetrying](host)
	if len(told) != 1 || told[0].DelayMs < 1000 || told[0].DelayMs > 1200 || !strings.Contains(told[0].Message, "429: Rate limited") {
		t.Errorf("told %+v", told)
	}
}

func mockRefusedRequest(t *testing.T, c llm.Config) {
	_, err := open(t, c, execution()).Prompt(t.Context(), &hosttest.Host{}, prompt("A bad request."))
	checkError(t, err, domain.CodeModelFailed, "answered 400: The model cannot do this")
}

func mockModels(t *testing.T, c llm.Config) {
	registry, err := llm.NewRegistry(c, tools.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Close()
	if infos := registry.Models(t.Context()); !infos[0].Available {
		t.Errorf("got %+v", infos)
	}
}
