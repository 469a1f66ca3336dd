package llm_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/llm"
	"signoff/internal/secrets"
	"signoff/internal/tools/hosttest"
)

func summarizing(v *vendor, window int) llm.Config {
	c := unrepeated(withWindow(v, window))
	model := c.Models["test"]
	model.Compaction = "summary"
	c.Models["test"] = model
	return c
}

// TestTheModelSummarizes the older part of a conversation near its limit, once: a process that takes over has the summary from the log.
func TestTheModelSummarizes(t *testing.T) {
	v := &vendor{replies: []reply{
		streams(says("They want the disk cleaned. SECRET is known."), ends("stop"), `{"choices":[],"usage":{"prompt_tokens":700,"completion_tokens":30}}`, done),
		streams(says("ok"), ends("stop"), `{"choices":[],"usage":{"prompt_tokens":3000,"completion_tokens":10}}`, done),
	}}
	c := summarizing(v, 10_000)
	c.Masker = secrets.NewMasker("SECRET")
	host := &hosttest.Host{}
	p := rounds(10, 4000)
	if _, err := open(t, c, execution()).Prompt(t.Context(), host, p); err != nil {
		t.Fatal(err)
	}
	want(t, "requests", len(v.requests()), 2)
	first, second := v.requests()[0], v.requests()[1]
	want(t, "tools of the summary", len(first.body.Tools), 0)
	material := first.body.Messages[1].Content
	if !strings.HasPrefix(material, "<conversation>\n[user]\nGo\n") || !strings.Contains(material, "result 8") || strings.Contains(material, "result 9") {
		t.Errorf("the material: %.300s … %.100s", material, material[len(material)-100:])
	}
	compacted := hosttest.Of[domain.ContextCompacted](host)
	if len(compacted) != 1 {
		t.Fatalf("compacted: %+v", compacted)
	}
	done := compacted[0]
	if done.Messages != 10 || done.Before <= 8000 || done.After > 4000 || done.Model != "test" || done.Reason != "nearLimit" ||
		strings.Contains(done.Summary, "SECRET") || !strings.HasPrefix(done.Summary, "They want the disk cleaned.") {
		t.Errorf("compacted: %+v", done)
	}
	if done.Usage == nil || *done.Usage.InputTokens != 700 {
		t.Errorf("usage: %+v", done.Usage)
	}
	requests := hosttest.Of[domain.ModelRequested](host)
	want(t, "the request of the summary", requests[0], domain.ModelRequested{Turn: 1, Model: "test", Iteration: 2, Messages: 1, Summary: true})
	want(t, "requests told", len(requests), 2)
	updates := hosttest.Of[domain.UsageUpdated](host)
	want(t, "input tokens with the summary", *updates[len(updates)-1].Usage.InputTokens, 3700)
	want(t, "roles", roles(second), "system user assistant tool")
	said := second.body.Messages[1].Content
	if !strings.Contains(said, "They want the disk cleaned.") || !strings.HasSuffix(said, "\n\nGo") {
		t.Errorf("said: %s", said)
	}

	recovered := host.Fold(t)
	later, silent := &vendor{replies: []reply{saysOnly("ok")}}, &hosttest.Host{}
	p.Compacted = recovered.Compacted
	if _, err := open(t, summarizing(later, 10_000), execution()).Prompt(t.Context(), silent, p); err != nil {
		t.Fatal(err)
	}
	want(t, "requests after a restart", len(later.requests()), 1)
	if diff := cmp.Diff(sentTexts(second), sentTexts(later.requests()[0])); diff != "" {
		t.Errorf("sent (-before +after the restart):\n%s", diff)
	}
	want(t, "events after a restart", len(hosttest.Of[domain.ContextCompacted](silent)), 0)
}

func roles(request asked) string {
	var list []string
	for _, message := range request.body.Messages {
		list = append(list, message.Role)
	}
	return strings.Join(list, " ")
}

// TestASummaryOfASummary: the second has the first one before it, and stands for both.
func TestASummaryOfASummary(t *testing.T) {
	v := &vendor{replies: []reply{saysOnly("The second."), saysOnly("ok")}}
	host := &hosttest.Host{}
	p := rounds(14, 4000)
	p.Compacted = []domain.ContextCompacted{{Turn: 1, Reason: "nearLimit", Messages: 4, Summary: "The first.", Model: "test"}}
	if _, err := open(t, summarizing(v, 10_000), execution()).Prompt(t.Context(), host, p); err != nil {
		t.Fatal(err)
	}
	material := v.requests()[0].body.Messages[1].Content
	if !strings.HasPrefix(material, "<conversation>\n[summary of what was before]\nThe first.\n") || strings.Contains(material, "result 2") ||
		!strings.Contains(material, "result 3") {
		t.Errorf("the material: %.300s", material)
	}
	sent := v.requests()[1].body.Messages[1].Content
	if !strings.Contains(sent, "The second.") || strings.Contains(sent, "The first.") {
		t.Errorf("sent: %s", sent)
	}
	want(t, "messages", hosttest.Of[domain.ContextCompacted](host)[0].Messages, 14)
}

// TestNoSummary: what goes wrong with a summary is told, and old results are cut, as without it. It is not asked for again in the turn.
func TestNoSummary(t *testing.T) {
	stalls := func(request *http.Request) (*http.Response, error) {
		<-request.Context().Done()
		return nil, request.Context().Err()
	}
	for name, test := range map[string]struct {
		reply reply
		code  domain.Code
		says  string
	}{
		"unauthorized": {answers(401, nil, ""), domain.CodeModelUnauthorized, ""},
		"down":         {answers(503, nil, ""), domain.CodeModelFailed, ""},
		"empty":        {saysOnly(" "), domain.CodeModelFailed, "is empty"},
		"too long":     {saysOnly(strings.Repeat("x", 17<<10)), domain.CodeModelFailed, "is too long"},
		"cut short":    {streams(says("The "), ends("length"), done), domain.CodeModelFailed, "is too long"},
		"refused":      {streams(delta(`{"refusal":"No."}`), ends("stop"), done), domain.CodeModelFailed, "was refused"},
		"filtered":     {streams(says("No."), ends("content_filter"), done), domain.CodeContentFiltered, "content filter"},
		"broken off":   {streams(says("The ")), domain.CodeModelStreamBroken, ""},
		"too slow":     {stalls, domain.CodeModelFailed, "took longer than 2m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := &vendor{replies: []reply{test.reply, callsCounted(9000), saysOnly("ok")}}
				c := summarizing(v, 10_000)
				c.IdleTimeout = 1 << 40
				host := &hosttest.Host{Command: prints(result(0, 4000))}
				if _, err := open(t, c, execution()).Prompt(t.Context(), host, rounds(10, 4000)); err != nil {
					t.Fatal(err)
				}
				failed := hosttest.Of[domain.ContextSummaryFailed](host)
				if len(failed) != 1 || failed[0].Code != test.code || !strings.Contains(failed[0].Message, test.says) || failed[0].Model != "test" {
					t.Fatalf("failed: %+v", failed)
				}
				want(t, "requests", len(v.requests()), 3)
				if sent := sentResults(v.requests()[1]); !strings.HasPrefix(sent, "cc") {
					t.Errorf("results: %s", sent)
				}
				for _, done := range hosttest.Of[domain.ContextCompacted](host) {
					if done.Summary != "" || done.Results == 0 {
						t.Errorf("compacted: %+v", done)
					}
				}
			})
		})
	}
}

// TestASummaryAfterARefusal: a provider whose window nobody knows refuses what is too long.
func TestASummaryAfterARefusal(t *testing.T) {
	v := &vendor{replies: []reply{answers(400, nil, tooLong), saysOnly("The summary."), saysOnly("ok")}}
	host := &hosttest.Host{}
	if _, err := open(t, summarizing(v, 0), execution()).Prompt(t.Context(), host, rounds(10, 4000)); err != nil {
		t.Fatal(err)
	}
	compacted := hosttest.Of[domain.ContextCompacted](host)
	if len(compacted) != 1 || compacted[0].Reason != "overflow" || compacted[0].Summary != "The summary." {
		t.Errorf("compacted: %+v", compacted)
	}
	want(t, "results", sentResults(v.requests()[2]), "ww")
}

// TestLittleIsNotSummarized: what fills the window is the newest, which stays.
func TestLittleIsNotSummarized(t *testing.T) {
	v := &vendor{replies: []reply{saysOnly("ok")}}
	host := &hosttest.Host{}
	p := rounds(1, 80_000)
	p.History = slices.Concat([]domain.Message{{Role: domain.RoleUser, Text: "Hello"}, {Role: domain.RoleAssistant, Text: "Hello."}}, p.History)
	if _, err := open(t, summarizing(v, 10_000), execution()).Prompt(t.Context(), host, p); err != nil {
		t.Fatal(err)
	}
	want(t, "requests", len(v.requests()), 1)
}

func TestAnUnknownCompactionIsRefused(t *testing.T) {
	c := withWindow(&vendor{}, 0)
	model := c.Models["test"]
	model.Compaction = "magic"
	c.Models["test"] = model
	_, err := llm.NewRegistry(c, nil)
	var invalid *domain.Error
	if !errors.As(err, &invalid) || len(invalid.Details) != 1 || invalid.Details[0].Pointer != "/models/test/compaction" {
		t.Errorf("%+v", err)
	}
}
