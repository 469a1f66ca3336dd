package llm_test

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
)

// someTools are enough to have one of each reason to leave a tool out.
func someTools() []tools.Tool {
	return []tools.Tool{
		tools.Bash{}, tools.Read{}, tools.Think{}, tools.AskUser{}, tools.MemoryRead{}, tools.MemoryWrite{},
		tools.NewReadSchema(map[string]json.RawMessage{"runbook": json.RawMessage(`{}`)}),
	}
}

func TestGrantedTools(t *testing.T) {
	tests := []struct {
		name   string
		change func(*domain.Request)
		told   string
	}{
		{"as a rule", func(*domain.Request) {}, "bash read think ask_user read_schema"},
		{"with memory", func(r *domain.Request) { r.Memory = true }, "bash read think ask_user memory_read memory_write read_schema"},
		{"memory that may only be read", func(r *domain.Request) { r.Memory, r.Capabilities.Write = true, domain.Deny },
			"bash read think ask_user memory_read read_schema"},
		{"nobody is there", func(r *domain.Request) { r.Unattended = true }, "bash read think read_schema"},
		{"no commands", func(r *domain.Request) { r.Capabilities.Execute = domain.Deny }, "read think ask_user read_schema"},
		{"what nobody granted", func(r *domain.Request) { r.Capabilities = domain.Capabilities{} }, "think ask_user read_schema"},
		{"some are enabled", func(r *domain.Request) { r.Tools.Enabled = []string{"read", "think", "memory_read"} }, "read think"},
		{"none are enabled", func(r *domain.Request) { r.Tools.Enabled = []string{} }, ""},
	}
	inBackticks := regexp.MustCompile("`([a-z_]+)`")
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := execution()
			test.change(&e.Request)
			known := tools.NewRegistry(someTools()...)
			told := toldTools(t, e, known)
			want(t, "tools", strings.Join(told, " "), test.told)
			for _, name := range told {
				runs(t, e, name)
			}
			// The texts of the system prompt name a tool only where the model has it.
			for _, named := range inBackticks.FindAllStringSubmatch(systemOf(t, e), -1) {
				if _, exists := known.Lookup(named[1]); exists && !strings.Contains(" "+test.told+" ", " "+named[1]+" ") {
					t.Errorf("the system prompt speaks of %s, which the model does not have", named[1])
				}
			}
		})
	}
}

// toldTools are the names that the model reads, each with what its tool says of itself.
func toldTools(t *testing.T, e domain.Execution, known *tools.Registry) (names []string) {
	t.Helper()
	v := &vendor{replies: []reply{saysOnly("ok")}}
	if _, err := open(t, config(v), e, someTools()...).Prompt(t.Context(), &hosttest.Host{}, prompt("Go")); err != nil {
		t.Fatal(err)
	}
	for _, told := range v.requests()[0].body.Tools {
		tool, exists := known.Lookup(told.Function.Name)
		if !exists {
			t.Fatalf("the model is told of %s, which does not exist", told.Function.Name)
		}
		want(t, "description", told.Function.Description, tool.Definition().Description)
		if len(told.Function.Parameters) < 10 {
			t.Errorf("%s has no schema: %s", told.Function.Name, told.Function.Parameters)
		}
		names = append(names, told.Function.Name)
	}
	return names
}

// runs has the loop run the tool: its arguments are judged by the tool, or it comes to its end.
func runs(t *testing.T, e domain.Execution, name string) {
	t.Helper()
	v := &vendor{replies: []reply{streams(callsTool(name, `{}`), ends("tool_calls"), done), saysOnly("ok")}}
	host := &hosttest.Host{}
	if _, err := open(t, config(v), e, someTools()...).Prompt(t.Context(), host, prompt("Go")); err != nil {
		t.Fatal(err)
	}
	if fate := fates(host); fate != "succeeded" && fate != "failed:invalidArguments" {
		t.Errorf("a call of %s: %s", name, fate)
	}
}

func callsTool(name, arguments string) string {
	return calls(`{"index":0,"id":"x","function":{"name":"` + name + `","arguments":` + string(mustJSON(arguments)) + `}}`)
}

// TestAToolThatIsNotGrantedIsUnknown: the refusal names what this execution has, and nobody is asked.
func TestAToolThatIsNotGrantedIsUnknown(t *testing.T) {
	for enabled, told := range map[string]string{
		"read,think": `There is no tool called "bash". The tools are: read, think.`,
		"nothing":    `There is no tool called "bash". There are no tools at all.`,
	} {
		v := &vendor{replies: []reply{streams(callsBash(0, "ls"), ends("tool_calls"), done), saysOnly("ok")}}
		e := execution()
		e.Request.Tools.Enabled = strings.Split(enabled, ",")
		host := &hosttest.Host{Grant: func(context.Context, domain.ToolCall) (domain.Grant, error) {
			t.Error("somebody was asked")
			return domain.Grant{}, nil
		}}
		if _, err := open(t, config(v), e, someTools()...).Prompt(t.Context(), host, prompt("Go")); err != nil {
			t.Fatal(err)
		}
		want(t, "fate", fates(host), "failed:unknownTool")
		call := hosttest.Of[domain.ToolCallRequested](host)[0]
		want(t, "class and summary", string(call.Class)+call.Summary, `Call the tool "bash", which does not exist`)
		want(t, "the model is told", v.requests()[1].body.Messages[3].Content, told)
	}
}

func TestAQuestionToAPerson(t *testing.T) {
	const question = `{"question":"Which disk?"}`
	tests := []struct {
		name   string
		answer domain.Answer
		fate   string // as the agent tells it
		told   string
	}{
		{"answered", domain.Answer{Status: domain.ApprovalApproved, Content: json.RawMessage(`{"answer":"sda"}`)}, "succeeded", "The person answers: sda"},
		{"answered with nonsense", domain.Answer{Status: domain.ApprovalApproved, Content: json.RawMessage(`[`)}, "failed:toolFailed",
			"A person answered, but the answer cannot be read."},
		{"declined", domain.Answer{Status: domain.ApprovalDenied, Message: "They would rather not say."}, "", "They would rather not say."},
		{"expired", domain.Answer{Status: domain.ApprovalExpired}, "", "Nobody answered the question. This is neither a yes nor a no."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := &vendor{replies: []reply{streams(callsTool("ask_user", question), ends("tool_calls"), done), saysOnly("ok")}}
			var asked []domain.Question
			host := &hosttest.Host{Answer: func(_ context.Context, question domain.Question) (domain.Answer, error) {
				asked = append(asked, question)
				return test.answer, nil
			}, Grant: func(context.Context, domain.ToolCall) (domain.Grant, error) {
				t.Error("the question was authorized like a call")
				return domain.Grant{}, nil
			}}
			if _, err := open(t, config(v), execution(), someTools()...).Prompt(t.Context(), host, prompt("Go")); err != nil {
				t.Fatal(err)
			}
			host.Finish(t, true)
			want(t, "own fates", fates(host), test.fate)
			want(t, "the model is told", v.requests()[1].body.Messages[3].Content, test.told)
			want(t, "questions", len(asked), 1)
			want(t, "kind", asked[0].Kind, domain.ApprovalQuestion)
			want(t, "call", asked[0].Call.ID, hosttest.Of[domain.ToolCallRequested](host)[0].ToolCallID)
			if !strings.Contains(string(asked[0].Form), `"message":"Which disk?"`) {
				t.Errorf("form: %s", asked[0].Form)
			}
		})
	}
}

// TestAQuestionAfterARestart is asked again under its call, which the session knows it by.
func TestAQuestionAfterARestart(t *testing.T) {
	p := prompt("Go")
	p.Rounds = 1
	p.History = append(p.History, domain.Message{Role: domain.RoleAssistant, ToolCalls: []domain.ToolCall{
		{ID: "q1", Tool: "ask_user", Arguments: json.RawMessage(`{"question":"Which disk?"}`)},
	}})
	v := &vendor{replies: []reply{saysOnly("ok")}}
	host := &hosttest.Host{Answer: func(_ context.Context, question domain.Question) (domain.Answer, error) {
		want(t, "call", question.Call.ID, "q1")
		return domain.Answer{Status: domain.ApprovalApproved, Content: json.RawMessage(`{"answer":"sda"}`)}, nil
	}}
	if _, err := open(t, config(v), execution(), someTools()...).Prompt(t.Context(), host, p); err != nil {
		t.Fatal(err)
	}
	want(t, "fate", fates(host), "succeeded")
	want(t, "the model is told", v.requests()[0].body.Messages[3].Content, "The person answers: sda")
}

func TestTheEndOfAQuestion(t *testing.T) {
	lost := domain.Errorf(domain.CodeStorage, "The database does not answer.")
	v := &vendor{replies: []reply{streams(callsTool("ask_user", `{"question":"Which disk?"}`), ends("tool_calls"), done)}}
	host := &hosttest.Host{Answer: func(context.Context, domain.Question) (domain.Answer, error) { return domain.Answer{}, lost }}
	_, err := open(t, config(v), execution(), someTools()...).Prompt(t.Context(), host, prompt("Go"))
	want(t, "code", domain.CodeOf(err), domain.CodeStorage)
	want(t, "fates", fates(host), "")
}
