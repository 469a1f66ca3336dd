package domain_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
)

func TestTerminalStatesNeverChange(t *testing.T) {
	for _, from := range domain.Statuses {
		leaves := false
		for _, to := range domain.Statuses {
			if from == to && from.CanBecome(to) {
				t.Errorf("%s becomes itself", from)
			}
			leaves = leaves || from.CanBecome(to)
		}
		if leaves == from.Terminal() {
			t.Errorf("%s: terminal %v, leads somewhere %v", from, from.Terminal(), leaves)
		}
	}
}

func TestEveryStatusIsReachedAndCanEnd(t *testing.T) {
	reached := map[domain.Status]bool{domain.StatusQueued: true}
	for range domain.Statuses {
		for from := range reached {
			for _, to := range domain.Statuses {
				if from.CanBecome(to) {
					reached[to] = true
				}
			}
		}
	}
	for _, status := range domain.Statuses {
		if !reached[status] {
			t.Errorf("%s is never reached", status)
		}
		if !status.Terminal() && !status.CanBecome(domain.StatusCancelled) {
			t.Errorf("%s cannot be cancelled", status)
		}
	}
	if domain.Status("dreaming").Known() || domain.Status("dreaming").CanBecome(domain.StatusFailed) {
		t.Error("an unknown status is taken for a known one")
	}
}

func TestOnlyPeopleAnswerApprovalsOfANewKind(t *testing.T) {
	if kind := domain.ApprovalKind("new"); kind.Known() || kind.AnswerableByRule() {
		t.Error("a rule may answer an approval of an unknown kind")
	}
	var byRule []domain.ApprovalKind
	for _, kind := range domain.ApprovalKinds {
		if kind.AnswerableByRule() {
			byRule = append(byRule, kind)
		}
	}
	if want := []domain.ApprovalKind{domain.ApprovalToolCall, domain.ApprovalAgentPermission}; !slices.Equal(byRule, want) {
		t.Errorf("rules answer %v, not %v", byRule, want)
	}
}

// all is one payload of each type, with every field set where that is short.
var all = []domain.Payload{
	domain.ExecutionCreated{Status: domain.StatusQueued, Source: domain.Source{Type: domain.SourceInternal, Model: "m"}},
	domain.StateChanged{From: domain.StatusQueued, To: domain.StatusInitializing, Reason: "r"},
	domain.TurnStarted{Turn: 1}, domain.TurnEnded{Turn: 1, StopReason: domain.StopEndTurn},
	domain.AgentStarted{Source: domain.Source{Type: domain.SourceInternal}, Sandbox: "off"},
	domain.MessageDelta{MessageID: "m", Turn: 1, Offset: 3, Text: "<a href='x'>&\u2028\x00"},
	domain.MessageCompleted{MessageID: "m", Turn: 1, Length: 9, Interrupted: true},
	domain.ThoughtDelta{MessageID: "m", Turn: 1, Text: "hm"}, domain.ThoughtCompleted{MessageID: "m", Turn: 1, Length: 2},
	domain.ToolCallRequested{ToolCallID: "c", MessageID: "m", Turn: 1, Tool: "bash", Class: domain.ClassExecute, Arguments: json.RawMessage(`{"a":1}`)},
	domain.ToolCallStarted{ToolCallID: "c", Arguments: json.RawMessage(`{"a":1}`), ApprovalID: "a", AllowedBy: "decision"},
	domain.ToolCallUpdated{ToolCallID: "c", Offset: 1, Output: "x"},
	domain.ToolCallCompleted{ToolCallID: "c", Outcome: domain.OutcomeFailed, Output: "x", Error: &domain.Failure{Code: domain.CodeToolFailed, Message: "m"}},
	domain.ApprovalRequested{ApprovalID: "a", ToolCallID: "c", Kind: domain.ApprovalToolCall, Arguments: json.RawMessage(`{}`)},
	domain.ApprovalResolved{ApprovalID: "a", ToolCallID: "c", Status: domain.ApprovalDenied, DecidedBy: &domain.Actor{KeyID: "k", Name: "n"}},
	domain.UsageUpdated{}, domain.ModelRequested{Model: "m", Iteration: 1}, domain.ModelRetrying{Attempt: 1, Model: "m", At: time.Unix(1, 0).UTC(), Code: domain.CodeModelFailed},
	domain.ExecutionEnded{Status: domain.StatusCompleted}, domain.ExecutionEnded{Status: domain.StatusFailed},
	domain.ExecutionEnded{Status: domain.StatusCancelled}, domain.ExecutionEnded{Status: domain.StatusTimedOut},
}

func TestPayloadsSurviveTheLog(t *testing.T) {
	seen := map[domain.EventType]bool{}
	for _, payload := range all {
		event := domain.NewEvent("e", payload)
		seen[event.Type] = true
		got, err := event.Payload()
		if err != nil {
			t.Errorf("%s: %v", event.Type, err)
		}
		if diff := cmp.Diff(payload, got); diff != "" {
			t.Errorf("%s: %s", event.Type, diff)
		}
		if strings.ContainsAny(string(event.Data), "\n\r") {
			t.Errorf("%s is not one line: %s", event.Type, event.Data)
		}
	}
	terminal := 0
	for kind := range seen {
		if kind.Terminal() {
			terminal++
		}
	}
	if len(seen) != 22 || terminal != 4 {
		t.Errorf("%d types, %d terminal", len(seen), terminal)
	}
	if _, err := (domain.Event{Type: "dream.dreamt"}).Payload(); err == nil {
		t.Error("an unknown type has a payload")
	}
}

func TestTextIsNotBlownUp(t *testing.T) {
	code := strings.Repeat("<b>&</b>", 100)
	if data := domain.NewEvent("e", domain.MessageDelta{MessageID: "m", Text: code}).Data; len(data) > len(code)+100 {
		t.Errorf("%d bytes for %d", len(data), len(code))
	}
}

func log(payloads ...domain.Payload) []domain.Event {
	events := make([]domain.Event, len(payloads))
	for i, payload := range payloads {
		events[i] = domain.NewEvent("e", payload)
	}
	return events
}

func requested(message, call string) domain.ToolCallRequested {
	return domain.ToolCallRequested{ToolCallID: call, MessageID: message, Tool: "bash", Arguments: json.RawMessage(`{}`)}
}

func outcomeAsked(call string, id domain.ApprovalID) domain.ApprovalRequested {
	return domain.ApprovalRequested{ApprovalID: id, ToolCallID: call, Kind: domain.ApprovalUnknownOutcome}
}

// folded is what a session knows that recovers an execution.
type folded struct {
	*domain.Progress
	Messages []domain.Message
}

func fold(log []domain.Event) (folded, error) {
	transcript := domain.NewTranscript()
	for _, event := range log {
		if err := transcript.Apply(event); err != nil {
			return folded{}, err
		}
	}
	progress, err := domain.Fold(log)
	return folded{progress, transcript.Messages()}, err
}

// last is the newest whole message.
func (f folded) last() string {
	text, _ := f.Said.Last(true)
	return text
}

// open is a text that has begun.
func (f folded) open(kind domain.EventType, id string) domain.OpenText {
	if open := f.Texts[domain.TextKey{Kind: kind, ID: id}]; open != nil {
		return *open
	}
	return domain.OpenText{}
}

// TestOptionsOfTurns: what a turn sets holds when it has ended, unless the agent did not take it.
func TestOptionsOfTurns(t *testing.T) {
	turn := func(n int, id, value string) domain.TurnStarted {
		return domain.TurnStarted{Turn: n, Text: "x", Options: map[string]string{id: value}}
	}
	refused := domain.TurnEnded{Turn: 2, StopReason: domain.StopError, Error: &domain.Failure{Code: domain.CodeInvalid}}
	broke := domain.TurnEnded{Turn: 3, StopReason: domain.StopError, Error: &domain.Failure{Code: domain.CodeAgentExited}}
	c, err := fold(log(turn(1, "mode", "plan"), domain.TurnEnded{Turn: 1}, turn(2, "temper", "hot"), refused, turn(3, "effort", "low"), broke,
		turn(4, "mode", "code"), domain.TurnEnded{Turn: 4}, turn(5, "effort", "high")))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(domain.ChosenOptions{{"effort": "low"}, {"mode": "code"}}, c.Options); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"effort": "high"}, c.Turn.Set); diff != "" {
		t.Error(diff)
	}
}

// mcpQuestion is a question of the MCP server of a call, whose request is repeated with the answer.
func mcpQuestion(call string, id domain.ApprovalID) domain.ApprovalRequested {
	return domain.ApprovalRequested{ApprovalID: id, ToolCallID: call, Kind: domain.ApprovalQuestion, Repeats: true}
}

func TestFold(t *testing.T) {
	started := func(call, arguments string) domain.ToolCallStarted {
		return domain.ToolCallStarted{ToolCallID: call, Arguments: json.RawMessage(arguments)}
	}
	for name, test := range map[string]struct {
		log  []domain.Event
		want func(c folded) bool
	}{
		"an empty log": {nil, func(c folded) bool { return c.Turn.Number == 0 && len(c.Messages) == 0 }},
		"a whole message": {
			log(domain.TurnStarted{Turn: 1}, domain.ThoughtDelta{MessageID: "m", Text: "hm"}, domain.ThoughtCompleted{MessageID: "m"},
				domain.MessageDelta{MessageID: "m", Text: "a"}, domain.MessageDelta{MessageID: "m", Text: "b"}, domain.MessageCompleted{MessageID: "m"}),
			func(c folded) bool {
				return c.Turn.Number == 1 && c.Turn.Rounds == 0 && c.last() == "ab" && len(c.Texts) == 0 &&
					len(c.Messages) == 1 && c.Messages[0].Text == "ab" && c.Messages[0].Thought == "hm"
			}},
		"a message that broke off is not remembered": {
			log(domain.MessageDelta{MessageID: "m", Text: "half"}),
			func(c folded) bool {
				return len(c.Messages) == 0 && len(c.Texts) == 1 && c.open(domain.MessageDeltaType, "m") == domain.OpenText{Length: 4}
			}},
		"an interrupted one neither": {
			log(domain.MessageDelta{MessageID: "m", Text: "half"}, domain.MessageCompleted{MessageID: "m", Interrupted: true}),
			func(c folded) bool { return len(c.Messages) == 0 && len(c.Texts) == 0 }},
		"a thought that broke off": {
			log(domain.ThoughtDelta{MessageID: "m", Text: "hm"}),
			func(c folded) bool { return c.open(domain.ThoughtDeltaType, "m").Length == 2 }},
		"an answered call": {
			log(domain.TurnStarted{Turn: 1}, requested("m", "c"), started("c", `{"edited":true}`), domain.ToolCallCompleted{ToolCallID: "c", Output: "out"}),
			func(c folded) bool {
				return c.Turn.Rounds == 1 && len(c.Calls) == 0 && len(c.Messages) == 2 &&
					string(c.Messages[0].ToolCalls[0].Arguments) == `{"edited":true}` && c.Messages[1].Text == "out" && c.Messages[1].ToolCallID == "c"
			}},
		"parallel calls share a round, and open ones are told apart": {
			log(domain.TurnStarted{Turn: 1}, requested("m", "c1"), requested("m", "c2"), requested("m", "c3"),
				domain.ApprovalRequested{ApprovalID: "a", ToolCallID: "c2"}, started("c3", `{}`), domain.ToolCallCompleted{ToolCallID: "c1", Output: "x"}),
			func(c folded) bool {
				return c.Turn.Rounds == 1 && len(c.Messages[0].ToolCalls) == 3 && len(c.Calls) == 2 &&
					c.Calls["c2"].Approval == "a" && !c.Calls["c2"].Running && c.Calls["c3"].Running
			}},
		"a call that was lost is not running, and its outcome is open": {
			log(requested("m", "c"), started("c", `{}`), domain.ToolCallUpdated{ToolCallID: "c", Output: "half"}, outcomeAsked("c", "u")),
			func(c folded) bool {
				return len(c.Calls) == 1 && c.Calls["c"].Lost && !c.Calls["c"].Running && c.Calls["c"].Approval == "u" && c.Calls["c"].Printed == 4
			}},
		"it stays lost while somebody is asked whether it may run again": {
			log(requested("m", "c"), started("c", `{}`), outcomeAsked("c", "u"),
				domain.ApprovalRequested{ApprovalID: "again", ToolCallID: "c", Kind: domain.ApprovalToolCall}),
			func(c folded) bool {
				return c.Calls["c"].Lost && !c.Calls["c"].Running && c.Calls["c"].Approval == "again"
			}},
		"one that starts again runs": {
			log(requested("m", "c"), started("c", `{}`), outcomeAsked("c", "u"),
				domain.ToolCallStarted{ToolCallID: "c", ApprovalID: "again", Version: "2"}),
			func(c folded) bool {
				return c.Calls["c"].Running && !c.Calls["c"].Lost && c.Calls["c"].Under == "again" && c.Calls["c"].Call.Version == "2"
			}},
		"one that was lost has run all the same": {
			log(requested("m", "c"), started("c", `{}`), outcomeAsked("c", "u"),
				domain.ToolCallCompleted{ToolCallID: "c", Outcome: domain.OutcomeUnknown}),
			func(c folded) bool { return len(c.Calls) == 0 && c.Executed[0].Approved }},
		"a call that is paused is not running": {
			log(requested("m", "c"), started("c", `{}`), mcpQuestion("c", "q")),
			func(c folded) bool {
				return c.Calls["c"].Paused && !c.Calls["c"].Running && c.Calls["c"].Approval == "q" && c.Calls["c"].Questions == 1
			}},
		"its answer starts it again, and it stays on record as it began": {
			log(requested("m", "c"), domain.ToolCallStarted{ToolCallID: "c", ApprovalID: "a", AllowedBy: "rule", RuleID: "r", Version: "1"},
				mcpQuestion("c", "q"), domain.ToolCallStarted{ToolCallID: "c", ApprovalID: "q", AllowedBy: "decision"}),
			func(c folded) bool {
				open := c.Calls["c"]
				return open.Running && !open.Paused && open.Under == "a" && open.AllowedBy == "rule" && open.RuleID == "r" && open.Call.Version == "1"
			}},
		"one that is lost after that begins anew": {
			log(requested("m", "c"), started("c", `{}`), mcpQuestion("c", "q"), domain.ToolCallStarted{ToolCallID: "c", ApprovalID: "q"}, outcomeAsked("c", "u"),
				domain.ToolCallStarted{ToolCallID: "c", ApprovalID: "again", AllowedBy: "decision"}),
			func(c folded) bool {
				return c.Calls["c"].Running && !c.Calls["c"].Lost && c.Calls["c"].Under == "again"
			}},
		"one that ends while it is paused was approved": {
			log(requested("m", "c"), started("c", `{}`), mcpQuestion("c", "q"),
				domain.ToolCallCompleted{ToolCallID: "c", Outcome: domain.OutcomeExpired, Error: &domain.Failure{Code: domain.CodeApprovalExpired}}),
			func(c folded) bool { return len(c.Calls) == 0 && c.Executed[0].Approved }},
		"a question within a call leaves it running": {
			log(requested("m", "c"), started("c", `{}`), domain.ApprovalRequested{ApprovalID: "q", ToolCallID: "c", Kind: domain.ApprovalQuestion}),
			func(c folded) bool {
				return c.Calls["c"].Running && !c.Calls["c"].Paused && c.Calls["c"].Questions == 1
			}},
		"the definition with which a call has started": {
			log(domain.ToolCallRequested{ToolCallID: "c", MessageID: "m", MCP: &domain.MCPTool{Server: "s", Tool: "t", Definition: "old"}},
				domain.ToolCallStarted{ToolCallID: "c", Definition: "new"}),
			func(c folded) bool {
				return c.Calls["c"].Call.MCP.Definition == "new" && c.Calls["c"].Call.MCP.Tool == "t"
			}},
		"rounds of an earlier turn do not count": {
			log(domain.TurnStarted{Turn: 1}, requested("m1", "c1"), domain.ToolCallCompleted{ToolCallID: "c1"}, domain.TurnStarted{Turn: 2}),
			func(c folded) bool { return c.Turn.Number == 2 && c.Turn.Rounds == 0 && len(c.Messages) == 2 }},
		"types of a newer server are passed over": {
			append(log(domain.TurnStarted{Turn: 1}), domain.Event{Type: "dream.dreamt", Data: json.RawMessage(`{`)}),
			func(c folded) bool { return c.Turn.Number == 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := fold(test.log)
			if err != nil || !test.want(c) {
				t.Errorf("%+v, %v", c, err)
			}
		})
	}
	if _, err := fold([]domain.Event{{Type: domain.TurnStartedType, Data: json.RawMessage(`{`)}}); err == nil {
		t.Error("broken data is folded")
	}
}

// TestACallEndsAfterTheTranscriptWasRead: what recovery tells of a call is in the history of the agent that is opened then.
func TestACallEndsAfterTheTranscriptWasRead(t *testing.T) {
	c := domain.NewTranscript()
	for _, event := range log(requested("m", "c1"), requested("m", "c2")) {
		if err := c.Apply(event); err != nil {
			t.Fatal(err)
		}
	}
	before := c.Messages()
	if err := c.Apply(log(domain.ToolCallCompleted{ToolCallID: "c2", Output: "unknown"})[0]); err != nil {
		t.Fatal(err)
	}
	if after := c.Messages(); len(before) != 1 || len(after) != 2 || after[1].ToolCallID != "c2" || after[1].Text != "unknown" {
		t.Errorf("%+v", after)
	}
}

// TestStatesOfAnswers stand beside the log. Older servers wrote them into it; they are read there, and never written.
func TestStatesOfAnswers(t *testing.T) {
	events := log(domain.ThoughtDelta{MessageID: "a", Text: "Hm."}, domain.ThoughtCompleted{MessageID: "a", Length: 3, Thinking: json.RawMessage(`"new"`)},
		requested("a", "c1"), domain.MessageDelta{MessageID: "b", Text: "Yes"}, domain.MessageCompleted{MessageID: "b"})
	if strings.Contains(string(events[1].Data), "new") {
		t.Errorf("the log has %s", events[1].Data)
	}
	old := slices.Clone(events)
	old[1].Data = json.RawMessage(`{"messageId":"a","turn":1,"length":3,"thinking":{"old":1}}`)
	a, b := domain.AnswerState{MessageID: "a", State: json.RawMessage(`"of a"`)}, domain.AnswerState{MessageID: "b", State: json.RawMessage(`"of b"`)}
	for _, test := range []struct {
		name   string
		log    []domain.Event
		states []domain.AnswerState
		want   string
	}{
		{"none", events, nil, ","},
		{"beside the log", events, []domain.AnswerState{b, a, {MessageID: "gone", State: json.RawMessage(`1`)}}, `"of a","of b"`},
		{"in an old log", old, nil, `{"old":1},`},
		{"in both", old, []domain.AnswerState{a}, `"of a",`},
	} {
		c := domain.NewTranscript()
		for _, event := range test.log {
			if err := c.Apply(event); err != nil {
				t.Fatal(err)
			}
		}
		c.Recall(test.states)
		messages := c.Messages()
		if len(messages) != 2 || string(messages[0].State)+","+string(messages[1].State) != test.want || messages[0].Thought != "Hm." {
			t.Errorf("%s: %+v", test.name, messages)
		}
	}
}

// TestRefusedStates: a refusal is about the answers before it, if the model answers without them.
func TestRefusedStates(t *testing.T) {
	refused := func(model string) domain.ModelStateDropped {
		return domain.ModelStateDropped{Turn: 1, Model: model, Reason: domain.StateRefused}
	}
	got, err := fold(log(requested("a", "c1"), refused("x"), requested("b", "c2"),
		domain.ModelStateDropped{Turn: 1, Model: "z", MessageID: "b", Reason: domain.StateTooLarge},
		refused("w"), domain.ModelSwitched{From: "w", To: "y"}, refused("y"), requested("c", "c3"),
		refused("v"), domain.TurnEnded{Turn: 1}, domain.TurnStarted{Turn: 2}, requested("d", "c4"), refused("x"), requested("e", "c5")))
	if err != nil {
		t.Fatal(err)
	}
	var by []string
	for _, message := range got.Messages {
		by = append(by, strings.Join(message.RefusedBy, "+"))
	}
	if strings.Join(by, ",") != "x+y,y+x,x,x," {
		t.Errorf("refused by %q", by)
	}
}

func TestUsageAdd(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	sum := domain.Usage{InputTokens: n(1), ContextUsed: n(5)}.Add(domain.Usage{InputTokens: n(2), OutputTokens: n(3), ContextUsed: n(7)})
	if *sum.InputTokens != 3 || *sum.OutputTokens != 3 || *sum.ContextUsed != 7 || sum.CacheReadTokens != nil {
		t.Errorf("%+v", sum)
	}
}

func TestErrors(t *testing.T) {
	cause := errors.New("password=hunter2")
	err := fmt.Errorf("outer: %w", domain.Errorf(domain.CodeStorage, "The %s is away.", "database").With(cause))
	if domain.CodeOf(err) != domain.CodeStorage || !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
	for _, e := range []error{err, cause} {
		if failure := domain.FailureOf(e); strings.Contains(failure.Message, "hunter2") {
			t.Errorf("the cause is shown: %+v", failure)
		}
	}
	if domain.CodeOf(cause) != domain.CodeInternal {
		t.Error("an error without a code has one")
	}
	if e := domain.Invalid("/a", "%d is wrong", 5); e.Details[0].Pointer != "/a" || e.Details[0].Message != "5 is wrong" {
		t.Errorf("%+v", e)
	}
}

func TestCapabilities(t *testing.T) {
	c := domain.Capabilities{Read: domain.Allow, Execute: domain.Ask}
	for class, want := range map[domain.Class]domain.Verdict{domain.ClassRead: domain.Allow, domain.ClassExecute: domain.Ask, "fly": domain.Deny} {
		if got := c.Of(class); got != want {
			t.Errorf("%s: %s", class, got)
		}
	}
	if !slices.Contains(domain.Statuses, domain.StatusIdle) {
		t.Error("idle is gone")
	}
}

// A duration has at most three places in JSON, in the event as in the answer that shows the same output.
func TestSecondsHaveThreePlaces(t *testing.T) {
	for ms := range 100_000 {
		want := strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%d.%03d", ms/1000, ms%1000), "0"), ".")
		if got := string(domain.Encode(domain.Seconds(time.Duration(ms)*time.Millisecond + 400*time.Microsecond))); got != want {
			t.Fatalf("%d ms are %s, want %s", ms, got, want)
		}
	}
}

// An agent's events are of the turn in which the session takes them. Nothing else of an event changes.
func TestInTurn(t *testing.T) {
	for _, payload := range all {
		dated := domain.NewEvent("e", domain.InTurn(payload, 7))
		var want, got map[string]any
		if err := errors.Join(json.Unmarshal(domain.NewEvent("e", payload).Data, &want), json.Unmarshal(dated.Data, &got)); err != nil {
			t.Fatal(err)
		}
		if _, is := want["turn"].(float64); is {
			want["turn"] = 7.0
		}
		if diff := cmp.Diff(want, got); diff != "" || dated.Type != payload.EventType() {
			t.Errorf("%s: %s", dated.Type, diff)
		}
	}
}
