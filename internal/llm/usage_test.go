package llm_test

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/llm"
	"signoff/internal/tools/hosttest"
)

const million = `{"choices":[],"usage":{"prompt_tokens":1000000,"completion_tokens":1000000,"total_tokens":2000000}}`

func priced(c llm.Config, name string, input, output float64) llm.Config {
	model := c.Models[name]
	model.InputCostPer1m, model.OutputCostPer1m = &input, &output
	c.Models[name] = model
	return c
}

func costs(host *hosttest.Host) (list []domain.UsageUpdated) {
	for _, update := range hosttest.Of[domain.UsageUpdated](host) {
		only := domain.UsageUpdated{Usage: domain.Usage{Cost: update.Usage.Cost, TotalTokens: update.Usage.TotalTokens}, Model: update.Model}
		if update.Turn != nil {
			only.Turn = &domain.Usage{Cost: update.Turn.Cost, TotalTokens: update.Turn.TotalTokens}
		}
		if update.Request != nil {
			only.Request = &domain.Usage{Cost: update.Request.Cost, TotalTokens: update.Request.TotalTokens}
		}
		list = append(list, only)
	}
	return list
}

func of(tokens int64, cost float64) *domain.Usage {
	return &domain.Usage{TotalTokens: &tokens, Cost: &cost}
}

// TestUsageIsTold: of the request, the turn and the execution, with the model that was asked, at its own prices.
func TestUsageIsTold(t *testing.T) {
	m := market{
		"first":  {replies: []reply{streams(callsBash(0, "a"), ends("tool_calls"), million, done), answers(401, nil, "")}},
		"second": {replies: []reply{streams(says("ok"), ends("stop"), million, done)}},
	}
	c := priced(priced(m.config(), "first", 1, 2), "second", 10, 20)
	host := &hosttest.Host{Command: prints("")}
	e := fallbackTo("second")
	e.Usage = *of(5, 0.5) // before it was opened
	agent := open(t, c, e)
	for number := 1; number <= 2; number++ {
		p := prompt("Go")
		p.Turn = number
		if _, err := agent.Prompt(t.Context(), host, p); err != nil {
			t.Fatal(err)
		}
	}
	wanted := []domain.UsageUpdated{
		{Usage: *of(2_000_005, 3.5), Turn: of(2_000_000, 3), Request: of(2_000_000, 3), Model: "first"},
		{Usage: *of(4_000_005, 33.5), Turn: of(4_000_000, 33), Request: of(2_000_000, 30), Model: "second"},
		{Usage: *of(6_000_005, 63.5), Turn: of(2_000_000, 30), Request: of(2_000_000, 30), Model: "second"},
	}
	if diff := cmp.Diff(wanted, costs(host)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestATurnThatWasCutOffHasNoSum: what its first rounds used, nobody has told this process.
func TestATurnThatWasCutOffHasNoSum(t *testing.T) {
	v := &vendor{replies: []reply{streams(says("ok"), ends("stop"), million, done)}}
	host := &hosttest.Host{}
	e := execution()
	e.Usage = *of(5, 0.5)
	if _, err := open(t, priced(config(v), "test", 1, 2), e).Prompt(t.Context(), host, rounds(1, 100)); err != nil {
		t.Fatal(err)
	}
	wanted := []domain.UsageUpdated{{Usage: *of(2_000_005, 3.5), Request: of(2_000_000, 3), Model: "test"}}
	if diff := cmp.Diff(wanted, costs(host)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestACostThatIsLostIsTold: a request without figures takes the sum away, also when it is the last.
func TestACostThatIsLostIsTold(t *testing.T) {
	v := &vendor{replies: []reply{streams(callsBash(0, "a"), ends("tool_calls"), million, done), saysOnly("ok")}}
	host := &hosttest.Host{Command: prints("")}
	if _, err := open(t, priced(config(v), "test", 1, 2), execution()).Prompt(t.Context(), host, prompt("Go")); err != nil {
		t.Fatal(err)
	}
	tokens := domain.Usage{TotalTokens: new(int64(2_000_000))}
	wanted := []domain.UsageUpdated{
		{Usage: *of(2_000_000, 3), Turn: of(2_000_000, 3), Request: of(2_000_000, 3), Model: "test"},
		{Usage: tokens, Turn: &tokens, Request: &domain.Usage{}, Model: "test"},
	}
	if diff := cmp.Diff(wanted, costs(host)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestABrokenAnswerIsNotFree: what the provider has told of it is counted, and it says nothing of the context.
func TestABrokenAnswerIsNotFree(t *testing.T) {
	const begun = "event: message_start\n" +
		`data: {"type":"message_start","message":{"usage":{"input_tokens":1000000,"output_tokens":1}}}` + "\n\n"
	c := priced(config(always(streams(begun))), "test", 2, 0)
	model := c.Models["test"]
	model.Provider = "anthropic"
	model.ContextWindow = 100_000
	c.Models["test"] = model
	host := &hosttest.Host{}
	synctest.Test(t, func(t *testing.T) {
		_, err := open(t, c, execution()).Prompt(t.Context(), host, prompt("Go"))
		want(t, "code", domain.CodeOf(err), domain.CodeModelStreamBroken)
	})
	told := hosttest.Of[domain.UsageUpdated](host)
	n := len(told) // each of them is paid for, so they become rare
	if n < 10 || n > 40 {
		t.Fatalf("told %d times", n)
	}
	last := told[n-1]
	want(t, "input of the turn", *last.Turn.InputTokens, int64(n)*1_000_000)
	want(t, "cost", *last.Usage.Cost, 2*float64(n))
	want(t, "context", last.Usage.ContextUsed, nil)
}

// always is a vendor of any dialect that has one reply.
type always reply

// RoundTrip implements http.RoundTripper.
func (a always) RoundTrip(request *http.Request) (*http.Response, error) { return a(request) }

// TestABrokenAnswerOfWhichNothingIsKnown takes no cost away: it stands in the log as a retry.
func TestABrokenAnswerOfWhichNothingIsKnown(t *testing.T) {
	v := &vendor{replies: []reply{streams(says("par")), streams(says("ok"), ends("stop"), million, done)}}
	host := &hosttest.Host{}
	synctest.Test(t, func(t *testing.T) {
		if _, err := open(t, priced(config(v), "test", 1, 2), execution()).Prompt(t.Context(), host, prompt("Go")); err != nil {
			t.Fatal(err)
		}
	})
	wanted := []domain.UsageUpdated{{Usage: *of(2_000_000, 3), Turn: of(2_000_000, 3), Request: of(2_000_000, 3), Model: "test"}}
	if diff := cmp.Diff(wanted, costs(host)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
