package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"signoff/internal/domain"
	"signoff/internal/llm"
	"signoff/internal/secrets"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
)

func prints(text string) func(context.Context, domain.Command, io.Writer) (domain.CommandResult, error) {
	return func(_ context.Context, _ domain.Command, output io.Writer) (domain.CommandResult, error) {
		_, err := io.WriteString(output, text)
		return domain.CommandResult{}, err
	}
}

// echoes prints the command line that it was given.
func echoes(_ context.Context, command domain.Command, output io.Writer) (domain.CommandResult, error) {
	_, err := fmt.Fprintf(output, "ran %s", command.Argv[2])
	return domain.CommandResult{}, err
}

func outcomes(host *hosttest.Host) string {
	var list []string
	for _, completed := range hosttest.Of[domain.ToolCallCompleted](host) {
		code := ""
		if completed.Error != nil {
			code = ":" + string(completed.Error.Code)
		}
		list = append(list, string(completed.Outcome)+code)
	}
	return strings.Join(list, " ")
}

// TestCallsThatCannotRun: the model is told, nobody is asked, nothing runs, and the others of the answer still do.
func TestCallsThatCannotRun(t *testing.T) {
	huge := `{"command":"` + strings.Repeat("x", 300<<10) + `"}`
	tests := []struct {
		name, tool, arguments string
		logged                string // the beginning of the arguments in the log
		outcome               string
		told                  string
	}{
		{"unknown tool", "rm", `{}`, `{}`, "failed:unknownTool", "The tools are: bash, read."},
		{"no name", "", `{}`, `{}`, "failed:unknownTool", "There is no tool"},
		{"long name", strings.Repeat("n", 500), `{}`, `{}`, "failed:unknownTool", "There is no tool"},
		{"no JSON", "bash", `{"command": ls}`, `"{\"command\": ls}"`, "failed:invalidArguments", "JSON object"},
		{"cut JSON", "bash", `{"command": "ls`, `"{\"command\": \"ls"`, "failed:invalidArguments", "JSON object"},
		{"text", "bash", `"ls"`, `"ls"`, "failed:invalidArguments", "JSON object"},
		{"nothing", "bash", ``, `{}`, "failed:invalidArguments", "missing"},
		{"wrong type", "bash", `{"command":5}`, `{"command":5}`, "failed:invalidArguments", "must be a string"},
		{"deep", "bash", strings.Repeat("[", 1000) + strings.Repeat("]", 1000), `"[[[`, "failed:invalidArguments", "deeper than 64 levels"},
		{"deep where it fits nothing", "bash", `{"x":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, `"{\"x\":[[[`,
			"failed:invalidArguments", "deeper than 64 levels"},
		{"as deep as may be", "bash", `{"x":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`, `{"x":[[[`,
			"failed:invalidArguments", "no field"},
		{"huge", "bash", huge, `"{\"command\":\"xxx`, "failed:invalidArguments", "at most"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			broken := calls(string(mustJSON(map[string]any{
				"index": 0, "id": "a", "function": map[string]string{"name": test.tool, "arguments": test.arguments},
			})))
			v := &vendor{replies: []reply{streams(broken, callsBash(1, "ls"), ends("tool_calls"), done), saysOnly("ok")}}
			var authorized []string
			host := &hosttest.Host{Command: prints("files")}
			host.Grant = func(_ context.Context, call domain.ToolCall) (domain.Grant, error) {
				authorized = append(authorized, string(call.Arguments))
				return domain.Grant{Allowed: true, Arguments: call.Arguments}, nil
			}
			stop, err := ask(t, v, host)
			want(t, "error", err, nil)
			want(t, "stop", stop, domain.StopEndTurn)
			want(t, "authorized", strings.Join(authorized, ","), `{"command":"ls"}`)
			if got := outcomes(host); got != test.outcome+" succeeded" && got != "succeeded "+test.outcome {
				t.Errorf("outcomes: %s", got)
			}
			first := hosttest.Of[domain.ToolCallRequested](host)[0]
			if !strings.HasPrefix(string(first.Arguments), test.logged) || !json.Valid(first.Arguments) || len(first.Arguments) > 4000 {
				t.Errorf("logged arguments: %.100s", first.Arguments)
			}
			if len(first.Tool) > 200 || first.Summary == "" {
				t.Errorf("tool %q, summary %q", first.Tool, first.Summary)
			}
			messages := v.requests()[1].body.Messages
			if told := messages[3].Content; !strings.Contains(told, test.told) {
				t.Errorf("the model is told %q", told)
			}
			if sent := messages[2].ToolCalls[0].Function.Arguments; !strings.HasPrefix(sent, "{") || !json.Valid([]byte(sent)) {
				t.Errorf("the provider is sent the arguments %.100s", sent)
			}
		})
	}
}

// TestTooManyCalls: those beyond the limit fail, and all results come back in the order of the calls.
func TestTooManyCalls(t *testing.T) {
	var parts []string
	for i := range 40 {
		parts = append(parts, callsBash(i, strconv.Itoa(i)))
	}
	v := &vendor{replies: []reply{streams(append(parts, ends("tool_calls"), done)...), saysOnly("ok")}}
	host := &hosttest.Host{Command: echoes}
	if _, err := ask(t, v, host); err != nil {
		t.Fatal(err)
	}
	want(t, "ran", strings.Count(outcomes(host), "succeeded"), 32)
	want(t, "failed", strings.Count(outcomes(host), "failed:invalidArguments"), 8)
	messages := v.requests()[1].body.Messages
	ids := map[string]bool{}
	for i, call := range messages[2].ToolCalls {
		result := messages[3+i]
		want(t, "result's call", result.ToolCallID, call.ID)
		if i < 32 {
			want(t, "result", result.Content, fmt.Sprintf("ran %d", i))
		}
		ids[call.ID] = true
	}
	want(t, "different ids", len(ids), 40)
}

func TestAWalkInOrder(t *testing.T) {
	v := &vendor{replies: []reply{
		streams(delta(`{"reasoning":"Hm."}`), says("I look."), callsBash(0, "ls"), ends("tool_calls"), done), saysOnly("Two files."),
	}}
	host := &hosttest.Host{Command: prints("a\nb\n")}
	if _, err := ask(t, v, host); err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, payload := range host.Payloads() {
		types = append(types, string(payload.EventType()))
	}
	want(t, "events", strings.Join(types, " "), "model.requested thought.delta thought.completed message.delta message.completed "+
		"toolCall.requested toolCall.updated toolCall.completed model.requested message.delta message.completed")
	requests := hosttest.Of[domain.ModelRequested](host)
	want(t, "first request", requests[0], domain.ModelRequested{Turn: 1, Model: "test", Iteration: 1, Messages: 1, Tools: 2})
	want(t, "second request", requests[1], domain.ModelRequested{Turn: 1, Model: "test", Iteration: 2, Messages: 3, Tools: 2})
	call := hosttest.Of[domain.ToolCallRequested](host)[0]
	want(t, "message of the call", call.MessageID, hosttest.Of[domain.MessageDelta](host)[0].MessageID)
	want(t, "class", call.Class, domain.ClassExecute)
	want(t, "summary", call.Summary, "Run `ls` in /srv/run")
	if !strings.HasPrefix(call.MessageID, "m1.1.1-") {
		t.Errorf("message id %q", call.MessageID)
	}
	if last := hosttest.Of[domain.MessageCompleted](host)[1].MessageID; !strings.HasPrefix(last, "m1.2.1-") {
		t.Errorf("id of the last message %q", last)
	}
	conversation := host.Fold(t)
	want(t, "rounds", conversation.Turn.Rounds, 1)
	want(t, "open calls", len(conversation.Calls), 0)
	want(t, "thought", conversation.Messages[0].Thought, "Hm.")
}

// TestALongOutputIsOneForPeopleAndOneForTheModel: people see all of it, the model is told how to read the rest, and after a restart it gets
// the same text from the log, with its secrets masked in both.
func TestALongOutputIsOneForPeopleAndOneForTheModel(t *testing.T) {
	v := &vendor{replies: []reply{streams(callsBash(0, "seq"), ends("tool_calls"), done), saysOnly("ok")}}
	said := "s3cret-value\n" + strings.Repeat("one line of many\n", 5000) + "s3cret-value\n"
	host := &hosttest.Host{Command: prints(said)}
	masking := withWindow(v, 100_000)
	masking.Masker = secrets.NewMasker("s3cret-value")
	if _, err := open(t, masking, execution()).Prompt(t.Context(), host, prompt("Go")); err != nil {
		t.Fatal(err)
	}
	completed := hosttest.Of[domain.ToolCallCompleted](host)[0]
	if completed.Output != strings.ReplaceAll(said, "s3cret-value", domain.Masked) {
		t.Errorf("people see %d bytes: %.100q", len(completed.Output), completed.Output)
	}
	told := v.requests()[1].body.Messages[3].Content
	if !strings.Contains(told, "use the tool read with the path") || strings.Contains(told, "s3cret") || len(told) > 33<<10 {
		t.Errorf("the model is told %d bytes: %.100q", len(told), told)
	}
	messages := host.Fold(t).Messages
	if after := messages[1]; after.Role != domain.RoleTool || after.Text != told {
		t.Errorf("after a restart the model gets %d bytes of %d: %.100q", len(after.Text), len(told), after.Text)
	}
}

// A server that dies between an answer and its calls would find an answer that asks for nothing: the end of the turn.
func TestAnAnswerIsToldWithItsCalls(t *testing.T) {
	v := &vendor{replies: []reply{streams(says("I look."), callsBash(0, "ls"), callsBash(1, "pwd"), ends("tool_calls"), done), saysOnly("ok")}}
	host := &hosttest.Host{Command: echoes}
	if _, err := ask(t, v, host); err != nil {
		t.Fatal(err)
	}
	for _, told := range host.Together() {
		if _, isEnd := told[0].(domain.MessageCompleted); !isEnd {
			continue
		}
		var types []string
		for _, payload := range told {
			types = append(types, string(payload.EventType()))
		}
		want(t, "told with the end of the answer", strings.Join(types, " "), "message.completed toolCall.requested toolCall.requested")
		return
	}
	t.Error("the answer has no end")
}

func TestRefusedCalls(t *testing.T) {
	for _, told := range []string{"A person denied this call and said: not today", "Nobody answered in time."} {
		v := &vendor{replies: []reply{streams(callsBash(0, "a"), ends("tool_calls"), done), saysOnly("ok")}}
		host := &hosttest.Host{Grant: func(context.Context, domain.ToolCall) (domain.Grant, error) {
			return domain.Grant{Message: told}, nil
		}}
		stop, err := ask(t, v, host)
		want(t, "error", err, nil)
		want(t, "stop", stop, domain.StopEndTurn)
		want(t, "own outcomes", outcomes(host), "") // the session has written it
		want(t, "the model is told", v.requests()[1].body.Messages[3].Content, told)
	}
}

func TestTheGrantsArgumentsRun(t *testing.T) {
	v := &vendor{replies: []reply{streams(callsBash(0, "rm -rf /"), ends("tool_calls"), done), saysOnly("ok")}}
	edited := `{"command":"ls"}`
	host := &hosttest.Host{Command: echoes, Grant: func(context.Context, domain.ToolCall) (domain.Grant, error) {
		return domain.Grant{Allowed: true, Arguments: json.RawMessage(edited)}, nil
	}}
	if _, err := ask(t, v, host); err != nil {
		t.Fatal(err)
	}
	want(t, "output", hosttest.Of[domain.ToolCallCompleted](host)[0].Output, "ran ls")
	for _, approved := range []bool{true, false} { // whose command it is, and whether a person has seen it, decides what it is kept from
		v := &vendor{replies: []reply{streams(callsBash(0, "ls"), ends("tool_calls"), done), saysOnly("ok")}}
		var ran domain.Command
		host := &hosttest.Host{Command: func(_ context.Context, command domain.Command, _ io.Writer) (domain.CommandResult, error) {
			ran = command
			return domain.CommandResult{}, nil
		}, Grant: func(_ context.Context, call domain.ToolCall) (domain.Grant, error) {
			return domain.Grant{Allowed: true, Arguments: call.Arguments, Approved: approved}, nil
		}}
		if _, err := ask(t, v, host); err != nil {
			t.Fatal(err)
		}
		want(t, "command of", fmt.Sprint(ran.Tool, ran.Approved), fmt.Sprint("bash", approved))
	}
	edited = `{"command":7}`
	host2 := &hosttest.Host{Command: echoes, Grant: host.Grant}
	if _, err := ask(t, &vendor{replies: v.replies}, host2); err != nil {
		t.Fatal(err)
	}
	want(t, "outcome of a bad edit", outcomes(host2), "failed:invalidArguments")
}

func TestApprovalsInAnotherOrder(t *testing.T) {
	v := &vendor{replies: []reply{
		streams(callsBash(0, "a"), callsBash(1, "b"), callsBash(2, "c"), ends("tool_calls"), done), saysOnly("ok"),
	}}
	waits := map[string]time.Duration{`{"command":"a"}`: 3 * time.Hour, `{"command":"b"}`: time.Hour, `{"command":"c"}`: 2 * time.Hour}
	host := &hosttest.Host{Command: echoes, Grant: func(_ context.Context, call domain.ToolCall) (domain.Grant, error) {
		time.Sleep(waits[string(call.Arguments)])
		if string(call.Arguments) == `{"command":"c"}` {
			return domain.Grant{Message: "denied"}, nil
		}
		return domain.Grant{Allowed: true, Arguments: call.Arguments}, nil
	}}
	if _, err := ask(t, v, host); err != nil {
		t.Fatal(err)
	}
	completed := hosttest.Of[domain.ToolCallCompleted](host)
	want(t, "first to end", completed[0].Output, "ran b")
	want(t, "last to end", completed[1].Output, "ran a")
	want(t, "requests", len(v.requests()), 2)
	messages := v.requests()[1].body.Messages
	want(t, "results", messages[3].Content+","+messages[4].Content+","+messages[5].Content, "ran a,ran b,denied")
}

func TestMaxIterations(t *testing.T) {
	for _, test := range []struct{ limit, spent, requests int }{{1, 0, 1}, {3, 0, 3}, {3, 2, 1}, {3, 3, 0}, {0, 0, 50}} {
		t.Run(fmt.Sprintf("%d with %d spent", test.limit, test.spent), func(t *testing.T) {
			v := &vendor{replies: []reply{streams(callsBash(0, "again"), ends("tool_calls"), done)}}
			host := &hosttest.Host{Command: prints("")}
			e := execution()
			e.Request.MaxIterations = test.limit
			p := prompt("Go")
			p.Rounds = test.spent
			stop, err := open(t, config(v), e).Prompt(t.Context(), host, p)
			want(t, "error", err, nil)
			want(t, "stop", stop, domain.StopMaxIterations)
			want(t, "requests", len(v.requests()), test.requests)
			host.Finish(t, true)
		})
	}
}

// TestRestart begins where a log ends: two of three calls have no result.
func TestRestart(t *testing.T) {
	call := func(id, command string) domain.ToolCall {
		return domain.ToolCall{ID: id, Tool: "bash", Class: domain.ClassExecute, Arguments: mustJSON(map[string]string{"command": command})}
	}
	history := []domain.Message{
		{Role: domain.RoleUser, Text: "Go"},
		{Role: domain.RoleAssistant, Text: "I look.", ToolCalls: []domain.ToolCall{call("1", "a"), call("2", "b"), {ID: "3", Tool: "gone", Arguments: json.RawMessage(`{}`)}}},
		{Role: domain.RoleTool, ToolCallID: "2", Text: "outcome unknown"},
	}
	v := &vendor{replies: []reply{saysOnly("ok")}}
	var asked []domain.ToolCall
	host := &hosttest.Host{Command: echoes, Grant: func(_ context.Context, call domain.ToolCall) (domain.Grant, error) {
		asked = append(asked, call)
		return domain.Grant{Allowed: true, Arguments: call.Arguments}, nil
	}}
	stop, err := open(t, config(v), execution()).Prompt(t.Context(), host, domain.Prompt{Turn: 1, Rounds: 1, History: history})
	want(t, "error", err, nil)
	want(t, "stop", stop, domain.StopEndTurn)
	want(t, "requested again", len(requested(host)), 0)
	if len(asked) != 1 || asked[0].ID != "1" || asked[0].Version != (tools.Bash{}).Definition().Version || asked[0].Summary == "" {
		t.Errorf("authorized: %+v", asked)
	}
	messages := v.requests()[0].body.Messages
	want(t, "results", messages[3].Content+","+messages[4].Content, "ran a,outcome unknown")
	if !strings.Contains(messages[5].Content, "no tool called") {
		t.Errorf("the lost tool: %q", messages[5].Content)
	}
	want(t, "history is the caller's", len(history), 3)
}

func TestRestartAfterTheLastWord(t *testing.T) {
	v := &vendor{replies: []reply{saysOnly("twice")}}
	history := append(prompt("Go").History, domain.Message{Role: domain.RoleAssistant, Text: "Done."})
	stop, err := open(t, config(v), execution()).Prompt(t.Context(), &hosttest.Host{}, domain.Prompt{Turn: 1, History: history})
	want(t, "error", err, nil)
	want(t, "stop", stop, domain.StopEndTurn)
	want(t, "requests", len(v.requests()), 0)
}

// TestHistoryIsMadeOrderly: a cancelled turn before this one left calls without results and results out of order.
func TestHistoryIsMadeOrderly(t *testing.T) {
	call := func(id string) domain.ToolCall {
		return domain.ToolCall{ID: id, Tool: "bash", Arguments: json.RawMessage(`{"command":"x"}`)}
	}
	history := []domain.Message{
		{Role: domain.RoleUser, Text: "one"},
		{Role: domain.RoleAssistant, ToolCalls: []domain.ToolCall{call("1"), call("2"), call("3")}},
		{Role: domain.RoleTool, ToolCallID: "3", Text: "third"},
		{Role: domain.RoleTool, ToolCallID: "1", Text: "first"},
		{Role: domain.RoleTool, ToolCallID: "stray", Text: "stray"},
		{Role: domain.RoleUser, Text: "two"},
	}
	v := &vendor{replies: []reply{saysOnly("ok")}}
	if _, err := open(t, config(v), execution()).Prompt(t.Context(), &hosttest.Host{}, domain.Prompt{Turn: 2, History: history}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, message := range v.requests()[0].body.Messages[2:] {
		got = append(got, message.Role+":"+message.ToolCallID+message.Content)
	}
	want(t, "sent", strings.Join(got, " | "), "assistant: | tool:1first | tool:2There is no result of this call. | tool:3third | user:two")
}

// panics is a tool with a bug.
type panics struct{ tools.Bash }

func (panics) Run(context.Context, domain.Host, domain.ToolCall) tools.Result { panic("secret state") }

func TestPanicOfATool(t *testing.T) {
	v := &vendor{replies: []reply{streams(callsBash(0, "a"), ends("tool_calls"), done), saysOnly("ok")}}
	host := &hosttest.Host{}
	var logged strings.Builder
	c := config(v)
	c.Logger = slog.New(slog.NewTextHandler(&logged, nil))
	stop, err := open(t, c, execution(), panics{}).Prompt(t.Context(), host, prompt("Go"))
	want(t, "error", err, nil)
	want(t, "stop", stop, domain.StopEndTurn)
	want(t, "outcome", outcomes(host), "failed:internal")
	if strings.Contains(hosttest.Of[domain.ToolCallCompleted](host)[0].Output, "secret") || !strings.Contains(logged.String(), "secret state") {
		t.Error("the panic belongs into the log, and only there")
	}
}

func TestTheHostsRefusalEndsTheTurn(t *testing.T) {
	over := errors.New("the session is over")
	for _, at := range []domain.EventType{
		domain.MessageDeltaType, domain.MessageCompletedType, domain.ThoughtDeltaType, domain.ThoughtCompletedType,
		domain.ToolCallRequestedType, domain.ToolCallCompletedType, domain.UsageUpdatedType, domain.ModelRetryingType,
	} {
		t.Run(string(at), func(t *testing.T) {
			v := &vendor{replies: []reply{
				answers(500, nil, ""),
				streams(delta(`{"reasoning":"Hm"}`), says("a"), callsBash(0, "x"), callsBash(1, "y"), ends("tool_calls"), `{"choices":[],"usage":{"prompt_tokens":1}}`, done),
				saysOnly("never"),
			}}
			host := &hosttest.Host{Command: prints("out"), Refuse: func(payload domain.Payload) error {
				if payload.EventType() == at {
					return over
				}
				return nil
			}}
			synctest.Test(t, func(t *testing.T) {
				_, err := open(t, config(v), execution()).Prompt(t.Context(), host, prompt("Go"))
				if !errors.Is(err, over) {
					t.Errorf("got %v", err)
				}
			})
			if len(v.requests()) > 2 {
				t.Error("the model was asked again")
			}
		})
	}
}

func TestAuthorizeErrorEndsTheOthers(t *testing.T) {
	v := &vendor{replies: []reply{streams(callsBash(0, "a"), callsBash(1, "b"), ends("tool_calls"), done)}}
	lost := domain.Errorf(domain.CodeStorage, "The database does not answer.")
	host := &hosttest.Host{Grant: func(ctx context.Context, call domain.ToolCall) (domain.Grant, error) {
		if string(call.Arguments) == `{"command":"a"}` {
			return domain.Grant{}, lost
		}
		<-ctx.Done()
		return domain.Grant{}, context.Cause(ctx)
	}}
	_, err := open(t, config(v), execution()).Prompt(t.Context(), host, prompt("Go"))
	want(t, "code", domain.CodeOf(err), domain.CodeStorage)
}

func TestSystemPrompt(t *testing.T) {
	system := func(change func(*domain.Request)) string {
		v := &vendor{replies: []reply{saysOnly("ok")}}
		e := execution()
		change(&e.Request)
		if _, err := open(t, config(v), e).Prompt(t.Context(), &hosttest.Host{Around: "You see /srv."}, prompt("Go")); err != nil {
			t.Fatal(err)
		}
		return v.requests()[0].body.Messages[0].Content
	}
	blind := system(func(r *domain.Request) { r.Tools.Enabled = []string{"think"} })
	plain := system(func(*domain.Request) {})
	own := system(func(r *domain.Request) { r.SystemPrompt, r.Instructions = "You are a pirate.", "Be brief." })
	const safety, persona = "A call that was denied is denied.", "You help engineers"
	for what, holds := range map[string]bool{
		"safety":                  strings.Contains(plain, safety) && strings.Contains(own, safety),
		"safety first":            strings.Index(own, safety) < strings.Index(own, "pirate"),
		"persona where none":      strings.Contains(plain, persona),
		"persona replaced":        !strings.Contains(own, persona) && strings.Contains(own, "You are a pirate."),
		"instructions at the end": strings.HasSuffix(own, "\n\nBe brief."),
		"directory":               strings.Contains(plain, "Working directory: /srv/run\n\nYou see /srv."),
		"sight without tools":     !strings.Contains(blind, "You see"),
	} {
		if !holds {
			t.Errorf("%s: not so", what)
		}
	}
}

func TestCancelInEveryPhase(t *testing.T) {
	hang := func(ctx context.Context) { <-ctx.Done() }
	open200 := func(parts ...string) reply { return hangsAfter(events(parts...)) }
	call := streams(callsBash(0, "a"), ends("tool_calls"), done)
	tests := []struct {
		name    string
		replies []reply
		grant   func(context.Context, domain.ToolCall) (domain.Grant, error)
		command func(context.Context, domain.Command, io.Writer) (domain.CommandResult, error)
	}{
		{name: "before the answer begins", replies: []reply{neverAnswers}},
		{name: "within a text", replies: []reply{open200(says("a"))}},
		{name: "within a thought", replies: []reply{open200(delta(`{"reasoning":"a"}`))}},
		{name: "within a call", replies: []reply{open200(callsBash(0, "a"))}},
		{name: "in a wait", replies: []reply{answers(503, nil, "")}},
		{name: "at the approval", replies: []reply{call}, grant: func(ctx context.Context, _ domain.ToolCall) (domain.Grant, error) {
			hang(ctx)
			return domain.Grant{}, context.Cause(ctx)
		}},
		{name: "in the tool", replies: []reply{call}, command: func(ctx context.Context, _ domain.Command, output io.Writer) (domain.CommandResult, error) {
			_, _ = io.WriteString(output, "begun")
			hang(ctx)
			return domain.CommandResult{ExitCode: 137}, nil
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				host := &hosttest.Host{Grant: test.grant, Command: test.command}
				agent := open(t, config(&vendor{replies: test.replies}), execution())
				ended := make(chan error, 1)
				go func() {
					_, err := agent.Prompt(ctx, host, prompt("Go"))
					ended <- err
				}()
				time.Sleep(100 * time.Millisecond)
				synctest.Wait()
				begun := time.Now()
				cancel(errors.New("a person said stop"))
				if err := <-ended; !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
				want(t, "took", time.Since(begun), 0)
				want(t, "outcomes", outcomes(host), "")
				want(t, "closed messages", len(hosttest.Of[domain.MessageCompleted](host)), 0)
				host.Finish(t, false)
			})
		})
	}
}

func TestASilentVendorIsGivenUp(t *testing.T) {
	for name, silent := range map[string]reply{"before the first byte": neverAnswers, "within the answer": hangsAfter(events(says("par")))} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				host := &hosttest.Host{}
				v := &vendor{replies: []reply{silent, saysOnly("ok")}}
				if _, err := open(t, config(v), execution()).Prompt(t.Context(), host, prompt("Go")); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begun); took < llm.DefaultIdleTimeout || took > llm.DefaultIdleTimeout+2*time.Second {
					t.Errorf("took %v", took)
				}
				want(t, "code", hosttest.Of[domain.ModelRetrying](host)[0].Code, domain.CodeModelStreamBroken)
				host.Finish(t, true)
			})
		})
	}
}

// TestASlowReaderIsNoSilentVendor: the log may be full for longer than a vendor may be silent.
func TestASlowReaderIsNoSilentVendor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var once sync.Once
		host := &hosttest.Host{Refuse: func(domain.Payload) error {
			once.Do(func() { time.Sleep(time.Hour) })
			return nil
		}}
		trickles := func(request *http.Request) (*http.Response, error) {
			response, err := streams()(request)
			answer := strings.NewReader(events(says("a"), says("b"), ends("stop"), done))
			response.Body = &hangingBody{ctx: request.Context(), rest: iotest.OneByteReader(answer)}
			return response, err
		}
		v := &vendor{replies: []reply{trickles}}
		if _, err := open(t, config(v), execution()).Prompt(t.Context(), host, prompt("Go")); err != nil {
			t.Fatal(err)
		}
		want(t, "requests", len(v.requests()), 1)
	})
}
