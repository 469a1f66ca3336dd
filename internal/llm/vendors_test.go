package llm_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
)

// TestVendors is what was seen of servers that speak chat completions, the correct and the others.
func TestVendors(t *testing.T) {
	tests := []struct {
		name    string
		replies []reply
		text    string
		thought string
		calls   []string // tool and arguments of the requested calls
		stop    domain.StopReason
		code    domain.Code
		retries int
		says    string // part of the final error
	}{
		{name: "nothing to say, once", replies: []reply{streams(ends("stop"), done), saysOnly("ok")}, text: "ok", stop: "endTurn", retries: 1},
		{name: "nothing to say, again", replies: []reply{streams(ends("stop"), done)}, stop: "endTurn", retries: 1},
		{name: "nothing but white space", replies: []reply{streams(says(" \n"), ends("stop"), done), saysOnly("ok")}, text: "ok", stop: "endTurn", retries: 1},
		{name: "nothing but a thought", replies: []reply{streams(delta(`{"reasoning":"Hm."}`), ends("stop"), done), saysOnly("ok")}, thought: "Hm.", text: "ok", stop: "endTurn", retries: 1},
		{name: "nothing within the token limit", replies: []reply{streams(ends("length"), done)}, stop: "maxTokens", code: domain.CodeLimitReached, says: `model "test" was cut`},
		{name: "nothing, between troubles", replies: []reply{answers(500, nil, ""), streams(ends("stop"), done), answers(500, nil, ""), streams(ends("stop"), done)},
			stop: "endTurn", retries: 3},
		{name: "nothing, after many attempts", replies: []reply{answers(500, nil, ""), answers(500, nil, ""), answers(500, nil, ""), answers(500, nil, ""), streams(ends("stop"), done)},
			stop: "endTurn", retries: 5},
		{name: "token limit within a call", replies: []reply{streams(callsBash(0, "rm -rf build"), ends("length"), done)}, stop: "maxTokens",
			code: domain.CodeLimitReached, says: "none of its calls has run"},
		{name: "refusal", replies: []reply{streams(delta(`{"refusal":"I will not."}`), ends("stop"), done)}, text: "I will not.", stop: "refusal",
			code: domain.CodeRefused, says: `Model "test" declined`},
		{name: "missing index", replies: []reply{streams(
			calls(`{"id":"a","function":{"name":"bash","arguments":"{\"command\":"}}`),
			calls(`{"function":{"arguments":"\"x\"}"}}`),
			calls(`{"id":"b","function":{"name":"bash","arguments":"{\"command\":\"y\"}"}}`),
			ends("tool_calls"), done), saysOnly("ok"),
		}, calls: []string{`bash {"command":"x"}`, `bash {"command":"y"}`}, text: "ok", stop: "endTurn"},
		{name: "missing index and id", replies: []reply{streams(
			delta(`{"tool_calls":[{"function":{"name":"bash","arguments":"{\"command\":\"x\"}"}},{"function":{"name":"bash","arguments":"{\"command\":\"y\"}"}}]}`),
			ends("stop"), done), saysOnly("ok"),
		}, calls: []string{`bash {"command":"x"}`, `bash {"command":"y"}`}, text: "ok", stop: "endTurn"},
		{name: "index 0 for all", replies: []reply{streams(
			calls(`{"index":0,"id":"a","function":{"name":"bash","arguments":"{\"command\":\"x\"}"}}`),
			calls(`{"index":0,"id":"b","function":{"name":"bash","arguments":"{\"command\":\"y\"}"}}`),
			ends("tool_calls"), done), saysOnly("ok"),
		}, calls: []string{`bash {"command":"x"}`, `bash {"command":"y"}`}, text: "ok", stop: "endTurn"},
		{name: "same id for all", replies: []reply{streams(
			calls(`{"index":0,"id":"a","function":{"name":"bash","arguments":"{\"command\":\"x\"}"}}`),
			calls(`{"index":1,"id":"a","function":{"name":"bash","arguments":"{\"command\":\"y\"}"}}`),
			ends("tool_calls"), done), saysOnly("ok"),
		}, calls: []string{`bash {"command":"x"}`, `bash {"command":"y"}`}, text: "ok", stop: "endTurn"},
		{name: "a new id for every piece", replies: []reply{streams(
			calls(`{"index":0,"id":"a","function":{"name":"bash","arguments":"{\"comm"}}`),
			calls(`{"index":0,"id":"b","function":{"arguments":"and\":"}}`),
			calls(`{"index":0,"id":"c","function":{"name":"bash","arguments":"\"x\"}"}}`),
			ends("tool_calls"), done), saysOnly("ok"),
		}, calls: []string{`bash {"command":"x"}`}, text: "ok", stop: "endTurn"},
		{name: "the chunk's id changes", replies: []reply{streams(
			`{"id":"1","choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"id":"2","choices":[{"index":0,"delta":{"content":"b"}}]}`,
			`{"id":"3","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`),
		}, text: "ab", stop: "endTurn"},
		{name: "calls but the reason is stop", replies: []reply{streams(callsBash(0, "a"), ends("stop"), done), saysOnly("ok")},
			calls: []string{`bash {"command":"a"}`}, text: "ok", stop: "endTurn"},
		{name: "a second choice", replies: []reply{streams(`{"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"yes"}}]}`, ends("stop"), done)}, text: "yes", stop: "endTurn"},
		{name: "reasoning_content", replies: []reply{streams(delta(`{"reasoning_content":"Hm"}`), delta(`{"reasoning_content":"m."}`), says("Yes"), ends("stop"), done)},
			thought: "Hmm.", text: "Yes", stop: "endTurn"},
		{name: "reasoning", replies: []reply{streams(delta(`{"reasoning":"Hmm.","content":""}`), delta(`{"content":"Yes","reasoning":null}`), ends("stop"), done)},
			thought: "Hmm.", text: "Yes", stop: "endTurn"},
		{name: "both reasoning fields", replies: []reply{streams(delta(`{"reasoning":"Hmm.","reasoning_content":"Hmm."}`), says("Yes"), ends("stop"), done)},
			thought: "Hmm.", text: "Yes", stop: "endTurn"},
		{name: "thought after text", replies: []reply{streams(delta(`{"reasoning":"A"}`), says("one "), delta(`{"reasoning":"B"}`), says("two"), ends("stop"), done)},
			thought: "AB", text: "one two", stop: "endTurn"},
		{name: "think tags", replies: []reply{streams(says("<thi"), says("nk>\nHmm."), says("</"), says("think>\n\n"), says("Yes <think>"), ends("stop"), done)},
			thought: "Hmm.", text: "Yes <think>", stop: "endTurn"},
		{name: "only blank text before a call", replies: []reply{streams(says("\n\n"), callsBash(0, "a"), ends("tool_calls"), done), saysOnly("ok")},
			calls: []string{`bash {"command":"a"}`}, text: "ok", stop: "endTurn"},
		{name: "error chunk", replies: []reply{streams(says("par"), `{"error":{"message":"overloaded","code":502}}`), saysOnly("ok")}, text: "parok", stop: "endTurn", retries: 1},
		{name: "error chunk of a kind that stays", replies: []reply{streams(`{"error":{"message":"context too long","code":400}}`)}, code: domain.CodeModelFailed, says: "context too long"},
		{name: "error chunk without a code", replies: []reply{streams(`{"error":"boom"}`)}, code: domain.CodeModelFailed, says: "boom", retries: forAnHour},
		{name: "error chunk after the end", replies: []reply{streams(says("ok"), ends("stop"), `{"error":"boom"}`)}, text: "ok", stop: "endTurn"},
		{name: "finish reason error", replies: []reply{streams(says("par"), ends("error"), done), saysOnly("ok")}, text: "parok", stop: "endTurn", retries: 1},
		{name: "cut short", replies: []reply{streams(says("par"))}, text: "par", code: domain.CodeModelStreamBroken, retries: forAnHour},
		{name: "cut short in a call, then well", replies: []reply{
			streams(says("par"), calls(`{"index":0,"id":"a","function":{"name":"bash","arguments":"{\"command\":\"x\"}"}}`)), saysOnly("ok"),
		}, text: "parok", stop: "endTurn", retries: 1},
		{name: "only [DONE]", replies: []reply{streams(done), saysOnly("ok")}, text: "ok", stop: "endTurn", retries: 1},
		{name: "empty account", replies: []reply{answers(429, nil, `{"error":{"message":"quota","code":"insufficient_quota"}}`)}, code: domain.CodeQuotaExceeded, says: "quota"},
		{name: "payment is wanted", replies: []reply{answers(402, nil, "")}, code: domain.CodeQuotaExceeded, says: "nothing left"},
		{name: "empty account, in the stream", replies: []reply{streams(`{"error":{"message":"quota","code":"insufficient_quota"}}`)}, code: domain.CodeQuotaExceeded, says: "quota"},
		{name: "JSON with 200", replies: []reply{answers(200, http.Header{"Content-Type": {"application/json"}}, `{"error":"no such model"}`)}, code: domain.CodeModelFailed, says: "no such model", retries: forAnHour},
		{name: "too long, told with 200", replies: []reply{answers(200, http.Header{"Content-Type": {"application/json"}}, tooLong)}, code: domain.CodeContextOverflow},
		{name: "a flood of calls", replies: []reply{flood(201), saysOnly("ok")}, text: "ok", stop: "endTurn", retries: 1},
		{name: "a flood of calls, again", replies: []reply{flood(201)}, code: domain.CodeModelFailed, says: "more than 200 tool calls at once", retries: 1},
		{name: "one letter a piece, and no index, no id, the name each time", replies: []reply{streams(
			slices.Concat(lettersOf(`{"command":"a}\"]b"}`), lettersOf(`{"command":"y"}`), []string{ends("tool_calls"), done})...,
		), saysOnly("ok")}, calls: []string{`bash {"command":"a}\"]b"}`, `bash {"command":"y"}`}, text: "ok", stop: "endTurn"},
		{name: "error is text", replies: []reply{answers(400, nil, `{"error":"no tools for you"}`)}, code: domain.CodeModelFailed, says: "answered 400: no tools for you"},
		{name: "detail", replies: []reply{answers(422, nil, `{"detail":[{"loc":["body"],"msg":"field required"}]}`)}, code: domain.CodeModelFailed, says: "field required"},
		{name: "a sentence with address and key", replies: []reply{answers(400, nil, `{"error":"see https://vendor.test/secret?x=1 for `+testKey+"\u202e\\n"+strings.Repeat("y", 1000)+`"}`)},
			code: domain.CodeModelFailed, says: "see [address] for [key] yyy"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := &vendor{replies: test.replies}
			host := &hosttest.Host{Command: prints("done\n")}
			stop, err := ask(t, v, host)
			retries := hosttest.Of[domain.ModelRetrying](host)
			if test.retries == forAnHour {
				test.retries, test.text = len(retries), strings.Repeat(test.text, len(retries)+1)
				if last := retries[len(retries)-1]; !last.At.Equal(last.Until) || last.Attempt != len(retries) || len(retries) < 15 {
					t.Errorf("the last of %d waits: %+v", len(retries), last)
				}
			}
			want(t, "stop reason", stop, test.stop)
			want(t, "text", host.Text(), test.text)
			if host.Thought() != test.thought {
				t.Errorf("thought: got %.80q", host.Thought())
			}
			if diff := cmp.Diff(test.calls, requested(host)); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			want(t, "retries", len(retries), test.retries)
			checkError(t, err, test.code, test.says)
		})
	}
}

// forAnHour are the retries of what does not get better; a text comes with each attempt.
const forAnHour = -1

// flood is an answer with so many calls.
func flood(n int) reply {
	var parts []string
	for i := range n {
		parts = append(parts, callsBash(i, "a"))
	}
	return streams(append(parts, ends("tool_calls"), done)...)
}

// lettersOf are the pieces of a call of bash whose arguments come letter by letter.
func lettersOf(arguments string) (pieces []string) {
	for _, letter := range arguments {
		pieces = append(pieces, calls(`{"function":{"name":"bash","arguments":`+string(mustJSON(string(letter)))+`}}`))
	}
	return pieces
}

// TestAThoughtThatComesLate gets an id of its own, and ends where text goes on.
func TestAThoughtThatComesLate(t *testing.T) {
	v := &vendor{replies: []reply{streams(delta(`{"reasoning":"A"}`), says("one "), delta(`{"reasoning":"B"}`), says("two"),
		delta(`{"reasoning":"C"}`), ends("stop"), done)}}
	host := &hosttest.Host{}
	if _, err := ask(t, v, host); err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, thought := range hosttest.Of[domain.ThoughtCompleted](host) {
		ids[thought.MessageID] = true
	}
	want(t, "thoughts", len(ids), 3)
	want(t, "messages", len(hosttest.Of[domain.MessageCompleted](host)), 1)
	conversation := host.Fold(t)
	want(t, "open", len(conversation.Texts), 0)
	want(t, "remembered text", conversation.LastText(), "one two")
}

func requested(host *hosttest.Host) []string {
	var list []string
	for _, call := range hosttest.Of[domain.ToolCallRequested](host) {
		list = append(list, call.Tool+" "+string(call.Arguments))
	}
	return list
}

func checkError(t *testing.T, err error, code domain.Code, part string) {
	t.Helper()
	if code == "" {
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	failure := domain.FailureOf(err)
	if failure.Code != code || !strings.Contains(failure.Message, part) {
		t.Errorf("got %+v, want %s with %q", failure, code, part)
	}
	if len([]rune(failure.Message)) > 400 || strings.Contains(failure.Message, testKey) || strings.Contains(failure.Message, "://") {
		t.Errorf("the message is not fit to be shown: %s", failure.Message)
	}
}

func TestUsage(t *testing.T) {
	number := func(n int64) *int64 { return &n }
	const full = `{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,` +
		`"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":5}}}`
	tests := []struct {
		name    string
		replies []reply
		want    []domain.Usage
	}{
		{"null", []reply{streams(says("ok"), `{"choices":[],"usage":null}`, ends("stop"), done)}, nil},
		{"in part", []reply{streams(says("ok"), ends("stop"), `{"choices":[],"usage":{"completion_tokens":7}}`, done)}, []domain.Usage{{
			InputTokens: number(10), OutputTokens: number(7), ContextSize: number(1000),
		}}},
		{"an empty answer is paid for as well", []reply{
			streams(ends("stop"), `{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":0}}`, done), saysOnly("ok"),
		}, []domain.Usage{{InputTokens: number(110), OutputTokens: number(0), ContextSize: number(1000)}}},
		{"two rounds", []reply{
			streams(callsBash(0, "a"), ends("tool_calls"), full, done),
			streams(says("ok"), ends("stop"), `{"choices":[],"usage":{"prompt_tokens":200,"completion_tokens":1,"total_tokens":201}}`, done),
		}, []domain.Usage{{
			InputTokens: number(110), OutputTokens: number(20), TotalTokens: number(120), ReasoningTokens: number(5),
			CacheReadTokens: number(0), ContextUsed: number(120), ContextSize: number(1000),
		}, {
			InputTokens: number(310), OutputTokens: number(21), TotalTokens: number(321), ReasoningTokens: number(5),
			CacheReadTokens: number(0), ContextUsed: number(201), ContextSize: number(1000),
		}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			host := &hosttest.Host{Command: prints("")}
			e := execution()
			e.Usage.InputTokens = number(10) // spent before a restart
			synctest.Test(t, func(t *testing.T) {
				if _, err := open(t, config(&vendor{replies: test.replies}), e).Prompt(t.Context(), host, prompt("Go")); err != nil {
					t.Fatal(err)
				}
			})
			var got []domain.Usage
			for _, update := range hosttest.Of[domain.UsageUpdated](host) {
				got = append(got, update.Usage)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	tests := []struct {
		name      string
		header    http.Header
		low, high time.Duration
	}{
		{"seconds", http.Header{"Retry-After": {"7"}}, 7 * time.Second, 8 * time.Second},
		{"fraction", http.Header{"Retry-After": {"2.5"}}, 2500 * time.Millisecond, 3 * time.Second},
		{"milliseconds", http.Header{"Retry-After-Ms": {"1500"}, "Retry-After": {"9"}}, 1500 * time.Millisecond, 2 * time.Second},
		{"ten minutes", http.Header{"Retry-After": {"600"}}, 10 * time.Minute, 11 * time.Minute},
		{"an hour", http.Header{"Retry-After": {"3600"}}, time.Hour, 61 * time.Minute},
		{"nonsense", http.Header{"Retry-After": {"soon"}}, 500 * time.Millisecond, 1500 * time.Millisecond},
		{"nothing", nil, 500 * time.Millisecond, 1500 * time.Millisecond},
		{"a date", nil, 29 * time.Second, 34 * time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				header := test.header
				if test.name == "a date" {
					header = http.Header{"Retry-After": {time.Now().Add(30 * time.Second).UTC().Format(http.TimeFormat)}}
				}
				v := &vendor{replies: []reply{answers(503, header, ""), saysOnly("ok")}}
				host, begun := &hosttest.Host{}, time.Now()
				if _, err := open(t, config(v), execution()).Prompt(t.Context(), host, prompt("Go")); err != nil {
					t.Fatal(err)
				}
				waited := time.Since(begun)
				if waited < test.low || waited > test.high {
					t.Errorf("waited %v", waited)
				}
				told := hosttest.Of[domain.ModelRetrying](host)[0]
				if told.Attempt != 1 || told.Model == "" || told.Code != domain.CodeModelFailed || told.DelayMs != waited.Milliseconds() || told.At.After(told.Until) {
					t.Errorf("told %+v, waited %v", told, waited)
				}
			})
		})
	}
}

func TestInterruptedAnswerIsClosedAndNotRemembered(t *testing.T) {
	v := &vendor{replies: []reply{
		streams(delta(`{"reasoning":"Hm"}`), says("half of"), callsBash(0, "rm x")),
		streams(delta(`{"reasoning":"Again"}`)),
		streams(says("whole"), callsBash(0, "ls"), ends("tool_calls"), done),
		saysOnly("end"),
	}}
	host := &hosttest.Host{Command: prints("files")}
	if _, err := ask(t, v, host); err != nil {
		t.Fatal(err)
	}
	var interrupted, whole int
	for _, completed := range hosttest.Of[domain.MessageCompleted](host) {
		if completed.Interrupted {
			interrupted++
		} else {
			whole++
		}
	}
	want(t, "interrupted messages", interrupted, 1)
	want(t, "whole messages", whole, 2)
	want(t, "calls", len(requested(host)), 1)
	for _, message := range v.requests()[3].body.Messages {
		if strings.Contains(message.Content, "half of") {
			t.Error("the model is shown what it had begun to say")
		}
	}
	conversation := host.Fold(t)
	want(t, "open messages", len(conversation.Texts), 0)
	want(t, "last text", conversation.LastText(), "end")
}

// TestRequestIsComplete: all that the operator says of a model arrives, and a schema is handed on as it is written, for the vendor to read.
func TestRequestIsComplete(t *testing.T) {
	v := &vendor{replies: []reply{saysOnly("ok")}}
	if _, err := ask(t, v, &hosttest.Host{}); err != nil {
		t.Fatal(err)
	}
	got := v.requests()[0]
	want(t, "address", got.url, "http://vendor.test/prefix/v1/chat/completions")
	want(t, "key", got.key, "Bearer "+testKey)
	want(t, "model", got.body.Model, "vendor-model")
	sent, definition := got.body.Tools[0], tools.Bash{}.Definition()
	want(t, "type", sent.Type, "function")
	want(t, "name", sent.Function.Name, definition.Name)
	want(t, "description", sent.Function.Description, definition.Description)
	var schema bytes.Buffer
	if err := json.Compact(&schema, definition.Schema); err != nil {
		t.Fatal(err)
	}
	want(t, "parameters", string(sent.Function.Parameters), schema.String())
}

// TestANameThatNoVendorTakesGoesBackMended: OpenAI answers 400 to a conversation with one, and would from then on.
func TestANameThatNoVendorTakesGoesBackMended(t *testing.T) {
	for name, sent := range map[string]string{
		"functions.bash<|channel|>": "functions_bash__channel__",
		"":                          "_",
		strings.Repeat("n", 70):     strings.Repeat("n", 64),
	} {
		v := &vendor{replies: []reply{
			streams(calls(`{"index":0,"id":"a","function":{"name":`+string(mustJSON(name))+`,"arguments":"{}"}}`), ends("tool_calls"), done),
			saysOnly("ok"),
		}}
		host := &hosttest.Host{}
		if _, err := ask(t, v, host); err != nil {
			t.Fatal(err)
		}
		want(t, "logged", hosttest.Of[domain.ToolCallRequested](host)[0].Tool, name)
		for _, message := range v.requests()[1].body.Messages {
			for _, call := range message.ToolCalls {
				want(t, "sent back", call.Function.Name, sent)
			}
		}
	}
}
