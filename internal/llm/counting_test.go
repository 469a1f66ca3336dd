package llm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/llm"
	"signoff/internal/llm/provider/providertest"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
)

// counting is a mock that tells how many tokens each request had: what was read and what was written, 40 of them.
type counting struct {
	*providertest.Mock
	tokens []int // of each request; the last one stands for those that follow
}

// RoundTrip implements http.RoundTripper.
func (c counting) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.Mock.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusOK {
		return response, err
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	read := c.tokens[min(len(c.Bodies()), len(c.tokens))-1] - 40
	var told []byte
	switch c.Dialect.Name {
	case "anthropic": // what is in the cache counts apart
		told = bytes.Replace(body, []byte(`"usage":{"output_tokens":5}`), fmt.Appendf(nil, `"usage":{"input_tokens":%d,"cache_read_input_tokens":%d,`+
			`"cache_creation_input_tokens":30,"output_tokens":40}`, 20, read-50), 1)
	case "openai-responses":
		told = bytes.ReplaceAll(body, []byte(`"usage":null`), fmt.Appendf(nil, `"usage":{"input_tokens":%d,"output_tokens":40}`, read))
	default:
		told = bytes.Replace(body, []byte("data: [DONE]"), fmt.Appendf(nil,
			`data: {"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":40}}`+"\n\ndata: [DONE]", read), 1)
	}
	if bytes.Equal(told, body) {
		return nil, errors.New("no place for the usage was found")
	}
	response.Body = io.NopCloser(bytes.NewReader(told))
	return response, nil
}

// TestTheProvidersCountDecides, in each dialect, whether a conversation comes near the limit, and not the bytes that it has. Also after a
// restart between an answer and its result: the log has the count.
func TestTheProvidersCountDecides(t *testing.T) {
	for name, test := range map[string]struct {
		tokens  []int
		bytes   int // of each result
		compact int
	}{
		"more tokens than bytes tell":  {[]int{500, 29_500, 900}, 2000, 1},
		"fewer tokens than bytes tell": {[]int{500, 900, 1000}, 45_000, 0},
	} {
		for _, mock := range mocks {
			for _, kills := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, kills %v", name, mock.dialect.Name, kills), func(t *testing.T) {
					vendor := counting{&providertest.Mock{Dialect: mock.dialect, Model: "m-a"}, test.tokens}
					config := llm.Config{Retry: -1, Transport: vendor, Logger: slog.New(slog.DiscardHandler), Models: map[string]llm.Model{"a": {
						Provider: mock.provider, Model: "m-a", BaseURL: "http://a.test/v1", APIKey: "k", ThinkingTokens: mock.thinking,
						ContextWindow: 36_800,
					}}}
					compacted := counted(t, config, result(0, test.bytes), kills)
					if len(compacted) != test.compact {
						t.Fatalf("compacted: %+v", compacted)
					}
					for _, done := range compacted {
						if done.Before < 29_500 || done.Before > 31_000 || done.After >= done.Before {
							t.Errorf("compacted: %+v", done)
						}
					}
					if refusals := vendor.Refusals(); len(refusals) > 0 {
						t.Errorf("refused: %s", strings.Join(refusals, "; "))
					}
				})
			}
		}
	}
}

// counted has one turn whose calls have this result. With kills, the agent is opened anew before the result of its third call.
func counted(t *testing.T, config llm.Config, result string, kills bool) []domain.ContextCompacted {
	t.Helper()
	errKilled := errors.New("killed")
	var asked atomic.Int32 // calls run at once
	host := &hosttest.Host{Command: prints(result), Grant: func(_ context.Context, call domain.ToolCall) (domain.Grant, error) {
		if asked.Add(1) == 3 && kills {
			return domain.Grant{}, errKilled
		}
		return domain.Grant{Allowed: true, Arguments: call.Arguments}, nil
	}}
	begun := prompt("Go")
	_, err := open(t, config, execution(), tools.Bash{}).Prompt(t.Context(), host, begun)
	all := hosttest.Of[domain.ContextCompacted](host)
	if kills {
		want(t, "killed", errors.Is(err, errKilled), true)
		next := &hosttest.Host{Command: host.Command, Grant: host.Grant}
		recovered := host.Fold(t)
		_, err = open(t, config, execution(), tools.Bash{}).Prompt(t.Context(), next, domain.Prompt{
			Turn: 1, Rounds: 2, History: slices.Concat(begun.History, recovered.Messages), Compacted: recovered.Compacted,
		})
		all = append(all, hosttest.Of[domain.ContextCompacted](next)...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestWhatWasCutStaysCut when another process takes the execution over: the provider's cache of the prompt has it so. What was cut is
// known from the log, and counts no more.
func TestWhatWasCutStaysCut(t *testing.T) {
	overflow := answers(400, nil, tooLong)
	for name, test := range map[string]struct {
		window  int
		replies []reply // before the restart; a call each
		sent    string  // the results in the last request
	}{
		"near the limit":                   {12_000, []reply{callsCounted(0), callsCounted(0), callsCounted(0), callsCounted(0), callsCounted(9000), callsCounted(6000)}, "ccwwww"},
		"after an overflow":                {0, []reply{callsCounted(0), callsCounted(0), overflow, callsCounted(0)}, "cww"},
		"the last round after an overflow": {0, []reply{callsCounted(0), overflow, callsCounted(0)}, "ww"},
	} {
		first := &vendor{replies: append(slices.Clone(test.replies), saysOnly("ok"))}
		host := &hosttest.Host{Command: prints(result(0, 8000))}
		if _, err := open(t, unrepeated(withWindow(first, test.window)), execution()).Prompt(t.Context(), host, prompt("Go")); err != nil {
			t.Fatal(name, err)
		}
		compacted := len(hosttest.Of[domain.ContextCompacted](host))
		if compacted == 0 {
			t.Fatalf("%s: nothing was cut", name)
		}
		requests := first.requests()
		last := requests[len(requests)-1]
		want(t, name+": results", sentResults(last), test.sent)

		recovered := host.Fold(t)
		second, later := &vendor{replies: []reply{saysOnly("ok")}}, &hosttest.Host{}
		history := slices.Concat(prompt("Go").History, recovered.Messages[:len(recovered.Messages)-1]) // the last answer was lost
		if _, err := open(t, unrepeated(withWindow(second, test.window)), execution()).Prompt(t.Context(), later, domain.Prompt{
			Turn: 1, Rounds: len(test.replies), History: history, Compacted: recovered.Compacted,
		}); err != nil {
			t.Fatal(name, err)
		}
		if diff := cmp.Diff(sentTexts(last), sentTexts(second.requests()[0])); diff != "" {
			t.Errorf("%s: sent (-before +after the restart):\n%s", name, diff)
		}
		want(t, name+": events after the restart", len(hosttest.Of[domain.ContextCompacted](later)), 0)
	}
}

// unrepeated has nothing repeated, so that a test without a bubble does not wait.
func unrepeated(c llm.Config) llm.Config {
	c.Retry = -1
	return c
}

// sentTexts are the texts of a request.
func sentTexts(request asked) (texts []string) {
	for _, message := range request.body.Messages {
		texts = append(texts, message.Role+": "+message.Content)
	}
	return texts
}
