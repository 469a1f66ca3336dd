package llm_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/llm"
	"signoff/internal/tools/hosttest"
)

// delegates are the agents that there are to ask.
type delegates func(of domain.Execution) ([]domain.DelegateOption, error)

func (d delegates) DelegateOptions(_ context.Context, of domain.Execution) ([]domain.DelegateOption, error) {
	return d(of)
}

func delegating() domain.Execution {
	e := execution()
	e.Request.Delegation = &domain.Delegation{}
	return e
}

// TestDelegatedWork: the model reads whom it can ask, a person reads who that is, and the host gets the answer.
func TestDelegatedWork(t *testing.T) {
	v := &vendor{replies: []reply{streams(callsTool("delegate", `{"profile":"dba","prompt":"Look."}`), ends("tool_calls"), done), saysOnly("ok")}}
	c, e := config(v), delegating()
	c.Delegates = delegates(func(of domain.Execution) ([]domain.DelegateOption, error) {
		want(t, "execution", of.ID, e.ID)
		return []domain.DelegateOption{{Profile: "dba", Description: "Looks, and `write`s nothing.", Source: domain.Source{Type: domain.SourceInternal, Model: "big"}}}, nil
	})
	var asked []domain.ToolCall
	host := &hosttest.Host{Children: func(_ context.Context, call domain.ToolCall) (string, error) {
		asked = append(asked, call)
		return "Two tables grow.", nil
	}}
	if _, err := open(t, c, e, someTools()...).Prompt(t.Context(), host, prompt("Go")); err != nil {
		t.Fatal(err)
	}
	host.Finish(t, true)
	want(t, "outcome", outcomes(host), "succeeded")
	want(t, "calls", len(asked), 1)
	want(t, "arguments", string(asked[0].Arguments), `{"profile":"dba","prompt":"Look."}`)
	want(t, "class", asked[0].Class, domain.ClassDelegate)
	if !strings.HasPrefix(asked[0].Summary, "Ask `dba` (model `big`) to do `Look.`") {
		t.Errorf("a person reads %s", asked[0].Summary)
	}
	want(t, "the model is told", v.requests()[1].body.Messages[3].Content, "Two tables grow.")
	for _, tool := range v.requests()[0].body.Tools {
		if listed := strings.Contains(tool.Function.Description, `profile "dba" (model`+" `big`): Looks, and `write`s nothing."); listed != (tool.Function.Name == "delegate") {
			t.Errorf("%s: %s", tool.Function.Name, tool.Function.Description)
		}
	}
}

// TestDelegationWithoutAList: the model still has the tools, and the failure is in the log.
func TestDelegationWithoutAList(t *testing.T) {
	for name, list := range map[string]llm.Delegates{
		"the database does not answer": delegates(func(domain.Execution) ([]domain.DelegateOption, error) { return nil, errors.New("down") }),
		"nobody lists them":            nil,
	} {
		v := &vendor{replies: []reply{saysOnly("ok")}}
		c := config(v)
		c.Delegates = list
		if _, err := open(t, c, delegating(), someTools()...).Prompt(t.Context(), &hosttest.Host{}, prompt("Go")); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range v.requests()[0].body.Tools {
			names = append(names, tool.Function.Name)
		}
		if told := strings.Join(names, " "); !strings.HasSuffix(told, "delegate await_delegates message_delegate cancel_delegate") {
			t.Errorf("%s: %s", name, told)
		}
	}
}

// TestTheEndOfDelegatedWork: what ends the session ends the turn, and the agent tells no outcome of its own.
func TestTheEndOfDelegatedWork(t *testing.T) {
	lost := domain.Errorf(domain.CodeStorage, "The database does not answer.")
	v := &vendor{replies: []reply{streams(callsTool("delegate", `{"profile":"dba","prompt":"Look."}`), ends("tool_calls"), done)}}
	host := &hosttest.Host{Children: func(context.Context, domain.ToolCall) (string, error) { return "", lost }}
	_, err := open(t, config(v), delegating(), someTools()...).Prompt(t.Context(), host, prompt("Go"))
	want(t, "code", domain.CodeOf(err), domain.CodeStorage)
	want(t, "outcomes", outcomes(host), "")
}
