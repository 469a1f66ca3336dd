package llm_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"signoff/internal/domain"
	"signoff/internal/llm"
	"signoff/internal/llm/provider/providertest"
	"signoff/internal/tools"
)

// TestATrialIsTakenByEachDialect: the strict vendors get back what they want of the answers, as in an execution.
func TestATrialIsTakenByEachDialect(t *testing.T) {
	for _, mock := range mocks {
		t.Run(mock.dialect.Name, func(t *testing.T) {
			vendor := &providertest.Mock{Dialect: mock.dialect, Model: "m-a", Remembers: true, Tool: "think", Argument: "thought"}
			c := config(vendor)
			c.Models = map[string]llm.Model{"a": {Provider: mock.provider, Model: "m-a", BaseURL: "http://a.test/v1", APIKey: "k", ThinkingTokens: mock.thinking}}
			trial, err := try(t.Context(), t, c, "a")
			if refusals := vendor.Refusals(); err != nil || len(refusals) > 0 || trial.Dropped {
				t.Errorf("%+v, %v, refused: %s", trial, err, refusals)
			}
			want(t, "requests", len(vendor.Bodies()), 3)
		})
	}
}

func try(ctx context.Context, t *testing.T, c llm.Config, name string) (llm.Trial, error) {
	t.Helper()
	registry, err := llm.NewRegistry(c, tools.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Close()
	return registry.Try(ctx, name)
}

const (
	thinks    = `{"index":0,"id":"x","type":"function","function":{"name":"think","arguments":"{\"thought\":\"ready\"}"}}`
	wrongCall = `{"index":0,"id":"x","type":"function","function":{"name":"think","arguments":"{\"command\":\"df\"}"}}`
)

func TestATrialSaysWhatFailed(t *testing.T) {
	called := streams(calls(thinks), ends("tool_calls"), `{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}}`, done)
	refuses := func(status int, message string) reply {
		return answers(status, http.Header{"Content-Type": {"application/json"}}, `{"error":{"message":"`+message+`"}}`)
	}
	for name, test := range map[string]struct {
		replies  []reply
		requests int
		says     string // in the error; empty: it works
		tokens   int64
	}{
		"it works":                     {[]reply{called, saysOnly("done")}, 2, "", 120},
		"it calls again and again":     {[]reply{called}, 3, "", 360},
		"a wrong key":                  {[]reply{refuses(401, "no")}, 1, "does not accept the key", 0},
		"an account without money":     {[]reply{refuses(402, "pay")}, 1, "has nothing left", 0},
		"no tools, and it says so":     {[]reply{refuses(400, "gemma does not support tools")}, 1, "gemma does not support tools. Without tools the model cannot be an agent", 0},
		"no tools, and it answers":     {[]reply{saysOnly("ready")}, 1, `Model "test" answers, but does not call tools, so it cannot be an agent`, 0},
		"a call that does not fit":     {[]reply{streams(calls(wrongCall), ends("tool_calls"), done), saysOnly("done")}, 2, "with a name or arguments that do not fit", 0},
		"an unknown model":             {[]reply{refuses(404, "no such model")}, 1, "answered 404: no such model. It does not list a model \"vendor-model\"; it lists vendor-models, vendor-mini, a-model", 0},
		"an unknown model, as a wrong": {[]reply{refuses(400, "no such model")}, 1, "it lists vendor-models", 0},
		"the result is refused":        {[]reply{called, refuses(400, "no results, please")}, 3, `Model "test" calls tools, but the request with the result fails: The provider of model "test" answered 400: no results, please`, 120},
		"the result breaks it":         {[]reply{called, refuses(500, "oops")}, 2, "calls tools, but the request with the result fails: The provider of model \"test\" answered 500: oops", 120},
		"a page":                       {[]reply{answers(200, http.Header{"Content-Type": {"text/html"}}, "<html>Welcome</html>")}, 1, "did not send a stream of events", 0},
		"a page that is not there":     {[]reply{answers(404, http.Header{"Content-Type": {"text/html"}}, "<html>Sorry</html>")}, 1, "not as a model's API does", 0},
		"no connection":                {[]reply{refusesConnection}, 1, "No connection", 0},
		"an answer without an end":     {[]reply{streams(says(strings.Repeat("x ", 20<<10)), ends("stop"), done)}, 1, "said more than 32 KiB where one word was wanted", 0},
		"a cut answer":                 {[]reply{streams(says("re"), ends("length"), done)}, 1, "limit of tokens", 0},
		"a refusal":                    {[]reply{streams(delta(`{"refusal":"I will not."}`), ends("stop"), done)}, 1, "declined", 0},
	} {
		t.Run(name, func(t *testing.T) {
			v := &vendor{replies: test.replies}
			synctest.Test(t, func(t *testing.T) {
				trial, err := try(t.Context(), t, config(listing{v}), "test")
				shown := ""
				if err != nil {
					shown = domain.FailureOf(err).Message
				}
				if !strings.Contains(shown, test.says) || (test.says == "") != (err == nil) || strings.Contains(shown, testKey) {
					t.Errorf("%q, not %q", shown, test.says)
				}
				if test.tokens > 0 && (trial.Tokens == nil || *trial.Tokens != test.tokens) {
					t.Errorf("tokens: %v, not %d", trial.Tokens, test.tokens)
				}
			})
			want(t, "requests", len(v.requests()), test.requests)
		})
	}
}

func TestNoTools(t *testing.T) {
	for sentence, none := range map[string]bool{
		"registry.ollama.ai/library/gemma3:4b does not support tools":                              true,
		"No endpoints found that support tool use. Try disabling \"question\".":                    true,
		"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set": true,
		"Function calling is not supported with this model":                                        true,
		"The model `tool-writer` does not exist or you do not have access to it.":                  false,
		"messages with role 'tool' must be a response to a preceding message with 'tool_calls'":    false,
		"Unsupported parameter: 'temperature' is not supported with this model.":                   false,
	} {
		v := &vendor{replies: []reply{answers(400, nil, `{"error":{"message":`+string(mustJSON(sentence))+`}}`)}}
		_, err := try(t.Context(), t, config(v), "test")
		if got := strings.Contains(domain.FailureOf(err).Message, "choose one with tool support"); got != none {
			t.Errorf("%s: %v", sentence, err)
		}
	}
}

// listing is a vendor who lists its models.
type listing struct{ *vendor }

func (l listing) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodGet && request.Header.Get("Authorization") == "Bearer "+testKey {
		return answers(200, nil, `{"data":[{"id":"a-model"},{"id":"models/vendor-models"},{"id":"vendor-mini"},{"id":7},{}]}`)(request)
	}
	return l.vendor.RoundTrip(request)
}

// TestATrialSaysThatStateIsRefused: the model works, and costs more than it should.
func TestATrialSaysThatStateIsRefused(t *testing.T) {
	v := &vendor{replies: []reply{
		streams(delta(`{"reasoning_content":"Hm."}`), calls(thinks), ends("tool_calls"), done),
		answers(400, nil, `{"error":{"message":"unknown field reasoning_content"}}`), saysOnly("done"),
	}}
	trial, err := try(t.Context(), t, config(v), "test")
	if err != nil || !trial.Dropped {
		t.Errorf("%+v, %v", trial, err)
	}
}

func TestATrialEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		c := config(roundTripper(neverAnswers))
		c.IdleTimeout = time.Hour
		_, err := try(t.Context(), t, c, "test")
		want(t, "time", time.Since(begun), 2*time.Minute)
		want(t, "error", domain.FailureOf(err).Message, `Model "test" took longer than 2m0s.`)
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := try(ctx, t, config(roundTripper(neverAnswers)), "test"); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestATrialOfAKeylessModel asks nobody.
func TestATrialOfAKeylessModel(t *testing.T) {
	v := &vendor{replies: []reply{saysOnly("done")}}
	c := config(v)
	model := c.Models["test"]
	model.APIKey = ""
	c.Models["test"] = model
	_, err := try(t.Context(), t, c, "test")
	want(t, "code", domain.CodeOf(err), domain.CodeModelNotConfigured)
	want(t, "requests", len(v.requests()), 0)
}
