package demo

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
	"signoff/internal/llm/provider/providertest"
)

func TestConformance(t *testing.T) {
	providertest.RunScript(t, map[string]func(*testing.T){
		"text arrives in pieces":                    speaks,
		"a thought comes before the text":           thinks,
		"characters may be split between two bytes": repeats,
		"one call":                                asks,
		"the conversation is sent in order":       readsTheResult,
		"usage has the cache within the input":    counts,
		"the end of the context ends the request": isCancelled,
		"nobody listens any more":                 isNotHeard,
	})
}

func opened(pace time.Duration) provider.Client {
	return Provider.Open(provider.Model{}, provider.Setup{Pace: pace})
}

var errDeaf = errors.New("nobody listens")

func answer(t *testing.T, question provider.Request) providertest.Heard {
	t.Helper()
	ear := &providertest.Ear{}
	got, err := opened(0).Stream(t.Context(), question, ear)
	if err != nil {
		t.Fatal(err)
	}
	return ear.All(got)
}

func speaks(t *testing.T) {
	if heard := answer(t, providertest.SmallRequest()); len(heard.Texts) < 2 || heard.Finish != provider.FinishStop {
		t.Errorf("got %+v", heard)
	}
}

func thinks(t *testing.T) {
	if heard := answer(t, providertest.SmallRequest()); heard.Thought == "" {
		t.Error("it did not think")
	}
}

func repeats(t *testing.T) {
	if heard := answer(t, providertest.SmallRequest()); !strings.Contains(heard.Thought, "“Grüße 👍”") {
		t.Errorf("it thought %q", heard.Thought)
	}
}

func asks(t *testing.T) {
	heard := answer(t, providertest.SmallRequest())
	if diff := cmp.Diff([]string{`bash {"command":"` + command + `"}`}, heard.Calls); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func readsTheResult(t *testing.T) {
	question := providertest.SmallRequest()
	question.Messages = append(question.Messages,
		domain.Message{Role: domain.RoleAssistant, ToolCalls: []domain.ToolCall{{ID: "call_1", Tool: "bash"}}},
		domain.Message{Role: domain.RoleTool, ToolCallID: "call_1", Text: "Sat\nLinux 6.1\nplenty\n"})
	if heard := answer(t, question); !strings.Contains(strings.Join(heard.Texts, ""), "- Linux 6.1") {
		t.Errorf("it said %q", heard.Texts)
	}
}

func counts(t *testing.T) {
	used := answer(t, providertest.SmallRequest()).Usage
	if used.InputTokens == nil || used.OutputTokens == nil || *used.TotalTokens != *used.InputTokens+*used.OutputTokens {
		t.Errorf("got %+v", used)
	}
	if used.CacheReadTokens != nil || used.CacheWriteTokens != nil {
		t.Error("the script says that it has a cache")
	}
}

func isCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := opened(time.Hour).Stream(ctx, providertest.SmallRequest(), &providertest.Ear{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func isNotHeard(t *testing.T) {
	if _, err := opened(0).Stream(t.Context(), providertest.SmallRequest(), &providertest.Ear{Deaf: errDeaf}); !errors.Is(err, errDeaf) {
		t.Errorf("got %v", err)
	}
}
