//go:build linux

package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"signoff/internal/domain"
)

// written is a log as the server would have written it.
func written(payloads ...domain.Payload) []event {
	var log []event
	for i, p := range payloads {
		e := event{Seq: int64(i + 1), Type: string(p.EventType()), Time: time.Unix(int64(i), 0), Data: domain.Encode(p)}
		raw, _ := json.Marshal(e)
		e.Raw = string(raw)
		log = append(log, e)
	}
	return log
}

func bash(tag string) json.RawMessage {
	return domain.Encode(map[string]string{"command": "./effect key 1 " + tag + " 10"})
}

func begun() []domain.Payload {
	return []domain.Payload{
		domain.ExecutionCreated{Status: domain.StatusQueued},
		domain.StateChanged{From: domain.StatusQueued, To: domain.StatusInitializing},
		domain.StateChanged{From: domain.StatusInitializing, To: domain.StatusWaiting},
		domain.ToolCallRequested{ToolCallID: "c", Tool: "bash", Arguments: bash("shown")},
		domain.ApprovalRequested{ApprovalID: "a", ToolCallID: "c", Kind: domain.ApprovalToolCall, Arguments: bash("shown")},
	}
}

func finished() []domain.Payload {
	return []domain.Payload{
		domain.ApprovalResolved{ApprovalID: "a", ToolCallID: "c", Status: domain.ApprovalApproved},
		domain.ToolCallStarted{ToolCallID: "c", ApprovalID: "a", Arguments: bash("shown")},
		domain.ToolCallCompleted{ToolCallID: "c", Outcome: domain.OutcomeSucceeded},
		domain.ExecutionEnded{Status: domain.StatusCompleted},
	}
}

func sound() history {
	log := written(append(begun(), finished()...)...)
	return history{
		seen: slices.Clone(log), log: log,
		decisions: map[string][]operation{"a": {want(approve, 1, 2, accepted, "")}},
		ledger:    []entry{{"start", "key", 1, "shown", 1}, {"end", "key", 1, "shown", 2}},
	}
}

func TestASoundHistoryIsSound(t *testing.T) {
	if wrong := sound().broken(); len(wrong) > 0 {
		t.Error(wrong)
	}
}

// TestBrokenPromisesAreFound: a checker that finds nothing is worth nothing.
func TestBrokenPromisesAreFound(t *testing.T) {
	// without is the history over another log, which the follower saw as it is.
	over := func(payloads ...domain.Payload) func(h *history) {
		return func(h *history) {
			h.log = written(append(begun(), payloads...)...)
			h.seen = slices.Clone(h.log)
		}
	}
	end := finished()
	for name, test := range map[string]struct {
		spoil func(h *history)
		says  string
	}{
		"an event is missing in the log":     {func(h *history) { h.log = slices.Delete(slices.Clone(h.log), 2, 3) }, "I1"},
		"an event was not seen":              {func(h *history) { h.seen = slices.Delete(slices.Clone(h.seen), 2, 3) }, "I1"},
		"an event was seen twice":            {func(h *history) { h.seen = slices.Insert(slices.Clone(h.seen), 2, h.seen[1]) }, "I1"},
		"the end was not seen":               {func(h *history) { h.seen = h.seen[:len(h.seen)-1] }, "I1"},
		"other bytes were seen":              {func(h *history) { h.seen[3].Raw += " " }, "I1, I2"},
		"what was seen was taken back":       {func(h *history) { h.log = h.log[:len(h.log)-1] }, "I1, I2"},
		"it never ended":                     {func(h *history) { h.log, h.seen = h.log[:4], h.seen[:4] }, "I3"},
		"it ended twice":                     {over(append(end, domain.ExecutionEnded{Status: domain.StatusCompleted})...), "I3"},
		"an approval stays open":             {over(end[3]), "resolved 0 times at the end"},
		"a start without an approval":        {over(domain.ToolCallStarted{ToolCallID: "c", Arguments: bash("shown")}, end[2], end[3]), "I4"},
		"a start before the decision":        {over(end[1], end[0], end[2], end[3]), "I4"},
		"two starts under one approval":      {over(end[0], end[1], end[1], end[2], end[3]), "starts again"},
		"a start after a denial":             {over(domain.ApprovalResolved{ApprovalID: "a", ToolCallID: "c", Status: domain.ApprovalDenied}, end[1], end[2], end[3]), `its approval is "denied"`},
		"a start after the outcome":          {over(end[0], end[1], end[2], end[1], end[3]), "starts again"},
		"two outcomes":                       {over(end[0], end[1], end[2], end[2], end[3]), "a second outcome"},
		"no outcome":                         {over(end[0], end[1], end[3]), "0 outcomes"},
		"other bytes run than were approved": {over(end[0], domain.ToolCallStarted{ToolCallID: "c", ApprovalID: "a", Arguments: bash("other")}, end[2], end[3]), "I7"},
		"two resolutions":                    {over(end[0], end[0], end[1], end[2], end[3]), "resolved 2 times"},
		"an effect twice":                    {func(h *history) { h.ledger = append(h.ledger, h.ledger...) }, "ran 2 times"},
		"an effect that was not approved":    {func(h *history) { h.ledger = append(h.ledger, entry{"start", "key", 2, "shown", 3}) }, `"key 2 shown" ran 1 times`},
		"two tools at once":                  {func(h *history) { h.ledger = append(h.ledger, entry{"overlap", "key", 1, "shown", 3}) }, "I6"},
		"it succeeded and did not run":       {func(h *history) { h.ledger = h.ledger[:1] }, "came to its end 0 times"},
		"two deciders win": {func(h *history) {
			h.decisions["a"] = append(h.decisions["a"], want(deny, 3, 4, accepted, ""))
		}, "I7"},
		"the log has another decision": {func(h *history) { h.decisions["a"] = []operation{want(deny, 1, 2, accepted, "")} }, "I7"},
		"an edit ran as something else": {func(h *history) {
			over(domain.ApprovalResolved{ApprovalID: "a", ToolCallID: "c", Status: domain.ApprovalApproved, Edited: true},
				domain.ToolCallStarted{ToolCallID: "c", ApprovalID: "a", Arguments: bash("x")}, end[2], end[3])(h)
			h.decisions["a"] = []operation{want(edit+"./effect key 1 y 10", 1, 2, accepted, "")}
		}, "I7"},
		"a decision was forgotten": {func(h *history) {
			over(end[3])(h)
		}, "I2"},
	} {
		t.Run(name, func(t *testing.T) {
			h := sound()
			test.spoil(&h)
			wrong := h.broken()
			if !slices.ContainsFunc(wrong, func(text string) bool { return strings.Contains(text, test.says) }) {
				t.Errorf("want %q among %q", test.says, wrong)
			}
		})
	}
}

func TestPlansSurviveTheirPrompt(t *testing.T) {
	p := plan{Key: "kill-1", Calls: 3, Pieces: 7, Delay: 5 * time.Millisecond, Run: 80 * time.Millisecond}
	got, results := planOf([]message{{Role: "system", Content: "chaos of another kind"}, {Role: "user", Content: p.prompt()}, {Role: "assistant"}, {Role: "tool", Content: "done"}})
	if got != p || results != 1 {
		t.Errorf("%+v after %d results", got, results)
	}
	if effect := effectIn(p.command(2, "shown")); effect != (entry{key: "kill-1", call: 2, tag: "shown"}).effect() {
		t.Error(effect)
	}
}

func TestTheLedgerTellsWhatRan(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := installEffect("."); err != nil {
		t.Fatal(err)
	}
	if code := effect([]string{"key", "1", "shown", "0"}); code != 0 {
		t.Fatal("exit", code)
	}
	ledger, err := readLedger(".")
	if err != nil || len(ledger["key"]) != 2 {
		t.Fatal(ledger, err)
	}
	for i, what := range []string{"start", "end"} {
		if e := ledger["key"][i]; e.what != what || e.effect() != "key 1 shown" || e.at == 0 {
			t.Errorf("%+v", e)
		}
	}
}

func TestTheLedgerTellsOfTwoAtOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := installEffect("."); err != nil {
		t.Fatal(err)
	}
	done := make(chan int)
	for range 2 {
		go func() { done <- effect([]string{"key", "1", "shown", "200"}) }()
	}
	if first, second := <-done, <-done; first+second != 0 {
		t.Fatal(first, second)
	}
	ledger, err := readLedger(".")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(ledger["key"], func(e entry) bool { return e.what == "overlap" }) {
		t.Errorf("%v", ledger)
	}
}

func TestGoesOnWhereItEnded(t *testing.T) {
	path := t.TempDir() + "/folder/results.jsonl"
	for i, line := range []result{
		{Block: "kill", Cycles: 30, Operations: 100, Succeeded: 100},
		{Block: "kill", Cycles: 7, Operations: 100, Succeeded: 79},                              // proves nothing
		{Block: "kill", Cycles: 5, Operations: 100, Succeeded: 100, Violations: []string{"I1"}}, // nor does this
		{Block: "pause", Cycles: 3, Operations: 10, Succeeded: 8},
	} {
		b, err := openResults(path, "c1", "m")
		if err != nil {
			t.Fatal(err)
		}
		if err := b.add(line); err != nil {
			t.Fatal(err)
		}
		if len(b.lines) != i+1 || b.fresh != 1 {
			t.Errorf("%d lines, %d of them fresh", len(b.lines), b.fresh)
		}
		_ = b.file.Close()
	}
	b, err := openResults(path, "c1", "m")
	if err != nil || b.reached("kill") != 30 || b.reached("pause") != 3 {
		t.Error(b, err)
	}
	other, err := openResults(path, "c2", "m")
	if err != nil || other.reached("kill") != 0 {
		t.Error(other, err)
	}
	director := director{results: b, blocks: []block{{name: "kill", goal: 1000}, {name: "pause", goal: 300}}}
	if next, _ := director.next(); next.name != "pause" {
		t.Error("the next one is", next.name)
	}
	var text strings.Builder
	if err := director.sum(&text); err == nil || !strings.Contains(err.Error(), "no block") {
		t.Error("nothing ran, and that is fine:", err)
	}
}

func TestTooFewSuccessesFail(t *testing.T) {
	b, err := openResults(t.TempDir()+"/results.jsonl", "c", "m")
	if err != nil {
		t.Fatal(err)
	}
	d := director{results: b, begun: time.Now()}
	if err := b.add(result{Block: "kill", Seed: 42, Cycles: 1, Operations: 10, Succeeded: 7}); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := d.sum(&text); err == nil || !strings.Contains(err.Error(), "-seed 42 -block kill: only 7 of 10") {
		t.Error(err)
	}
	if !strings.Contains(text.String(), "10 operations (7 succeeded), 1 cycles") {
		t.Error(text.String())
	}
}

func TestAnEditChangesSomething(t *testing.T) {
	asked := question{Arguments: bash("shown")}
	if got := edited(asked, "other"); got != edit+"./effect key 1 other 10" {
		t.Error(got)
	}
	if got := edited(question{Arguments: bash("other")}, "other"); got != approve {
		t.Error(got)
	}
}

// TestARetryIsNoDouble: a call whose outcome is unknown may run again, under an approval of its own.
func TestARetryIsNoDouble(t *testing.T) {
	again := func(second domain.ApprovalID) history {
		log := written(append(begun(),
			domain.ApprovalResolved{ApprovalID: "a", ToolCallID: "c", Status: domain.ApprovalApproved},
			domain.ToolCallStarted{ToolCallID: "c", ApprovalID: "a", Arguments: bash("shown")},
			domain.ApprovalRequested{ApprovalID: "lost", ToolCallID: "c", Kind: domain.ApprovalUnknownOutcome},
			domain.ApprovalResolved{ApprovalID: "lost", ToolCallID: "c", Status: domain.ApprovalApproved, Resolution: domain.ResolutionRetry},
			domain.ApprovalRequested{ApprovalID: "b", ToolCallID: "c", Kind: domain.ApprovalToolCall, Arguments: bash("shown")},
			domain.ApprovalResolved{ApprovalID: "b", ToolCallID: "c", Status: domain.ApprovalApproved},
			domain.ToolCallStarted{ToolCallID: "c", ApprovalID: second, Arguments: bash("shown")},
			domain.ToolCallCompleted{ToolCallID: "c", Outcome: domain.OutcomeSucceeded},
			domain.ExecutionEnded{Status: domain.StatusCompleted})...)
		return history{seen: log, log: log, decisions: map[string][]operation{"lost": {want(resolution+"retry", 1, 2, accepted, "")}},
			ledger: []entry{{"start", "key", 1, "shown", 1}, {"start", "key", 1, "shown", 2}, {"end", "key", 1, "shown", 3}}}
	}
	if wrong := again("b").broken(); len(wrong) > 0 {
		t.Error(wrong)
	}
	for _, used := range []domain.ApprovalID{"a", "lost"} {
		if wrong := again(used).broken(); len(wrong) == 0 {
			t.Errorf("it may start again under %s", used)
		}
	}
}

// TestAnAnswerIsNoDouble: a call that has waited for the answer to a question of its MCP server goes on under that answer, once.
func TestAnAnswerIsNoDouble(t *testing.T) {
	goesOn := func(status domain.ApprovalStatus, second domain.ApprovalID) history {
		log := written(append(begun(),
			domain.ApprovalResolved{ApprovalID: "a", ToolCallID: "c", Status: domain.ApprovalApproved},
			domain.ToolCallStarted{ToolCallID: "c", ApprovalID: "a", Arguments: bash("shown")},
			domain.ApprovalRequested{ApprovalID: "q", ToolCallID: "c", Kind: domain.ApprovalQuestion, Arguments: bash("shown"), Repeats: true},
			domain.ApprovalResolved{ApprovalID: "q", ToolCallID: "c", Status: status},
			domain.ToolCallStarted{ToolCallID: "c", ApprovalID: second, Arguments: bash("shown")},
			domain.ToolCallCompleted{ToolCallID: "c", Outcome: domain.OutcomeSucceeded},
			domain.ExecutionEnded{Status: domain.StatusCompleted})...)
		return history{seen: log, log: log,
			ledger: []entry{{"start", "key", 1, "shown", 1}, {"start", "key", 1, "shown", 2}, {"end", "key", 1, "shown", 3}}}
	}
	for _, status := range []domain.ApprovalStatus{domain.ApprovalApproved, domain.ApprovalDenied} {
		if wrong := goesOn(status, "q").broken(); len(wrong) > 0 {
			t.Errorf("%s: %q", status, wrong)
		}
	}
	for name, broken := range map[string]history{
		"under the first approval": goesOn(domain.ApprovalApproved, "a"), "after it has expired": goesOn(domain.ApprovalExpired, "q"),
		"under none": goesOn(domain.ApprovalApproved, ""),
	} {
		if wrong := broken.broken(); len(wrong) == 0 {
			t.Errorf("it may go on %s", name)
		}
	}
}

func TestWhatWasGivenUpIsFound(t *testing.T) {
	interrupted := domain.StateChanged{From: domain.StatusInitializing, To: domain.StatusInterrupted, Cause: domain.CauseRecovery}
	resumed := domain.StateChanged{From: domain.StatusInterrupted, To: domain.StatusInitializing}
	ended := func(status domain.Status) domain.Payload { return domain.ExecutionEnded{Status: status} }
	for name, test := range map[string]struct {
		last  []domain.Payload
		given bool
	}{
		"completed":                     {[]domain.Payload{ended(domain.StatusCompleted)}, false},
		"failed":                        {[]domain.Payload{ended(domain.StatusFailed)}, true},
		"timed out":                     {[]domain.Payload{ended(domain.StatusTimedOut)}, true},
		"interrupted":                   {[]domain.Payload{interrupted}, true},
		"interrupted, failed":           {[]domain.Payload{interrupted, ended(domain.StatusFailed)}, true},
		"interrupted, gone on with":     {[]domain.Payload{interrupted, resumed}, false},
		"interrupted and a prompt came": {[]domain.Payload{interrupted, domain.PromptQueued{PromptID: "p"}}, true},
	} {
		h := history{log: written(append(begun(), test.last...)...)}
		if end := h.givenUp(); (end != "") != test.given {
			t.Errorf("%s: given up as %q", name, end)
		}
	}
}
