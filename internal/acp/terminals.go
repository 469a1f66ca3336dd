package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// terminals are the commands that the agent runs through us. The protocol lets it look at one while it runs, wait for
// it, kill it, and release it; until then its id is valid, also when the command has ended.
type terminals struct {
	agent *agent

	mu      sync.Mutex
	open    map[string]*terminal
	running sync.WaitGroup
}

// terminal is one command.
type terminal struct {
	call   *toolCall
	output *tail
	kill   context.CancelCauseFunc
	ended  chan struct{}
	exit   exitStatus // set before ended is closed
}

// exitStatus is how a command ended, as the protocol says it: by a code or by a signal.
type exitStatus struct {
	ExitCode *int    `json:"exitCode"`
	Signal   *string `json:"signal"`
}

var errKilledByAgent = errors.New("the agent ended the command")

// over is closed when no command runs.
func (t *terminals) over() <-chan struct{} {
	over := make(chan struct{})
	go func() {
		defer close(over)
		t.running.Wait()
	}()
	return over
}

// terminalArguments are what a person is shown, and what is run.
type terminalArguments struct {
	Command string            `json:"command"`
	Args    []string          `json:"args,omitempty"`
	Cwd     string            `json:"cwd,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
}

// create has a command judged and starts it.
func (t *terminals) create(ctx context.Context, request wire.Object, _ json.RawMessage) (any, error) {
	wanted := terminalArguments{Command: request.Text("command"), Cwd: request.Text("cwd"), Env: map[string]string{}}
	_ = json.Unmarshal(request["args"], &wanted.Args) // there may be none
	for _, variable := range request.Objects("env") {
		wanted.Env[variable.Text("name")] = variable.Text("value")
	}
	if wanted.Command == "" {
		return nil, invalid("The command is missing.")
	}
	if _, err := folderIn(t.agent.execution.Request.WorkingDirectory, wanted.Cwd); err != nil {
		return nil, invalid(domain.FailureOf(err).Message) // nobody needs to be asked about that
	}
	summary := strings.Join(append([]string{wanted.Command}, wanted.Args...), " ")
	host, c, grant, err := t.agent.authorize(ctx, request, "terminal", domain.ClassExecute, domain.Encode(wanted), summary)
	if err != nil {
		return nil, err
	}
	wanted = terminalArguments{}
	if err := json.Unmarshal(grant.Arguments, &wanted); err != nil {
		return nil, t.agent.fail(c, domain.Errorf(domain.CodeInvalidArguments, "The arguments do not fit.").With(err))
	}
	command, err := wanted.asCommand(t.agent.execution.Request.WorkingDirectory)
	if err != nil {
		return nil, t.agent.fail(c, err)
	}
	command.Tool, command.Approved = "terminal", grant.Approved
	limit := defaultOutputLimit
	if given := request.Count("outputByteLimit"); given != nil {
		limit = int(min(*given, maxOutputLimit))
	}
	return map[string]string{"terminalId": t.start(host, c, command, limit)}, nil
}

// asCommand is the command as it is run in the workspace.
func (w terminalArguments) asCommand(workspace string) (domain.Command, error) {
	argv := append([]string{w.Command}, w.Args...)
	if len(w.Args) == 0 && strings.ContainsAny(w.Command, " \t\n") { // a line for a shell; some agents send nothing else
		argv = []string{"bash", "-c", w.Command}
	}
	folder, err := folderIn(workspace, w.Cwd)
	if err != nil {
		return domain.Command{}, err
	}
	if folder != "." {
		argv = append([]string{"bash", "-c", `cd -- "$1" && shift && exec "$@"`, "bash", folder}, argv...)
	}
	command := domain.Command{Argv: argv}
	for name, value := range w.Env {
		command.Env = append(command.Env, name+"="+value)
	}
	return command, nil
}

// folderIn is the working directory relative to the workspace, where the command starts. The sandbox isolates;
// this is for a clear word.
func folderIn(workspace, cwd string) (string, error) {
	if cwd == "" {
		return ".", nil
	}
	if !filepath.IsAbs(cwd) {
		cwd = filepath.Join(workspace, cwd)
	}
	folder, err := filepath.Rel(workspace, cwd)
	if err != nil || !filepath.IsLocal(folder) {
		return "", domain.Errorf(domain.CodePathOutsideWorkspace, "The folder %s is not in the workspace.", wire.Beginning(cwd, 500))
	}
	return folder, nil
}

const (
	defaultOutputLimit = 1 << 20
	maxOutputLimit     = 8 << 20
)

// start runs the command in the background and returns its id, which nobody can guess.
func (t *terminals) start(host domain.Host, c *toolCall, command domain.Command, limit int) string {
	id := "term_" + randomName(20)
	ctx, kill := context.WithCancelCause(t.agent.service.commands())
	one := &terminal{call: c, output: &tail{limit: limit}, kill: kill, ended: make(chan struct{})}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open[id] = one
	t.running.Go(func() {
		defer kill(nil)
		result, err := host.Run(ctx, command, one.output)
		t.agent.translator.settled(ctx, one, result, err)
		one.end(result, err) // last: who hears of the end finds the outcome told
	})
	return id
}

func (one *terminal) end(result domain.CommandResult, err error) {
	defer close(one.ended)
	if err != nil {
		killed := "SIGKILL"
		one.exit.Signal = &killed
		return
	}
	one.exit.ExitCode = &result.ExitCode
}

// settled reports the outcome of a command. Where the end of the turn ended the command, the session reports it, because it alone
// knows the reason.
func (t *translator) settled(ctx context.Context, one *terminal, result domain.CommandResult, err error) {
	text, truncated := one.output.text()
	completed := domain.ToolCallCompleted{Outcome: domain.OutcomeSucceeded, Output: text, Truncated: truncated}
	fail := func(failure domain.Failure) { completed.Outcome, completed.Error = domain.OutcomeFailed, &failure }
	switch {
	case err == nil:
		completed.ExitCode = &result.ExitCode
		if result.ExitCode != 0 {
			fail(domain.Failure{
				Code: domain.CodeToolFailed, Message: fmt.Sprintf("The command ended with exit code %d.", result.ExitCode),
			})
		}
	case errors.Is(context.Cause(ctx), errKilledByAgent):
		fail(domain.Failure{Code: domain.CodeToolFailed, Message: "The agent ended the command."})
	case ctx.Err() != nil:
		return
	case domain.CodeOf(err) == domain.CodeInternal:
		fail(domain.Failure{Code: domain.CodeToolFailed, Message: "The command could not be run."})
	default:
		fail(domain.FailureOf(err))
	}
	t.settle(one.call, completed)
}

// find returns the terminal that a request names.
func (t *terminals) find(request wire.Object) (*terminal, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.open[request.Text("terminalId")]
	if one == nil {
		return nil, invalid("The terminal is unknown here.")
	}
	return one, nil
}

// output shows what a command has printed so far, and how it ended if it has.
func (t *terminals) output(_ context.Context, request wire.Object, _ json.RawMessage) (any, error) {
	one, err := t.find(request)
	if err != nil {
		return nil, err
	}
	shown := map[string]any{}
	select {
	case <-one.ended: // looked at first, so that an end means that the output is whole
		shown["exitStatus"] = one.exit
	default:
	}
	shown["output"], shown["truncated"] = one.output.text()
	return shown, nil
}

// wait answers when the command has ended.
func (t *terminals) wait(ctx context.Context, request wire.Object, _ json.RawMessage) (any, error) {
	one, err := t.find(request)
	if err != nil {
		return nil, err
	}
	select {
	case <-one.ended:
		return one.exit, nil
	case <-ctx.Done():
		return nil, cancelledRequest(context.Cause(ctx))
	}
}

// kill ends the command; its output stays.
func (t *terminals) kill(ctx context.Context, request wire.Object, _ json.RawMessage) (any, error) {
	one, err := t.find(request)
	if err != nil {
		return nil, err
	}
	return struct{}{}, one.stop(ctx)
}

// stop ends the command and waits until it is dead.
func (one *terminal) stop(ctx context.Context) error {
	one.kill(errKilledByAgent)
	select {
	case <-one.ended:
		return nil
	case <-ctx.Done():
		return cancelledRequest(context.Cause(ctx))
	}
}

// release ends the command and forgets it.
func (t *terminals) release(ctx context.Context, request wire.Object, _ json.RawMessage) (any, error) {
	one, err := t.find(request)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	delete(t.open, request.Text("terminalId"))
	t.mu.Unlock()
	return struct{}{}, one.stop(ctx)
}

// tail keeps the end of what is written to it. The protocol wants the beginning cut, between two characters.
type tail struct {
	limit int

	mu   sync.Mutex
	kept []byte
	cut  bool
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if len(t.kept) > 2*t.limit+4096 { // trimmed seldom, so that many small writes stay cheap
		t.trim()
	}
	return len(p), nil
}

func (t *tail) trim() {
	over := len(t.kept) - t.limit
	if over <= 0 {
		return
	}
	for over < len(t.kept) && !utf8.RuneStart(t.kept[over]) {
		over++
	}
	t.kept, t.cut = append([]byte(nil), t.kept[over:]...), true
}

func (t *tail) text() (text string, cut bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.trim()
	return strings.ToValidUTF8(string(t.kept), "\uFFFD"), t.cut
}
