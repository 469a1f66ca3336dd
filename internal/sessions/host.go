package sessions

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/domain"
)

// host is what the session offers its agent. It runs in the agent's goroutines and touches nothing of the session but
// the inbox.
type host struct {
	inbox     *inbox
	directory string
	workspace *Workspace
	sandbox   Sandbox
	debug     bool
}

var _ domain.Host = (*host)(nil)

func (h *host) Emit(ctx context.Context, payload domain.Payload) error {
	if !tellable(payload) {
		return fmt.Errorf("sessions: %s is not for an agent to tell", payload.EventType())
	}
	return h.inbox.say(ctx, payload)
}

// tellable lists what is the agent's to tell. Most starts, decisions, states and ends are the session's: an agent that
// could tell them could forge them. The start of a call is the agent's where it did not ask.
func tellable(payload domain.Payload) bool {
	switch p := payload.(type) {
	case domain.MessageDelta, domain.MessageCompleted, domain.ThoughtDelta, domain.ThoughtCompleted,
		domain.ToolCallRequested, domain.ToolCallUpdated, domain.ToolCallReported, domain.ToolCallCompleted,
		domain.PlanUpdated, domain.UsageUpdated, domain.RateLimitUpdated, domain.ModelRetrying,
		domain.AgentUpdated, domain.AgentModeChanged, domain.CommandsUpdated, domain.AgentSilent, domain.AgentStderr,
		domain.AgentExited:
		return true
	case domain.ToolCallStarted:
		return p.AllowedBy == string(approvals.ByAgent) && p.ApprovalID == "" && p.RuleID == ""
	default:
		return false
	}
}

func (h *host) Authorize(ctx context.Context, call domain.ToolCall) (domain.Grant, error) {
	answer, err := h.put(ctx, domain.Question{Kind: domain.ApprovalToolCall, Call: call})
	return answer.grant, err
}

func (h *host) Ask(ctx context.Context, question domain.Question) (domain.Answer, error) {
	answer, err := h.put(ctx, question)
	return answer.answer, err
}

func (h *host) put(ctx context.Context, question domain.Question) (reply, error) {
	asked := &ask{Question: question, reply: make(chan reply, 1)}
	if err := h.inbox.put(item{ask: asked}); err != nil {
		return reply{}, err
	}
	select {
	case answer := <-asked.reply:
		return answer, nil
	case <-h.inbox.over:
		return reply{}, errOver
	case <-ctx.Done():
		if !asked.ours() {
			_ = h.inbox.put(item{withdrawn: asked}) // refused only where the session is over
		}
		return reply{}, context.Cause(ctx)
	}
}

func (h *host) OpenFile(_ context.Context, path string) (fs.File, error) {
	return h.workspace.open(h.directory, path)
}

func (h *host) WriteFile(_ context.Context, path string, content []byte) error {
	return h.workspace.write(h.directory, path, content)
}

func (h *host) Run(ctx context.Context, command domain.Command, output io.Writer) (domain.CommandResult, error) {
	if command.Dir == "" {
		command.Dir = h.directory
	}
	return h.sandbox.Run(ctx, command, output)
}

// traceBytes is how much of one raw message is kept.
const traceBytes = 64 << 10

func (h *host) Trace(direction domain.Direction, message []byte) {
	if !h.debug {
		return
	}
	kept := message[:min(len(message), traceBytes)]
	h.inbox.trace(domain.DebugMessage{
		Time: time.Now().UTC(), Direction: direction, Message: strings.ToValidUTF8(string(kept), "\uFFFD"), Bytes: len(message),
	})
}
