package acptest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"signoff/internal/acp/acptest"
)

func TestInitialize(t *testing.T) {
	for flags, wanted := range map[string]string{
		"": `"protocolVersion":1 "authMethods":[] "loadSession":true "sessionCapabilities":{} "image":false "http":false`,
		"-no-load -resume -prompts image,audio -mcp http -auth key": `"loadSession":false ` +
			`"sessionCapabilities":{"resume":{}} "image":true "audio":true "embeddedContext":false ` +
			`"http":true "sse":false "id":"key"`,
		"-protocol 2": `"protocolVersion":2`,
		"-protocol 0": `"protocolVersion":0`,
	} {
		t.Run(flags, func(t *testing.T) {
			holds(t, start(t, strings.Fields(flags)...).result("initialize", hello), strings.Fields(wanted)...)
		})
	}
}

func TestUnknownMessages(t *testing.T) {
	a := start(t)
	a.notify("_x/hello", `{}`)
	a.line("this is no message")
	a.refused(-32601, "session/fork", `{}`)
	a.refused(-32602, "initialize", `[]`)
	a.refused(-32002, "session/prompt", `{"sessionId":"other","prompt":[]}`)
	a.refused(-32602, "session/set_mode", `{"sessionId":"other","modeId":"x"}`)
}

func TestAuthentication(t *testing.T) {
	a := start(t, "-auth", "key", "-resume")
	a.result("initialize", hello)
	for _, method := range []string{"session/new", "session/load", "session/resume"} {
		a.refused(-32000, method, newParams(a))
	}
	a.refused(-32602, "authenticate", `{"methodId":"other"}`)
	a.result("authenticate", `{"methodId":"key"}`)
	a.open()
}

func TestSettings(t *testing.T) {
	state := t.TempDir()
	flags := []string{"-state", state, "-modes", "ask,code", "-models", "small,large", "-config", "odd"}
	a := start(t, flags...)
	a.result("initialize", hello)
	offers := a.result("session/new", newParams(a))
	holds(t, offers, `"currentModeId":"ask"`, `"availableModes":[{"id":"ask","name":"The ask"},{"id":"code",`,
		`"currentModelId":"small"`, `"availableModels":[{"modelId":"small"`,
		`"configOptions":[`, `"type":"boolean"`, `"type":"slider"`)
	var created struct{ SessionID string }
	decode(t, offers, &created)
	a.session = created.SessionID

	a.result("session/set_mode", a.here(`,"modeId":"code"`))
	a.refused(-32602, "session/set_mode", a.here(`,"modeId":"zen"`))
	a.result("session/set_model", a.here(`,"modelId":"large"`))
	holds(t, a.result("session/set_config_option", a.here(`,"configId":"verbose","type":"boolean","value":true`)),
		`"currentValue":true`, `"currentValue":"code"`, `"currentValue":"large"`)
	a.result("session/set_config_option", a.here(`,"configId":"model","value":"small"`))
	a.refused(-32602, "session/set_config_option", a.here(`,"configId":"model","value":"huge"`))
	a.refused(-32602, "session/set_config_option", a.here(`,"configId":"colour","value":"red"`))
	settings := `"settings":{"mode":"code","model":"small","verbose":true}`
	holds(t, a.play(nil, "whoami").said, settings)

	b := start(t, flags...)
	b.result("initialize", hello)
	_, answer := b.load("session/load", a.session)
	holds(t, string(answer.Result), `"currentModeId":"code"`, `"currentModelId":"small"`)
	holds(t, b.play(nil, "whoami").said, settings)
}

// load opens the session of another process and returns what was replayed before the answer.
func (a *agent) load(method, session string) (replayed []string, answer frame) {
	a.Helper()
	id := a.send(method, loadParams(a, session))
	a.session = session
	for {
		f := a.receive()
		if string(f.ID) == id {
			return replayed, f
		}
		replayed = append(replayed, updateOf(a, f).brief())
	}
}

func (u update) brief() string { return u.SessionUpdate + "|" + u.ToolCallID + u.text() }

func TestASessionOutlivesItsProcess(t *testing.T) {
	state := t.TempDir()
	steps := []string{"think Hm", "call c1", "say Done", "as other", "say not mine"}
	wanted := []string{
		"user_message_chunk|" + acptest.Prompt(steps...), "agent_thought_chunk|Hm", "tool_call|c1",
		"agent_message_chunk|Done",
	}
	first := opened(t, "-state", state)
	first.play(nil, steps...)
	first.prompt("say lost", "crash")
	first.receive()
	want(t, "exit code", first.ended(), 1)
	wanted = append(wanted, "user_message_chunk|"+acptest.Prompt("say lost", "crash"))

	again := func(flags ...string) *agent {
		a := start(t, append([]string{"-state", state}, flags...)...)
		a.result("initialize", hello)
		return a
	}
	t.Run("load", func(t *testing.T) {
		a := again()
		replayed, answer := a.load("session/load", first.session)
		if !slices.Equal(replayed, wanted) || answer.Error != nil {
			t.Errorf("%s after %q", answer.line, replayed)
		}
		holds(t, a.play(nil, "whoami").said, `"opened":"load"`)
		if replayed, _ := again().load("session/load", first.session); len(replayed) != len(wanted)+2 {
			t.Errorf("the second time %q", replayed)
		}
	})
	t.Run("replay after the answer", func(t *testing.T) {
		a := again("-replay", "after")
		replayed, answer := a.load("session/load", first.session)
		if len(replayed) > 0 || answer.Error != nil {
			t.Errorf("%s after %q", answer.line, replayed)
		}
		want(t, "first update behind it", updateOf(t, a.receive()).brief(), wanted[0])
	})
	t.Run("resume", func(t *testing.T) {
		a := again("-resume")
		replayed, answer := a.load("session/resume", first.session)
		if len(replayed) > 0 || answer.Error != nil {
			t.Errorf("%s after %q", answer.line, replayed)
		}
		holds(t, a.play(nil, "whoami").said, `"opened":"resume"`)
	})
	t.Run("refused", func(t *testing.T) {
		again().refused(-32002, "session/load", loadParams(first, "unknown"))
		again("-no-load").refused(-32601, "session/load", loadParams(first, first.session))
		again("-load-fails").refused(-32603, "session/load", loadParams(first, first.session))
		again().refused(-32601, "session/resume", loadParams(first, first.session))
	})
}

func TestStateLiesBelowHome(t *testing.T) {
	home := t.TempDir()
	a := startWith(t, func(c *exec.Cmd) {
		c.Args = append(c.Args[:1], "-modes", "a")
		c.Env = []string{"HOME=" + home}
	})
	a.result("initialize", hello)
	a.open()
	if !exists(filepath.Join(home, ".scripted-agent", a.session+".jsonl")) {
		t.Error("the session is not there")
	}
}

func TestCancel(t *testing.T) {
	for name, c := range map[string]struct {
		manners, step, answer string // the reply to the permission, if any
		stop                  string
		code                  int
		said                  string
	}{
		"in a silence":             {step: "silence 60000", stop: "cancelled"},
		"in a burst":               {step: "burst 100000000", stop: "cancelled"},
		"in a pace":                {step: "burst 100000", manners: "pace 1", stop: "cancelled"},
		"with a question":          {step: "ask c1", stop: "cancelled", said: "c1 answer=cancelled\n"},
		"with a request":           {step: "read /x", stop: "cancelled", said: "read=cancelled\n"},
		"that is taken for an end": {manners: "oncancel endturn", step: "silence 60000", stop: "end_turn"},
		"that is an error":         {manners: "oncancel error", step: "silence 60000", code: -32603},
		"that is ignored":          {manners: "oncancel ignore", step: "silence 300", stop: "end_turn", said: "next"},
		"that waits for answers": {manners: "oncancel needanswer", step: "ask c1", answer: selected("once"),
			stop: "cancelled", said: "c1 answer=once\n"},
	} {
		t.Run(name, func(t *testing.T) {
			a := opened(t)
			if c.manners == "" {
				c.manners = "oncancel good"
			}
			id := a.prompt(`say "begin "`, c.manners, c.step, "say next")
			want(t, "begin", updateOf(t, a.receive()).text(), "begin ")
			var question frame
			if strings.HasPrefix(c.step, "ask") || strings.HasPrefix(c.step, "read") {
				question = a.receive()
			}
			a.notify("session/cancel", a.here(""))
			if c.answer != "" {
				a.silent()
				a.respond(question, c.answer)
			}
			turn := a.follow(id, nil)
			if turn.answer.Error != nil {
				want(t, "code", turn.answer.Error.Code, c.code)
			}
			want(t, "stop", turn.stop, c.stop)
			if !strings.HasPrefix(c.step, "burst") {
				want(t, "said", turn.said, c.said)
			}
			want(t, "after a cancel", a.play(nil, "say again").said, "again")
		})
	}
}

func TestACancelWithdrawsQuestions(t *testing.T) {
	a := opened(t)
	id := a.prompt("oncancel withdraw", "ask c1")
	question := a.receive()
	a.notify("session/cancel", a.here(""))
	turn := a.follow(id, nil)
	want(t, "method", turn.requests[0].Method, "$/cancel_request")
	same(t, string(turn.requests[0].Params), `{"requestId":`+string(question.ID)+`}`)
	want(t, "stop", turn.stop, "cancelled")
}

func TestACancelRightBehindThePrompt(t *testing.T) {
	a := opened(t)
	for range 50 {
		id := a.prompt("silence 60000")
		a.notify("session/cancel", a.here(""))
		want(t, "stop", a.follow(id, nil).stop, "cancelled")
		id = a.prompt("oncancel error", "silence 60000")
		a.notify("session/cancel", a.here(""))
		want(t, "code", a.follow(id, nil).answer.Error.Code, -32603)
	}
}

func TestOneRequestIsCancelled(t *testing.T) {
	a := opened(t, "-script", "mode: silence 60000")
	mode := a.send("session/set_mode", a.here(`,"modeId":"x"`))
	prompt := a.prompt("silence 60000")
	a.notify("$/cancel_request", `{"requestId":`+mode+`}`)
	want(t, "code", a.answer(mode).Error.Code, -32800)
	a.notify("$/cancel_request", `{"requestId":`+prompt+`}`)
	want(t, "stop", a.follow(prompt, nil).stop, "cancelled")
}

func TestASecondPrompt(t *testing.T) {
	open := func(t *testing.T, busy string) (a *agent, first string) {
		a = opened(t, "-busy", busy)
		first = a.prompt("say one", "silence 150", "say two")
		a.receive()
		return a, first
	}
	t.Run("queue", func(t *testing.T) {
		a, first := open(t, "queue")
		second := a.prompt("say three")
		want(t, "first", a.follow(first, nil).said, "two")
		want(t, "second", a.follow(second, nil).said, "three")
	})
	t.Run("one cancel ends both", func(t *testing.T) {
		a, _ := open(t, "queue")
		a.prompt("silence 60000")
		a.notify("session/cancel", a.here(""))
		for range 2 {
			holds(t, a.receive().line, `"stopReason":"cancelled"`)
		}
	})
	t.Run("cancel", func(t *testing.T) {
		a, first := open(t, "cancel")
		second := a.prompt("say three")
		want(t, "first", a.follow(first, nil).stop, "cancelled")
		want(t, "second", a.follow(second, nil).said, "three")
	})
	t.Run("fail", func(t *testing.T) {
		a, first := open(t, "fail")
		want(t, "second", a.answer(a.prompt("say three")).Error.Code, -32600)
		want(t, "first", a.follow(first, nil).stop, "end_turn")
	})
	t.Run("another session", func(t *testing.T) {
		a, _ := open(t, "queue")
		a.open()
		want(t, "parallel", a.play(nil, "say three").said, "three")
	})
}

func TestPhases(t *testing.T) {
	t.Run("before and after an answer", func(t *testing.T) {
		a := start(t, "-script", "# a comment\n\nnew: say early\nafter new: commands go\n"+
			"after prompt: say late\nprompt: say first")
		a.result("initialize", hello)
		id := a.send("session/new", newParams(a))
		early := updateOf(t, a.receive())
		want(t, "early", early.text(), "early")
		holds(t, string(a.answer(id).Result), early.SessionID)
		want(t, "after", updateOf(t, a.receive()).SessionUpdate, "available_commands_update")
		a.session = early.SessionID
		want(t, "prompt", a.play(nil, "say second").said, "firstsecond")
		want(t, "after the prompt", updateOf(t, a.receive()).text(), "late")
	})
	t.Run("in a file, repeated", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "script")
		must(t, os.WriteFile(file, []byte("new: fail -32000 \"sign in\"\n"), 0o600))
		a := start(t, "-script", file,
			"-script", `initialize: result {"agentCapabilities":{"loadSession":false},"agentInfo":7}`)
		holds(t, a.result("initialize", hello), `"loadSession":false`, `"promptCapabilities":{`, `"agentInfo":7`)
		a.refused(-32000, "session/new", newParams(a))
	})
	t.Run("start and end of input", func(t *testing.T) {
		mark := filepath.Join(t.TempDir(), "mark")
		a := start(t, "-script", "start: rawline Welcome!", "-script", "eof: file "+mark+" over")
		want(t, "noise", a.receive().line, "Welcome!")
		_ = a.stdin.Close()
		want(t, "exit code", a.ended(), 0)
		if !exists(mark) {
			t.Error("the end of the input was not noticed")
		}
	})
	t.Run("wrong", func(t *testing.T) {
		for _, script := range []string{"lunch: say x", "new: dance", "say x"} {
			want(t, "exit code of "+script, start(t, "-script", script).ended(), 2)
		}
		want(t, "exit code", start(t, "-script", "start: say nobody").ended(), 2)
	})
}

func TestCrashAndHangAtAPhase(t *testing.T) {
	requests := []struct{ phase, method, params string }{
		{"initialize", "initialize", hello}, {"authenticate", "authenticate", `{"methodId":"key"}`},
		{"new", "session/new", ""},
		{"mode", "session/set_mode", ""}, {"prompt", "session/prompt", ""}, {"load", "session/load", ""},
	}
	for i, at := range requests {
		for _, fault := range []string{"crash", "hang"} {
			t.Run(fault+" at "+at.phase, func(t *testing.T) {
				a := start(t, "-auth", "key", "-"+fault, at.phase)
				for _, request := range requests[:i] {
					a.through(request.method, request.params)
				}
				a.send(at.method, a.params(at.method, at.params))
				if fault == "crash" {
					want(t, "exit code", a.ended(), 1)
					return
				}
				if at.phase == "load" {
					a.receive() // what the prompt left
				}
				a.silent()
			})
		}
	}
}

func (a *agent) params(method, given string) string {
	switch {
	case given != "":
		return given
	case method == "session/new" || method == "session/load":
		return a.here(`,"cwd":"/","mcpServers":[]`)
	}
	return a.here(`,"modeId":"x","prompt":[{"type":"text","text":"#! stop end_turn"}]`)
}

func (a *agent) through(method, given string) {
	a.Helper()
	var created struct{ SessionID string }
	decode(a, a.result(method, a.params(method, given)), &created)
	if created.SessionID != "" {
		a.session = created.SessionID
	}
}

// eventually waits for what another process brings about.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func runs(t testing.TB, name string, arguments ...string) string {
	t.Helper()
	output, err := exec.Command(name, arguments...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return string(output)
}
