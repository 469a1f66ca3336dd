package approvals_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/domain"
)

const (
	usual    = `[{"optionId":"ok","name":"Yes","kind":"allow_once"},{"optionId":"ever","kind":"allow_always"},{"optionId":"no","kind":"reject_once","_meta":{"x":1}}]`
	twoYes   = `[{"optionId":"a","kind":"allow_once"},{"optionId":"b","kind":"allow_once"},{"optionId":"never","kind":"reject_always"}]`
	strange  = `[{"optionId":"x","kind":"maybe"},7,{"kind":"allow_once"}]`
	colours  = `{"message":"Which colour?","schema":{"type":"object","properties":{"colour":{"type":"string","enum":["red","blue"]}},"required":["colour"]}}`
	noSchema = `{"message":"Well?","schema":{"type":"no such type"}}`
	remote   = `{"message":"Well?","schema":{"$ref":"file:///etc/passwd"}}`
)

func TestAnAgentsOptions(t *testing.T) {
	for name, test := range map[string]struct {
		options string
		answer  approvals.Answer
		option  string
		wrong   string // pointer
	}{
		"a plain yes is the one that allows once": {usual, approvals.Answer{Verb: domain.Approve}, "ok", ""},
		"a plain no rejects once":                 {usual, approvals.Answer{Verb: domain.DenyCall}, "no", ""},
		"for ever only where it is named":         {usual, approvals.Answer{Verb: domain.Approve, OptionID: "ever"}, "ever", ""},
		"an option against the decision":          {usual, approvals.Answer{Verb: domain.Approve, OptionID: "no"}, "", "/optionId"},
		"the other way round":                     {usual, approvals.Answer{Verb: domain.DenyCall, OptionID: "ok"}, "", "/optionId"},
		"an option that was not offered":          {usual, approvals.Answer{Verb: domain.Approve, OptionID: "okay"}, "", "/optionId"},
		"two that allow once: a person must say":  {twoYes, approvals.Answer{Verb: domain.Approve}, "", "/optionId"},
		"and says":                                {twoYes, approvals.Answer{Verb: domain.Approve, OptionID: "b"}, "b", ""},
		"no for ever where there is no other no":  {twoYes, approvals.Answer{Verb: domain.DenyCall}, "never", ""},
		"an unknown kind goes with a yes":         {strange, approvals.Answer{Verb: domain.Approve, OptionID: "x"}, "x", ""},
		"and with a no":                           {strange, approvals.Answer{Verb: domain.DenyCall, OptionID: "x"}, "x", ""},
		"no option says no":                       {strange, approvals.Answer{Verb: domain.DenyCall}, "", ""},
		"no options at all, and a yes":            {`[]`, approvals.Answer{Verb: domain.Approve}, "", "/optionId"},
		"arguments of a call that the agent runs": {usual, approvals.Answer{Verb: domain.Approve, Arguments: json.RawMessage(`{}`)}, "", "/arguments"},
		"an answer where nothing was asked for":   {usual, approvals.Answer{Verb: domain.Approve, Answer: json.RawMessage(`{}`)}, "", "/answer"},
	} {
		t.Run(name, func(t *testing.T) {
			r, d, h := asked(t, domain.Question{Kind: domain.ApprovalAgentPermission, Call: call(`{"command":"ls"}`), Options: json.RawMessage(test.options)})
			test.answer.ArgumentsHash = h
			_, err := d.Decide(context.Background(), "", "", test.answer)
			if test.wrong != "" {
				wants(t, err, test.wrong)
				if len(r.changes) != 0 {
					t.Error("something was decided")
				}
				return
			}
			if err != nil || r.changes[0].Resolve[0].Decision.OptionID != test.option {
				t.Errorf("%v, %+v", err, r.changes)
			}
		})
	}
}

// Questions that ask to open a page.
const (
	page        = `{"message":"Sign in","url":"https://bank.example/login","host":"bank.example"}`
	pageAndForm = `{"message":"Sign in","url":"https://bank.example/login","host":"bank.example","schema":{"properties":{"colour":{"enum":["red"]}}}}`
)

// A person sees the true host of a page before it is opened.
func TestFormsOfMCPServers(t *testing.T) {
	for form, fits := range map[string]bool{
		colours: true, page: true, pageAndForm: true, `{"message":"Open it","url":"http://localhost:8080/x","host":"localhost:8080"}`: true,
		`{"message":"Open it","url":"http://localhost:8080/x","host":"localhost"}`: true, `{"message":"Just a yes"}`: true,
		`[]`: false, `7`: false, ``: false, `{"message":7}`: false,
		`{"message":"Open it","url":"https://evil.example/","host":"bank.example"}`:              false,
		`{"message":"Open it","url":"https://evil.example/"}`:                                    false,
		`{"message":"Open it","url":"https://bank.example@evil.example/","host":"evil.example"}`: false,
		`{"message":"Open it","url":"file:///etc/passwd","host":""}`:                             false,
		`{"message":"Open it","url":"javascript:alert(1)","host":""}`:                            false,
		`{"message":"Open it","url":"https:///x","host":""}`:                                     false,
	} {
		if err := approvals.CheckForm(json.RawMessage(form)); (err == nil) != fits {
			t.Errorf("%s: %v", form, err)
		}
	}
}

func TestAnswersToAQuestion(t *testing.T) {
	for name, test := range map[string]struct {
		question, answer, wrong string
	}{
		"fits":                                 {colours, `{"colour":"red"}`, ""},
		"does not fit":                         {colours, `{"colour":"green"}`, "/answer/colour"},
		"lacks a field":                        {colours, `{}`, "/answer"},
		"is no object":                         {colours, `"red"`, "/answer"},
		"is missing":                           {colours, ``, "/answer"},
		"a schema that is none checks nothing": {noSchema, `{"any":1}`, ""},
		"a schema reads no files":              {remote, `{"any":1}`, ""},
		"a page needs none":                    {page, ``, ""},
		"a page takes one without fields":      {page, `{}`, ""},
		"a page takes no fields":               {page, `{"colour":"red"}`, "/answer"},
		"a page with a form":                   {pageAndForm, `{"colour":"green"}`, "/answer/colour"},
	} {
		t.Run(name, func(t *testing.T) {
			r, d, h := asked(t, domain.Question{Kind: domain.ApprovalQuestion, Call: call(`{"command":"ls"}`), Form: json.RawMessage(test.question)})
			answer := approvals.Answer{Verb: domain.Approve, ArgumentsHash: h}
			if test.answer != "" {
				answer.Answer = json.RawMessage(test.answer)
			}
			_, err := d.Decide(context.Background(), "", "", answer)
			if test.wrong != "" {
				wants(t, err, test.wrong)
				return
			}
			if err != nil || string(r.changes[0].Resolve[0].Decision.Answer) != test.answer {
				t.Errorf("%v, %+v", err, r.changes)
			}
			again := answer
			again.Answer = json.RawMessage(`{"colour":"blue"}`)
			if _, err := d.Decide(context.Background(), "", "", again); domain.CodeOf(err) != domain.CodeAlreadyDecided {
				t.Errorf("another answer afterwards: %v", err)
			}
			if _, err := d.Decide(context.Background(), "", "", answer); err != nil {
				t.Errorf("the same answer afterwards: %v", err)
			}
		})
	}
}

// Two numbers that are one float64 are two answers.
func TestAnswersWithTwinNumbers(t *testing.T) {
	r, d, h := asked(t, domain.Question{Kind: domain.ApprovalQuestion, Call: call(`{"command":"ls"}`), Form: json.RawMessage(noSchema)})
	answer := func(number string) approvals.Answer {
		return approvals.Answer{Verb: domain.Approve, ArgumentsHash: h, Answer: json.RawMessage(`{"id":` + number + `}`)}
	}
	for _, test := range []struct {
		number string
		code   domain.Code
	}{{"9007199254740993", ""}, {"9007199254740993", ""}, {"9007199254740992", domain.CodeAlreadyDecided}} {
		_, err := d.Decide(context.Background(), "", "", answer(test.number))
		if (err != nil || test.code != "") && domain.CodeOf(err) != test.code {
			t.Errorf("%s: %v, want %q", test.number, err, test.code)
		}
	}
	if len(r.changes) != 1 {
		t.Errorf("%d changes", len(r.changes))
	}
}

// A file or a command that an external agent has us run is run as it asked for it, or not at all.
func TestNoEditingForExternalAgents(t *testing.T) {
	r, d, h := asked(t, toolCall(`{"command":"ls"}`))
	r.source.Type = domain.SourceACP
	_, err := d.Decide(context.Background(), "", "", approvals.Answer{
		Verb: domain.Approve, ArgumentsHash: h, Arguments: json.RawMessage(`{"command":"ls /"}`),
	})
	wants(t, err, "/arguments")
}

func asked(t *testing.T, question domain.Question) (*rows, *approvals.Service, string) {
	t.Helper()
	r, d, h := desk(t)
	r.approval = approvals.New(domain.Execution{}, question, h, asks, time.Hour, time.Now())
	return r, d, h
}

func wants(t *testing.T, err error, pointer string) {
	t.Helper()
	var e *domain.Error
	if domain.CodeOf(err) != domain.CodeInvalid {
		t.Fatalf("got %v", err)
	}
	e = err.(*domain.Error) //nolint:errorlint // it is not wrapped
	for _, d := range e.Details {
		if strings.HasPrefix(d.Pointer, pointer) {
			return
		}
	}
	t.Errorf("%v does not point at %s", e.Details, pointer)
}
