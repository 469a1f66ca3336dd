package llm_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/llm"
	"signoff/internal/tools/hosttest"
)

// wire is how a dialect writes what goes wrong, and what goes well.
type wire struct {
	provider string
	text     func(text string) string
	calls    func(ids ...string) string // of bash, each with another command
	ends     map[string]string          // stop, tools, length, refusal, filter
	failure  func(status int) string    // the body of an error
	filtered string                     // the body of the 400 of a content filter
}

func event(data string) string {
	kind := regexp.MustCompile(`^\{"type":"([^"]+)"`).FindStringSubmatch(data)
	if kind == nil {
		return "data: " + data + "\n\n"
	}
	return "event: " + kind[1] + "\ndata: " + data + "\n\n"
}

var wires = []wire{{
	provider: "openai",
	text:     func(text string) string { return event(says(text)) },
	calls: func(ids ...string) (all string) {
		for i, id := range ids {
			all += event(calls(fmt.Sprintf(`{"index":%d,"id":%q,"function":{"name":"bash","arguments":"{\"command\":\"%d\"}"}}`, i, id, i)))
		}
		return all
	},
	ends: map[string]string{
		"stop": event(ends("stop")), "tools": event(ends("tool_calls")), "length": event(ends("length")),
		"refusal": event(delta(`{"refusal":"No."}`)) + event(ends("stop")),
		"filter":  event(`{"choices":[{"index":0,"delta":{},"finish_reason":"content_filter","content_filter_results":{"hate":{"filtered":false,"severity":"safe"},"violence":{"filtered":true,"severity":"high"}}}]}`),
	},
	failure: func(int) string { return `{"error":{"message":"Oh","code":null}}` },
	filtered: `{"error":{"message":"The response was filtered.","code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation",` +
		`"content_filter_result":{"violence":{"filtered":true,"severity":"high"}}}}}`,
}, {
	provider: "openai-responses",
	text: func(text string) string {
		return event(`{"type":"response.output_text.delta","delta":` + string(mustJSON(text)) + `}`)
	},
	calls: func(ids ...string) (all string) {
		for i, id := range ids {
			item := fmt.Sprintf(`"output_index":%d,"item":{"type":"function_call","call_id":%q,"name":"bash","arguments":"{\"command\":\"%d\"}"}`, i, id, i)
			all += event(`{"type":"response.output_item.added",`+item+`}`) +
				event(fmt.Sprintf(`{"type":"response.function_call_arguments.delta","output_index":%d,"delta":"{\"command\":\"%d\"}"}`, i, i)) +
				event(`{"type":"response.output_item.done",`+item+`}`)
		}
		return all
	},
	ends: map[string]string{
		"stop": event(`{"type":"response.completed","response":{}}`), "tools": event(`{"type":"response.completed","response":{}}`),
		"length":  event(`{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}`),
		"refusal": event(`{"type":"response.refusal.delta","delta":"No."}`) + event(`{"type":"response.completed","response":{}}`),
		"filter":  event(`{"type":"response.incomplete","response":{"incomplete_details":{"reason":"content_filter"}}}`),
	},
	failure:  func(int) string { return `{"error":{"message":"Oh","code":null}}` },
	filtered: `{"error":{"message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy.","code":"invalid_prompt"}}`,
}, {
	provider: "anthropic",
	text: func(text string) string {
		return event(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":`+string(mustJSON(text))+`}}`) +
			event(`{"type":"content_block_stop","index":0}`)
	},
	calls: func(ids ...string) (all string) {
		for i, id := range ids {
			all += event(fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":%q,"name":"bash","input":{}}}`, i+1, id)) +
				event(fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":"{\"command\":\"%d\"}"}}`, i+1, i)) +
				event(fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i+1))
		}
		return all
	},
	ends: map[string]string{
		"stop":   event(`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`),
		"tools":  event(`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`),
		"length": event(`{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}`),
		"filter": event(`{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"type":"refusal","category":"violence","explanation":"It was declined."}}}`),
	},
	failure:  func(int) string { return `{"type":"error","error":{"type":"api_error","message":"Oh"}}` },
	filtered: `{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}`,
}}

// fault is one thing that a provider does wrong, and what the log shows of it: the events about the model, and the end.
type fault struct {
	name    string
	replies func(w wire) []reply
	retries []string // code and part of the message; the last one is for an hour if the turn does not end well
	forHour bool
	text    string // that is kept
	stop    domain.StopReason
	code    domain.Code
	later   bool   // the execution is interrupted, and goes on where somebody mends it
	says    string // the error's message
	next    bool   // a fallback is asked
}

func stream(body string) reply {
	return answers(http.StatusOK, http.Header{"Content-Type": {"text/event-stream"}}, body)
}

func (w wire) ok() reply { return stream(w.text("ok") + w.ends["stop"]) }

func ending(how string) func(wire) []reply {
	return func(w wire) []reply { return []reply{stream(w.text("par") + w.ends[how])} }
}

func (w wire) fails(status int, header http.Header) reply {
	if header == nil {
		header = http.Header{}
	}
	header.Set("Content-Type", "application/json")
	return answers(status, header, w.failure(status))
}

var faults = []fault{
	{name: "a rate limit that says how long", text: "ok", stop: domain.StopEndTurn,
		replies: func(w wire) []reply { return []reply{w.fails(429, http.Header{"Retry-After": {"7"}}), w.ok()} },
		retries: []string{`modelFailed: The provider of model "first" answered 429: Oh`}},
	{name: "overload", text: "ok", stop: domain.StopEndTurn,
		replies: func(w wire) []reply { return []reply{w.fails(529, nil), answers(529, nil, ""), w.ok()} },
		retries: []string{`modelFailed: The provider of model "first" answered 529: Oh`, `modelFailed: The provider of model "first" answered 529: Overloaded`}},
	{name: "overload for an hour", forHour: true, code: domain.CodeModelFailed, later: true, next: true,
		replies: func(w wire) []reply { return []reply{w.fails(529, nil)} },
		retries: []string{`modelFailed: The provider of model "first" answered 529: Oh`},
		says:    `The provider of model "first" answered 529: Oh`},
	{name: "a content filter", replies: ending("filter"), text: "par", stop: domain.StopRefusal, code: domain.CodeContentFiltered, next: true,
		says: `The content filter of the provider stopped the answer of model "first"`},
	{name: "a content filter before the answer", stop: domain.StopRefusal, code: domain.CodeContentFiltered, next: true,
		replies: func(w wire) []reply { return []reply{answers(400, nil, w.filtered)} },
		says:    `The content filter of the provider refused the request to model "first"`},
	{name: "a limit of tokens", replies: ending("length"), text: "par", stop: domain.StopMaxTokens, code: domain.CodeLimitReached,
		says: `The answer of model "first" was cut at a limit of tokens`},
	{name: "a refusal", replies: ending("refusal"), text: "parNo.", stop: domain.StopRefusal, code: domain.CodeRefused,
		says: `Model "first" declined to go on`},
	{name: "an empty answer", text: "ok", stop: domain.StopEndTurn,
		replies: func(w wire) []reply { return []reply{stream(w.ends["stop"]), w.ok()} },
		retries: []string{`modelFailed: The answer of model "first" was empty.`}},
	{name: "an empty answer, twice", stop: domain.StopEndTurn,
		replies: func(w wire) []reply { return []reply{stream(w.ends["stop"])} },
		retries: []string{`modelFailed: The answer of model "first" was empty.`}},
	{name: "no finish", text: "parok", stop: domain.StopEndTurn,
		replies: func(w wire) []reply { return []reply{stream(w.text("par")), w.ok()} },
		retries: []string{`modelStreamBroken: The answer of model "first" ended without saying why.`}},
	{name: "no finish, for an hour", forHour: true, text: "par", code: domain.CodeModelStreamBroken, later: true, next: true,
		replies: func(w wire) []reply { return []reply{stream(w.text("par"))} },
		retries: []string{`modelStreamBroken: The answer of model "first" ended without saying why.`},
		says:    `The answer of model "first" ended without saying why.`},
	{name: "a page of HTML with 200", forHour: true, code: domain.CodeModelFailed, later: true, next: true,
		replies: func(wire) []reply {
			return []reply{answers(200, http.Header{"Content-Type": {"text/html"}}, "<html>Log in</html>")}
		},
		retries: []string{`modelFailed: The provider of model "first" answered 200: it did not send a stream of events, but a page: a proxy or a login may stand before it`},
		says:    `The provider of model "first" answered 200: it did not send a stream of events, but a page`},
	{name: "two calls with one id", text: "ok", stop: domain.StopEndTurn,
		replies: func(w wire) []reply { return []reply{stream(w.calls("same", "same") + w.ends["tools"]), w.ok()} }},
	{name: "an unknown model", code: domain.CodeModelFailed, next: true,
		replies: func(w wire) []reply { return []reply{w.fails(404, nil)} },
		says:    `The provider of model "first" answered 404: Oh`},
	{name: "a wrong key", code: domain.CodeModelUnauthorized, later: true, next: true,
		replies: func(w wire) []reply { return []reply{w.fails(401, nil)} },
		says:    `The provider of model "first" does not accept the key (401).`},
}

// TestFaults: each fault, in each dialect, with a fallback and without one. The log names the model, what it did, and what happens next.
func TestFaults(t *testing.T) {
	for _, w := range wires {
		for _, f := range faults {
			if f.name == "a refusal" && w.ends["refusal"] == "" { // told in words alone
				continue
			}
			t.Run(w.provider+", "+f.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { f.alone(t, w) })
				synctest.Test(t, func(t *testing.T) { f.withFallback(t, w) })
			})
		}
	}
}

// spoken answers one reply after the other, and keeps what it was asked.
type spoken struct {
	replies []reply
	bodies  []string
}

// RoundTrip implements http.RoundTripper.
func (s *spoken) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	s.bodies = append(s.bodies, string(body))
	return s.replies[min(len(s.bodies), len(s.replies))-1](request)
}

func (f fault) prompt(t *testing.T, w wire, e domain.Execution) (first *spoken, host *hosttest.Host, stop domain.StopReason, err error) {
	t.Helper()
	first, host = &spoken{replies: f.replies(w)}, &hosttest.Host{Command: prints("it-ran")}
	second := &spoken{replies: []reply{w.ok()}}
	c := market{}.config()
	c.Models, c.Default = map[string]llm.Model{}, "first"
	for _, name := range []string{"first", "second"} {
		c.Models[name] = llm.Model{Provider: w.provider, Model: "m", BaseURL: "http://" + name + ".test/v1"}
	}
	c.Transport = hosts{"first.test": first, "second.test": second}
	stop, err = open(t, c, e).Prompt(t.Context(), host, prompt("Go"))
	host.Finish(t, true)
	return first, host, stop, err
}

type hosts map[string]http.RoundTripper

// RoundTrip implements http.RoundTripper.
func (h hosts) RoundTrip(request *http.Request) (*http.Response, error) {
	return h[request.URL.Host].RoundTrip(request)
}

func (f fault) alone(t *testing.T, w wire) {
	first, host, stop, err := f.prompt(t, w, execution())
	var retries []string
	for _, told := range hosttest.Of[domain.ModelRetrying](host) {
		want(t, "model of a retry", told.Model, "first")
		retries = append(retries, string(told.Code)+": "+told.Message)
		if told.At.IsZero() || told.DelayMs <= 0 {
			t.Errorf("a retry says nothing of its time: %+v", told)
		}
	}
	text := f.text
	if f.forHour {
		text = strings.Repeat(text, len(retries)+1)
		retries = slices.Compact(retries)
	}
	if diff := cmp.Diff(f.retries, retries); diff != "" {
		t.Errorf("retries (-want +got):\n%s", diff)
	}
	want(t, "text", host.Text(), text)
	want(t, "stop", stop, f.stop)
	want(t, "switches", len(hosttest.Of[domain.ModelSwitched](host)), 0)
	want(t, "may be served later", errors.Is(err, domain.ErrProviderUnavailable), f.later)
	checkError(t, err, f.code, f.says)
	if f.name == "two calls with one id" {
		want(t, "results", strings.Count(first.bodies[1], "it-ran"), 2)
		want(t, "doubled ids", strings.Count(first.bodies[1], `"same"`) > 2, false)
	}
	if f.name == "a content filter" && w.provider != "openai-responses" { // which names no category
		checkError(t, err, f.code, "violence")
	}
}

func (f fault) withFallback(t *testing.T, w wire) {
	_, host, stop, err := f.prompt(t, w, fallbackTo("second"))
	switches := hosttest.Of[domain.ModelSwitched](host)
	if !f.next {
		want(t, "switches", len(switches), 0)
		want(t, "stop", stop, f.stop)
		checkError(t, err, f.code, f.says)
		return
	}
	want(t, "error", err, nil)
	want(t, "switches", len(switches), 1)
	want(t, "from, to, code", switches[0].From+switches[0].To+string(switches[0].Code), "firstsecond"+string(f.code))
	if !strings.Contains(switches[0].Message, f.says) || !strings.HasSuffix(host.Text(), "ok") || !strings.HasPrefix(host.Text(), f.text) {
		t.Errorf("switched with %q, said %q", switches[0].Message, host.Text())
	}
}
