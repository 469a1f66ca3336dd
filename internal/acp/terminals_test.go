package acp

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/tools/hosttest"
)

// withTerminals is a rig whose agent may run commands through us.
func withTerminals(t testing.TB) *rig {
	r := newRig(t)
	r.launch.Terminals = true
	return r
}

// prints is a command that prints and ends.
func prints(text string, code int) func(context.Context, domain.Command, io.Writer) (domain.CommandResult, error) {
	return func(_ context.Context, _ domain.Command, output io.Writer) (domain.CommandResult, error) {
		_, err := io.WriteString(output, text)
		return domain.CommandResult{ExitCode: code}, err
	}
}

// endless is a command that runs until it is killed.
func endless(ctx context.Context, _ domain.Command, output io.Writer) (domain.CommandResult, error) {
	_, _ = io.WriteString(output, "begun")
	<-ctx.Done()
	return domain.CommandResult{}, context.Cause(ctx)
}

func TestTerminal(t *testing.T) {
	r := withTerminals(t).open()
	r.host.Command = prints("hello\n", 3)
	r.runs("terminal echo hello")
	r.heard(`"exitCode":3`)
	r.heard(`"output":"hello\n"`)
	requested := hosttest.Of[domain.ToolCallRequested](r.host)[0]
	want(t, "call", fmt.Sprint(requested.Tool, requested.Class, requested.Summary, string(requested.Arguments)),
		`terminalexecuteecho hello{"command":"echo","args":["hello"]}`)
	completed := hosttest.Of[domain.ToolCallCompleted](r.host)[0]
	want(t, "outcome", fmt.Sprint(completed.Outcome, *completed.ExitCode, completed.Output, completed.Error.Message),
		"failed3hello\nThe command ended with exit code 3.")
}

// TestATerminalSaysWhoseItIs: whose command it is, and whether a person has seen it, decides what it is kept from.
func TestATerminalSaysWhoseItIs(t *testing.T) {
	for _, approved := range []bool{true, false} {
		r := withTerminals(t).open()
		var ran domain.Command
		r.host.Command = func(_ context.Context, command domain.Command, _ io.Writer) (domain.CommandResult, error) {
			ran = command
			return domain.CommandResult{}, nil
		}
		r.host.Grant = func(_ context.Context, call domain.ToolCall) (domain.Grant, error) {
			return domain.Grant{Allowed: true, Arguments: call.Arguments, Approved: approved}, nil
		}
		r.runs("terminal echo hello")
		want(t, "command of", fmt.Sprint(ran.Tool, ran.Approved), fmt.Sprint("terminal", approved))
	}
}

func TestTerminalIsKilled(t *testing.T) {
	r := withTerminals(t).open()
	r.host.Command = endless
	r.runs("terminal sleep 100 then=kill release=no", "terminal sleep 100 then=leave")
	r.heard(`"signal":"SIGKILL"`)
	want(t, "outcomes", len(hosttest.Of[domain.ToolCallCompleted](r.host)), 2)
	for _, completed := range hosttest.Of[domain.ToolCallCompleted](r.host) {
		want(t, "outcome", fmt.Sprint(completed.Outcome, completed.Output), "failedbegun")
	}
}

// TestTerminalEndsWithACancel: and with the agent.
func TestTerminalEndsWithACancel(t *testing.T) {
	r := withTerminals(t).open()
	ended := make(chan struct{}, 2)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r.host.Command = func(run context.Context, command domain.Command, output io.Writer) (domain.CommandResult, error) {
		defer func() { ended <- struct{}{} }()
		cancel()
		return endless(run, command, output)
	}
	_, err := r.prompt(ctx, "terminal sleep 100")
	want(t, "error", err, context.Canceled)
	<-ended
	r.goes("terminal sleep 100 then=leave release=no")
	if len(hosttest.Of[domain.ToolCallCompleted](r.host)) != 0 {
		t.Error("the outcome of a command that was cut off is the session's")
	}
	if err := r.agent.Close(); err != nil {
		t.Error(err)
	}
	<-ended
}

func TestTerminalErrors(t *testing.T) {
	r := withTerminals(t).open()
	r.host.Grant = func(context.Context, domain.ToolCall) (domain.Grant, error) {
		return domain.Grant{Message: "A person said no."}, nil
	}
	session := r.agent.session
	r.runs("terminal ls", `request terminal/output {"sessionId":"`+session+`","terminalId":"guess"}`,
		`request terminal/create {"sessionId":"`+session+`","command":""}`,
		`request terminal/create {"sessionId":"`+session+`","command":"ls","cwd":"/etc"}`)
	r.heard("terminal=error -32603 A person said no.")
	r.heard("terminal/output=error -32602 The terminal is unknown here.")
	r.heard("terminal/create=error -32602 The command is missing.")
	r.heard("terminal/create=error -32602 The folder /etc is not in the workspace.")
	want(t, "requests", len(hosttest.Of[domain.ToolCallRequested](r.host)), 1)
}

func TestCommandOfATerminal(t *testing.T) {
	for _, test := range []struct {
		wanted terminalArguments
		argv   string
	}{
		{terminalArguments{Command: "ls", Args: []string{"-l"}}, "ls|-l"},
		{terminalArguments{Command: "ls"}, "ls"},
		{terminalArguments{Command: "ls -l | wc"}, "bash|-c|ls -l | wc"},
		{terminalArguments{Command: "my tool", Args: []string{"x"}}, "my tool|x"},
		{terminalArguments{Command: "ls", Cwd: "/ws"}, "ls"},
		{terminalArguments{Command: "ls", Cwd: "/ws/sub"}, `bash|-c|cd -- "$1" && shift && exec "$@"|bash|sub|ls`},
		{terminalArguments{Command: "ls", Cwd: "sub"}, `bash|-c|cd -- "$1" && shift && exec "$@"|bash|sub|ls`},
		{terminalArguments{Command: "ls", Cwd: "/ws/../etc"}, ""},
		{terminalArguments{Command: "ls", Cwd: "/wsx"}, ""},
	} {
		command, err := test.wanted.asCommand("/ws")
		want(t, fmt.Sprint(test.wanted), strings.Join(command.Argv, "|"), test.argv)
		want(t, fmt.Sprint(test.wanted, " error"), domain.CodeOf(err) == domain.CodePathOutsideWorkspace, test.argv == "")
	}
	command, _ := terminalArguments{Command: "ls", Env: map[string]string{"A": "1"}}.asCommand("/ws")
	want(t, "env", fmt.Sprint(command.Env), "[A=1]")
}

// TestTail keeps the end, and cuts between two characters.
func TestTail(t *testing.T) {
	kept := &tail{limit: 5}
	for range 10000 {
		_, _ = kept.Write([]byte("ä"))
	}
	if text, cut := kept.text(); text != "ää" || !cut {
		t.Errorf("got %q, %v", text, cut)
	}
	kept = &tail{limit: 5}
	_, _ = kept.Write([]byte("12345"))
	if text, cut := kept.text(); text != "12345" || cut {
		t.Errorf("got %q, %v", text, cut)
	}
}
