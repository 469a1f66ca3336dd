package llm_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"signoff/internal/domain"
	"signoff/internal/tools/hosttest"
)

// purse is a budget that lets so many requests pass.
type purse struct {
	passes   int
	requests []domain.Estimate
	settled  []paid
	vendor   *vendor
	sent     []int // requests that were sent when a reservation was made
}

type paid struct {
	tokens int64 // -1: unknown
	cost   float64
	whole  bool
}

func (p *purse) reserve(request domain.Estimate) (domain.Reservation, error) {
	if len(p.settled) < len(p.requests) {
		return nil, errors.New("the request before was not settled")
	}
	if len(p.requests) == p.passes {
		return nil, domain.Errorf(domain.CodeDailyBudgetSpent, "Spent.").With(domain.ErrBudgetSpent)
	}
	p.requests, p.sent = append(p.requests, request), append(p.sent, len(p.vendor.requests()))
	return p, nil
}

// Extend implements [domain.Reservation].
func (p *purse) Extend(context.Context, domain.Estimate) error {
	return errors.New("a request is reserved at once")
}

// Settle implements [domain.Reservation].
func (p *purse) Settle(used domain.Usage, whole bool) {
	s := paid{tokens: -1, cost: -1, whole: whole}
	if tokens := used.Tokens(); tokens != nil {
		s.tokens = *tokens
	}
	if used.Cost != nil {
		s.cost = *used.Cost
	}
	p.settled = append(p.settled, s)
}

// TestEachRequestIsReserved before it is sent, also one that is repeated, and settled with what the model tells.
func TestEachRequestIsReserved(t *testing.T) {
	v := &vendor{replies: []reply{streams(says("par")), streams(callsBash(0, "a"), ends("tool_calls"), million, done), streams(says("ok"), ends("stop"), done)}}
	c := priced(config(v), "test", 1, 2)
	model := c.Models["test"]
	model.MaxOutputTokens, model.ContextWindow = 50_000, 0
	c.Models["test"] = model
	p := &purse{passes: 3, vendor: v}
	synctest.Test(t, func(t *testing.T) {
		if _, err := open(t, c, execution()).Prompt(t.Context(), &hosttest.Host{Command: prints(""), Budget: p.reserve}, prompt("Go")); err != nil {
			t.Fatal(err)
		}
	})
	if len(p.requests) != 3 || len(p.settled) != 3 {
		t.Fatalf("reserved %+v, settled %+v", p.requests, p.settled)
	}
	for i, wanted := range []paid{{-1, -1, false}, {2_000_000, 3, true}, {-1, -1, true}} {
		want(t, "settled", p.settled[i], wanted)
		want(t, "sent before", p.sent[i], i)
		input := p.requests[i].Tokens - 50_000
		if input < 500 || *p.requests[i].Cost != (float64(input)+2*50_000)/1e6 {
			t.Errorf("request %d reserves %d tokens and %g", i, p.requests[i].Tokens, *p.requests[i].Cost)
		}
	}
	if first, last := p.requests[0].Tokens, p.requests[2].Tokens; last <= first {
		t.Errorf("a longer conversation reserves %d tokens, not more than %d", last, first)
	}
}

// TestWhatIsNotReservedIsNotSent, and not repeated, nor asked of another model.
func TestWhatIsNotReservedIsNotSent(t *testing.T) {
	m := market{"first": {replies: []reply{streams(callsBash(0, "a"), ends("tool_calls"), million, done)}}, "second": {replies: []reply{saysOnly("ok")}}}
	p := &purse{passes: 1, vendor: m["first"]}
	host := &hosttest.Host{Command: prints(""), Budget: p.reserve}
	_, err := open(t, m.config(), fallbackTo("second")).Prompt(t.Context(), host, prompt("Go"))
	if !errors.Is(err, domain.ErrBudgetSpent) || domain.CodeOf(err) != domain.CodeDailyBudgetSpent {
		t.Errorf("%v", err)
	}
	want(t, "requests", len(m["first"].requests())+len(m["second"].requests()), 1)
	want(t, "cost that is unknown", p.requests[0].Cost, nil)
	want(t, "retries", len(hosttest.Of[domain.ModelRetrying](host))+len(hosttest.Of[domain.ModelSwitched](host)), 0)
	want(t, "told", len(hosttest.Of[domain.ModelRequested](host)), 1)
}

// TestASummaryIsReserved: it is a request like any other.
func TestASummaryIsReserved(t *testing.T) {
	v := &vendor{replies: []reply{saysOnly("They want the disk cleaned."), saysOnly("ok")}}
	p := &purse{passes: 2, vendor: v}
	if _, err := open(t, summarizing(v, 10_000), execution()).Prompt(t.Context(), &hosttest.Host{Budget: p.reserve}, rounds(10, 4000)); err != nil {
		t.Fatal(err)
	}
	if len(p.settled) != 2 || p.requests[0].Tokens < 4096+1000 {
		t.Errorf("reserved %+v, settled %+v", p.requests, p.settled)
	}

	host := &hosttest.Host{Budget: (&purse{vendor: v}).reserve}
	_, err := open(t, summarizing(v, 10_000), execution()).Prompt(t.Context(), host, rounds(10, 4000))
	if !errors.Is(err, domain.ErrBudgetSpent) {
		t.Errorf("%v", err)
	}
	want(t, "failures told", len(hosttest.Of[domain.ContextSummaryFailed](host)), 0)
	want(t, "requests", len(v.requests()), 2)
}
