// Package providertest holds every provider to the same behaviours: what the agent may rely on, and what a hostile or broken vendor may do.
//
// A provider's folder says in a [Dialect] how its vendor writes an answer and reads a request, and calls [Run]. Everything goes through a
// transport without a socket, inside of a synctest bubble, so that silence takes no time and nothing may be left running.
package providertest

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
	"signoff/internal/llm/provider"
	"signoff/internal/secrets"
	"signoff/internal/tools"
)

// behaviour is one thing that the agent may rely on, whoever is behind the model. Where a script has nothing to show of it, noScript says
// why.
type behaviour struct {
	name     string
	vendor   func(t *testing.T, d Dialect)
	noScript string
}

const (
	noConnection = "the script has no connection that could fail"
	oneEnd       = "the script always comes to its end"
	oneCommand   = "the script asks for one command, always the same"
)

var behaviours = []behaviour{
	{name: "text arrives in pieces",
		vendor: says(Heard{Texts: []string{"Hel", "lo ", "there"}},
			Saying("Hel"), Saying("lo "), Saying("there"), Stopping("stop"))},
	{name: "a thought comes before the text",
		vendor: says(Heard{Thought: "Hmm.", Texts: []string{"Yes"}}, Thinking("Hm"), Thinking("m."), Saying("Yes"), Stopping("stop"))},
	{name: "characters may be split between two bytes", vendor: splitBytes},
	{name: "one call",
		vendor: says(Heard{Texts: []string{"I look."}, Calls: []string{`bash {"command":"ls"}`}},
			Saying("I look."), Calling(0, "bash", `{"comm`), Calling(0, "", `and":"ls"}`), Stopping("tools"))},
	{name: "parallel calls, their pieces mixed", noScript: oneCommand,
		vendor: says(Heard{Calls: []string{`bash {"command":"x"}`, `read {"path":"y"}`}},
			Calling(0, "bash", ""), Calling(1, "read", ""), Calling(0, "", `{"comm`), Calling(1, "", `{"path":`),
			Calling(0, "", `and":"x"}`), Calling(1, "", `"y"}`), Stopping("tools"))},
	{name: "a call without arguments", noScript: oneCommand,
		vendor: says(Heard{Calls: []string{"think "}}, Calling(0, "think", ""), Stopping("tools"))},
	{name: "the conversation is sent in order", vendor: sendsInOrder},

	{name: "usage has the cache within the input",
		vendor: says(Heard{Texts: []string{"a"}, Usage: domain.Usage{
			InputTokens: count(160), OutputTokens: count(20), TotalTokens: count(180), ReasoningTokens: count(5),
			CacheReadTokens: count(50), CacheWriteTokens: count(10),
		}}, Saying("a"), Stopping("stop"), Piece{Usage: &UsageSaid{Fresh: 100, CacheRead: 50, CacheWrite: 10, Output: 20, Reasoning: 5}})},
	{name: "usage that is not reported is unknown", noScript: "the script counts its own words",
		vendor: says(Heard{Texts: []string{"a"}}, Saying("a"), Stopping("stop"))},
	{name: "nonsense for usage is unknown", noScript: "the script counts its own words",
		vendor: says(Heard{Texts: []string{"a"}, Usage: domain.Usage{
			CacheReadTokens: count(0), CacheWriteTokens: count(0), ReasoningTokens: count(0),
		}}, Saying("a"), Stopping("stop"), Piece{Usage: &UsageSaid{Fresh: 9e18, Output: -1}})},

	{name: "the token limit", noScript: oneEnd,
		vendor: says(Heard{Texts: []string{"a"}, Finish: provider.FinishLength}, Saying("a"), Stopping("length"))},
	{name: "a refusal by the model", noScript: oneEnd, vendor: refusesInWords},
	{name: "a content filter", noScript: oneEnd,
		vendor: fails(said(Saying("a"), Stopping("filter")), trouble{code: domain.CodeContentFiltered, text: "stopped the answer of model"})},
	{name: "a content filter before the answer", noScript: noConnection,
		vendor: fails(func(d Dialect) Reply { return answering(400, "application/json", d.Filtered) },
			trouble{code: domain.CodeContentFiltered, text: "refused the request to model"})},
	{name: "an empty answer", noScript: oneCommand, vendor: says(Heard{}, Stopping("stop"))},
	{name: "two calls with one id", noScript: oneCommand,
		vendor: says(Heard{Calls: []string{`bash {"command":"x"}`, `bash {"command":"y"}`}},
			callingAs("same", 0, "bash", `{"command":"x"}`), callingAs("same", 1, "bash", `{"command":"y"}`), Stopping("tools"))},

	{name: "comments keep a connection alive", noScript: noConnection,
		vendor: says(Heard{Texts: []string{"a", "b"}},
			Verbatim(": ping\n\n"), Saying("a"), Verbatim(":\n\n"), Verbatim(": wait\n"), Saying("b"), Stopping("stop"))},
	{name: "what comes after the end changes nothing", noScript: noConnection,
		vendor: says(Heard{Texts: []string{"a"}}, Saying("a"), Stopping("stop"), Verbatim("data: {garbage\n\n"))},
	{name: "a stream that just stops", noScript: noConnection,
		vendor: fails(said(Saying("a")), trouble{code: domain.CodeModelStreamBroken, retry: true, text: "without saying why"})},
	{name: "a stream that never begins", noScript: noConnection,
		vendor: fails(func(Dialect) Reply { return Stream("") }, trouble{code: domain.CodeModelStreamBroken, retry: true})},
	{name: "a torn connection", noScript: noConnection, vendor: fails(torn, trouble{code: domain.CodeModelStreamBroken, retry: true, text: "broke off"})},
	{name: "garbage", noScript: noConnection,
		vendor: fails(said(Saying("a"), Verbatim("event: message_delta\ndata: {\"choices\":[\n\n")),
			trouble{code: domain.CodeModelStreamBroken, retry: true, text: "cannot be read"})},
	{name: "a page instead of a stream", noScript: noConnection,
		vendor: fails(func(Dialect) Reply { return answering(200, "text/html", "<html>Log in</html>") },
			trouble{code: domain.CodeModelFailed, retry: true, text: "a page: a proxy or a login may stand before it"})},

	{name: "a bad request", noScript: noConnection, vendor: fails(status(400), trouble{code: domain.CodeModelFailed, text: "answered 400: Oh"})},
	{name: "a wrong key", noScript: noConnection, vendor: fails(status(401), trouble{code: domain.CodeModelUnauthorized, text: "(401)"})},
	{name: "a key without the right", noScript: noConnection, vendor: fails(status(403), trouble{code: domain.CodeModelUnauthorized, text: "(403)"})},
	{name: "no such model", noScript: noConnection, vendor: fails(status(404), trouble{code: domain.CodeModelFailed, text: "answered 404"})},
	{name: "a request that is too large", noScript: noConnection, vendor: fails(status(413), trouble{code: domain.CodeModelFailed, text: "answered 413"})},
	{name: "a rate limit", noScript: noConnection,
		vendor: fails(status(429), trouble{code: domain.CodeModelFailed, retry: true, after: 7 * time.Second, text: "answered 429"})},
	{name: "an error of the server", noScript: noConnection, vendor: fails(status(500), trouble{code: domain.CodeModelFailed, retry: true, text: "answered 500"})},
	{name: "a server that is away", noScript: noConnection, vendor: fails(status(503), trouble{code: domain.CodeModelFailed, retry: true, text: "answered 503"})},
	{name: "overload", noScript: noConnection, vendor: fails(status(529), trouble{code: domain.CodeModelFailed, retry: true, text: "answered 529: Oh"})},
	{name: "overload that says how long it lasts", noScript: noConnection,
		vendor: fails(func(d Dialect) Reply {
			return headed(http.StatusServiceUnavailable, http.Header{"Retry-After": {"9"}, "Content-Type": {"application/json"}}, d.Fail(503, "Oh"))
		}, trouble{code: domain.CodeModelFailed, retry: true, after: 9 * time.Second, text: "answered 503: Oh"})},
	{name: "a page of HTML for an error", noScript: noConnection,
		vendor: fails(func(Dialect) Reply { return answering(502, "text/html", "<html>"+Key+"</html>") },
			trouble{code: domain.CodeModelFailed, retry: true, text: "answered 502: Bad Gateway"})},
	{name: "an error that says nothing", noScript: noConnection,
		vendor: fails(func(Dialect) Reply { return answering(529, "", "") }, trouble{code: domain.CodeModelFailed, retry: true, text: "answered 529: Overloaded"})},
	{name: "a status that nobody knows", noScript: noConnection,
		vendor: fails(func(Dialect) Reply { return answering(599, "", "") }, trouble{code: domain.CodeModelFailed, retry: true, text: "does not say why"})},
	{name: "a redirect, which would carry the key to another host", noScript: noConnection,
		vendor: fails(func(Dialect) Reply { return redirect }, trouble{code: domain.CodeModelFailed, text: "answered 307, and not as a model's API does"})},
	{name: "an error without an end", noScript: noConnection, vendor: readsErrorsToABound},
	{name: "an error that stops in its middle", noScript: noConnection,
		vendor: fails(func(Dialect) Reply { return stallsIn(http.StatusBadRequest, `{"error":`) },
			trouble{code: domain.CodeModelStreamBroken, retry: true, text: "fell silent"})},
	{name: "a probe asks for the models with the key", noScript: noConnection, vendor: probes},
	{name: "what a vendor says of a failure is hidden", noScript: noConnection, vendor: hidesWhatIsSaid},
	{name: "no connection", noScript: noConnection, vendor: fails(refused, trouble{code: domain.CodeModelUnreachable, retry: true})},

	{name: "overload in the middle of an answer", noScript: noConnection,
		vendor: fails(brokenBy(529), trouble{code: domain.CodeModelFailed, retry: true, text: "answered 529: Oh"})},
	{name: "an error in the middle that stays", noScript: noConnection,
		vendor: fails(brokenBy(400), trouble{code: domain.CodeModelFailed, text: "answered 400: Oh"})},
	{name: "an error in the middle that is not known", noScript: noConnection,
		vendor: fails(said(Saying("a"), Verbatim("event: error\ndata: {\"error\":{\"message\":\"Oh\"}}\n\n")),
			trouble{code: domain.CodeModelFailed, retry: true, text: "reported an error: Oh"})},

	{name: "a conversation that is too long", noScript: "the script reads any length",
		vendor: fails(func(d Dialect) Reply { return answering(400, "application/json", d.Overflow) },
			trouble{code: domain.CodeContextOverflow, text: "longer than model"})},
	{name: "a conversation that turns out to be too long", noScript: "the script reads any length",
		vendor: fails(func(d Dialect) Reply { return Stream("event: error\ndata: " + d.Overflow + "\n\n") },
			trouble{code: domain.CodeContextOverflow, text: "longer than model"})},

	{name: "a huge line", noScript: noConnection,
		vendor: fails(said(Saying(strings.Repeat("x", provider.MaxLineBytes+1))), trouble{code: domain.CodeModelFailed, text: "single event"})},
	{name: "a huge event", noScript: noConnection,
		vendor: fails(said(Verbatim(strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n", 9))), trouble{code: domain.CodeModelFailed, text: "single event"})},
	{name: "a never-ending answer", noScript: noConnection,
		vendor: fails(said(slices.Repeat([]Piece{Thinking(strings.Repeat("x", 1<<20))}, 9)...), trouble{code: domain.CodeModelFailed, text: "longer than 8 MiB"})},
	{name: "usage of an answer that breaks off", noScript: noConnection, vendor: breaksWithUsage},
	{name: "a flood of calls", noScript: oneEnd,
		vendor: fails(said(manyCalls(provider.MaxCalls+1)...), trouble{code: domain.CodeModelFailed, retry: true, text: "more than 200 tool calls"})},
	{name: "as many calls as are read", noScript: oneEnd, vendor: readsManyCalls},
	{name: "never-ending arguments", noScript: noConnection,
		vendor: fails(said(append([]Piece{Calling(0, "bash", "")}, slices.Repeat([]Piece{Calling(0, "", strings.Repeat("x", 1<<20))}, 9)...)...),
			trouble{code: domain.CodeModelFailed, text: "longer than 8 MiB"})},

	{name: "silence before the answer", noScript: noConnection,
		vendor: fails(func(Dialect) Reply { return never }, trouble{code: domain.CodeModelStreamBroken, retry: true, text: "fell silent"})},
	{name: "silence within the answer", noScript: noConnection,
		vendor: fails(func(d Dialect) Reply { return stallsAfter(d.Wire(Saying("a"))) },
			trouble{code: domain.CodeModelStreamBroken, retry: true, text: "fell silent"})},
	{name: "the end of the context ends the request", vendor: isCancelled},
	{name: "nobody listens any more", vendor: isNotHeard},
	{name: "nothing comes from the environment", noScript: noConnection, vendor: ignoresTheEnvironment},
	{name: "a request says what it is", noScript: noConnection, vendor: saysWhatItIs},
	{name: "no key where none is configured", noScript: noConnection, vendor: sendsNoKey},
}

// Run holds a vendor's provider to every behaviour.
func Run(t *testing.T, d Dialect) {
	for _, behaviour := range behaviours {
		t.Run(behaviour.name, func(t *testing.T) { behaviour.vendor(t, d) })
	}
}

// RunScript holds a provider without a vendor to the behaviours that a script can show, by its own tests of them.
func RunScript(t *testing.T, shows map[string]func(*testing.T)) {
	known := map[string]bool{}
	for _, behaviour := range behaviours {
		known[behaviour.name] = true
		show := shows[behaviour.name]
		if (show == nil) == (behaviour.noScript == "") {
			t.Errorf("%s: nothing says what the script does, nor why it does not, or both do", behaviour.name)
		}
		if show != nil {
			t.Run(behaviour.name, show)
		}
	}
	for name := range shows {
		if !known[name] {
			t.Errorf("there is no behaviour %q", name)
		}
	}
}

// Refusals tells which bodies of a 400 may be about the state of earlier answers.
func Refusals(t *testing.T, d Dialect, bodies map[string]bool) {
	for body, want := range bodies {
		_, err := askSuite(t, d, answering(http.StatusBadRequest, "application/json", body), &Ear{})
		var failed *provider.Error
		if !errors.As(err, &failed) || !failed.Refused() || failed.RefusedState() != want {
			t.Errorf("may be about state, want %v: %s: %v", want, body, err)
		}
	}
}

// Heard is all that came of one request.
type Heard struct {
	Texts   []string
	Thought string
	Calls   []string
	Finish  provider.Finish
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
func says(want Heard, pieces ...Piece) func(*testing.T, Dialect) {
	return func(t *testing.T, d Dialect) {
		ear := &Ear{}
		got, err := askSuite(t, d, Stream(d.Wire(pieces...)), ear)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, ear.All(got)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// fails has the vendor, or what is between, fail.
func fails(how func(Dialect) Reply, want trouble) func(*testing.T, Dialect) {
	return func(t *testing.T, d Dialect) {
		_, err := askSuite(t, d, how(d), &Ear{})
		var failed *provider.Error
		if !errors.As(err, &failed) {
			t.Fatalf("got %v, want a failure", err)
		}
		if failed.Shown.Code != want.code || failed.Retry != want.retry || failed.After != want.after ||
			!strings.Contains(failed.Shown.Message, want.text) {
			t.Errorf("got %s, retry %v after %v: %s", failed.Shown.Code, failed.Retry, failed.After, failed.Shown.Message)
		}
		for cause := err; cause != nil; cause = errors.Unwrap(cause) {
			if strings.Contains(cause.Error(), Key) {
				t.Errorf("the key is in the error %q", cause)
			}
		}
	}
}

// Ear is a sink that keeps what it hears.
type Ear struct {
	Texts, Thoughts []string
	Deaf            error // what it answers
}

// Text implements [provider.Sink].
func (e *Ear) Text(text string) error { e.Texts = append(e.Texts, text); return e.Deaf }

// Thought implements [provider.Sink].
func (e *Ear) Thought(thought string) error { e.Thoughts = append(e.Thoughts, thought); return e.Deaf }

// All is what was heard, with the answer that it belongs to.
func (e *Ear) All(got provider.Answer) Heard {
	heard := Heard{Texts: e.Texts, Thought: strings.Join(e.Thoughts, ""), Finish: got.Finish, Usage: got.Usage}
	for _, call := range got.Calls {
		heard.Calls = append(heard.Calls, call.Name+" "+call.Arguments)
	}
	return heard
}

// Reply is the vendor's side of a request.
type Reply func(request *http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (r Reply) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

// askSuite asks once, in a bubble, where silence takes no time and nothing may be left running. A provider that repeats
// a request by itself would hide the wait from the log.
func askSuite(t *testing.T, d Dialect, vendor Reply, sink provider.Sink) (got provider.Answer, err error) {
	t.Helper()
	var requests int
	counted := func(request *http.Request) (*http.Response, error) {
		requests++
		return vendor(request)
	}
	synctest.Test(t, func(t *testing.T) {
		got, err = d.Open(Reply(counted)).Stream(t.Context(), SmallRequest(), sink)
	})
	if requests != 1 {
		t.Errorf("%d requests were sent", requests)
	}
	return got, err
}

// SmallRequest is a question that every provider understands.
func SmallRequest() provider.Request {
	return provider.Request{
		System:   "You are tested.",
		Messages: []domain.Message{{Role: domain.RoleUser, Text: "Grüße 👍"}},
		Tools:    []tools.Definition{tools.Bash{}.Definition()},
	}
}

func answering(status int, kind, body string) Reply {
	return bodied(status, kind, io.NopCloser(strings.NewReader(body)))
}

func bodied(status int, kind string, body io.ReadCloser) Reply {
	header := http.Header{}
	if kind != "" {
		header.Set("Content-Type", kind)
	}
	if status == http.StatusTooManyRequests {
		header.Set("Retry-After", "7")
	}
	return replying(status, header, body)
}

func headed(status int, header http.Header, body string) Reply {
	return replying(status, header, io.NopCloser(strings.NewReader(body)))
}

func replying(status int, header http.Header, body io.ReadCloser) Reply {
	return func(request *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: header, Body: body, Request: request}, nil
	}
}

// Stream replies with the body of a stream.
func Stream(body string) Reply { return answering(http.StatusOK, "text/event-stream", body) }

func said(pieces ...Piece) func(Dialect) Reply {
	return func(d Dialect) Reply { return Stream(d.Wire(pieces...)) }
}

func status(status int) func(Dialect) Reply {
	return func(d Dialect) Reply {
		return answering(status, "application/json", d.Fail(status, "Oh, "+Key+" at https://vendor.test/?key="+Key))
	}
}

func brokenBy(status int) func(Dialect) Reply {
	return func(d Dialect) Reply {
		return Stream(d.Wire(Saying("a"), Verbatim(d.FailEvent(status, "Oh, "+Key))))
	}
}

func torn(d Dialect) Reply {
	begun := io.MultiReader(strings.NewReader(d.Wire(Saying("a"))), iotest.ErrReader(io.ErrUnexpectedEOF))
	return bodied(http.StatusOK, "text/event-stream", io.NopCloser(begun))
}

func refused(Dialect) Reply {
	return func(*http.Request) (*http.Response, error) { return nil, errors.New("dial tcp 10.1.2.3:443: refused") }
}

func never(request *http.Request) (*http.Response, error) {
	<-request.Context().Done()
	return nil, request.Context().Err()
}

func probes(t *testing.T, d Dialect) {
	for status, want := range map[int]domain.Code{200: "", 404: "", 401: domain.CodeModelUnauthorized, 403: domain.CodeModelUnauthorized, 500: domain.CodeModelFailed} {
		var asked *http.Request
		err := d.Open(Reply(func(request *http.Request) (*http.Response, error) {
			asked = request
			return answering(status, "application/json", "{}")(request)
		})).Probe(t.Context())
		if err == nil && want != "" || err != nil && domain.CodeOf(err) != want {
			t.Errorf("%d: %v", status, err)
		}
		if asked.Method != http.MethodGet || asked.URL.String() != "http://vendor.test/prefix/v1/models" || asked.Header.Get(d.KeyHeader) != d.Key {
			t.Errorf("asked %s with %v", asked.URL, asked.Header)
		}
	}
	if err := d.Open(refused(d)).Probe(t.Context()); domain.CodeOf(err) != domain.CodeModelUnreachable || strings.Contains(domain.FailureOf(err).Message, "10.1.2.3") {
		t.Errorf("without a connection: %v", err)
	}
}

// hidesWhatIsSaid: the model's own key, short as it may be, and what the masker knows.
func hidesWhatIsSaid(t *testing.T, d Dialect) {
	setup := Setup(answering(400, "application/json", `{"error":{"message":"Not with k3y, nor with another-secret."}}`))
	setup.Masker = secrets.NewMasker("another-secret")
	model := provider.Model{Name: "m", Model: "m", BaseURL: "http://vendor.test/v1", APIKey: "k3y"}
	_, err := d.Provider.Open(model, setup).Stream(t.Context(), SmallRequest(), &Ear{})
	if got := domain.FailureOf(err).Message; !strings.HasSuffix(got, "Not with [key], nor with [masked].") {
		t.Errorf("%s", got)
	}
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

func readsErrorsToABound(t *testing.T, d Dialect) {
	body := &endless{}
	_, err := askSuite(t, d, bodied(http.StatusBadRequest, "text/plain", body), &Ear{})
	if domain.CodeOf(err) != domain.CodeModelFailed || body.read > 2*provider.MaxErrorBytes {
		t.Errorf("%d bytes were read, %v", body.read, err)
	}
}

// stallsAfter sends the beginning of an answer, and then nothing until the request is given up.
func stallsAfter(begun string) Reply { return stallsIn(http.StatusOK, begun) }

func stallsIn(status int, begun string) Reply {
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

func manyCalls(n int) (pieces []Piece) {
	for i := range n {
		pieces = append(pieces, Calling(i, "bash", "{}"))
	}
	return pieces
}

func readsManyCalls(t *testing.T, d Dialect) {
	got, err := askSuite(t, d, Stream(d.Wire(append(manyCalls(provider.MaxCalls), Stopping("tools"))...)), &Ear{})
	if err != nil || len(got.Calls) != provider.MaxCalls {
		t.Errorf("%d calls, %v", len(got.Calls), err)
	}
}

func breaksWithUsage(t *testing.T, d Dialect) {
	begun := d.Wire(Piece{Usage: &UsageSaid{Fresh: 100, Output: 1}})
	got, err := askSuite(t, d, Stream(begun), &Ear{})
	if domain.CodeOf(err) != domain.CodeModelStreamBroken || got.Usage.InputTokens == nil || *got.Usage.InputTokens != 100 {
		t.Errorf("%v, and used %+v", err, got.Usage)
	}
}

// refusesInWords: the words are the model's. A vendor that does not tell them from others has the answer end like any other.
func refusesInWords(t *testing.T, d Dialect) {
	want := Heard{Texts: []string{"I will not."}}
	if d.TellsRefusals {
		want.Finish = provider.FinishRefusal
	}
	says(want, Piece{Refusal: "I will not."}, Stopping("stop"))(t, d)
}

func splitBytes(t *testing.T, d Dialect) {
	ear := &Ear{}
	body := iotest.OneByteReader(strings.NewReader(d.Wire(Thinking("日本"), Saying("Grüße 👍"), Stopping("stop"))))
	got, err := askSuite(t, d, bodied(http.StatusOK, "text/event-stream", io.NopCloser(body)), ear)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Heard{Thought: "日本", Texts: []string{"Grüße 👍"}}, ear.All(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func sendsInOrder(t *testing.T, d Dialect) {
	ls, pwd := domain.ToolCall{ID: "call_1", Tool: "bash", Arguments: json.RawMessage(`{"command":"ls"}`)},
		domain.ToolCall{ID: "call_2", Tool: "bash", Arguments: json.RawMessage(`{"command":"pwd"}`)}
	question := provider.Request{System: "You are tested.", Tools: []tools.Definition{tools.Bash{}.Definition()}, Messages: []domain.Message{
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
		return Stream(d.Wire(Saying("a"), Stopping("stop")))(request)
	}
	if _, err := d.Open(Reply(listens)).Stream(t.Context(), question, &Ear{}); err != nil {
		t.Fatal(err)
	}
	want := Conversation{System: "You are tested.", Tools: []string{"bash"}, Messages: []Message{
		{Role: "user", Text: "Look"},
		{Role: "assistant", Text: "I look."},
		{Role: "assistant", Call: "call_1", Text: `bash {"command":"ls"}`},
		{Role: "assistant", Call: "call_2", Text: `bash {"command":"pwd"}`},
		{Role: "user", Result: "call_1", Text: "a.md"},
		{Role: "user", Result: "call_2", Text: "/srv"},
		{Role: "user", Text: "And?"},
	}}
	if diff := cmp.Diff(want, d.Read(t, sent)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func isCancelled(t *testing.T, d Dialect) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var asked *http.Request
		hangs := func(request *http.Request) (*http.Response, error) {
			asked = request
			return stallsAfter(d.Wire(Saying("a")))(request)
		}
		var asking sync.WaitGroup
		asking.Go(func() {
			if _, err := d.Open(Reply(hangs)).Stream(ctx, SmallRequest(), &Ear{}); !errors.Is(err, context.Canceled) {
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

func isNotHeard(t *testing.T, d Dialect) {
	for _, first := range []Piece{Saying("a"), Thinking("a")} {
		_, err := askSuite(t, d, stallsAfter(d.Wire(first)), &Ear{Deaf: errDeaf})
		if !errors.Is(err, errDeaf) {
			t.Errorf("got %v", err)
		}
	}
}

func ignoresTheEnvironment(t *testing.T, d Dialect) {
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
	asked := askedHeader(t, d.Open, d)
	if asked.URL.String() != d.Address || asked.Header.Get(d.KeyHeader) != d.Key {
		t.Errorf("asked %s with the key %q", asked.URL, asked.Header.Get(d.KeyHeader))
	}
	for name, values := range asked.Header {
		if strings.Contains(strings.Join(values, " "), "another") || name == "Traceparent" {
			t.Errorf("the header %s has %q", name, values)
		}
	}
}

// saysWhatItIs: the length is known beforehand, since some gateways take no chunked request.
func saysWhatItIs(t *testing.T, d Dialect) {
	asked := askedHeader(t, d.Open, d)
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

func sendsNoKey(t *testing.T, d Dialect) {
	t.Setenv("OPENAI_API_KEY", "of-another-account")
	t.Setenv("ANTHROPIC_API_KEY", "of-another-account")
	asked := askedHeader(t, func(transport http.RoundTripper) provider.Client { return d.open(transport, "") }, d)
	if asked.Header.Get("Authorization")+asked.Header.Get("X-Api-Key") != "" {
		t.Errorf("sent %v", asked.Header)
	}
}

func askedHeader(t *testing.T, open func(http.RoundTripper) provider.Client, d Dialect) (asked *http.Request) {
	t.Helper()
	client := open(Reply(func(request *http.Request) (*http.Response, error) {
		asked = request
		return Stream(d.Wire(Saying("a"), Stopping("stop")))(request)
	}))
	if _, err := client.Stream(t.Context(), SmallRequest(), &Ear{}); err != nil {
		t.Fatal(err)
	}
	return asked
}

// count is a figure of usage.
func count(tokens int64) *int64 { return &tokens }
