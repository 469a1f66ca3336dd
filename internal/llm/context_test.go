package llm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/llm"
	"signoff/internal/secrets"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
)

// rounds is a history of rounds with one call each, whose results have this many bytes, in a turn that goes on.
func rounds(n, bytes int) domain.Prompt {
	history := []domain.Message{{Role: domain.RoleUser, Text: "Go"}}
	for i := range n {
		id := fmt.Sprint("call", i)
		history = append(history,
			domain.Message{Role: domain.RoleAssistant, ToolCalls: []domain.ToolCall{
				{ID: id, Tool: "bash", Arguments: json.RawMessage(`{"command":"x"}`)}}},
			domain.Message{Role: domain.RoleTool, ToolCallID: id, Text: result(i, bytes)})
	}
	return domain.Prompt{Turn: 1, Rounds: 1, History: history}
}

func result(i, bytes int) string {
	begins := fmt.Sprintf("result %d\nline two ", i)
	return begins + strings.Repeat("x", bytes-len(begins))
}

// sentResults tells of each result that was sent whether it was whole, w, or cut, c.
func sentResults(request asked) string {
	var sent strings.Builder
	for _, message := range request.body.Messages {
		switch {
		case message.Role != "tool":
		case strings.HasPrefix(message.Content, "[result of bash, "):
			sent.WriteString("c")
		default:
			sent.WriteString("w")
		}
	}
	return sent.String()
}

func withWindow(v *vendor, window int) llm.Config {
	c := config(v)
	model := c.Models["test"]
	model.ContextWindow = window
	c.Models["test"] = model
	return c
}

func TestOldResultsAreCutNearTheLimit(t *testing.T) {
	v := &vendor{replies: []reply{saysOnly("ok")}}
	host := &hosttest.Host{}
	if _, err := open(t, withWindow(v, 10_000), execution()).Prompt(t.Context(), host, rounds(10, 4000)); err != nil {
		t.Fatal(err)
	}
	compacted := hosttest.Of[domain.ContextCompacted](host)
	if len(compacted) != 1 {
		t.Fatalf("events: %+v", compacted)
	}
	got := compacted[0]
	want(t, "turn", got.Turn, 1)
	want(t, "reason", got.Reason, "nearLimit")
	if got.Before <= 8000 || got.After >= 6000 || got.After < 4500 {
		t.Errorf("estimates: %+v", got)
	}
	sent := sentResults(v.requests()[0])
	want(t, "results", sent, strings.Repeat("c", got.Results)+strings.Repeat("w", 10-got.Results))
	want(t, "the line", v.requests()[0].body.Messages[3].Content,
		"[result of bash, 4,000 bytes, left out; it began: result 0 line two "+strings.Repeat("x", 61)+"…]")
}

// TestTheSameHistoryIsCutTheSame: by another agent, as after a restart, and by the same one again.
func TestTheSameHistoryIsCutTheSame(t *testing.T) {
	v := &vendor{replies: []reply{saysOnly("ok")}}
	host := &hosttest.Host{}
	first := open(t, withWindow(v, 10_000), execution())
	for _, agent := range []domain.Agent{first, first, open(t, withWindow(v, 10_000), execution())} {
		if _, err := agent.Prompt(t.Context(), host, rounds(10, 4000)); err != nil {
			t.Fatal(err)
		}
	}
	requests := v.requests()
	for _, request := range requests[1:] {
		if diff := cmp.Diff(requests[0].body.Messages, request.body.Messages); diff != "" {
			t.Errorf("sent (-first +later):\n%s", diff)
		}
	}
	want(t, "events", len(hosttest.Of[domain.ContextCompacted](host)), 2) // one of each agent
}

func TestWhatIsNotCut(t *testing.T) {
	tests := []struct {
		name   string
		window int
		prompt domain.Prompt
	}{
		{"far from the limit", 100_000, rounds(10, 4000)},
		{"the limit is unknown", 0, rounds(50, 4000)},
		{"the last round", 10_000, rounds(1, 80_000)},
		{"results that are no longer than their line", 1000, rounds(40, 60)},
	}
	for _, test := range tests {
		v := &vendor{replies: []reply{saysOnly("ok")}}
		host := &hosttest.Host{}
		if _, err := open(t, withWindow(v, test.window), execution()).Prompt(t.Context(), host, test.prompt); err != nil {
			t.Fatal(err)
		}
		want(t, test.name+": events", len(hosttest.Of[domain.ContextCompacted](host)), 0)
		want(t, test.name+": results", sentResults(v.requests()[0]), strings.Repeat("w", len(test.prompt.History)/2))
	}
}

// TestTheProvidersCountGoesBeforeTheGuess: a token has four bytes only on average.
func TestTheProvidersCountGoesBeforeTheGuess(t *testing.T) {
	for name, test := range map[string]struct {
		counted [2]int // of each answer; 0 = not at all
		bytes   int
		sent    string
	}{
		"more tokens than bytes tell":         {[2]int{0, 9000}, 2000, "cw"},
		"fewer tokens than bytes tell":        {[2]int{0, 500}, 14_000, "ww"},
		"what came since is added by a guess": {[2]int{0, 7000}, 5000, "cw"},
		"an older count, and a guess since":   {[2]int{9000, 0}, 2000, "cw"},
	} {
		v := &vendor{replies: []reply{callsCounted(test.counted[0]), callsCounted(test.counted[1]), saysOnly("ok")}}
		host := &hosttest.Host{Command: prints(result(0, test.bytes))}
		if _, err := open(t, withWindow(v, 10_000), execution()).Prompt(t.Context(), host, prompt("Go")); err != nil {
			t.Fatal(err)
		}
		want(t, name, sentResults(v.requests()[2]), test.sent)
	}
}

// callsCounted is an answer with a call, and with a count of tokens where there is one.
func callsCounted(tokens int) reply {
	parts := []string{callsBash(0, "a"), ends("tool_calls")}
	if tokens > 0 {
		parts = append(parts, fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":0}}`, tokens))
	}
	return streams(append(parts, done)...)
}

// TestWhatIsCutIsNotCountedTwice: a turn that failed behind the cut has no new count, and the old one is too high by
// what was cut.
func TestWhatIsCutIsNotCountedTwice(t *testing.T) {
	v := &vendor{replies: []reply{
		callsCounted(0), callsCounted(0), callsCounted(0), callsCounted(0), callsCounted(9000), answers(401, nil, ""), saysOnly("ok"),
	}}
	host := &hosttest.Host{Command: prints(result(0, 8000))}
	agent := open(t, withWindow(v, 12_000), execution())
	_, err := agent.Prompt(t.Context(), host, prompt("Go"))
	want(t, "code", domain.CodeOf(err), domain.CodeModelUnauthorized)
	want(t, "results at first", sentResults(v.requests()[5]), "ccwww")
	again := prompt("Go")
	again.History = append(again.History, host.Fold(t).Messages...)
	again.Rounds = 5
	if _, err := agent.Prompt(t.Context(), host, again); err != nil {
		t.Fatal(err)
	}
	want(t, "results", sentResults(v.requests()[6]), "ccwww")
	want(t, "events", len(hosttest.Of[domain.ContextCompacted](host)), 1)
}

// TestAllThatIsSentCounts: also what is not in the conversation.
func TestAllThatIsSentCounts(t *testing.T) {
	instructed := execution()
	instructed.Request.Instructions = strings.Repeat("Mind this. ", 2500)
	for name, test := range map[string]struct {
		e    domain.Execution
		list []tools.Tool
	}{
		"the system prompt": {instructed, nil},
		"the tools":         {execution(), []tools.Tool{verbose{}}},
	} {
		v := &vendor{replies: []reply{saysOnly("ok")}}
		agent := open(t, withWindow(v, 10_000), test.e, test.list...)
		if _, err := agent.Prompt(t.Context(), &hosttest.Host{}, rounds(5, 1000)); err != nil {
			t.Fatal(err)
		}
		want(t, name, sentResults(v.requests()[0]), "ccccw")
	}
}

// verbose is a tool with much to say of itself.
type verbose struct{ tools.Bash }

func (verbose) Definition() tools.Definition {
	definition := tools.Bash{}.Definition()
	definition.Description = strings.Repeat("Mind this. ", 2500)
	return definition
}

const tooLong = `{"error":{"message":"prompt is too long: 300000 tokens > 200000 maximum"}}`

func TestAnOverflowIsTriedOnceMore(t *testing.T) {
	overflow := answers(400, nil, tooLong)
	tests := []struct {
		name     string
		replies  []reply
		rounds   int
		requests string // the results of each
		events   int
		code     domain.Code
		says     string // of what was tried
	}{
		{"shorter it fits", []reply{overflow, saysOnly("ok")}, 3, "www ccw", 1, "", ""},
		{"shorter it does not fit either", []reply{overflow}, 3, "www ccw", 1, domain.CodeContextOverflow, "also without its older tool results."},
		{"there is nothing to cut", []reply{overflow}, 1, "w", 0, domain.CodeContextOverflow, "there is no tool result that could be shortened."},
		{"it fits, and the server is busy", []reply{overflow, answers(503, nil, ""), saysOnly("ok")}, 3, "www ccw ccw", 1, "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := &vendor{replies: test.replies}
				host := &hosttest.Host{}
				_, err := open(t, withWindow(v, 0), execution()).Prompt(t.Context(), host, rounds(test.rounds, 2000))
				var requests []string
				for _, request := range v.requests() {
					requests = append(requests, sentResults(request))
				}
				want(t, "requests", strings.Join(requests, " "), test.requests)
				compacted := hosttest.Of[domain.ContextCompacted](host)
				want(t, "events", len(compacted), test.events)
				for _, event := range compacted {
					if event.Reason != "overflow" || event.Results != test.rounds-1 || event.After >= event.Before {
						t.Errorf("event: %+v", event)
					}
				}
				switch {
				case test.code == "" && err != nil:
					t.Error(err)
				case test.code != "":
					want(t, "code", domain.CodeOf(err), test.code)
					want(t, "message", domain.FailureOf(err).Message, `The conversation is longer than model "test" can read; `+test.says)
				}
			})
		})
	}
}

// TestALargeLastRoundIsShortened: it would end the execution for good, since every further prompt brings it along.
func TestALargeLastRoundIsShortened(t *testing.T) {
	overflow := answers(400, nil, tooLong)
	both := "also without its older tool results and with the tool results of the last round shortened."
	for name, test := range map[string]struct {
		rounds, window int
		replies        []reply
		requests       int
		kept           [2]int // bytes of the last result in the last request, at least and at most
		fails          string
	}{
		"after the older ones":   {3, 0, []reply{overflow, overflow, saysOnly("ok")}, 3, [2]int{30_000, 55_000}, ""},
		"where there are none":   {1, 0, []reply{overflow, saysOnly("ok")}, 2, [2]int{40_000, 55_000}, ""},
		"down to the window":     {1, 40_000, []reply{overflow, saysOnly("ok")}, 2, [2]int{15_000, 25_000}, ""},
		"never to nothing":       {1, 3000, []reply{overflow, saysOnly("ok")}, 2, [2]int{2000, 2500}, ""},
		"and it does not fit":    {3, 0, []reply{overflow}, 3, [2]int{30_000, 55_000}, both},
		"shorter without a need": {3, 0, []reply{overflow, saysOnly("ok")}, 2, [2]int{99_000, 100_000}, ""},
	} {
		v := &vendor{replies: test.replies}
		host := &hosttest.Host{}
		p := rounds(test.rounds, 100_000)
		last := &p.History[len(p.History)-1]
		last.Text = "It begins." + last.Text[20:] + "It ends."
		_, err := open(t, withWindow(v, test.window), execution()).Prompt(t.Context(), host, p)
		requests := v.requests()
		if len(requests) != test.requests {
			t.Errorf("%s: %d requests", name, len(requests))
			continue
		}
		messages := requests[len(requests)-1].body.Messages
		sent := messages[len(messages)-1].Content
		if len(sent) < test.kept[0] || len(sent) > test.kept[1] || !strings.HasPrefix(sent, "It begins.") || !strings.HasSuffix(sent, "It ends.") {
			t.Errorf("%s: %d bytes were sent: %.20s", name, len(sent), sent)
		}
		if len(sent) < 90_000 && !strings.Contains(sent, " bytes of this result are left out here") {
			t.Errorf("%s: nothing says what is missing", name)
		}
		switch {
		case test.fails == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case test.fails != "" && !strings.HasSuffix(domain.FailureOf(err).Message, test.fails):
			t.Errorf("%s: %v", name, err)
		}
		for _, event := range hosttest.Of[domain.ContextCompacted](host) {
			if event.Reason != "overflow" || event.Results < 1 || event.After >= event.Before || event.After < 0 {
				t.Errorf("%s: event %+v", name, event)
			}
		}
	}
}

// TestWhatANoteWouldNotShortenStays: the result would only lose its middle.
func TestWhatANoteWouldNotShortenStays(t *testing.T) {
	v := &vendor{replies: []reply{answers(400, nil, tooLong)}}
	_, err := open(t, withWindow(v, 0), execution()).Prompt(t.Context(), &hosttest.Host{}, rounds(1, 2200))
	want(t, "code", domain.CodeOf(err), domain.CodeContextOverflow)
	want(t, "requests", len(v.requests()), 1)
}

// TestALineIsNotCutAgain, although the line of this line would be shorter.
func TestALineIsNotCutAgain(t *testing.T) {
	p := rounds(2, 2000)
	p.History[2].Text = strings.Repeat("\U0001F600", 1000)
	v := &vendor{replies: []reply{answers(400, nil, tooLong)}}
	host := &hosttest.Host{}
	agent := open(t, withWindow(v, 0), execution())
	for range 2 {
		_, err := agent.Prompt(t.Context(), host, p)
		want(t, "code", domain.CodeOf(err), domain.CodeContextOverflow)
	}
	want(t, "events", len(hosttest.Of[domain.ContextCompacted](host)), 1)
	want(t, "requests", len(v.requests()), 3)
}

func TestARefusedEventEndsTheCompaction(t *testing.T) {
	over := errors.New("the session is over")
	for name, window := range map[string]int{"near the limit": 10_000, "overflow": 0} {
		v := &vendor{replies: []reply{answers(400, nil, tooLong), saysOnly("never")}}
		host := &hosttest.Host{Refuse: func(payload domain.Payload) error {
			if payload.EventType() == domain.ContextCompactedType {
				return over
			}
			return nil
		}}
		_, err := open(t, withWindow(v, window), execution()).Prompt(t.Context(), host, rounds(10, 4000))
		if !errors.Is(err, over) || len(v.requests()) > 1 {
			t.Errorf("%s: %v after %d requests", name, err, len(v.requests()))
		}
	}
}

// TestALineHasNoHalfOfASecret: the line ends in the middle of the value, which half would not be known as one.
func TestALineHasNoHalfOfASecret(t *testing.T) {
	const secret = "0123456789abcdefghij"
	p := rounds(10, 4000)
	p.History[2].Text = strings.Repeat("y", 70) + secret + p.History[2].Text
	v := &vendor{replies: []reply{saysOnly("ok")}}
	c := withWindow(v, 10_000)
	c.Masker = secrets.NewMasker(secret)
	if _, err := open(t, c, execution()).Prompt(t.Context(), &hosttest.Host{}, p); err != nil {
		t.Fatal(err)
	}
	line := v.requests()[0].body.Messages[3].Content
	if !strings.Contains(line, "left out") || strings.Contains(line, secret[:5]) {
		t.Errorf("the line: %s", line)
	}
}
