package llm

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/llm/anthropic"
	"signoff/internal/llm/openai"
)

func TestCost(t *testing.T) {
	priced := Model{Provider: openai.Name, InputCostPer1m: new(2.0), OutputCostPer1m: new(8.0)}
	cached := priced
	cached.CacheReadCostPer1m, cached.CacheWriteCostPer1m = new(0.5), new(4.0)
	claude := Model{Provider: anthropic.Name, InputCostPer1m: new(4.0), OutputCostPer1m: new(8.0)}
	million := func(n int64) *int64 { return new(n * 1_000_000) }
	tests := []struct {
		name  string
		model Model
		used  domain.Usage
		want  *float64
	}{
		{"in and out", priced, domain.Usage{InputTokens: million(3), OutputTokens: million(1)}, new(14.0)},
		{"thoughts are a part of the output", priced, domain.Usage{InputTokens: million(0), OutputTokens: million(1), ReasoningTokens: million(1)}, new(8.0)},
		{"no input figure", priced, domain.Usage{OutputTokens: million(1)}, nil},
		{"no output figure", priced, domain.Usage{InputTokens: million(1)}, nil},
		{"no figures", priced, domain.Usage{}, nil},
		{"no prices", Model{}, domain.Usage{InputTokens: million(1), OutputTokens: million(1)}, nil},
		{"no output price", Model{InputCostPer1m: new(2.0)}, domain.Usage{InputTokens: million(1), OutputTokens: million(1)}, nil},
		{"no tokens need no price", Model{InputCostPer1m: new(2.0)}, domain.Usage{InputTokens: million(1), OutputTokens: million(0)}, new(2.0)},
		{"free", Model{InputCostPer1m: new(0.0), OutputCostPer1m: new(0.0)}, domain.Usage{InputTokens: million(1), OutputTokens: million(1)}, new(0.0)},
		{"cached tokens are a part of the input", cached,
			domain.Usage{InputTokens: million(10), CacheReadTokens: million(6), CacheWriteTokens: million(3), OutputTokens: million(0)}, new(2.0 + 3.0 + 12.0)},
		{"reading from a cache of unknown price", priced,
			domain.Usage{InputTokens: million(10), CacheReadTokens: million(6), OutputTokens: million(0)}, new(20.0)},
		{"writing to a cache of unknown price", priced,
			domain.Usage{InputTokens: million(10), CacheWriteTokens: million(1), OutputTokens: million(0)}, nil},
		{"only the cache has a price", Model{CacheReadCostPer1m: new(1.0)},
			domain.Usage{InputTokens: million(1), CacheReadTokens: million(1), OutputTokens: million(0)}, new(1.0)},
		{"Anthropic's cache", claude,
			domain.Usage{InputTokens: million(3), CacheReadTokens: million(1), CacheWriteTokens: million(1), OutputTokens: million(0)}, new(4.0 + 0.4 + 5.0)},
		{"more cached than read", cached, domain.Usage{InputTokens: million(1), CacheReadTokens: million(2), OutputTokens: million(0)}, nil},
	}
	for _, test := range tests {
		of, _ := providerOf(test.model.Provider)
		got := (&candidate{model: test.model, provider: of}).cost(test.used)
		switch {
		case (got == nil) != (test.want == nil):
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		case got != nil && math.Abs(*got-*test.want) > 1e-9:
			t.Errorf("%s: got %v, want %v", test.name, *got, *test.want)
		}
	}
}

// TestABillDoesNotForget: tokens that are known add up; a cost that leaves a request out is no cost.
func TestABillDoesNotForget(t *testing.T) {
	known := domain.Usage{InputTokens: new(int64(10)), Cost: new(0.5)}
	unknown := domain.Usage{InputTokens: new(int64(10))}
	answered := []domain.Message{{Role: domain.RoleUser}, {Role: domain.RoleAssistant}}
	tests := []struct {
		name     string
		before   domain.Usage
		prompt   domain.Prompt
		requests []domain.Usage
		tokens   int64
		cost     *float64
	}{
		{"all known", domain.Usage{}, domain.Prompt{Turn: 1}, []domain.Usage{known, known}, 20, new(1.0)},
		{"the first unknown", domain.Usage{}, domain.Prompt{Turn: 1}, []domain.Usage{unknown, known, known}, 30, nil},
		{"a later one unknown", domain.Usage{}, domain.Prompt{Turn: 1}, []domain.Usage{known, unknown, known}, 30, nil},
		{"one without any figure", domain.Usage{}, domain.Prompt{Turn: 1}, []domain.Usage{known, {}, known}, 20, nil},
		{"taken up with a cost", known, domain.Prompt{Turn: 1, Rounds: 1, History: answered}, []domain.Usage{known}, 20, new(1.0)},
		{"taken up without a cost", unknown, domain.Prompt{Turn: 1}, []domain.Usage{known}, 20, nil},
		{"taken up after a round without figures", domain.Usage{}, domain.Prompt{Turn: 1, Rounds: 1, History: answered}, []domain.Usage{known}, 10, nil},
		{"taken up after a turn without figures", domain.Usage{}, domain.Prompt{Turn: 2, History: answered}, []domain.Usage{known}, 10, nil},
		{"the client brought answers along", domain.Usage{}, domain.Prompt{Turn: 1, History: answered}, []domain.Usage{known}, 10, new(0.5)},
		{"a turn without an answer", domain.Usage{}, domain.Prompt{Turn: 2, History: answered[:1]}, []domain.Usage{known}, 10, new(0.5)},
	}
	for _, test := range tests {
		sum := account{total: bill{usage: test.before}}
		sum.begin(test.prompt)
		for _, request := range test.requests {
			sum.total.add(request)
		}
		if diff := cmp.Diff(domain.Usage{InputTokens: &test.tokens, Cost: test.cost}, sum.total.usage); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}
