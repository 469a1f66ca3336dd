package llm_test

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
)

// someTools are all that a server has, but for the search, which needs a provider.
func someTools() []tools.Tool {
	return []tools.Tool{
		tools.Bash{}, tools.Read{}, tools.List{}, tools.Search{}, tools.Edit{}, tools.Patch{}, tools.Write{}, tools.Think{},
		tools.NewReadSchema(func() (map[string]json.RawMessage, error) { return nil, nil }), tools.AskUser{},
		tools.MemoryRead{}, tools.MemoryWrite{}, tools.WebFetch{},
		tools.GetRunbookDocument{}, tools.GetBlockDocs{}, tools.GetDefaultShell{}, tools.SubmitBlocks{},
		tools.NewDelegate(), tools.AwaitDelegates{}, tools.MessageDelegate{}, tools.CancelDelegate{},
	}
}

// known are the names of all tools that there can be, but for those that a request declares.
func known() map[string]bool {
	names := map[string]bool{}
	for _, tool := range someTools() {
		names[tool.Definition().Name] = true
	}
	for _, tool := range tools.DocumentTools(nil) {
		names[tool.Definition().Name] = true
	}
	return names
}

func TestGrantedTools(t *testing.T) {
	const all = "bash read list search edit patch write think read_schema ask_user web_fetch"
	tests := []struct {
		name   string
		change func(*domain.Request)
		told   string
	}{
		{"as a rule", func(*domain.Request) {}, all},
		{"with memory", func(r *domain.Request) { r.Memory = true },
			"bash read list search edit patch write think read_schema ask_user memory_read memory_write web_fetch"},
		{"memory that may only be read", func(r *domain.Request) { r.Memory, r.Capabilities.Write = true, domain.Deny },
			"bash read list search think read_schema ask_user memory_read web_fetch"},
		{"nobody is there", func(r *domain.Request) { r.Unattended = true }, strings.Replace(all, " ask_user", "", 1)},
		{"no commands", func(r *domain.Request) { r.Capabilities.Execute = domain.Deny }, strings.TrimPrefix(all, "bash ")},
		{"no network", func(r *domain.Request) { r.Capabilities.Network = domain.Deny }, strings.TrimSuffix(all, " web_fetch")},
		{"some are enabled", func(r *domain.Request) { r.Tools.Enabled = []string{"read", "write", "think", "memory_read"} }, "read write think"},
		{"it may delegate", func(r *domain.Request) { r.Delegation = &domain.Delegation{} }, all + " delegate await_delegates message_delegate cancel_delegate"},
		{"it may delegate and do nothing else", func(r *domain.Request) {
			r.Delegation, r.Tools.Enabled = &domain.Delegation{}, []string{"delegate"}
			r.Capabilities = domain.Capabilities{Read: domain.Deny, Write: domain.Deny, Execute: domain.Deny, Network: domain.Deny, MCP: domain.Deny, Delegate: domain.Allow}
		}, "delegate"},
		{"what it may delegate is denied", func(r *domain.Request) { r.Delegation, r.Capabilities.Delegate = &domain.Delegation{}, domain.Deny }, all},
		{"none are enabled", func(r *domain.Request) { r.Tools.Enabled = []string{} }, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := execution()
			test.change(&e.Request)
			told := toldTools(t, e)
			want(t, "tools", strings.Join(told, " "), test.told)
			for _, name := range told {
				runs(t, e, name)
			}
		})
	}
}

var inBackticks = regexp.MustCompile("`([a-z_]+)`")

// toldTools are the names of the tools that the model is told of. Each exists, and no text of the request speaks of
// another one.
func toldTools(t *testing.T, e domain.Execution) (names []string) {
	t.Helper()
	known := known()
	for _, declared := range e.Request.ClientTools {
		known[declared.Name] = true
	}
	v := &vendor{replies: []reply{streams(callsTool("submit_blocks", fineBlocks), ends("tool_calls"), done), saysOnly("ok")}}
	if _, err := open(t, config(v), e, someTools()...).Prompt(t.Context(), &hosttest.Host{Book: e.Request.Runbook}, prompt("Go")); err != nil {
		t.Fatal(err)
	}
	sent := v.requests()[0].body
	texts := sent.Messages[0].Content
	for _, told := range sent.Tools {
		if !known[told.Function.Name] {
			t.Errorf("the model is told of %s, which does not exist", told.Function.Name)
		}
		if told.Function.Description == "" || len(told.Function.Parameters) < 10 {
			t.Errorf("%s has no description, or no schema: %s", told.Function.Name, told.Function.Parameters)
		}
		names, texts = append(names, told.Function.Name), texts+told.Function.Description
	}
	for _, named := range inBackticks.FindAllStringSubmatch(texts, -1) {
		if known[named[1]] && !slices.Contains(names, named[1]) {
			t.Errorf("the model reads of %s, which it does not have", named[1])
		}
	}
	return names
}

// TestDescriptionsSpeakOfWhatIsThere: of a description, only the items go that speak of missing tools.
func TestDescriptionsSpeakOfWhatIsThere(t *testing.T) {
	const description = "Do it.\n\n- Like this,\n  with `read`.\n- Or use\n  `bash` for it.\n- With `path`.\n"
	e := execution()
	for _, test := range []struct {
		enabled []string
		want    string
	}{
		{nil, description},
		{[]string{"read", "described"}, "Do it.\n\n- Like this,\n  with `read`.\n- With `path`.\n"},
		{[]string{"described"}, "Do it.\n\n- With `path`.\n"},
	} {
		e.Request.Tools.Enabled = test.enabled
		v := &vendor{replies: []reply{saysOnly("ok")}}
		agent := open(t, config(v), e, described{description: description}, tools.Bash{}, tools.Read{})
		if _, err := agent.Prompt(t.Context(), &hosttest.Host{}, prompt("Go")); err != nil {
			t.Fatal(err)
		}
		for _, told := range v.requests()[0].body.Tools {
			if told.Function.Name == "described" {
				want(t, "description", told.Function.Description, test.want)
			}
		}
	}
}

type described struct {
	tools.Think
	description string
}

func (d described) Definition() tools.Definition {
	definition := d.Think.Definition()
	definition.Name, definition.Description = "described", d.description
	return definition
}

// runs has the loop run the tool: the tool itself judges the arguments, or comes to an end.
func runs(t *testing.T, e domain.Execution, name string) {
	t.Helper()
	v := &vendor{replies: []reply{streams(callsTool(name, `{}`), ends("tool_calls"), done), saysOnly("ok")}}
	host := &hosttest.Host{}
	if _, err := open(t, config(v), e, someTools()...).Prompt(t.Context(), host, prompt("Go")); err != nil {
		t.Fatal(err)
	}
	switch outcome := outcomes(host); outcome {
	case "succeeded", "failed:invalidArguments", "failed:toolFailed":
	default:
		t.Errorf("a call of %s: %s", name, outcome)
	}
}

func callsTool(name, arguments string) string {
	return calls(`{"index":0,"id":"x","function":{"name":"` + name + `","arguments":` + string(mustJSON(arguments)) + `}}`)
}

// TestAToolThatIsNotGrantedIsUnknown: the refusal names what this execution has, and nobody is asked.
func TestAToolThatIsNotGrantedIsUnknown(t *testing.T) {
	for enabled, told := range map[string]string{
		"read,think": `There is no tool called "bash". The tools are: read, think.`,
		"nothing":    `There is no tool called "bash". There are no tools at all.`, // as a text: see inWords
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
		want(t, "outcome", outcomes(host), "failed:unknownTool")
		call := hosttest.Of[domain.ToolCallRequested](host)[0]
		want(t, "class and summary", string(call.Class)+call.Summary, `Call the tool "bash", which does not exist`)
		if got := v.requests()[1].body.Messages[3].Content; !strings.HasSuffix(got, told) {
			t.Errorf("the model is told: %s", got)
		}
	}
}

func TestAQuestionToAPerson(t *testing.T) {
	const question = `{"question":"Which disk?"}`
	tests := []struct {
		name    string
		answer  domain.Answer
		outcome string // as the agent tells it
		told    string
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
			want(t, "own outcomes", outcomes(host), test.outcome)
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
	want(t, "outcome", outcomes(host), "succeeded")
	want(t, "the model is told", v.requests()[0].body.Messages[3].Content, "The person answers: sda")
}

func TestTheEndOfAQuestion(t *testing.T) {
	lost := domain.Errorf(domain.CodeStorage, "The database does not answer.")
	v := &vendor{replies: []reply{streams(callsTool("ask_user", `{"question":"Which disk?"}`), ends("tool_calls"), done)}}
	host := &hosttest.Host{Answer: func(context.Context, domain.Question) (domain.Answer, error) { return domain.Answer{}, lost }}
	_, err := open(t, config(v), execution(), someTools()...).Prompt(t.Context(), host, prompt("Go"))
	want(t, "code", domain.CodeOf(err), domain.CodeStorage)
	want(t, "outcomes", outcomes(host), "")
}
