package main

import (
	"encoding/json"
	"errors"
	"fmt"
)

var clientSteps = []verb{
	{"read", "PATH", readFile},
	{"write", "PATH [TEXT]", writeFile},
	{"terminal", "COMMAND [ARG...] [then=THEN] [release=no] [call=ID]", terminal},
	{"elicit", "MESSAGE [SCHEMA] [mode=MODE] [url=URL] [call=ID]", elicit},
	{"notify", "METHOD [JSON]", func(t *turn, a args) error {
		params, err := a.json(1, "{}")
		if err != nil {
			return err
		}
		t.agent.wire.notify(a.words[0], params)
		return nil
	}},
	{"request", "METHOD [JSON]", func(t *turn, a args) error {
		params, err := a.json(1, "{}")
		if err != nil {
			return err
		}
		result, err := t.request(a.words[0], params)
		return t.outcome(a.words[0], string(result), err)
	}},
	{"whoami", "", whoami},
	{"blocks", "", sayBlocks},
}

// request waits for the client's answer. The error is the client's, or a cancel.
func (t *turn) request(method string, params any) (json.RawMessage, error) {
	_, waiting := t.agent.wire.request(method, params)
	select {
	case m := <-waiting:
		if m.Error != nil {
			return nil, m.Error
		}
		return m.Result, nil
	case <-t.ctx.Done():
		return nil, errors.New("cancelled")
	}
}

// outcome says what became of a request.
func (t *turn) outcome(name, said string, err error) error {
	if err != nil {
		said = err.Error()
	}
	return t.tell(name, said)
}

// inSession adds the session's id to the parameters.
func (t *turn) inSession(params object) object {
	params["sessionId"] = t.sessionID
	if t.session != nil {
		params["sessionId"] = t.session.id
	}
	if t.as != "" {
		params["sessionId"] = t.as
	}
	return params
}

func readFile(t *turn, a args) error {
	result, err := t.request("fs/read_text_file", t.inSession(object{"path": a.words[0]}))
	var file struct{ Content string }
	if err == nil {
		err = json.Unmarshal(result, &file)
	}
	return t.outcome("read", file.Content, err)
}

func writeFile(t *turn, a args) error {
	_, err := t.request("fs/write_text_file", t.inSession(object{"path": a.words[0], "content": a.text}))
	return t.outcome("write", "ok", err)
}

func terminal(t *turn, a args) error {
	said, err := t.terminal(a)
	return t.outcome("terminal", said, err)
}

func (t *turn) terminal(a args) (said string, err error) {
	result, err := t.request("terminal/create", t.inSession(object{"command": a.words[0], "args": a.words[1:]}))
	if err != nil {
		return "", err
	}
	var created struct{ TerminalID string }
	if err := json.Unmarshal(result, &created); err != nil {
		return "", err
	}
	this := func() object { return t.inSession(object{"terminalId": created.TerminalID}) }
	if err := t.embed(a.named["call"], created.TerminalID); err != nil {
		return "", err
	}
	methods := map[string][]string{
		"kill": {"terminal/kill", "terminal/wait_for_exit"}, "leave": {}, "": {"terminal/wait_for_exit"},
	}[a.named["then"]]
	for _, method := range append(methods, "terminal/output") {
		if result, err = t.request(method, this()); err != nil {
			return "", err
		}
	}
	if a.named["release"] != "no" {
		_, err = t.request("terminal/release", this())
	}
	return string(result), err
}

// embed shows the terminal in a call.
func (t *turn) embed(call, terminal string) error {
	if call == "" {
		return nil
	}
	return t.update(object{
		"sessionUpdate": "tool_call_update", "toolCallId": call,
		"content": []object{{"type": "terminal", "terminalId": terminal}},
	})
}

func elicit(t *turn, a args) error {
	params := t.inSession(object{"message": a.words[0], "mode": "form"})
	if mode, given := a.named["mode"]; given {
		params["mode"] = mode
	}
	if call, given := a.named["call"]; given {
		params["toolCallId"] = call
	}
	if url, given := a.named["url"]; given {
		params["url"], params["elicitationId"] = url, "elicitation-1"
	} else {
		schema, err := a.json(1, `{"type":"object","properties":{"answer":{"type":"string"}}}`)
		if err != nil {
			return err
		}
		params["requestedSchema"] = schema
	}
	result, err := t.request("elicitation/create", params)
	var answer struct {
		Action  string
		Content json.RawMessage
	}
	if err == nil {
		err = json.Unmarshal(result, &answer)
	}
	return t.outcome("elicit", fmt.Sprintf("%s %s", answer.Action, answer.Content), err)
}
