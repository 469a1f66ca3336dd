package llm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/llm"
	"signoff/internal/llm/provider/providertest"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
)

// fickle is a mock that calls some of its requests too long.
type fickle struct {
	*providertest.Mock
	full func() bool
}

// RoundTrip implements http.RoundTripper. A summary is written as it is asked for, or not. What is too long is judged all the same: it is refused for another reason if it is wrong.
func (f *fickle) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	refusal, full := f.Judge(body), f.full()
	switch {
	case refusal != "", !full && !bytes.Contains(body, []byte("/conversation")):
		return f.Mock.RoundTrip(request)
	case !full:
		return providertest.Stream(f.Dialect.Stream(&providertest.MockAnswer{Text: "What was said before."}))(request)
	}
	return answers(http.StatusBadRequest, nil, tooLong)(request)
}

// TestWhatIsLeftIsValid: whatever is cut of a conversation, and whenever, each vendor takes what is left: calls with their results, in their
// order, and the state of the answers as it was, or none. The agent is opened anew now and then, also between a call and its result.
func TestWhatIsLeftIsValid(t *testing.T) {
	for _, mock := range mocks {
		t.Run(mock.dialect.Name, func(t *testing.T) {
			cut := map[string]int{}
			for seed := range uint64(25) {
				converse(t, &dice{rng: rand.New(rand.NewPCG(seed, 0))}, mock.dialect, mock.provider, mock.thinking, cut)
				if t.Failed() {
					t.Fatalf("with the seed %d", seed)
				}
			}
			t.Logf("compactions: %v", cut)
			if cut["nearLimit"] == 0 || cut["overflow"] == 0 || cut["summary"] == 0 {
				t.Errorf("this proves little: %v", cut)
			}
		})
	}
}

// dice are the random choices of one conversation, whose calls run at once.
type dice struct {
	mu  sync.Mutex
	rng *rand.Rand
}

// up returns a number from 0 to most.
func (d *dice) up(most int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rng.IntN(most + 1)
}

func (d *dice) oneIn(n int) bool { return d.up(n-1) == 0 }

// converse has some turns with a vendor, of random results, windows, refusals and restarts.
func converse(t *testing.T, d *dice, dialect providertest.MockDialect, provider string, thinking int, cut map[string]int) {
	t.Helper()
	vendor := &fickle{Mock: &providertest.Mock{Dialect: dialect, Model: "m-a"}, full: func() bool { return d.oneIn(8) }}
	model := llm.Model{Provider: provider, Model: "m-a", BaseURL: "http://a.test/v1", APIKey: "k", ThinkingTokens: thinking, Compaction: []string{"cut", "summary"}[d.up(1)],
		ContextWindow: []int{0, 6_000, 7_000, 10_000}[d.up(3)]}
	config := llm.Config{Retry: -1, Transport: vendor, Logger: slog.New(slog.DiscardHandler), Models: map[string]llm.Model{"a": model}}
	errKilled := errors.New("killed")
	host := &hosttest.Host{
		Command: func(_ context.Context, _ domain.Command, output io.Writer) (domain.CommandResult, error) {
			_, err := fmt.Fprint(output, strings.Repeat("out put\n", d.up(700)))
			return domain.CommandResult{}, err
		},
		Grant: func(_ context.Context, call domain.ToolCall) (domain.Grant, error) {
			if d.oneIn(6) {
				return domain.Grant{}, errKilled
			}
			return domain.Grant{Allowed: true, Arguments: call.Arguments}, nil
		},
	}
	agent := open(t, config, execution(), tools.Bash{})
	for turn := range 1 + d.up(5) {
		said := fmt.Sprintf("Turn %d. %s", turn, strings.Repeat("word ", d.up(500)))
		before := host.Fold(t)
		if err := host.Emit(context.Background(), domain.TurnStarted{Turn: 1, Text: said}); err != nil {
			t.Fatal(err)
		}
		for rounds := 0; ; {
			log := host.Fold(t)
			_, err := agent.Prompt(context.Background(), host, domain.Prompt{
				Turn: 1, Rounds: rounds, History: log.Messages, Compacted: log.Compacted,
			})
			switch {
			case errors.Is(err, errKilled):
				rounds = answersWithCalls(host.Fold(t).Messages) - answersWithCalls(before.Messages)
				agent = open(t, config, execution(), tools.Bash{})
				continue
			case domain.CodeOf(err) == domain.CodeContextOverflow:
			case err != nil:
				t.Fatalf("turn %d: %v", turn, err)
			}
			break
		}
		if d.oneIn(3) {
			agent = open(t, config, execution(), tools.Bash{})
		}
	}
	for _, done := range hosttest.Of[domain.ContextCompacted](host) {
		cut[done.Reason]++
		if done.Summary != "" {
			cut["summary"]++
		}
	}
	if refusals := vendor.Refusals(); len(refusals) > 0 {
		t.Fatalf("refused: %s", strings.Join(refusals, "; "))
	}
}

func answersWithCalls(history []domain.Message) (n int) {
	return len(slices.DeleteFunc(slices.Clone(history), func(m domain.Message) bool { return len(m.ToolCalls) == 0 }))
}
