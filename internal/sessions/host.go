package sessions

import (
	"context"
	"fmt"
	"io"
	"io/fs"

	"signoff/internal/domain"
)

// host is what the session offers its agent. It runs in the agent's goroutines and touches nothing of the session but
// the inbox.
type host struct {
	inbox     *inbox
	directory string
	workspace *Workspace
	sandbox   Sandbox
}

var _ domain.Host = (*host)(nil)

func (h *host) Emit(ctx context.Context, payload domain.Payload) error {
	switch payload.(type) {
	case domain.MessageDelta, domain.MessageCompleted, domain.ThoughtDelta, domain.ThoughtCompleted,
		domain.ToolCallRequested, domain.ToolCallUpdated, domain.ToolCallCompleted,
		domain.UsageUpdated, domain.ModelRetrying:
		return h.inbox.say(ctx, payload)
	default: // starts, decisions, states and ends are the session's: an agent that could tell them could forge them
		return fmt.Errorf("sessions: %s is not for an agent to tell", payload.EventType())
	}
}

func (h *host) Authorize(ctx context.Context, call domain.ToolCall) (domain.Grant, error) {
	question := &ask{call: call, reply: make(chan domain.Grant, 1)}
	if err := h.inbox.put(item{ask: question}); err != nil {
		return domain.Grant{}, err
	}
	select {
	case grant := <-question.reply:
		return grant, nil
	case <-h.inbox.over:
		return domain.Grant{}, errOver
	case <-ctx.Done():
		return domain.Grant{}, context.Cause(ctx)
	}
}

func (h *host) OpenFile(_ context.Context, path string) (fs.File, error) {
	return h.workspace.open(h.directory, path)
}

func (h *host) Run(ctx context.Context, command domain.Command, output io.Writer) (domain.CommandResult, error) {
	if command.Dir == "" {
		command.Dir = h.directory
	}
	return h.sandbox.Run(ctx, command, output)
}
