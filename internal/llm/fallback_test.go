package llm_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"signoff/internal/domain"
	"signoff/internal/llm"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
)

// market is several vendors, by the name of the model that each has.
type market map[string]*vendor

func (m market) RoundTrip(request *http.Request) (*http.Response, error) {
	return m[strings.TrimSuffix(request.URL.Host, ".test")].RoundTrip(request)
}

func (m market) config() llm.Config {
	c := llm.Config{Default: "first", Models: map[string]llm.Model{}, Transport: m, Logger: slog.New(slog.DiscardHandler)}
	for name := range m {
		c.Models[name] = llm.Model{Provider: "openai", Model: name, BaseURL: "http://" + name + ".test/v1"}
	}
	return c
}

func fallbackTo(names ...string) domain.Execution {
	e := execution()
	e.Request.Source.Model, e.Request.Source.Fallbacks = "first", names
	return e
}

func refusesConnection(*http.Request) (*http.Response, error) {
	return nil, errors.New("dial: refused")
}

// untilPatienceEnds are the tries of a model that makes room for another one after a minute.
const untilPatienceEnds = -1

func TestWhatAnotherModelIsAskedFor(t *testing.T) {
	tests := []struct {
		name  string
		first reply
		code  domain.Code // of the switch; empty: there is none
		tries int         // of the first
	}{
		{"key not accepted", answers(401, nil, ""), domain.CodeModelUnauthorized, 1},
		{"model not found", answers(404, nil, ""), domain.CodeModelFailed, 1},
		{"empty account", answers(429, nil, `{"error":{"message":"quota","code":"insufficient_quota"}}`), domain.CodeQuotaExceeded, 1},
		{"an account that is empty by a wrong request", answers(400, nil, `{"error":{"message":"Your credit balance is too low"}}`), domain.CodeQuotaExceeded, 1},
		{"busy, again and again", answers(503, nil, ""), domain.CodeModelFailed, untilPatienceEnds},
		{"no connection", refusesConnection, domain.CodeModelUnreachable, untilPatienceEnds},
		{"breaks off, again and again", streams(says("par")), domain.CodeModelStreamBroken, untilPatienceEnds},
		{"a wrong request", answers(400, nil, `{"error":{"message":"bad schema"}}`), "", 1},
		{"another wrong request", answers(422, nil, `{"detail":"bad schema"}`), "", 1},
		{"too large a request", answers(413, nil, ""), "", 1},
		{"too long a conversation", answers(400, nil, tooLong), "", 1},
		{"the token limit", streams(says("par"), ends("length"), done), "", 1},
		{"a refusal", streams(delta(`{"refusal":"I will not."}`), ends("stop"), done), "", 1},
		{"a content filter", streams(says("par"), ends("content_filter"), done), domain.CodeContentFiltered, 1},
		{"a content filter before the answer", answers(403, nil, `{"error":{"message":"It requires moderation.","code":403,"metadata":{"reasons":["violence"]}}}`),
			domain.CodeContentFiltered, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := market{"first": {replies: []reply{test.first}}, "second": {replies: []reply{saysOnly("ok")}}}
				host, begun := &hosttest.Host{}, time.Now()
				_, err := open(t, m.config(), fallbackTo("second")).Prompt(t.Context(), host, prompt("Go"))
				host.Finish(t, true)
				retries := hosttest.Of[domain.ModelRetrying](host)
				if test.tries == untilPatienceEnds {
					test.tries = len(retries) + 1
					if last := retries[len(retries)-1]; last.Model != "first" || !last.At.Equal(last.Until) || last.At.Sub(begun).Round(time.Second) != time.Minute {
						t.Errorf("the last of %d waits: %+v", len(retries), last)
					}
				}
				want(t, "requests of the first", len(m["first"].requests()), test.tries)
				switches := hosttest.Of[domain.ModelSwitched](host)
				if test.code == "" {
					want(t, "switches", len(switches), 0)
					want(t, "requests of the second", len(m["second"].requests()), 0)
					return
				}
				want(t, "error", err, nil)
				want(t, "switches", len(switches), 1)
				want(t, "from, to", switches[0].From+" "+switches[0].To, "first second")
				want(t, "code", switches[0].Code, test.code)
				if switches[0].Message == "" || !strings.HasSuffix(host.Text(), "ok") {
					t.Errorf("message %q, text %q", switches[0].Message, host.Text())
				}
			})
		})
	}
}

// TestWhatMayBeServedLater interrupts the execution; what cannot get better fails it. The last model's error decides.
func TestWhatMayBeServedLater(t *testing.T) {
	tests := []struct {
		name  string
		last  reply
		later bool
	}{
		{"key not accepted", answers(401, nil, ""), true},
		{"forbidden", answers(403, nil, ""), true},
		{"payment required", answers(402, nil, ""), true},
		{"empty account", answers(429, nil, `{"error":{"message":"quota","code":"insufficient_quota"}}`), true},
		{"busy, again and again", answers(503, nil, ""), true},
		{"too many requests, again and again", answers(429, nil, ""), true},
		{"no connection", refusesConnection, true},
		{"breaks off, again and again", streams(says("par")), true},
		{"model not found", answers(404, nil, `{"error":{"message":"no such model"}}`), false},
		{"not found by a proxy", answers(404, nil, "<html>404</html>"), true},
		{"not found by nobody knows whom", answers(404, nil, ""), true},
		{"the proxy wants to know who asks", answers(407, nil, ""), true},
		{"redirected", answers(302, nil, ""), true},
		{"a wrong request", answers(400, nil, `{"error":{"message":"bad schema"}}`), false},
		{"too long a conversation", answers(400, nil, tooLong), false},
	}
	for _, test := range tests {
		for name, first := range map[string]reply{"alone": nil, "after one that is unknown": answers(404, nil, ""), "after one without a key": answers(401, nil, "")} {
			t.Run(test.name+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m, e := market{"first": {replies: []reply{test.last}}}, execution()
					if first != nil {
						m, e = market{"first": {replies: []reply{first}}, "second": {replies: []reply{test.last}}}, fallbackTo("second")
					}
					_, err := open(t, m.config(), e).Prompt(t.Context(), &hosttest.Host{}, prompt("Go"))
					if got := errors.Is(err, domain.ErrProviderUnavailable); err == nil || got != test.later {
						t.Errorf("may be served later: %t, want %t: %v", got, test.later, err)
					}
				})
			})
		}
	}
}

// TestASwitchHolds: for all that the agent is asked later.
func TestASwitchHolds(t *testing.T) {
	m := market{
		"first":  {replies: []reply{answers(401, nil, "")}},
		"second": {replies: []reply{streams(callsBash(0, "a"), ends("tool_calls"), done), saysOnly("ok")}},
	}
	host := &hosttest.Host{Command: prints("out")}
	agent := open(t, m.config(), fallbackTo("second"))
	for range 2 {
		if _, err := agent.Prompt(t.Context(), host, prompt("Go")); err != nil {
			t.Fatal(err)
		}
	}
	want(t, "requests of the first", len(m["first"].requests()), 1)
	want(t, "requests of the second", len(m["second"].requests()), 3)
	want(t, "switches", len(hosttest.Of[domain.ModelSwitched](host)), 1)
}

func TestTheErrorNamesAllThatWereTried(t *testing.T) {
	m := market{
		"first":  {replies: []reply{answers(401, nil, "")}},
		"second": {replies: []reply{answers(404, nil, `{"error":"no such model"}`)}},
		"third":  {replies: []reply{answers(400, nil, `{"error":"bad schema"}`), saysOnly("ok")}},
		"fourth": {replies: []reply{saysOnly("never")}},
	}
	host := &hosttest.Host{}
	agent := open(t, m.config(), fallbackTo("second", "third", "fourth"))
	_, err := agent.Prompt(t.Context(), host, prompt("Go"))
	want(t, "code", domain.CodeOf(err), domain.CodeModelFailed)
	want(t, "message", domain.FailureOf(err).Message, `None of 3 models could answer. `+
		`"first": The provider of model "first" does not accept the key (401). `+
		`"second": The provider of model "second" answered 404: no such model `+
		`"third": The provider of model "third" answered 400: bad schema`)
	_, err = agent.Prompt(t.Context(), host, prompt("Go")) // the last one has not failed for good
	want(t, "error of another turn", err, nil)
	want(t, "requests of the fourth", len(m["fourth"].requests()), 0)
}

func TestModelsWithoutKeys(t *testing.T) {
	m := market{"first": {}, "second": {}, "third": {replies: []reply{saysOnly("ok")}}}
	c := m.config()
	for _, name := range []string{"first", "second"} {
		model := c.Models[name]
		model.APIKeyEnv = strings.ToUpper(name) + "_KEY"
		c.Models[name] = model
	}
	host := &hosttest.Host{}
	if _, err := open(t, c, fallbackTo("second", "third")).Prompt(t.Context(), host, prompt("Go")); err != nil {
		t.Fatal(err)
	}
	switches := hosttest.Of[domain.ModelSwitched](host)
	want(t, "switches", len(switches), 2)
	want(t, "code", switches[0].Code, domain.CodeModelNotConfigured)
	want(t, "message", switches[0].Message, `Model "first" has no key: the environment variable FIRST_KEY is empty.`)

	registry, err := llm.NewRegistry(c, tools.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	_, err = registry.Open(t.Context(), domain.Opening{Execution: fallbackTo("second")})
	want(t, "code where none has a key", domain.CodeOf(err), domain.CodeModelNotConfigured)
	_, err = registry.Open(t.Context(), domain.Opening{Execution: fallbackTo("third", "fourth")})
	want(t, "an unknown fallback behind a model that answers", err, nil)
	gone := fallbackTo("fifth")
	gone.Request.Source.Model = "fourth"
	_, err = registry.Open(t.Context(), domain.Opening{Execution: gone})
	want(t, "code where all are unknown", domain.CodeOf(err), domain.CodeUnknownModel)
	want(t, "it waits", errors.Is(err, domain.ErrProviderUnavailable), true)
	want(t, "message", domain.FailureOf(err).Message, `There is no model "fourth"; there are: first, second, third.`)
}

// TestAModelIsAskedOnce: however often it is named.
func TestAModelIsAskedOnce(t *testing.T) {
	m := market{"first": {replies: []reply{answers(401, nil, "")}}, "second": {replies: []reply{answers(401, nil, "")}}}
	host := &hosttest.Host{}
	_, err := open(t, m.config(), fallbackTo("first", "second", "first", "second")).Prompt(t.Context(), host, prompt("Go"))
	want(t, "code", domain.CodeOf(err), domain.CodeModelUnauthorized)
	want(t, "requests", len(m["first"].requests())+len(m["second"].requests()), 2)
	want(t, "switches", len(hosttest.Of[domain.ModelSwitched](host)), 1)
}

func TestAnEndIsNoReasonToSwitch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := market{"first": {replies: []reply{neverAnswers}}, "second": {replies: []reply{saysOnly("never")}}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		host := &hosttest.Host{}
		_, err := open(t, m.config(), fallbackTo("second")).Prompt(ctx, host, prompt("Go"))
		if !errors.Is(err, context.DeadlineExceeded) || len(m["second"].requests()) > 0 {
			t.Errorf("got %v", err)
		}
	})
}

func TestARefusedSwitchEndsTheTurn(t *testing.T) {
	over := errors.New("the session is over")
	m := market{"first": {replies: []reply{answers(401, nil, "")}}, "second": {replies: []reply{saysOnly("never")}}}
	host := &hosttest.Host{Refuse: func(payload domain.Payload) error {
		if payload.EventType() == domain.ModelSwitchedType {
			return over
		}
		return nil
	}}
	_, err := open(t, m.config(), fallbackTo("second")).Prompt(t.Context(), host, prompt("Go"))
	if !errors.Is(err, over) || len(m["second"].requests()) > 0 {
		t.Errorf("got %v", err)
	}
}

// TestTheNextModelHasALimitOfItsOwn: what fits the first may not fit the second.
func TestTheNextModelHasALimitOfItsOwn(t *testing.T) {
	m := market{"first": {replies: []reply{answers(401, nil, "")}}, "second": {replies: []reply{saysOnly("ok")}}}
	c := m.config()
	model := c.Models["second"]
	model.ContextWindow = 10_000
	c.Models["second"] = model
	if _, err := open(t, c, fallbackTo("second")).Prompt(t.Context(), &hosttest.Host{}, rounds(10, 4000)); err != nil {
		t.Fatal(err)
	}
	want(t, "the first gets", sentResults(m["first"].requests()[0]), "wwwwwwwwww")
	if sent := sentResults(m["second"].requests()[0]); !strings.HasPrefix(sent, "cc") {
		t.Errorf("the second gets %s", sent)
	}
}

// TestAnotherModelsCountIsNoMeasure: what the first took for many tokens, the second may take for few.
func TestAnotherModelsCountIsNoMeasure(t *testing.T) {
	const used = `{"choices":[],"usage":{"prompt_tokens":9000,"completion_tokens":0}}`
	round := streams(callsBash(0, "a"), ends("tool_calls"), used, done)
	m := market{"first": {replies: []reply{round, round, answers(401, nil, "")}}, "second": {replies: []reply{saysOnly("ok")}}}
	c := m.config()
	model := c.Models["second"]
	model.ContextWindow = 10_000
	c.Models["second"] = model
	host := &hosttest.Host{Command: prints(result(0, 2000))}
	if _, err := open(t, c, fallbackTo("second")).Prompt(t.Context(), host, prompt("Go")); err != nil {
		t.Fatal(err)
	}
	want(t, "the second gets", sentResults(m["second"].requests()[0]), "ww")
}
