package llm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
	"signoff/internal/tools"
)

const (
	maxCalls         = 32        // of one answer
	maxArgumentBytes = 256 << 10 // of one call; more is a model that has lost its way
	shownArguments   = 1000      // bytes of arguments that are too long

	noAnswer = "Nobody answered the question. This is neither a yes nor a no."
)

// pendingCall is a call that has no result yet. flaw is why it cannot even be judged; then nobody is asked.
type pendingCall struct {
	domain.ToolCall
	flaw error
}

// request is the calls of an answer, and what is told of them before anybody judges them.
func (t *turn) request(messageID string, asked []provider.Call) (calls []pendingCall, told []domain.Payload) {
	for i, wanted := range asked {
		call := t.prepare(wanted, i)
		calls = append(calls, call)
		told = append(told, domain.ToolCallRequested{
			ToolCallID: call.ID,
			MessageID:  messageID,
			Tool:       call.Tool,
			Class:      call.Class,
			Arguments:  call.Arguments,
			Summary:    call.Summary,
		})
	}
	return calls, told
}

// prepare gives the call its id and checks it. The arguments are masked before anything is cut: half a secret would not be
// known as one.
func (t *turn) prepare(wanted provider.Call, position int) pendingCall {
	call := domain.ToolCall{ID: "call_" + randomName(20), Tool: shownName(t.agent.mask.MaskString(wanted.Name))}
	written := argumentsOf(wanted.Arguments)
	call.Arguments = t.agent.mask.JSON(written)
	exposed := !bytes.Equal(call.Arguments, written)
	if len(wanted.Arguments) > maxArgumentBytes {
		call.Arguments = quoted(string(call.Arguments[:min(len(call.Arguments), shownArguments)]) + "…")
		return t.flawed(call, domain.Errorf(domain.CodeInvalidArguments,
			"The arguments have %d bytes; at most %d are allowed.", len(wanted.Arguments), maxArgumentBytes))
	}
	if exposed {
		return t.flawed(call, domain.Errorf(domain.CodeSecretExposed,
			"The arguments hold the value of a secret; name the secret instead."))
	}
	if domain.TooDeep([]byte(wanted.Arguments)) {
		return t.flawed(call, domain.Errorf(domain.CodeInvalidArguments,
			"The arguments are nested deeper than %d levels.", domain.MaxDepth))
	}
	if position >= maxCalls {
		return t.flawed(call, domain.Errorf(domain.CodeInvalidArguments,
			"At most %d tool calls are allowed at once; this one is too many.", maxCalls))
	}
	return t.check(call)
}

// check has the tool read the arguments; it fills in what the tool says of itself.
func (t *turn) check(call domain.ToolCall) pendingCall {
	described, err := t.agent.tools.describe(call.Tool, call.Arguments, t.agent.task.workingDirectory)
	if err != nil {
		return t.flawed(call, err)
	}
	described.ID = call.ID
	return pendingCall{ToolCall: described}
}

func (t *turn) flawed(call domain.ToolCall, flaw error) pendingCall {
	call.Summary = fmt.Sprintf("Call the tool %q with arguments that do not fit", call.Tool)
	if tool, known := t.agent.tools.lookup(call.Tool); known {
		call.Class = tool.Definition().Class
	} else {
		call.Summary = fmt.Sprintf("Call the tool %q, which does not exist", call.Tool)
	}
	return pendingCall{ToolCall: call, flaw: flaw}
}

// argumentsOf keeps what the model wrote. What is not JSON becomes a JSON string, so that the log can hold it, and so does what is
// nested so deep that clients could not read it; for a tool without parameters some models write nothing at all.
func argumentsOf(written string) json.RawMessage {
	switch {
	case written == "":
		return json.RawMessage("{}")
	case !domain.TooDeep([]byte(written)) && json.Valid([]byte(written)):
		return json.RawMessage(written)
	default:
		return quoted(written)
	}
}

func quoted(text string) json.RawMessage {
	encoded, err := json.Marshal(text)
	if err != nil { // a string always encodes
		panic("llm: " + err.Error())
	}
	return encoded
}

// settle gets a result for every call, all at once, and adds the results to the history in the order of the calls.
// It returns when no call runs any more; the first error ends the others. With a call that has handed in blocks,
// the turn ends, so that the model is never sent the empty result that stands here for it.
func (t *turn) settle(ctx context.Context, calls []pendingCall) error {
	t.single(calls)
	outputs := make([]string, len(calls))
	if err := t.resolveAll(ctx, calls, outputs); err != nil {
		if ended := ctx.Err(); ended != nil {
			return ended
		}
		return err
	}
	t.rememberResults(calls, outputs)
	return nil
}

// rememberResults adds what the model is told of its calls to the history. Inlined, it would take its room in the stack that waits.
//
//go:noinline
func (t *turn) rememberResults(calls []pendingCall, outputs []string) {
	t.history = t.history[:len(t.history):len(t.history)]
	for i := range calls {
		t.history = append(t.history, domain.Message{Role: domain.RoleTool, ToolCallID: calls[i].ID, Text: outputs[i]})
	}
}

// resolveAll fills in what the model is told of each call. One call alone needs no goroutine: it may wait for days, and so would the goroutine.
func (t *turn) resolveAll(ctx context.Context, calls []pendingCall, outputs []string) (err error) {
	if len(calls) == 1 {
		running, end := context.WithCancel(ctx) // as in a group: what a call has left behind ends with it
		defer end()
		outputs[0], err = t.resolve(running, &calls[0])
		return err
	}
	group, running := errgroup.WithContext(ctx)
	for i := range calls {
		group.Go(func() (err error) {
			outputs[i], err = t.resolve(running, &calls[i])
			return err
		})
	}
	return group.Wait()
}

// resolve brings one call to its end and returns what the model is told. Calls are large; they are handed down by their address,
// because a stack that is half as deep is half as large for as long as somebody waits on it.
func (t *turn) resolve(ctx context.Context, call *pendingCall) (string, error) {
	if call.flaw != nil {
		return t.refuse(ctx, call.ID, call.flaw)
	}
	found, _ := t.agent.tools.lookup(call.Tool) // check has found it
	switch tool := found.(type) {
	case tools.Asker:
		return t.inquire(ctx, tool, &call.ToolCall)
	case tools.SubmitBlocks:
		return t.submit(ctx, tool, &call.ToolCall)
	case *tools.ClientTool:
		return t.callClient(ctx, &call.ToolCall)
	default:
		return t.perform(ctx, found, &call.ToolCall)
	}
}

// callClient has the client run the call. Inlined, it would take its room in every call's stack.
//
//go:noinline
func (t *turn) callClient(ctx context.Context, call *domain.ToolCall) (string, error) {
	return t.host.CallClient(ctx, *call)
}

// perform runs a call here, where it is allowed.
func (t *turn) perform(ctx context.Context, tool tools.Tool, call *domain.ToolCall) (string, error) {
	grant, err := t.host.Authorize(ctx, *call)
	if err != nil {
		return "", err
	}
	if !grant.Allowed {
		return grant.Message, nil
	}
	return t.runAllowed(ctx, tool, call, &grant)
}

// runAllowed runs the call with the arguments that were allowed.
func (t *turn) runAllowed(ctx context.Context, tool tools.Tool, call *domain.ToolCall, grant *domain.Grant) (string, error) {
	allowed := *call
	allowed.Arguments = grant.Arguments
	host := callHost{t.host, call.Tool, grant.Approved}
	return t.run(ctx, allowed, func() tools.Result { return tool.Run(ctx, host, allowed) })
}

// callHost is the host of one call: it says of a command whose it is, so that no tool forgets to.
type callHost struct {
	domain.Host
	tool     string
	approved bool
}

func (h callHost) Run(ctx context.Context, command domain.Command, output io.Writer) (domain.CommandResult, error) {
	command.Tool, command.Approved = h.tool, h.approved
	return h.Host.Run(ctx, command, output)
}

// refuse ends a call that cannot even be judged.
func (t *turn) refuse(ctx context.Context, callID string, flaw error) (string, error) {
	failure := domain.FailureOf(flaw)
	return failure.Message, t.host.Emit(ctx, domain.ToolCallCompleted{
		ToolCallID: callID, Fate: domain.FateFailed, Output: failure.Message, Error: &failure,
	})
}

// inquire puts the call's question to a person, whose answer is all the work that there is. After a restart, the session
// knows the question by its call, and answers it as it was answered before.
func (t *turn) inquire(ctx context.Context, asker tools.Asker, call *domain.ToolCall) (string, error) {
	form, err := asker.Form(call.Arguments)
	if err != nil {
		return t.refuse(ctx, call.ID, err)
	}
	answer, err := t.host.Ask(ctx, domain.Question{Kind: domain.ApprovalQuestion, Call: *call, Form: form})
	switch {
	case err != nil:
		return "", err
	case answer.Status == domain.ApprovalApproved:
		return t.run(ctx, *call, func() tools.Result { return asker.Answered(call.Arguments, answer.Content) })
	default:
		return cmp.Or(answer.Message, noAnswer), nil
	}
}

// run does the work of an allowed call. Of work that ctx has cut off nothing is told: whether it is cancelled or its
// outcome unknown depends on why the session ends, and only the session knows that.
func (t *turn) run(ctx context.Context, call domain.ToolCall, work func() tools.Result) (string, error) {
	begun := time.Now()
	result := t.agent.mask.result(t.guarded(ctx, call, work))
	if err := ctx.Err(); err != nil {
		return "", err
	}
	completed := domain.ToolCallCompleted{
		ToolCallID:  call.ID,
		Fate:        domain.FateSucceeded,
		Output:      result.Output,
		ModelOutput: result.ModelOutput,
		Truncated:   result.Truncated,
		ExitCode:    result.ExitCode,
		DurationMs:  time.Since(begun).Milliseconds(),
		Error:       result.Failure,
	}
	if result.Failure != nil {
		completed.Fate = domain.FateFailed
	}
	return completed.ForModel(), t.host.Emit(ctx, completed)
}

// guarded turns a panic into a failed call: a bug in one tool must not end the execution, much less the server.
func (t *turn) guarded(ctx context.Context, call domain.ToolCall, work func() tools.Result) (result tools.Result) {
	defer func() {
		if bug := recover(); bug != nil {
			t.agent.logger.ErrorContext(ctx, "tool panicked", "tool", call.Tool, "toolCallId", call.ID,
				"executionId", t.agent.task.id, "panic", fmt.Sprint(bug), "stack", string(debug.Stack()))
			failure := domain.Failure{Code: domain.CodeInternal, Message: "The tool broke down. It may have done part of its work."}
			result = tools.Result{Output: failure.Message, Failure: &failure}
		}
	}()
	return work()
}
