package sessions

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/audit"
	"signoff/internal/budgets"
	"signoff/internal/checkpoints"
	"signoff/internal/domain"
	"signoff/internal/failpoint"
	"signoff/internal/secrets"
	"signoff/internal/store"
)

// host is what the session offers its agent. It runs in the agent's goroutines, and of the session it uses only the inbox.
type host struct {
	inbox     *inbox
	execution *domain.Execution // the session's; its fields never change
	runbook   domain.Runbook    // as it is in this turn
	epoch     int64             // of the driver that has opened the agent
	policy    approvals.Policy  // without rules: they are read for each command
	lease     func() error      // nil as long as this server may write
	sandbox   Sandbox
	store     Store
	vault     Vault
	masker    *secrets.Masker

	environment *environment
	viewed      *viewedFiles // nil: the execution is in no tree
	guide       Guide

	shares bool // others worked in the folder when the first turn began

	keeper        *checkpoints.Keeper // nil: the execution takes no checkpoints
	noCheckpoints string              // why the execution takes none although its request asks for them; empty: it takes them

	ledger Ledger
	holder budgets.Holder
	share  *share // of the turn of an external agent; nil: the agent reserves each request itself
}

var _ domain.Host = (*host)(nil)

func (h *host) Emit(ctx context.Context, payloads ...domain.Payload) error {
	return h.emit(ctx, nil, payloads)
}

func (h *host) EmitAnswer(ctx context.Context, state domain.AnswerState, payloads ...domain.Payload) error {
	if len(state.State) == 0 {
		return h.emit(ctx, nil, payloads)
	}
	return h.emit(ctx, &state, payloads)
}

func (h *host) emit(ctx context.Context, state *domain.AnswerState, payloads []domain.Payload) error {
	payloads = slices.Clone(payloads)
	for i, payload := range payloads {
		if !emittable(payload) {
			return fmt.Errorf("sessions: %s is not for an agent to tell", payload.EventType())
		}
		payloads[i] = h.maskProgress(payload)
		if used, is := payload.(domain.UsageUpdated); is && h.share != nil {
			h.share.report(used.Usage)
		}
	}
	if err := h.inbox.emit(ctx, state, payloads); err != nil || h.keeper == nil {
		return err
	}
	for _, payload := range payloads {
		if done, is := payload.(domain.ToolCallCompleted); is {
			if err := h.keeper.AfterCall(ctx, done.ToolCallID); err != nil {
				return err
			}
		}
	}
	return nil
}

// emittable reports whether the agent may emit the event. The start of a call is the agent's only if the agent did not ask.
func emittable(payload domain.Payload) bool {
	if started, is := payload.(domain.ToolCallStarted); is {
		return started.AllowedBy == string(approvals.ByAgent) && started.ApprovalID == "" && started.RuleID == ""
	}
	return payload.EventType().FromAgent()
}

func (h *host) Authorize(ctx context.Context, call domain.ToolCall) (domain.Grant, error) {
	answer, err := h.await(ctx, newAsk(domain.Question{Kind: domain.ApprovalToolCall, Call: call}))
	if err != nil || !answer.grant.Allowed {
		return answer.grant, err
	}
	if err := h.beforeCall(ctx, call); err != nil {
		return h.refuseUncovered(ctx, call, err)
	}
	return answer.grant, nil
}

func (h *host) Ask(ctx context.Context, question domain.Question) (domain.Answer, error) {
	answer, err := h.await(ctx, newAsk(question))
	return answer.answer, err
}

func (h *host) Inquire(ctx context.Context, inquiry domain.Inquiry) (domain.Answer, error) {
	if err := inquirable(inquiry); err != nil {
		return domain.Answer{}, err
	}
	asked := newAsk(inquiry.Question)
	asked.Kind, asked.inquires, asked.repeat = domain.ApprovalQuestion, true, inquiry.Repeat
	answer, err := h.await(ctx, asked)
	return answer.answer, cmp.Or(err, answer.err)
}

func (h *host) Reserve(ctx context.Context, request domain.Estimate) (domain.Reservation, error) {
	return h.ledger.Reserve(ctx, h.holder, request)
}

func (h *host) CallClient(ctx context.Context, call domain.ToolCall) (string, error) {
	asked := newAsk(domain.Question{Kind: domain.ApprovalToolCall, Call: call})
	asked.client = true
	answer, err := h.await(ctx, asked)
	return answer.grant.Message, err
}

func (h *host) Delegate(ctx context.Context, call domain.ToolCall) (string, error) {
	asked := newAsk(domain.Question{Kind: domain.ApprovalToolCall, Call: call})
	asked.delegates = true
	answer, err := h.await(ctx, asked)
	return answer.grant.Message, err
}

func (h *host) SubmitBlocks(ctx context.Context, call domain.ToolCall, blocks json.RawMessage) error {
	handed := &submission{call: call, blocks: blocks, reply: make(chan error, 1)}
	if err := h.inbox.put(item{submitted: handed}); err != nil {
		return err
	}
	select {
	case err := <-handed.reply:
		return err
	case <-h.inbox.over:
		return errOver
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (h *host) Runbook() domain.Runbook { return h.runbook }

func (h *host) await(ctx context.Context, asked *ask) (reply, error) {
	if err := h.inbox.put(item{ask: asked}); err != nil {
		return reply{}, err
	}
	select {
	case answer := <-asked.reply:
		return answer, nil
	case <-h.inbox.over:
		return reply{}, errOver
	case <-ctx.Done():
		if asked.needsAsker() && (asked.inquires || h.execution.Request.Source.Type == domain.SourceACP) {
			_ = h.inbox.put(item{withdrawn: asked}) // refused only where the session is over
		}
		return reply{}, context.Cause(ctx)
	}
}

func (h *host) Environment() domain.Environment { return h.environment.Environment }

func (h *host) Surroundings(ctx context.Context) string {
	if h.guide == nil || h.environment.Name == "" {
		return ""
	}
	text := h.guide.Describe(ctx, h.environment.Environment, h.environment.directory, h.environment.err)
	if h.shares {
		text = strings.TrimSuffix(text, "\n") + "\n" + sharesFolder
	}
	return text
}

// explained says of a path that the environment does not show which one does. What the reason is for the file system, nobody learns from it.
func (h *host) explained(path string, write bool, err error) error {
	code := domain.CodeOf(err)
	if err == nil || h.guide == nil || h.environment.Name == "" || code != domain.CodeToolFailed && code != domain.CodePathOutsideWorkspace {
		return err
	}
	if why := h.guide.Path(h.environment.Environment, h.environment.directory, path, write); why != "" {
		return domain.Errorf(code, "%s", why).With(err)
	}
	return err
}

func (h *host) OpenFile(ctx context.Context, path string) (fs.File, error) {
	files, err := h.environment.access(ctx)
	if err != nil {
		return nil, err
	}
	file, err := files.Open(ctx, path)
	return file, h.explained(path, false, err)
}

func (h *host) ViewFile(ctx context.Context, path string, show func(file fs.File) error) error {
	return h.viewed.view(ctx, path, func() (fs.File, error) { return h.OpenFile(ctx, path) }, show)
}

func (h *host) ReadDir(ctx context.Context, path string) ([]fs.DirEntry, error) {
	files, err := h.environment.access(ctx)
	if err != nil {
		return nil, err
	}
	entries, err := files.List(ctx, path)
	return entries, h.explained(path, false, err)
}

// WriteFiles writes nothing after the end of the turn or of the lease, also if this process stood still meanwhile: by then another
// server may have reported the call as one of unknown outcome.
func (h *host) WriteFiles(ctx context.Context, changes ...domain.FileChange) error {
	files, err := h.environment.access(ctx)
	if err != nil {
		return err
	}
	err = h.viewed.change(ctx, changes, func(changes []domain.FileChange) error {
		return h.recorded(ctx, changes, func() error {
			failpoint.Hit(failpoint.BeforeFileChange)
			defer failpoint.Hit(failpoint.AfterFileChange)
			return files.Change(ctx, changes, func() error {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				return h.lease()
			})
		})
	})
	for _, change := range changes {
		if explained := h.explained(change.Path, true, err); explained != err { //nolint:errorlint // the same, or another
			return explained
		}
	}
	return err
}

func (h *host) Run(ctx context.Context, command domain.Command, output io.Writer) (domain.CommandResult, error) {
	if command.Dir == "" {
		command.Dir = h.execution.Request.WorkingDirectory
	}
	if h.environment.err != nil {
		return domain.CommandResult{}, h.environment.err
	}
	command.Environment = h.environment.Environment
	if len(command.Secrets) > 0 { // only here: no tool and no model ever holds a value
		values, err := h.vault.Environment(command.Secrets)
		if err != nil {
			return domain.CommandResult{}, err
		}
		command.Env, command.Secrets = append(slices.Clone(command.Env), values...), nil
	}
	denied, err := h.denied(ctx, command)
	if err != nil {
		return domain.CommandResult{}, err
	}
	command.Denied = denied
	return h.run(ctx, command, output)
}

// run shows what the command prints without secrets, and notes what it was refused.
func (h *host) run(ctx context.Context, command domain.Command, output io.Writer) (domain.CommandResult, error) {
	var reader OutputReader
	if h.guide != nil && command.Environment.View != "" {
		reader = h.guide.Reader(command.Environment, command.Dir, command.Hosts)
		output = io.MultiWriter(output, reader)
	}
	masked := &maskedOutput{to: output, masker: h.masker}
	failpoint.Hit(failpoint.BeforeToolRun)
	result, err := h.sandbox.Run(ctx, command, masked)
	failpoint.Hit(failpoint.AfterToolRun)
	masked.close()
	if reader != nil {
		result.Notes = reader.Notes()
	}
	return result, err
}

// maskedOutput masks the output of a command before its tool gets it. A tool cuts a long output, and a masker does not find half a
// value.
type maskedOutput struct {
	to     io.Writer
	masker *secrets.Masker

	mu     sync.Mutex
	stream *secrets.Stream // made with the first output: by then the masker knows the files that are lent to the command
}

// Write implements io.Writer.
func (m *maskedOutput) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stream == nil {
		m.stream = secrets.NewStream(m.masker)
	}
	if shown := m.stream.Write(string(p)); shown != "" {
		if _, err := io.WriteString(m.to, shown); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// close writes the rest that may have been the beginning of a value. The command has ended.
func (m *maskedOutput) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stream == nil {
		return
	}
	if rest := m.stream.Close(); rest != "" {
		_, _ = io.WriteString(m.to, rest) // the tool has its result already
	}
}

// denied lists what the permission rules of this moment deny to a command. It stands here so that no tool forgets it.
func (h *host) denied(ctx context.Context, command domain.Command) ([]domain.Denied, error) {
	rules, err := h.store.Rules(ctx, h.execution.Tenant, h.execution.ID)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, domain.Errorf(domain.CodeNotStarted, "The command did not begin, because the permission rules cannot be read now. "+
			"Nothing of it has run; it may be tried again.").With(err)
	}
	policy := h.policy
	policy.Rules, policy.Environment, policy.Isolation = rules, h.environment.now(), IsolationIn(h.sandbox, command.Environment)
	return policy.Denied(ctx, command, time.Now())
}

// ToolOutput reads the log, which has it in pieces; or, of a call that has printed nothing, as its result.
func (h *host) ToolOutput(ctx context.Context, toolCallID string) (string, error) {
	var output strings.Builder
	known, result := false, ""
	err := eachEvent(ctx, h.store, h.execution.ID, func(event domain.Event) error {
		switch payload, _ := event.Payload(); p := payload.(type) {
		case domain.ToolCallRequested:
			known = known || p.ToolCallID == toolCallID
		case domain.ToolCallUpdated:
			if p.ToolCallID == toolCallID {
				output.WriteString(p.Output)
			}
		case domain.ToolCallCompleted:
			if p.ToolCallID == toolCallID {
				result = p.Output
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	if !known {
		return "", domain.Errorf(domain.CodeNotFound, "There is no tool call %q in this execution.", toolCallID)
	}
	if output.Len() == 0 {
		return result, nil
	}
	return output.String(), nil
}

func (h *host) ReadFile(ctx context.Context, id domain.FileID) (domain.File, []byte, error) {
	return h.store.ExecutionFile(ctx, h.execution.ID, id)
}

func (h *host) SaveFile(ctx context.Context, name string, content []byte) (domain.File, error) {
	mediaType, err := domain.ResultMediaTypeOf(content)
	switch {
	case err != nil:
		return domain.File{}, err
	case len(content) > domain.MaxFileSize:
		return domain.File{}, domain.Errorf(domain.CodePayloadTooLarge, "A file has at most %d bytes; this one has %d.", domain.MaxFileSize, len(content))
	}
	return h.store.SaveFile(ctx, h.execution.Tenant, store.NewFile{
		ID: domain.NewFileID(approvals.NewID()), Name: domain.FileName(h.masker.MaskString(name)), MediaType: mediaType, Content: content,
		UsedBy: h.execution.ID, Epoch: h.epoch, Room: domain.MaxExecutionFiles,
	})
}

func (h *host) Memory(ctx context.Context, scope domain.MemoryScope) (domain.Memory, error) {
	scope, err := h.notes(scope)
	if err != nil {
		return domain.Memory{}, err
	}
	return h.store.Memory(ctx, h.execution.Tenant, scope)
}

func (h *host) SaveMemory(ctx context.Context, scope domain.MemoryScope, revision int64, content string) (domain.Memory, error) {
	scope, err := h.notes(scope)
	if err != nil {
		return domain.Memory{}, err
	}
	content = h.masker.MaskString(content)
	by := domain.Actor{Name: "execution " + string(h.execution.ID)}
	record := audit.Memory(scope, revision, len(content), by, audit.BySession).InTree(*h.execution)
	return h.store.SaveMemory(ctx, h.execution.Tenant, store.MemorySave{
		Scope: scope, Revision: revision, Content: content, By: by, Record: record, Execution: h.execution.ID, Epoch: h.epoch,
	})
}

// runbookScope stands for the execution's own runbook: a tool does not know its id, and must not choose another.
const runbookScope domain.MemoryScope = "runbook"

// notes is the scope that the agent names, if its execution may read and write it.
func (h *host) notes(scope domain.MemoryScope) (domain.MemoryScope, error) {
	own := domain.RunbookMemory(h.execution.Request.RunbookID)
	switch {
	case !h.execution.Request.Memory:
		return "", domain.Errorf(domain.CodePolicyDenied, "This execution has no memory.")
	case scope == domain.GlobalMemory:
		return scope, nil
	case h.execution.Request.RunbookID == "":
		return "", domain.Errorf(domain.CodeInvalidArguments, "This execution belongs to no runbook, so there are only global notes.")
	case scope == runbookScope || scope == own:
		return own, nil
	default:
		return "", domain.Errorf(domain.CodePolicyDenied, "These are the notes of another runbook.")
	}
}

// traceBytes is how much of one raw message is kept.
const traceBytes = 64 << 10

func (h *host) Trace(direction domain.Direction, message []byte) {
	if !h.execution.Request.Debug {
		return
	}
	size := len(message)
	message = h.masker.Mask(message) // before it is cut: a masker does not find half a secret
	kept := message[:min(len(message), traceBytes)]
	h.inbox.trace(domain.DebugMessage{
		Time: time.Now().UTC(), Direction: direction, Message: strings.ToValidUTF8(string(kept), "\uFFFD"), Bytes: size,
	})
}
