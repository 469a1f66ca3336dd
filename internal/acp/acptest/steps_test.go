package acptest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"signoff/internal/acp/acptest"
)

func TestAPromptWithoutSteps(t *testing.T) {
	a := opened(t)
	turn := a.follow(a.send("session/prompt", a.here(`,"prompt":[{"type":"text","text":"Hi"}]`)), nil)
	want(t, "text", turn.said, "Hello from the scripted agent.")
	want(t, "stop", turn.stop, "end_turn")
}

func TestOnlyTheLastTextHasSteps(t *testing.T) {
	a := opened(t)
	turn := a.follow(a.send("session/prompt", a.here(`,"prompt":[{"type":"text","text":"#! say first"},`+
		`{"type":"text","text":"Please\n#! say last\r\n #! say indented"},`+
		`{"type":"resource_link","uri":"file:///x","name":"x"}]`)), nil)
	want(t, "text", turn.said, "last")
}

func TestTalk(t *testing.T) {
	turn := opened(t).play(nil, "think Hm", "message m1", "say Hello world", `say "a\nb"`, "message", "hear You")
	var got []string
	for _, u := range turn.updates {
		got = append(got, u.SessionUpdate+"|"+u.MessageID+"|"+u.text())
	}
	if wanted := []string{
		"agent_thought_chunk||Hm", "agent_message_chunk|m1|Hello world", "agent_message_chunk|m1|a\nb",
		"user_message_chunk||You",
	}; !slices.Equal(got, wanted) {
		t.Errorf("got %q", got)
	}
}

func TestABurstIsNumbered(t *testing.T) {
	a := opened(t)
	turn := a.play(nil, "burst 5000", "say end")
	var wanted strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&wanted, "%d ", i)
	}
	if turn.said != wanted.String()+"end" || len(turn.updates) != 5001 {
		t.Errorf("%d updates, %d bytes", len(turn.updates), len(turn.said))
	}
	want(t, "chunk of 10 bytes", a.play(nil, "burst 1 10").said, "........0 ")
}

func TestCalls(t *testing.T) {
	turn := opened(t).play(nil,
		`call c1 kind=execute title="Run \"it\"" input={"a": "b c"} at=/x`,
		"update c1 in_progress", "update c1 completed all done",
		`diff c2 /y "old\n" 'new one'`)
	for i, wanted := range []string{
		`{"sessionUpdate":"tool_call","toolCallId":"c1","status":"pending","kind":"execute",
			"title":"Run \"it\"","rawInput":{"a":"b c"},"locations":[{"path":"/x"}]}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress"}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed",
			"content":[{"type":"content","content":{"type":"text","text":"all done"}}]}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"c2",
			"content":[{"type":"diff","path":"/y","oldText":"old\n","newText":"new one"}]}`,
	} {
		same(t, turn.updates[i].raw, wanted)
	}
}

func TestStateOfTheSession(t *testing.T) {
	a := opened(t, "-modes", "ask,code", "-config", "plain")
	turn := a.play(nil, `plan first:completed "second step"`, "commands plan review", "mode code", "info Title",
		"usage 10 200 0.5",
		"usage 1 2",
		"config mode ask", `raw {"sessionUpdate":"notice","text":"x","_meta":{"k":[1]}}`)
	for i, wanted := range []string{
		`{"sessionUpdate":"plan","entries":[{"content":"first","priority":"medium","status":"completed"},
			{"content":"second step","priority":"medium","status":"pending"}]}`,
		`{"sessionUpdate":"available_commands_update","availableCommands":[
			{"name":"plan","description":"Does plan"},{"name":"review","description":"Does review"}]}`,
		`{"sessionUpdate":"current_mode_update","currentModeId":"code"}`,
		`{"sessionUpdate":"session_info_update","title":"Title"}`,
		`{"sessionUpdate":"usage_update","used":10,"size":200,"cost":{"amount":0.5,"currency":"USD"}}`,
		`{"sessionUpdate":"usage_update","used":1,"size":2}`,
		`{"sessionUpdate":"config_option_update","configOptions":[
			{"id":"mode","name":"The mode","category":"mode","type":"select","currentValue":"ask",
			"options":[{"value":"ask","name":"The ask"},{"value":"code","name":"The code"}]}]}`,
		`{"sessionUpdate":"notice","text":"x","_meta":{"k":[1]}}`,
	} {
		same(t, turn.updates[i].raw, wanted)
	}
}

// same compares JSON.
func same(t testing.TB, got, wanted string) {
	t.Helper()
	var a, b any
	decode(t, got, &a)
	decode(t, wanted, &b)
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	if string(x) != string(y) {
		t.Errorf("got %s\nwant %s", x, y)
	}
}

const permission = "session/request_permission"

func selected(option string) string {
	return `"result":{"outcome":{"outcome":"selected","optionId":"` + option + `"}}`
}

const cancelled = `"result":{"outcome":{"outcome":"cancelled"}}`

func TestAsk(t *testing.T) {
	for name, c := range map[string]struct{ body, said, status, verdict string }{
		"allowed":   {selected("once"), "c1 answer=once\n", "c1 completed", "allowed"},
		"by id":     {selected("always"), "c1 answer=always\n", "c1 completed", "always"},
		"rejected":  {selected("no"), "c1 answer=no\n", "c1 failed", "rejected"},
		"unknown":   {selected("zz"), "c1 answer=zz\n", "c1 failed", "rejected"},
		"cancelled": {cancelled, "c1 answer=cancelled\n", "c1 failed", "cancelled"},
		"error": {`"error":{"code":-32603,"message":"no desk"}`,
			"c1 answer=error -32603 no desk\n", "c1 failed", "error"},
	} {
		t.Run(name, func(t *testing.T) {
			turn := opened(t).play(replies{permission: c.body}, "call c1", "ask c1",
				"if c1 "+c.verdict+" say yes", "if c1 other say never")
			want(t, "said", turn.said, c.said+"yes")
			want(t, "status", turn.statuses()[1], c.status)
			want(t, "stop", turn.stop, "end_turn")
		})
	}
}

func TestWhatAQuestionSays(t *testing.T) {
	a := opened(t)
	turn := a.play(replies{permission: cancelled}, "ask bare", "ask none options=none mark=no",
		`ask full kind=edit title=T status=pending input={} content=C at=/p options=a:allow_once:Yes,b:reject_always,c`)
	for i, wanted := range []string{
		`{"toolCall":{"toolCallId":"bare"},"options":[{"optionId":"once","kind":"allow_once","name":"Allow once"},
			{"optionId":"always","kind":"allow_always","name":"Always allow"},
			{"optionId":"no","kind":"reject_once","name":"Reject"}],"sessionId":"SES"}`,
		`{"toolCall":{"toolCallId":"none"},"options":[],"sessionId":"SES"}`,
		`{"toolCall":{"toolCallId":"full","kind":"edit","title":"T","status":"pending","rawInput":{},
			"locations":[{"path":"/p"}],"content":[{"type":"content","content":{"type":"text","text":"C"}}]},
			"options":[{"optionId":"a","kind":"allow_once","name":"Yes"},{"optionId":"b","kind":"reject_always","name":"b"},
			{"optionId":"c","kind":"allow_once","name":"c"}],"sessionId":"SES"}`,
	} {
		same(t, string(turn.requests[i].Params), strings.Replace(wanted, "SES", a.session, 1))
	}
	if got := turn.statuses(); !slices.Equal(got, []string{"bare failed", "full failed"}) {
		t.Errorf("marked: %q", got)
	}
}

func TestSeveralQuestionsAtOnce(t *testing.T) {
	a := opened(t)
	id := a.prompt("ask& a", "ask& b", "ask& c", "withdraw b", "say open", "join")
	open := map[string]frame{}
	for range 5 {
		f := a.receive()
		var params struct {
			ToolCall  struct{ ToolCallID string }
			RequestID json.RawMessage
		}
		decode(t, string(f.Params), &params)
		open[params.ToolCall.ToolCallID+strings.TrimPrefix(f.Method, permission)] = f
		if f.Method == "$/cancel_request" {
			want(t, "withdrawn", string(params.RequestID), string(open["b"].ID))
		}
	}
	a.respond(open["c"], selected("no"))
	a.respond(open["b"], `"error":{"code":-32800,"message":"Withdrawn"}`)
	a.respond(open["a"], selected("once"))
	turn := a.follow(id, nil)
	want(t, "said", turn.said, "a answer=once\nb answer=error -32800 Withdrawn\nc answer=no\n")
}

func TestARequestIDMayBeUsedTwice(t *testing.T) {
	turn := opened(t).play(replies{permission: selected("once")}, "ask& a rpc=same", `ask& a rpc='"same"'`, "join")
	want(t, "id", string(turn.requests[0].ID), string(turn.requests[1].ID))
	want(t, "said", turn.said, "a answer=once\na answer=once\n")
}

func TestRequestsToTheClient(t *testing.T) {
	yes := replies{
		"fs/read_text_file": `"result":{"content":"text"}`, "fs/write_text_file": `"result":null`,
		"terminal/create": `"result":{"terminalId":"t1"}`, "terminal/wait_for_exit": `"result":{"exitCode":0}`,
		"terminal/kill":   `"result":{}`,
		"terminal/output": `"result":{"output":"out"}`, "terminal/release": `"result":{}`,
		"elicitation/create": `"result":{"action":"accept","content":{"answer":"Red"}}`, "_x/ask": `"result":{"n":1}`,
	}
	no := replies{}
	for method := range yes {
		no[method] = `"error":{"code":-32601,"message":"No"}`
	}
	for _, c := range []struct{ step, methods, params, yes, no string }{
		{"read /f", "fs/read_text_file", `{"path":"/f","sessionId":"SES"}`, "read=text\n", "read=error -32601 No\n"},
		{`write /f ""`, "fs/write_text_file", `{"path":"/f","content":"","sessionId":"SES"}`,
			"write=ok\n", "write=error -32601 No\n"},
		{"terminal ls -l call=c1", "terminal/create terminal/wait_for_exit terminal/output terminal/release",
			`{"command":"ls","args":["-l"],"sessionId":"SES"}`, "terminal={\"output\":\"out\"}\n", "terminal=error -32601 No\n"},
		{"terminal ls then=kill", "terminal/create terminal/kill terminal/wait_for_exit terminal/output terminal/release",
			`{"command":"ls","args":[],"sessionId":"SES"}`, "terminal={\"output\":\"out\"}\n", ""},
		{"terminal ls then=leave release=no", "terminal/create terminal/output",
			`{"command":"ls","args":[],"sessionId":"SES"}`, "terminal={\"output\":\"out\"}\n", ""},
		{`elicit "Which one?" {"type":"object"} call=c1`, "elicitation/create",
			`{"mode":"form","message":"Which one?","requestedSchema":{"type":"object"},"toolCallId":"c1","sessionId":"SES"}`,
			"elicit=accept {\"answer\":\"Red\"}\n", "elicit=error -32601 No\n"},
		{`elicit Go mode=url url=https://example.com`, "elicitation/create",
			`{"mode":"url","message":"Go","url":"https://example.com","elicitationId":"elicitation-1","sessionId":"SES"}`,
			"elicit=accept {\"answer\":\"Red\"}\n", ""},
		{`request _x/ask {"a":1}`, "_x/ask", `{"a":1}`, "_x/ask={\"n\":1}\n", "_x/ask=error -32601 No\n"},
		{`notify _auth/status_update {"ok":true}`, "_auth/status_update", `{"ok":true}`, "", ""},
	} {
		t.Run(c.step, func(t *testing.T) {
			a := opened(t)
			turn := a.play(yes, c.step)
			want(t, "said", turn.said, c.yes)
			var methods []string
			for _, request := range turn.requests {
				methods = append(methods, request.Method)
			}
			want(t, "methods", strings.Join(methods, " "), c.methods)
			same(t, string(turn.requests[0].Params), strings.Replace(c.params, "SES", a.session, 1))
			if c.no != "" {
				want(t, "refused", a.play(no, c.step).said, c.no)
			}
		})
	}
}

func TestATerminalIsShownInACall(t *testing.T) {
	turn := opened(t).play(replies{"terminal/create": `"result":{"terminalId":"t1"}`, "terminal/output": `"result":{}`},
		"terminal ls then=leave release=no call=c1")
	same(t, turn.updates[0].raw, `{"sessionUpdate":"tool_call_update","toolCallId":"c1",
		"content":[{"type":"terminal","terminalId":"t1"}]}`)
}

func TestTheAgentsOwnHands(t *testing.T) {
	a := opened(t)
	turn := a.play(nil, "file note.txt some text", "shell cat note.txt; exit 3", "stderr careful")
	want(t, "said", turn.said, "file=ok\nshell=some text exit status 3\n")
	content, err := os.ReadFile(filepath.Join(a.process.Dir, "note.txt"))
	must(t, err)
	want(t, "file", string(content), "some text")
	_ = a.stdin.Close()
	a.ended()
	for range a.frames {
		t.Error("there was more")
	}
	eventually(t, "careful on stderr", func() bool { return a.stderr.String() == "careful\n" })
}

func TestWhoAmI(t *testing.T) {
	a := opened(t, "-modes", "ask,code")
	var who struct {
		SessionID, Opened, Cwd, ProcessCwd string
		MCPServers                         json.RawMessage
		Settings                           map[string]string
		ClientCapabilities, ClientInfo     json.RawMessage
		Argv, Env                          []string
		PID, PPID                          int
	}
	decode(t, a.play(nil, "whoami").said, &who)
	want(t, "session", who.SessionID, a.session)
	want(t, "opened", who.Opened, "new")
	want(t, "cwd", who.Cwd, a.process.Dir)
	want(t, "mode", who.Settings["mode"], "ask")
	want(t, "capabilities", string(who.ClientCapabilities), `{"terminal":true}`)
	want(t, "client", string(who.ClientInfo), `{"name":"test","version":"7"}`)
	want(t, "pid", who.PID, a.process.Process.Pid)
	want(t, "ppid", who.PPID, os.Getpid())
	want(t, "argv", strings.Join(who.Argv[2:], " "), "-modes ask,code")
	holds(t, string(who.MCPServers), `"name":"m"`)
	if !slices.Contains(who.Env, "PATH") {
		t.Errorf("environment: %q", who.Env)
	}
}

func TestEnds(t *testing.T) {
	a := opened(t)
	for _, reason := range []string{"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "bored"} {
		turn := a.play(nil, "stop "+reason, "say never")
		want(t, "stop", turn.stop, reason)
		want(t, "said", turn.said, "")
	}
	failure := a.play(nil, `fail -32603 "no luck" {"kind":"x"}`, "say never").answer.Error
	want(t, "code", failure.Code, -32603)
	want(t, "message", failure.Message, "no luck")
	want(t, "data", string(failure.Data), `{"kind":"x"}`)
	turn := a.play(nil, `result {"usage":{"totalTokens":3}}`, `result {"usage":{"inputTokens":1},"_meta":{"q":1}}`)
	same(t, string(turn.answer.Result),
		`{"stopReason":"end_turn","usage":{"totalTokens":3,"inputTokens":1},"_meta":{"q":1}}`)
}

func TestOnce(t *testing.T) {
	a := opened(t)
	step := "once " + filepath.Join(t.TempDir(), "mark") + " say first"
	want(t, "said", a.play(nil, step).said+a.play(nil, step, "say second").said, "firstsecond")
}

func TestWhatIsNoStep(t *testing.T) {
	a := opened(t)
	for _, step := range []string{
		"dance", "say", "burst", "burst many", "burst 1 2 3", "call", `call c1 title="open`, "call c1 input={",
		"call c1 input=nothing", "update c1", "if c1 allowed", "if c1 allowed dance", "if c9 allowed say x", "withdraw c1",
		"raw nothing", "oncancel cry", "fail many x", "result []", "usage 1 2 much", "late soon say x", "longline 1 as=song",
	} {
		turn := a.play(nil, step)
		if turn.answer.Error == nil || turn.answer.Error.Code != -32602 {
			t.Errorf("%s: %s", step, turn.answer.line)
		}
	}
}

func TestTheDocumentNamesAllSteps(t *testing.T) {
	verbs := runs(t, acptest.Build(t), "-verbs")
	document, err := os.ReadFile("doc.go")
	must(t, err)
	var wanted strings.Builder
	for line := range strings.Lines(verbs) {
		comment := "// " + line
		if line == "\n" || line[0] == '\t' {
			comment = "//" + line
		}
		wanted.WriteString(comment)
	}
	if !strings.Contains(string(document), wanted.String()) {
		t.Errorf("doc.go does not have this part:\n%s", wanted.String())
	}
}
