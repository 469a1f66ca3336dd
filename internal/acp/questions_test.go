package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
	"signoff/internal/tools/hosttest"
)

// answering is a person who always says the same, and keeps what was asked.
type answering struct {
	answer domain.Answer
	mu     sync.Mutex
	asked  []domain.Question
}

func (a *answering) put(_ context.Context, question domain.Question) (domain.Answer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, question)
	return a.answer, nil
}

func (r *rig) answers(answer domain.Answer) *answering {
	person := &answering{answer: answer}
	r.host.Answer = person.put
	return person
}

// hears wants the agent to have said this, which it does of each answer that it got.
func (r *rig) heard(words string) {
	r.Helper()
	if !strings.Contains(r.host.Text(), words) {
		r.Errorf("the agent said %q, want %q in it", r.host.Text(), words)
	}
}

func yes(option string) domain.Answer {
	return domain.Answer{Status: domain.ApprovalApproved, OptionID: option}
}

func no(option string) domain.Answer {
	return domain.Answer{Status: domain.ApprovalDenied, OptionID: option}
}

// TestPermissionAnswers: the option goes back by its id; where there is none, the answer is that nobody says anything.
func TestPermissionAnswers(t *testing.T) {
	r := newRig(t).open()
	for i, test := range []struct {
		answer  domain.Answer
		heard   string
		outcome domain.Outcome
	}{
		{yes("always"), "answer=always", domain.OutcomeSucceeded},
		{no("no"), "answer=no", ""}, // its outcome is the session's
		{no(""), "answer=cancelled", ""},
		{domain.Answer{Status: domain.ApprovalExpired}, "answer=cancelled", ""},
		{domain.Answer{Status: domain.ApprovalCancelled}, "answer=cancelled", domain.OutcomeCancelled},
	} {
		id := fmt.Sprint("c", i)
		person := r.answers(test.answer)
		r.runs(`call `+id+` kind=edit title="Write a.txt"`, `ask `+id+` input={"path":"a.txt"}`)
		r.heard(id + " " + test.heard)
		question := person.asked[0]
		want(t, "kind", question.Kind, domain.ApprovalAgentPermission)
		want(t, "call", fmt.Sprint(question.Call.ID, question.Call.Tool, question.Call.Class, question.Call.Summary, string(question.Call.Arguments)),
			id+`editwriteWrite a.txt{"path":"a.txt"}`)
		want(t, "options", sorted(t, question.Options), `[{"kind":"allow_once","name":"Allow once","optionId":"once"},`+
			`{"kind":"allow_always","name":"Always allow","optionId":"always"},{"kind":"reject_once","name":"Reject","optionId":"no"}]`)
		var outcome domain.Outcome
		for _, completed := range hosttest.Of[domain.ToolCallCompleted](r.host) {
			if completed.ToolCallID == id {
				outcome = completed.Outcome
			}
		}
		want(t, "outcome after "+test.heard, outcome, test.outcome)
		for _, started := range hosttest.Of[domain.ToolCallStarted](r.host) {
			if started.ToolCallID == id {
				t.Errorf("%s was started by the agent, although somebody was asked", id)
			}
		}
	}
}

// TestUnannouncedCallIsAnnounced: gemini never announces, codex afterwards.
func TestUnannouncedCallIsAnnounced(t *testing.T) {
	r := newRig(t).open()
	person := r.answers(yes("once"))
	r.runs(`ask c1 kind=edit title="Writing to note.txt" content=hello mark=no`, `call c1 kind=edit title="Writing"`, `update c1 completed`)
	want(t, "requests", len(hosttest.Of[domain.ToolCallRequested](r.host)), 1)
	arguments := wire.ReadObject(person.asked[0].Call.Arguments)
	if arguments.Text("title") != "Writing to note.txt" || len(arguments.List("content")) != 1 {
		t.Errorf("a person was shown %s", person.asked[0].Call.Arguments)
	}
	reports := hosttest.Of[domain.ToolCallReported](r.host)
	if len(reports) != 3 || wire.ReadObject(reports[0].Update).Text("title") != "Writing to note.txt" {
		t.Errorf("reports: %v", reports)
	}
}

// TestQuestionSaysWhatWasAnnounced: some agents ask with the id of the call alone. If the arguments were empty then, one
// answer that is remembered would let every later call of the tool through.
func TestQuestionSaysWhatWasAnnounced(t *testing.T) {
	for name, test := range map[string]struct {
		steps  []string
		wanted string
	}{
		"title":        {[]string{`call c1 kind=execute title=ls`, "ask c1"}, `{"title":"ls"}`},
		"other title":  {[]string{`call c1 kind=execute title="rm -rf /"`, "ask c1"}, `{"title":"rm -rf /"}`},
		"newest":       {[]string{`call c1 title=ls at=/a`, "update c1 pending one", "update c1 pending two", "ask c1 title=rm"}, `{"content":[{"content":{"text":"two","type":"text"},"type":"content"}],"locations":[{"path":"/a"}],"title":"rm"}`},
		"no object":    {[]string{`call c1 title=ls input=["ls","-l"]`, "ask c1"}, `{"rawInput":["ls","-l"],"title":"ls"}`},
		"empty input":  {[]string{`call c1 title=ls input={}`, "ask c1 input={}"}, `{"title":"ls"}`},
		"input":        {[]string{`call c1 title=ls input={"command":"ls"}`, "ask c1"}, `{"command":"ls"}`},
		"nothing":      {[]string{"ask c1"}, `{"toolCallId":"c1"}`},
		"only empty":   {[]string{`ask c1 title="" input={}`}, `{"toolCallId":"c1"}`},
		"another call": {[]string{"ask c1", "ask c1"}, `{"toolCallId":"c1~2"}`},
		"at once":      {[]string{"call c1 title=ls", "ask& c1 mark=no", "ask& c1 mark=no", "join", "update c1 completed"}, `{"title":"ls"}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t).open()
			person := r.answers(yes("once"))
			r.runs(test.steps...)
			want(t, "arguments", sorted(t, person.asked[len(person.asked)-1].Call.Arguments), test.wanted)
		})
	}
}

func TestNoOptionsNoAnswer(t *testing.T) {
	r := newRig(t).open()
	person := r.answers(yes("once"))
	r.runs("ask c1 options=none")
	r.heard("c1 answer=cancelled")
	r.goes(`request session/request_permission {"sessionId":"` + r.agent.session + `","toolCall":7,"options":"x"}`)
	r.heard(`{"outcome":{"outcome":"cancelled"}}`)
	want(t, "questions", len(person.asked), 0)
}

// TestWhatIsTooDeepIsNotAsked: no event and no question has more levels than a client must be able to read, and the agent is told why
// nobody was asked.
func TestWhatIsTooDeepIsNotAsked(t *testing.T) {
	r := newRig(t).open()
	person := r.answers(yes("once"))
	form := func(levels int) string { return `elicit "Sure?" {"type":"object","x":` + nestedLists(levels) + `}` }
	r.runs("ask deep input="+nestedLists(3000), "call c0 input="+nestedLists(3000), form(3000), form(60), "ask c1 input="+nestedLists(61))
	r.heard("deep answer=error -32600 The request is nested too deep to be shown to a person: at most 64 levels are read.")
	r.heard("elicit=error")
	r.heard("c1 answer=once")
	want(t, "questions", len(person.asked), 2)
	for _, question := range person.asked {
		for _, document := range []json.RawMessage{question.Call.Arguments, question.Options, question.Form} {
			if domain.TooDeep(document) {
				t.Errorf("a person is asked about %.200s", document)
			}
		}
	}
	var refused int
	for _, payload := range r.host.Payloads() {
		if update, is := payload.(domain.AgentUpdated); is && strings.Contains(string(update.Update), `"tooDeep"`) {
			refused++
		}
		if event := domain.NewEvent("e", payload); domain.TooDeep(event.Data) {
			t.Errorf("%s: %.200s", event.Type, event.Data)
		}
	}
	want(t, "told of", refused, 3)
}

// TestTwoQuestionsAboutOneCall: each has a call of its own, and both end with the agent's.
func TestTwoQuestionsAboutOneCall(t *testing.T) {
	r := newRig(t).open()
	both := make(chan struct{}, 2)
	var asked []string
	var mu sync.Mutex
	r.host.Answer = func(_ context.Context, q domain.Question) (domain.Answer, error) {
		mu.Lock()
		asked = append(asked, q.Call.ID)
		if len(asked) == 2 {
			close(both)
		}
		mu.Unlock()
		<-both
		return yes("once"), nil
	}
	r.runs("call c1 kind=execute", "ask& c1 mark=no", "ask& c1 mark=no", "join", "update c1 completed")
	slices.Sort(asked)
	want(t, "asked", fmt.Sprint(asked), "[c1 c1~2]")
	want(t, "outcomes", len(hosttest.Of[domain.ToolCallCompleted](r.host)), 2)
}

// TestWithdrawnQuestion: its context ends, and the agent is told that the request is cancelled.
func TestWithdrawnQuestion(t *testing.T) {
	r := newRig(t).open()
	ended := make(chan struct{})
	asked := make(chan struct{})
	r.host.Answer = func(ctx context.Context, _ domain.Question) (domain.Answer, error) {
		close(asked)
		<-ctx.Done()
		close(ended)
		return domain.Answer{}, context.Cause(ctx)
	}
	r.runs("ask& c1 mark=no", "silence 50", "withdraw c1", "join", "update c1 failed")
	<-asked
	<-ended
	r.heard("c1 answer=error")
}

func TestUnknownRequests(t *testing.T) {
	r := newRig(t).open()
	r.runs(`request vendor/ask {}`, `request fs/read_text_file {}`, `notify _vendor/news {"a":1}`)
	want(t, "a notification", hosttest.Of[domain.AgentUpdated](r.host)[0].Kind, "_vendor/news")
	for _, words := range []string{"vendor/ask=error -32601", "fs/read_text_file=error -32601"} {
		r.heard(words)
	}
}

func TestElicitation(t *testing.T) {
	r := newRig(t).open()
	for i, test := range []struct {
		answer  domain.Answer
		heard   string
		outcome domain.Outcome
	}{
		{domain.Answer{Status: domain.ApprovalApproved, Content: json.RawMessage(`{"colour":"Red"}`)}, `elicit=accept {"colour":"Red"}`, domain.OutcomeSucceeded},
		{domain.Answer{Status: domain.ApprovalDenied}, "elicit=decline", ""}, // its outcome is the session's
		{domain.Answer{Status: domain.ApprovalExpired}, "elicit=cancel", ""},
		{domain.Answer{Status: domain.ApprovalCancelled}, "elicit=cancel", domain.OutcomeCancelled},
	} {
		person := r.answers(test.answer)
		r.runs(`elicit "Which colour?" {"type":"object","properties":{"colour":{"type":"string"}}}`)
		r.heard(test.heard)
		question := person.asked[0]
		form := `{"message":"Which colour?","schema":{"type":"object","properties":{"colour":{"type":"string"}}}}`
		want(t, "form", string(question.Form), form)
		want(t, "call", fmt.Sprint(question.Kind, question.Call.Tool, question.Call.Class, question.Call.Summary, string(question.Call.Arguments)),
			"questionquestionotherWhich colour?"+form)
		outcomes := map[string]domain.Outcome{}
		for _, completed := range hosttest.Of[domain.ToolCallCompleted](r.host) {
			outcomes[completed.ToolCallID] = completed.Outcome
		}
		want(t, fmt.Sprint("outcome ", i), outcomes[question.Call.ID], test.outcome)
	}
}

// TestElicitationWithoutASession is about a request of ours, such as one that signs in.
func TestElicitationWithoutASession(t *testing.T) {
	r := newRig(t).open()
	r.answers(domain.Answer{Status: domain.ApprovalApproved})
	r.runs(`request elicitation/create {"mode":"form","requestId":1,"message":"Sure?"}`)
	r.heard(`elicitation/create={"action":"accept","content":{}}`)
}

// TestElicitationOfACall belongs to that call; an address to open is declined unseen.
func TestElicitationOfACall(t *testing.T) {
	r := newRig(t).open()
	person := r.answers(domain.Answer{Status: domain.ApprovalApproved, Content: json.RawMessage(`{}`)})
	r.runs("call c1 kind=other", `elicit "Which?" call=c1`, "update c1 completed", `elicit "Open" mode=url url=http://x`)
	want(t, "call", person.asked[0].Call.ID, "c1")
	want(t, "questions", len(person.asked), 1)
	want(t, "requests", len(hosttest.Of[domain.ToolCallRequested](r.host)), 1)
	r.heard("elicit=decline")
	want(t, "kept", hosttest.Of[domain.AgentUpdated](r.host)[0].Kind, "elicitation")
}

func nestedLists(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }
