package tools_test

import (
	"encoding/json"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
)

// TestAskUser puts questions, has them answered as a person would, and reads what the model is told.
func TestAskUser(t *testing.T) {
	tests := []struct{ name, arguments, answer, told string }{
		{"free text", `{"question":"Which host?"}`, `{"answer":"db2, and\nnot db1"}`, "The person answers: db2, and\nnot db1"},
		{"a choice", `{"question":"Which?","options":["db1","db2"]}`, `{"answer":"db2"}`, "The person answers: db2"},
		{"a choice and a word", `{"question":"Which?","options":["db1","db2"]}`, `{"answer":"db2","comment":"after 22:00"}`,
			"The person answers: db2\nThe person adds: after 22:00"},
		{"several", `{"question":"Which?","options":["db1","db2","db3"],"multiple":true}`, `{"answer":["db1","db3"],"comment":" "}`,
			"The person chooses:\n- db1\n- db3"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			schema := formSchema(t, test.arguments)
			if err := schema.Validate(decode(t, test.answer)); err != nil {
				t.Errorf("the form does not take %s: %v", test.answer, err)
			}
			result := tools.AskUser{}.Answered(json.RawMessage(test.arguments), json.RawMessage(test.answer))
			if result.Failure != nil || result.Output != test.told {
				t.Errorf("the model is told %q, %v", result.Output, result.Failure)
			}
		})
	}
}

func TestAskUserTakesNoOtherAnswer(t *testing.T) {
	const choice = `{"question":"Which?","options":["db1","db2"]}`
	const several = `{"question":"Which?","options":["db1","db2"],"multiple":true}`
	tests := []struct{ arguments, answer string }{
		{choice, `{"answer":"db3"}`}, {choice, `{}`}, {choice, `{"answer":["db1"]}`}, {choice, `{"answer":"db1","host":"db3"}`},
		{several, `{"answer":"db1"}`}, {several, `{"answer":[]}`}, {several, `{"answer":["db1","db1"]}`}, {several, `{"answer":["db3"]}`},
		{`{"question":"Why?"}`, `{"answer":""}`}, {`{"question":"Why?"}`, `{"answer":"x","comment":"y"}`},
		{`{"question":"Why?"}`, `{"answer":"` + strings.Repeat("x", 10_001) + `"}`},
	}
	for _, test := range tests {
		if err := formSchema(t, test.arguments).Validate(decode(t, test.answer)); err == nil {
			t.Errorf("%s takes %.60s", test.arguments, test.answer)
		}
	}
}

func TestAskUserShowsTheWholeQuestion(t *testing.T) {
	arguments := json.RawMessage(`{"question":"Which of these?\r\n\tdb\u202e1\nor another"}`)
	raw, err := tools.AskUser{}.Form(arguments)
	var form struct{ Message string }
	if err := json.Unmarshal(raw, &form); err != nil {
		t.Fatal(err)
	}
	if want := "Which of these?\n⟨U+0009⟩db⟨U+202E⟩1\nor another"; err != nil || form.Message != want {
		t.Errorf("got %q, %v", form.Message, err)
	}
}

func TestAskUserRefuses(t *testing.T) {
	tests := []struct{ arguments, want string }{
		{`{"question":"?","options":"yes"}`, "must be a list"},
		{`{"question":"?","options":["a","a"]}`, "twice"},
		{`{"question":"?","options":["yes\u200b","yes"]}`, "would not see"},
		{`{"question":"?","options":[` + strings.Repeat(`"x",`, 10) + `"y"]}`, "at most 10"},
		{`{"question":"?","multiple":true}`, `needs "options"`},
		{`{"question":"?","multiple":"yes"}`, "true or false"},
		{`{"question":" "}`, "is empty"},
	}
	for _, test := range tests {
		_, err := tools.AskUser{}.Form(json.RawMessage(test.arguments))
		_, checked := tools.AskUser{}.Check(json.RawMessage(test.arguments), "/srv")
		if domain.CodeOf(err) != domain.CodeInvalidArguments || !strings.Contains(err.Error(), test.want) || checked == nil {
			t.Errorf("%s: form %v, check %v", test.arguments, err, checked)
		}
	}
}

func TestAskUserIsAnsweredNotRun(t *testing.T) {
	result := tools.AskUser{}.Run(t.Context(), &hosttest.Host{}, domain.ToolCall{Arguments: json.RawMessage(`{"question":"?"}`)})
	if result.Failure == nil || !strings.Contains(result.Output, "answered by a person, not run") {
		t.Errorf("got %+v", result)
	}
	for _, answer := range []string{``, `null`, `{}`, `[]`, `{"answer":5}`, `{"answer":null}`, `{"answer":{"a":1}}`} {
		if result := (tools.AskUser{}).Answered(nil, json.RawMessage(answer)); result.Failure == nil {
			t.Errorf("%s is taken for an answer: %q", answer, result.Output)
		}
	}
}
