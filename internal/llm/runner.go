package llm

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
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

// runner brings the calls of a turn's answers to their end.
type runner struct {
	host      domain.Host
	tools     *toolset
	mask      mask
	logger    *slog.Logger
	execution *domain.Execution

	submitted string // the call that has handed in blocks; it stays open
}

// pendingCall is a call that has no result yet. flaw is why it cannot even be judged; then nobody is asked.
type pendingCall struct {
	domain.ToolCall
	flaw  error
	files []domain.PromptPart // pictures of its result
}

// request is the calls of an answer, and the events that show them before they are judged.
func (r *runner) request(messageID string, asked []provider.Call) (calls []pendingCall, told []domain.Payload) {
	for i, wanted := range asked {
		call := r.prepare(wanted, i)
		calls = append(calls, call)
		told = append(told, domain.ToolCallRequested{
			ToolCallID: call.ID,
			MessageID:  messageID,
			Tool:       call.Tool,
			Class:      call.Class,
			Arguments:  call.Arguments,
			Summary:    call.Summary,
			MCP:        call.MCP,
		})
	}
	return calls, told
}

// prepare gives the call its id and checks it. The arguments are masked before anything is cut: half a secret would not be
// known as one.
func (r *runner) prepare(wanted provider.Call, position int) pendingCall {
	call := domain.ToolCall{ID: "call_" + randomName(20), Tool: shownName(r.mask.MaskString(wanted.Name))}
	written := argumentsOf(wanted.Arguments)
	call.Arguments = r.mask.JSON(written)
	exposed := !bytes.Equal(call.Arguments, written)
	if len(wanted.Arguments) > maxArgumentBytes {
		call.Arguments = domain.Encode(string(call.Arguments[:min(len(call.Arguments), shownArguments)]) + "…")
		return r.flawed(call, domain.Errorf(domain.CodeInvalidArguments,
			"The arguments have %d bytes; at most %d are allowed.", len(wanted.Arguments), maxArgumentBytes))
	}
	if exposed {
		return r.flawed(call, domain.Errorf(domain.CodeSecretExposed,
			"The arguments hold the value of a secret; name the secret instead."))
	}
	if domain.TooDeep([]byte(wanted.Arguments)) {
		return r.flawed(call, domain.Errorf(domain.CodeInvalidArguments,
			"The arguments are nested deeper than %d levels.", domain.MaxDepth))
	}
	if position >= maxCalls {
		return r.flawed(call, domain.Errorf(domain.CodeInvalidArguments,
			"At most %d tool calls are allowed at once; this one is too many.", maxCalls))
	}
	return r.check(call)
}

// again checks a call that a restart has left without a result. If it had started, it goes on with the arguments that it started with.
func (r *runner) again(call domain.ToolCall) pendingCall {
	if call.Edited != nil {
		call.Arguments = call.Edited
	}
	return r.check(call)
}

// check has the tool read the arguments; it fills in what the tool says of itself.
func (r *runner) check(call domain.ToolCall) pendingCall {
	described, err := r.tools.describe(call.Tool, call.Arguments, r.execution.Request.WorkingDirectory)
	if err != nil {
		return r.flawed(call, err)
	}
	described.ID = call.ID
	return pendingCall{ToolCall: described}
}

func (r *runner) flawed(call domain.ToolCall, flaw error) pendingCall {
	call.Summary = fmt.Sprintf("Call the tool %q with arguments that do not fit", call.Tool)
	if tool, known := r.tools.lookup(call.Tool); known {
		call.Class = tool.Definition().Class
	} else {
		call.Summary = fmt.Sprintf("Call the tool %q, which does not exist", call.Tool)
	}
	return pendingCall{ToolCall: call, flaw: flaw}
}

// run gets a result for every call, all at once, and returns the results for the model, in the order of the calls. It returns when no call
// runs any more; the first error ends the others.
func (r *runner) run(ctx context.Context, calls []pendingCall) ([]string, error) {
	outputs := make([]string, len(calls))
	if len(calls) == 1 { // needs no goroutine: it may wait for days, and so would the goroutine
		running, end := context.WithCancel(ctx) // as in a group: what a call has left behind ends with it
		defer end()
		output, err := r.resolve(running, &calls[0])
		if err != nil {
			return nil, cmp.Or(ctx.Err(), err)
		}
		outputs[0] = output
		return outputs, nil
	}
	group, running := errgroup.WithContext(ctx)
	for i := range calls {
		group.Go(func() (err error) {
			outputs[i], err = r.resolve(running, &calls[i])
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, cmp.Or(ctx.Err(), err)
	}
	return outputs, nil
}

// resolve brings one call to its end and returns its result for the model. Calls are large; they are handed down by their address,
// because somebody may wait on this stack: with them in it, it holds 16 KB and not 8, of some 31 of a waiting approval (BenchmarkWaiting).
func (r *runner) resolve(ctx context.Context, call *pendingCall) (string, error) {
	if call.flaw != nil {
		return r.refuse(ctx, call.ID, call.flaw)
	}
	found, _ := r.tools.lookup(call.Tool) // check has found it
	switch tool := found.(type) {
	case tools.Asker:
		return r.inquire(ctx, tool, &call.ToolCall)
	case tools.SubmitBlocks:
		return r.submit(ctx, tool, &call.ToolCall)
	case *tools.ClientTool:
		return r.callClient(ctx, &call.ToolCall)
	case tools.DelegationTool:
		return r.delegate(ctx, &call.ToolCall)
	default:
		return r.perform(ctx, found, call)
	}
}

// callClient has the client run the call.
//
//go:noinline // its copy of the call would lie in the stack of each call that waits; see resolve
func (r *runner) callClient(ctx context.Context, call *domain.ToolCall) (string, error) {
	return r.host.CallClient(ctx, *call)
}

// delegate has children do the work of the call.
//
//go:noinline // as callClient
func (r *runner) delegate(ctx context.Context, call *domain.ToolCall) (string, error) {
	return r.host.Delegate(ctx, *call)
}

// perform runs a call here, where it is allowed.
func (r *runner) perform(ctx context.Context, tool tools.Tool, call *pendingCall) (string, error) {
	grant, err := r.host.Authorize(ctx, call.ToolCall)
	if err != nil {
		return "", err
	}
	if !grant.Allowed {
		return grant.Message, nil
	}
	return r.runAllowed(ctx, tool, call, &grant)
}

// runAllowed runs the call with the arguments that were allowed.
func (r *runner) runAllowed(ctx context.Context, tool tools.Tool, call *pendingCall, grant *domain.Grant) (output string, err error) {
	allowed := call.ToolCall
	allowed.Arguments = grant.Arguments
	host := callHost{r.host, call.ID, call.Tool, grant.Approved}
	do := func() tools.Result { return tool.Run(ctx, host, allowed) }
	if continuer, is := tool.(tools.Continuer); is && grant.Continues != nil {
		do = func() tools.Result { return continuer.Continue(ctx, host, allowed, *grant.Continues) }
	}
	output, call.files, err = r.work(ctx, allowed, do)
	return domain.EditNote(grant.EditedBy, allowed.Arguments) + grant.Note + output, err // as a restart finds it, see [domain.Transcript]
}

// submit hands in the blocks of a call. The call gets no result: the person's decision is its result, and may take days.
func (r *runner) submit(ctx context.Context, tool tools.SubmitBlocks, call *domain.ToolCall) (string, error) {
	blocks, err := tool.Blocks(call.Arguments)
	if err != nil {
		return r.refuse(ctx, call.ID, err)
	}
	if err := r.host.SubmitBlocks(ctx, *call, blocks); err != nil {
		return "", err
	}
	r.submitted = call.ID // no other call of the answer comes here; see turn.single
	return "", nil
}

// callHost is the host of one call: it says of a command or a change whose it is, so that no tool forgets to.
type callHost struct {
	domain.Host
	id       string
	tool     string
	approved bool
}

// Run implements [domain.Host].
func (h callHost) Run(ctx context.Context, command domain.Command, output io.Writer) (domain.CommandResult, error) {
	command.Tool, command.Approved = h.tool, h.approved
	return h.Host.Run(ctx, command, output)
}

// WriteFiles implements [domain.Host].
func (h callHost) WriteFiles(ctx context.Context, changes ...domain.FileChange) error {
	changes = slices.Clone(changes)
	for i := range changes {
		changes[i].ToolCallID = h.id
	}
	return h.Host.WriteFiles(ctx, changes...)
}

// refuse ends a call that cannot even be judged.
func (r *runner) refuse(ctx context.Context, callID string, flaw error) (string, error) {
	failure := domain.FailureOf(flaw)
	return failure.Message, r.host.Emit(ctx, domain.ToolCallCompleted{
		ToolCallID: callID, Outcome: domain.OutcomeFailed, Output: failure.Message, Error: &failure,
	})
}

// inquire puts the call's question to a person, whose answer is all the work that there is. After a restart, the session
// knows the question by its call, and answers it as it was answered before.
func (r *runner) inquire(ctx context.Context, asker tools.Asker, call *domain.ToolCall) (string, error) {
	form, err := asker.Form(call.Arguments)
	if err != nil {
		return r.refuse(ctx, call.ID, err)
	}
	answer, err := r.host.Ask(ctx, domain.Question{Kind: domain.ApprovalQuestion, Call: *call, Form: form})
	switch {
	case err != nil:
		return "", err
	case answer.Status == domain.ApprovalApproved:
		output, _, err := r.work(ctx, *call, func() tools.Result { return asker.Answered(call.Arguments, answer.Content) })
		return output, err
	default:
		return cmp.Or(answer.Message, noAnswer), nil
	}
}

// work does the work of an allowed call. Of work that ctx has cut off nothing is told: whether it is cancelled or its
// outcome unknown depends on why the session ends, and only the session knows that.
func (r *runner) work(ctx context.Context, call domain.ToolCall, do func() tools.Result) (output string, files []domain.PromptPart, err error) {
	begun := time.Now()
	result := r.mask.result(r.guarded(ctx, call, do))
	if err := ctx.Err(); err != nil {
		return "", nil, err
	}
	completed := domain.ToolCallCompleted{
		ToolCallID:  call.ID,
		Outcome:     outcomeOf(result.Failure),
		Output:      result.Output,
		ModelOutput: result.ModelOutput,
		Truncated:   result.Truncated,
		ExitCode:    result.ExitCode,
		DurationMs:  time.Since(begun).Milliseconds(),
		Error:       result.Failure,
		Files:       result.Files,
	}
	return completed.ForModel(), domain.PictureParts(completed.Files), r.host.Emit(ctx, completed)
}

func outcomeOf(failure *domain.Failure) domain.Outcome {
	switch {
	case failure == nil:
		return domain.OutcomeSucceeded
	case failure.Code == domain.CodeOutcomeUnknown:
		return domain.OutcomeUnknown
	default:
		return domain.OutcomeFailed
	}
}

// guarded turns a panic into a failed call: a bug in one tool must not end the execution, much less the server.
func (r *runner) guarded(ctx context.Context, call domain.ToolCall, do func() tools.Result) (result tools.Result) {
	defer func() {
		if bug := recover(); bug != nil {
			r.logger.ErrorContext(ctx, "tool panicked", "tool", call.Tool, "toolCallId", call.ID,
				"executionId", r.execution.ID, "panic", fmt.Sprint(bug), "stack", string(debug.Stack()))
			failure := domain.Failure{Code: domain.CodeInternal, Message: "The tool broke down. It may have done part of its work."}
			result = tools.Result{Output: failure.Message, Failure: &failure}
		}
	}()
	return do()
}

// shownName is a tool's name as a model wrote it, fit for a log.
func shownName(name string) string {
	name = strings.ToValidUTF8(name, "\uFFFD")
	if runes := []rune(name); len(runes) > 100 {
		return string(runes[:100]) + "…"
	}
	return name
}
