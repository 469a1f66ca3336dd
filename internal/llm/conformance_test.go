package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/tools"
)

// behaviour is one thing that the agent may rely on, whoever is behind the model. demo shows it of the script; where
// the script has nothing to show, noDemo says why.
type behaviour struct {
	name   string
	vendor func(t *testing.T, d dialect)
	demo   func(t *testing.T)
	noDemo string
}

const (
	noConnection = "the script has no connection that could fail"
	oneEnd       = "the script always comes to its end"
	oneCommand   = "the script asks for one command, always the same"
)

var behaviours = []behaviour{
	{name: "text arrives in pieces", demo: demoSpeaks,
		vendor: says(heardAnswer{Texts: []string{"Hel", "lo ", "there"}},
			saying("Hel"), saying("lo "), saying("there"), stopping("stop"))},
	{name: "a thought comes before the text", demo: demoThinks,
		vendor: says(heardAnswer{Thought: "Hmm.", Texts: []string{"Yes"}}, thinking("Hm"), thinking("m."), saying("Yes"), stopping("stop"))},
	{name: "characters may be split between two bytes", demo: demoRepeats, vendor: splitBytes},
	{name: "one call", demo: demoAsks,
		vendor: says(heardAnswer{Texts: []string{"I look."}, Calls: []string{`bash {"command":"ls"}`}},
			saying("I look."), calling(0, "bash", `{"comm`), calling(0, "", `and":"ls"}`), stopping("tools"))},
	{name: "parallel calls, their pieces mixed", noDemo: oneCommand,
		vendor: says(heardAnswer{Calls: []string{`bash {"command":"x"}`, `read {"path":"y"}`}},
			calling(0, "bash", ""), calling(1, "read", ""), calling(0, "", `{"comm`), calling(1, "", `{"path":`),
			calling(0, "", `and":"x"}`), calling(1, "", `"y"}`), stopping("tools"))},
	{name: "a call without arguments", noDemo: oneCommand,
		vendor: says(heardAnswer{Calls: []string{"think "}}, calling(0, "think", ""), stopping("tools"))},
	{name: "the conversation is sent in order", demo: demoReadsTheResult, vendor: sendsInOrder},

	{name: "usage has the cache within the input", demo: demoCounts,
		vendor: says(heardAnswer{Texts: []string{"a"}, Usage: domain.Usage{
			InputTokens: count(160), OutputTokens: count(20), TotalTokens: count(180), ReasoningTokens: count(5),
			CacheReadTokens: count(50), CacheWriteTokens: count(10),
		}}, saying("a"), stopping("stop"), piece{usage: &usageSaid{fresh: 100, cacheRead: 50, cacheWrite: 10, output: 20, reasoning: 5}})},
	{name: "usage that is not reported is unknown", noDemo: "the script counts its own words",
		vendor: says(heardAnswer{Texts: []string{"a"}}, saying("a"), stopping("stop"))},
	{name: "nonsense for usage is unknown", noDemo: "the script counts its own words",
		vendor: says(heardAnswer{Texts: []string{"a"}, Usage: domain.Usage{
			CacheReadTokens: count(0), CacheWriteTokens: count(0), ReasoningTokens: count(0),
		}}, saying("a"), stopping("stop"), piece{usage: &usageSaid{fresh: 9e18, output: -1}})},

	{name: "the token limit", noDemo: oneEnd,
		vendor: says(heardAnswer{Texts: []string{"a"}, Finish: finishLength}, saying("a"), stopping("length"))},
	{name: "a refusal", noDemo: oneEnd,
		vendor: says(heardAnswer{Texts: []string{"a"}, Finish: finishRefusal}, saying("a"), stopping("refusal"))},

	{name: "comments keep a connection alive", noDemo: noConnection,
		vendor: says(heardAnswer{Texts: []string{"a", "b"}},
			verbatim(": ping\n\n"), saying("a"), verbatim(":\n\n"), verbatim(": wait\n"), saying("b"), stopping("stop"))},
	{name: "what comes after the end changes nothing", noDemo: noConnection,
		vendor: says(heardAnswer{Texts: []string{"a"}}, saying("a"), stopping("stop"), verbatim("data: {garbage\n\n"))},
	{name: "a stream that just stops", noDemo: noConnection,
		vendor: fails(said(saying("a")), trouble{code: domain.CodeModelStreamBroken, retry: true, text: "without saying why"})},
	{name: "a stream that never begins", noDemo: noConnection,
		vendor: fails(func(dialect) reply { return stream("") }, trouble{code: domain.CodeModelStreamBroken, retry: true})},
	{name: "a torn connection", noDemo: noConnection, vendor: fails(torn, trouble{code: domain.CodeModelStreamBroken, retry: true, text: "broke off"})},
	{name: "garbage", noDemo: noConnection,
		vendor: fails(said(saying("a"), verbatim("event: message_delta\ndata: {\"choices\":[\n\n")),
			trouble{code: domain.CodeModelStreamBroken, retry: true, text: "cannot be read"})},
	{name: "a page instead of a stream", noDemo: noConnection,
		vendor: fails(func(dialect) reply { return answering(200, "text/html", "<html>Log in</html>") },
			trouble{code: domain.CodeModelFailed, retry: true, text: "did not send a stream"})},

	{name: "a bad request", noDemo: noConnection, vendor: fails(status(400), trouble{code: domain.CodeModelFailed, text: "answered 400: Oh"})},
	{name: "a wrong key", noDemo: noConnection, vendor: fails(status(401), trouble{code: domain.CodeModelUnauthorized, text: "(401)"})},
	{name: "a key without the right", noDemo: noConnection, vendor: fails(status(403), trouble{code: domain.CodeModelUnauthorized, text: "(403)"})},
	{name: "no such model", noDemo: noConnection, vendor: fails(status(404), trouble{code: domain.CodeModelFailed, text: "answered 404"})},
	{name: "a request that is too large", noDemo: noConnection, vendor: fails(status(413), trouble{code: domain.CodeModelFailed, text: "answered 413"})},
	{name: "a rate limit", noDemo: noConnection,
		vendor: fails(status(429), trouble{code: domain.CodeModelFailed, retry: true, after: 7 * time.Second, text: "answered 429"})},
	{name: "an error of the server", noDemo: noConnection, vendor: fails(status(500), trouble{code: domain.CodeModelFailed, retry: true, text: "answered 500"})},
	{name: "a server that is away", noDemo: noConnection, vendor: fails(status(503), trouble{code: domain.CodeModelFailed, retry: true, text: "answered 503"})},
	{name: "overload", noDemo: noConnection, vendor: fails(status(529), trouble{code: domain.CodeModelFailed, retry: true, text: "answered 529: Oh"})},
	{name: "a page of HTML for an error", noDemo: noConnection,
		vendor: fails(func(dialect) reply { return answering(502, "text/html", "<html>"+suiteKey+"</html>") },
			trouble{code: domain.CodeModelFailed, retry: true, text: "answered 502: Bad Gateway"})},
	{name: "an error that says nothing", noDemo: noConnection,
		vendor: fails(func(dialect) reply { return answering(529, "", "") }, trouble{code: domain.CodeModelFailed, retry: true, text: "does not say why"})},
	{name: "a redirect, which would carry the key to another host", noDemo: noConnection,
		vendor: fails(func(dialect) reply { return redirect }, trouble{code: domain.CodeModelFailed, text: "answered 307, and not as a model's API does"})},
	{name: "an error without an end", noDemo: noConnection, vendor: readsErrorsToABound},
	{name: "an error that stops in its middle", noDemo: noConnection,
		vendor: fails(func(dialect) reply { return stallsIn(http.StatusBadRequest, `{"error":`) },
			trouble{code: domain.CodeModelStreamBroken, retry: true, text: "fell silent"})},
	{name: "no connection", noDemo: noConnection, vendor: fails(refused, trouble{code: domain.CodeModelUnreachable, retry: true})},

	{name: "overload in the middle of an answer", noDemo: noConnection,
		vendor: fails(brokenBy(529), trouble{code: domain.CodeModelFailed, retry: true, text: "answered 529: Oh"})},
	{name: "an error in the middle that stays", noDemo: noConnection,
		vendor: fails(brokenBy(400), trouble{code: domain.CodeModelFailed, text: "answered 400: Oh"})},
	{name: "an error in the middle that is not known", noDemo: noConnection,
		vendor: fails(said(saying("a"), verbatim("event: error\ndata: {\"error\":{\"message\":\"Oh\"}}\n\n")),
			trouble{code: domain.CodeModelFailed, retry: true, text: "reported an error: Oh"})},

	{name: "a conversation that is too long", noDemo: "the script reads any length",
		vendor: fails(func(d dialect) reply { return answering(400, "application/json", d.overflow) },
			trouble{code: domain.CodeContextOverflow, text: "longer than model"})},
	{name: "a conversation that turns out to be too long", noDemo: "the script reads any length",
		vendor: fails(func(d dialect) reply { return stream("event: error\ndata: " + d.overflow + "\n\n") },
			trouble{code: domain.CodeContextOverflow, text: "longer than model"})},

	{name: "a huge line", noDemo: noConnection,
		vendor: fails(said(saying(strings.Repeat("x", maxLineBytes+1))), trouble{code: domain.CodeModelFailed, text: "single event"})},
	{name: "a huge event", noDemo: noConnection,
		vendor: fails(said(verbatim(strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n", 9))), trouble{code: domain.CodeModelFailed, text: "single event"})},
	{name: "a never-ending answer", noDemo: noConnection,
		vendor: fails(said(slices.Repeat([]piece{thinking(strings.Repeat("x", 1<<20))}, 9)...), trouble{code: domain.CodeModelFailed, text: "longer than 8 MiB"})},
	{name: "usage of an answer that breaks off", noDemo: noConnection, vendor: breaksWithUsage},
	{name: "a flood of calls", noDemo: oneEnd,
		vendor: fails(said(manyCalls(mostCalls+1)...), trouble{code: domain.CodeModelFailed, retry: true, text: "more than 200 tool calls"})},
	{name: "as many calls as are read", noDemo: oneEnd, vendor: readsManyCalls},
	{name: "never-ending arguments", noDemo: noConnection,
		vendor: fails(said(append([]piece{calling(0, "bash", "")}, slices.Repeat([]piece{calling(0, "", strings.Repeat("x", 1<<20))}, 9)...)...),
			trouble{code: domain.CodeModelFailed, text: "longer than 8 MiB"})},

	{name: "silence before the answer", noDemo: noConnection,
		vendor: fails(func(dialect) reply { return never }, trouble{code: domain.CodeModelStreamBroken, retry: true, text: "fell silent"})},
	{name: "silence within the answer", noDemo: noConnection,
		vendor: fails(func(d dialect) reply { return stallsAfter(d.wire(saying("a"))) },
			trouble{code: domain.CodeModelStreamBroken, retry: true, text: "fell silent"})},
	{name: "the end of the context ends the request", demo: demoIsCancelled, vendor: isCancelled},
	{name: "nobody listens any more", demo: demoIsNotHeard, vendor: isNotHeard},
	{name: "nothing comes from the environment", noDemo: noConnection, vendor: ignoresTheEnvironment},
	{name: "a request says what it is", noDemo: noConnection, vendor: saysWhatItIs},
	{name: "no key where none is configured", noDemo: noConnection, vendor: sendsNoKey},
}

// TestConformance holds every provider to the same behaviours.
func TestConformance(t *testing.T) {
	for _, behaviour := range behaviours {
		for _, dialect := range dialects() {
			t.Run(dialect.name+"/"+behaviour.name, func(t *testing.T) { behaviour.vendor(t, dialect) })
		}
		t.Run(ProviderDemo+"/"+behaviour.name, func(t *testing.T) {
			switch {
			case (behaviour.demo == nil) == (behaviour.noDemo == ""):
				t.Error("the table says neither what the script does nor why it does not, or both")
			case behaviour.demo != nil:
				behaviour.demo(t)
			}
		})
	}
}

// heardAnswer is all that came of one request.
type heardAnswer struct {
	Texts   []string
	Thought string
	Calls   []string
	Finish  finish
	Usage   domain.Usage
}

// trouble is what the agent has to know of a failure.
type trouble struct {
	code  domain.Code
	retry bool
	after time.Duration
	text  string // part of the message
}

// says has the vendor give an answer.
func says(want heardAnswer, pieces ...piece) func(*testing.T, dialect) {
	return func(t *testing.T, d dialect) {
		ear := &ear{}
		got, err := askSuite(t, d, stream(d.wire(pieces...)), ear)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, ear.all(got)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// fails has the vendor, or what is between, fail.
func fails(how func(dialect) reply, want trouble) func(*testing.T, dialect) {
	return func(t *testing.T, d dialect) {
		_, err := askSuite(t, d, how(d), &ear{})
		var failed *failure
		if !errors.As(err, &failed) {
			t.Fatalf("got %v, want a failure", err)
		}
		if failed.shown.Code != want.code || failed.retry != want.retry || failed.after != want.after ||
			!strings.Contains(failed.shown.Message, want.text) {
			t.Errorf("got %s, retry %v after %v: %s", failed.shown.Code, failed.retry, failed.after, failed.shown.Message)
		}
		for cause := err; cause != nil; cause = errors.Unwrap(cause) {
			if strings.Contains(cause.Error(), suiteKey) {
				t.Errorf("the key is in the error %q", cause)
			}
		}
	}
}

// ear is a sink that keeps what it hears.
type ear struct {
	texts, thoughts []string
	state           json.RawMessage
	deaf            error // what it answers
}

func (e *ear) Text(text string) error       { e.texts = append(e.texts, text); return e.deaf }
func (e *ear) Thought(thought string) error { e.thoughts = append(e.thoughts, thought); return e.deaf }
func (e *ear) Thinking(state json.RawMessage) error {
	e.state = state
	return e.deaf
}

func (e *ear) all(got answer) heardAnswer {
	heard := heardAnswer{Texts: e.texts, Thought: strings.Join(e.thoughts, ""), Finish: got.finish, Usage: got.usage}
	for _, call := range got.calls {
		heard.Calls = append(heard.Calls, call.name+" "+call.arguments)
	}
	return heard
}

// reply is the vendor's side of a request.
type reply func(request *http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (r reply) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

// askSuite asks once, in a bubble, where silence takes no time and nothing may be left running. A provider that repeats
// a request by itself would hide the wait from the log.
func askSuite(t *testing.T, d dialect, vendor reply, sink sink) (got answer, err error) {
	t.Helper()
	var requests int
	counted := func(request *http.Request) (*http.Response, error) {
		requests++
		return vendor(request)
	}
	synctest.Test(t, func(t *testing.T) {
		got, err = d.open(reply(counted)).Stream(t.Context(), smallRequest(), sink)
	})
	if requests != 1 {
		t.Errorf("%d requests were sent", requests)
	}
	return got, err
}

func smallRequest() request {
	return request{
		system:   "You are tested.",
		messages: []domain.Message{{Role: domain.RoleUser, Text: "Grüße 👍"}},
		tools:    []tools.Definition{tools.Bash{}.Definition()},
	}
}

func answering(status int, kind, body string) reply {
	return bodied(status, kind, io.NopCloser(strings.NewReader(body)))
}

func bodied(status int, kind string, body io.ReadCloser) reply {
	header := http.Header{}
	if kind != "" {
		header.Set("Content-Type", kind)
	}
	if status == http.StatusTooManyRequests {
		header.Set("Retry-After", "7")
	}
	return func(request *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: header, Body: body, Request: request}, nil
	}
}

func stream(body string) reply { return answering(http.StatusOK, "text/event-stream", body) }

func said(pieces ...piece) func(dialect) reply {
	return func(d dialect) reply { return stream(d.wire(pieces...)) }
}

func status(status int) func(dialect) reply {
	return func(d dialect) reply {
		return answering(status, "application/json", d.fail(status, "Oh, "+suiteKey+" at https://vendor.test/?key="+suiteKey))
	}
}

func brokenBy(status int) func(dialect) reply {
	return func(d dialect) reply {
		return stream(d.wire(saying("a"), verbatim(d.failEvent(status, "Oh, "+suiteKey))))
	}
}

func torn(d dialect) reply {
	begun := io.MultiReader(strings.NewReader(d.wire(saying("a"))), iotest.ErrReader(io.ErrUnexpectedEOF))
	return bodied(http.StatusOK, "text/event-stream", io.NopCloser(begun))
}

func refused(dialect) reply {
	return func(*http.Request) (*http.Response, error) { return nil, errors.New("dial tcp 10.1.2.3:443: refused") }
}

func never(request *http.Request) (*http.Response, error) {
	<-request.Context().Done()
	return nil, request.Context().Err()
}

// redirect names a host that asks for the same request again.
func redirect(request *http.Request) (*http.Response, error) {
	response, err := answering(http.StatusTemporaryRedirect, "", "")(request)
	response.Header.Set("Location", "http://another.test/v1/messages")
	return response, err
}

// endless is a body that never ends, and how much of it was read.
type endless struct{ read int }

func (e *endless) Close() error { return nil }
func (e *endless) Read(p []byte) (int, error) {
	e.read += len(p)
	return copy(p, bytes.Repeat([]byte("x"), len(p))), nil
}

func readsErrorsToABound(t *testing.T, d dialect) {
	body := &endless{}
	_, err := askSuite(t, d, bodied(http.StatusBadRequest, "text/plain", body), &ear{})
	if domain.CodeOf(err) != domain.CodeModelFailed || body.read > 2*maxErrorBytes {
		t.Errorf("%d bytes were read, %v", body.read, err)
	}
}

// stallsAfter sends the beginning of an answer, and then nothing until the request is given up.
func stallsAfter(begun string) reply { return stallsIn(http.StatusOK, begun) }

func stallsIn(status int, begun string) reply {
	return func(request *http.Request) (*http.Response, error) {
		rest := stalled{request.Context()}
		return bodied(status, "text/event-stream", io.NopCloser(io.MultiReader(strings.NewReader(begun), rest)))(request)
	}
}

type stalled struct{ ctx context.Context }

func (s stalled) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

func manyCalls(n int) (pieces []piece) {
	for i := range n {
		pieces = append(pieces, calling(i, "bash", "{}"))
	}
	return pieces
}

func readsManyCalls(t *testing.T, d dialect) {
	got, err := askSuite(t, d, stream(d.wire(append(manyCalls(mostCalls), stopping("tools"))...)), &ear{})
	if err != nil || len(got.calls) != mostCalls {
		t.Errorf("%d calls, %v", len(got.calls), err)
	}
}

func breaksWithUsage(t *testing.T, d dialect) {
	begun := d.wire(piece{usage: &usageSaid{fresh: 100, output: 1}})
	got, err := askSuite(t, d, stream(begun), &ear{})
	if domain.CodeOf(err) != domain.CodeModelStreamBroken || got.usage.InputTokens == nil || *got.usage.InputTokens != 100 {
		t.Errorf("%v, and used %+v", err, got.usage)
	}
}

func splitBytes(t *testing.T, d dialect) {
	ear := &ear{}
	body := iotest.OneByteReader(strings.NewReader(d.wire(thinking("日本"), saying("Grüße 👍"), stopping("stop"))))
	got, err := askSuite(t, d, bodied(http.StatusOK, "text/event-stream", io.NopCloser(body)), ear)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(heardAnswer{Thought: "日本", Texts: []string{"Grüße 👍"}}, ear.all(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func sendsInOrder(t *testing.T, d dialect) {
	ls, pwd := domain.ToolCall{ID: "call_1", Tool: "bash", Arguments: json.RawMessage(`{"command":"ls"}`)},
		domain.ToolCall{ID: "call_2", Tool: "bash", Arguments: json.RawMessage(`{"command":"pwd"}`)}
	question := request{system: "You are tested.", tools: []tools.Definition{tools.Bash{}.Definition()}, messages: []domain.Message{
		{Role: domain.RoleUser, Text: "Look"},
		{Role: domain.RoleAssistant, Text: "I look.", Thought: "never sent as text", ToolCalls: []domain.ToolCall{ls, pwd}},
		{Role: domain.RoleTool, ToolCallID: "call_1", Text: "a.md"},
		{Role: domain.RoleTool, ToolCallID: "call_2", Text: "/srv"},
		{Role: domain.RoleUser, Text: "And?"},
	}}
	var sent []byte
	listens := func(request *http.Request) (response *http.Response, err error) {
		if sent, err = io.ReadAll(request.Body); err != nil {
			return nil, err
		}
		return stream(d.wire(saying("a"), stopping("stop")))(request)
	}
	if _, err := d.open(reply(listens)).Stream(t.Context(), question, &ear{}); err != nil {
		t.Fatal(err)
	}
	want := sentConversation{System: "You are tested.", Tools: []string{"bash"}, Messages: []sentMessage{
		{Role: "user", Text: "Look"},
		{Role: "assistant", Text: "I look."},
		{Role: "assistant", Call: "call_1", Text: `bash {"command":"ls"}`},
		{Role: "assistant", Call: "call_2", Text: `bash {"command":"pwd"}`},
		{Role: "user", Result: "call_1", Text: "a.md"},
		{Role: "user", Result: "call_2", Text: "/srv"},
		{Role: "user", Text: "And?"},
	}}
	if diff := cmp.Diff(want, d.read(t, sent)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func isCancelled(t *testing.T, d dialect) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var asked *http.Request
		hangs := func(request *http.Request) (*http.Response, error) {
			asked = request
			return stallsAfter(d.wire(saying("a")))(request)
		}
		var asking sync.WaitGroup
		asking.Go(func() {
			if _, err := d.open(reply(hangs)).Stream(ctx, smallRequest(), &ear{}); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
		synctest.Wait()
		cancel()
		asking.Wait()
		if asked.Context().Err() == nil {
			t.Error("the request goes on")
		}
	})
}

var errDeaf = errors.New("nobody listens")

func isNotHeard(t *testing.T, d dialect) {
	for _, first := range []piece{saying("a"), thinking("a")} {
		_, err := askSuite(t, d, stallsAfter(d.wire(first)), &ear{deaf: errDeaf})
		if !errors.Is(err, errDeaf) {
			t.Errorf("got %v", err)
		}
	}
}

func ignoresTheEnvironment(t *testing.T, d dialect) {
	for _, name := range []string{"API_KEY", "AUTH_TOKEN", "ORG_ID", "PROJECT_ID", "PROFILE", "WEBHOOK_SIGNING_KEY"} {
		t.Setenv("OPENAI_"+name, "of-another-account")
		t.Setenv("ANTHROPIC_"+name, "of-another-account")
	}
	for _, vendor := range []string{"OPENAI", "ANTHROPIC"} {
		t.Setenv(vendor+"_BASE_URL", "http://another.test/")
		t.Setenv(vendor+"_CUSTOM_HEADERS", "X-Other: of-another-account")
	}
	t.Setenv("ANTHROPIC_OPEN_TELEMETRY", "true")
	t.Setenv("HTTP_PROXY", "http://another.test/")
	asked := askedHeader(t, d.open, d)
	if asked.URL.String() != d.address || asked.Header.Get(d.keyHeader) != d.key {
		t.Errorf("asked %s with the key %q", asked.URL, asked.Header.Get(d.keyHeader))
	}
	for name, values := range asked.Header {
		if strings.Contains(strings.Join(values, " "), "another") || name == "Traceparent" {
			t.Errorf("the header %s has %q", name, values)
		}
	}
}

// saysWhatItIs: the length is known beforehand, since some gateways take no chunked request.
func saysWhatItIs(t *testing.T, d dialect) {
	asked := askedHeader(t, d.open, d)
	if asked.Method != http.MethodPost || asked.ContentLength <= 0 || asked.GetBody == nil {
		t.Errorf("%s with %d bytes", asked.Method, asked.ContentLength)
	}
	for name, want := range map[string]string{"Content-Type": "application/json", "Accept": "text/event-stream"} {
		if got := asked.Header.Get(name); got != want {
			t.Errorf("the header %s has %q", name, got)
		}
	}
	if asked.Header.Get("User-Agent") == "" {
		t.Error("the request does not say who asks")
	}
}

func sendsNoKey(t *testing.T, d dialect) {
	t.Setenv("OPENAI_API_KEY", "of-another-account")
	t.Setenv("ANTHROPIC_API_KEY", "of-another-account")
	asked := askedHeader(t, d.keyless, d)
	if asked.Header.Get("Authorization")+asked.Header.Get("X-Api-Key") != "" {
		t.Errorf("sent %v", asked.Header)
	}
}

func askedHeader(t *testing.T, open func(http.RoundTripper) provider, d dialect) (asked *http.Request) {
	t.Helper()
	provider := open(reply(func(request *http.Request) (*http.Response, error) {
		asked = request
		return stream(d.wire(saying("a"), stopping("stop")))(request)
	}))
	if _, err := provider.Stream(t.Context(), smallRequest(), &ear{}); err != nil {
		t.Fatal(err)
	}
	return asked
}

func demoAnswer(t *testing.T, question request) heardAnswer {
	t.Helper()
	ear := &ear{}
	got, err := demo{}.Stream(t.Context(), question, ear)
	if err != nil {
		t.Fatal(err)
	}
	return ear.all(got)
}

func demoSpeaks(t *testing.T) {
	if heard := demoAnswer(t, smallRequest()); len(heard.Texts) < 2 || heard.Finish != finishStop {
		t.Errorf("got %+v", heard)
	}
}

func demoThinks(t *testing.T) {
	if heard := demoAnswer(t, smallRequest()); heard.Thought == "" {
		t.Error("it did not think")
	}
}

func demoRepeats(t *testing.T) {
	if heard := demoAnswer(t, smallRequest()); !strings.Contains(heard.Thought, "“Grüße 👍”") {
		t.Errorf("it thought %q", heard.Thought)
	}
}

func demoAsks(t *testing.T) {
	heard := demoAnswer(t, smallRequest())
	if diff := cmp.Diff([]string{`bash {"command":"` + demoCommand + `"}`}, heard.Calls); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func demoReadsTheResult(t *testing.T) {
	question := smallRequest()
	question.messages = append(question.messages,
		domain.Message{Role: domain.RoleAssistant, ToolCalls: []domain.ToolCall{{ID: "call_1", Tool: "bash"}}},
		domain.Message{Role: domain.RoleTool, ToolCallID: "call_1", Text: "Sat\nLinux 6.1\nplenty\n"})
	if heard := demoAnswer(t, question); !strings.Contains(strings.Join(heard.Texts, ""), "- Linux 6.1") {
		t.Errorf("it said %q", heard.Texts)
	}
}

func demoCounts(t *testing.T) {
	used := demoAnswer(t, smallRequest()).Usage
	if used.InputTokens == nil || used.OutputTokens == nil || *used.TotalTokens != *used.InputTokens+*used.OutputTokens {
		t.Errorf("got %+v", used)
	}
	if used.CacheReadTokens != nil || used.CacheWriteTokens != nil {
		t.Error("the script says that it has a cache")
	}
}

func demoIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := (demo{pace: time.Hour}).Stream(ctx, smallRequest(), &ear{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func demoIsNotHeard(t *testing.T) {
	if _, err := (demo{}).Stream(t.Context(), smallRequest(), &ear{deaf: errDeaf}); !errors.Is(err, errDeaf) {
		t.Errorf("got %v", err)
	}
}

func count(tokens int64) *int64 { return &tokens }
