package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

const askUsage = "ID [kind=KIND] [title=TITLE] [status=STATUS] [input=JSON] [at=PATH] [content=CONTENT] " +
	"[options=OPTIONS] [mark=no]"

var askSteps = []verb{
	{"ask", askUsage, func(t *turn, a args) error {
		q, err := t.ask(a)
		if err != nil {
			return err
		}
		return t.settle(q)
	}},
	{"ask&", askUsage, func(t *turn, a args) error {
		q, err := t.ask(a)
		if err != nil {
			return err
		}
		t.asks = append(t.asks, q)
		return nil
	}},
	{"join", "", join},
	{"withdraw", "ID", withdraw},
	{"if", "ID ANSWER STEP", ifAnswered},
}

// defaultOptions are offered where a script names none.
const defaultOptions = "once:allow_once:Allow once,always:allow_always:Always allow,no:reject_once:Reject"

// ask is a question that the client may still answer.
type ask struct {
	call   string
	id     string // of the request
	kinds  map[string]string
	answer <-chan message
	mark   bool
}

func (t *turn) ask(a args) (*ask, error) {
	call, err := a.about(object{"toolCallId": a.words[0]})
	if err != nil {
		return nil, err
	}
	if t.session == nil {
		return nil, errors.New("there is no session yet")
	}
	spec, given := a.named["options"]
	if !given {
		spec = defaultOptions
	}
	q := &ask{call: a.words[0], kinds: map[string]string{}, mark: a.named["mark"] != "no"}
	options := q.options(spec)
	q.id, q.answer = t.agent.wire.request("session/request_permission", t.inSession(object{"toolCall": call, "options": options}))
	return q, nil
}

// options reads `id:kind:name,…`; `none` is an empty list.
func (q *ask) options(spec string) []object {
	list := []object{}
	if spec == "none" {
		return list
	}
	for part := range strings.SplitSeq(spec, ",") {
		fields := strings.SplitN(part, ":", 3)
		id, kind, name := fields[0], "allow_once", fields[0]
		if len(fields) > 1 {
			kind = fields[1]
		}
		if len(fields) > 2 {
			name = fields[2]
		}
		q.kinds[id] = kind
		list = append(list, object{"optionId": id, "kind": kind, "name": name})
	}
	return list
}

// settle waits for the answer, says it, and marks the call.
func (t *turn) settle(q *ask) error {
	option, problem := t.await(q)
	t.answers[q.call], t.verdicts[q.call] = option, q.verdict(option)
	if err := t.tell(q.call+" answer", strings.TrimSpace(option+" "+problem)); err != nil || !q.mark {
		return err
	}
	if q.verdict(option) == "allowed" {
		return t.mark(q.call, "completed")
	}
	return t.mark(q.call, "failed")
}

// verdict is what an option comes down to. One that was not offered rejects.
func (q *ask) verdict(option string) string {
	switch {
	case strings.HasPrefix(q.kinds[option], "allow"):
		return "allowed"
	case option == "cancelled" || option == "error":
		return option
	}
	return "rejected"
}

// await returns the option that was chosen, or `cancelled`, or `error` and which.
func (t *turn) await(q *ask) (option, problem string) {
	cancelled := t.ctx.Done()
	if t.manners.Load() == "needanswer" {
		cancelled = nil
	}
	select {
	case m := <-q.answer:
		return q.outcome(m)
	case <-cancelled:
		if t.manners.Load() == "withdraw" {
			t.withdraw(q)
		}
		return "cancelled", ""
	}
}

func (q *ask) outcome(m message) (option, problem string) {
	if m.Error != nil {
		return "error", fmt.Sprintf("%d %s", m.Error.Code, m.Error.Message)
	}
	var answer struct {
		Outcome struct{ Outcome, OptionID string }
	}
	if err := json.Unmarshal(m.Result, &answer); err != nil {
		return "error", err.Error()
	}
	switch answer.Outcome.Outcome {
	case "selected":
		return answer.Outcome.OptionID, ""
	case "cancelled":
		return "cancelled", ""
	}
	return "error", "unknown outcome " + string(m.Result)
}

func join(t *turn, _ args) error {
	open := t.asks
	t.asks = nil
	for _, q := range open {
		if err := t.settle(q); err != nil {
			return err
		}
	}
	return nil
}

func withdraw(t *turn, a args) error {
	for i := len(t.asks) - 1; i >= 0; i-- {
		if t.asks[i].call == a.words[0] {
			t.withdraw(t.asks[i])
			return nil
		}
	}
	return fmt.Errorf("nothing was asked about %q", a.words[0])
}

func (t *turn) withdraw(q *ask) {
	t.agent.wire.notify("$/cancel_request", object{"requestId": json.RawMessage(q.id)})
}

func ifAnswered(t *turn, a args) error {
	answer, asked := t.answers[a.words[0]]
	if !asked {
		return fmt.Errorf("nothing was answered about %q", a.words[0])
	}
	if answer == a.words[1] || t.verdicts[a.words[0]] == a.words[1] {
		return a.step.run(t)
	}
	return nil
}
