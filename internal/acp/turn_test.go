package acp

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/tools/hosttest"
)

func TestTurn(t *testing.T) {
	r := newRig(t).open()
	r.runs("think Hm.", `say "Hello, "`, "say world", "call c1 kind=execute title=ls input={\"command\":\"ls\"}",
		"update c1 in_progress", "update c1 completed done", "say Bye")
	want(t, "text", r.host.Text(), "Hello, worldBye")
	want(t, "thought", r.host.Thought(), "Hm.")
	var types []string
	for _, payload := range r.host.Payloads() {
		types = append(types, string(payload.EventType()))
	}
	want(t, "events", strings.Join(types, " "), "thought.delta thought.completed message.delta message.delta "+
		"message.completed toolCall.requested toolCall.reported toolCall.reported toolCall.started toolCall.reported "+
		"toolCall.completed message.delta message.completed")
}

func TestPermission(t *testing.T) {
	r := newRig(t).open()
	r.host.Answer = func(_ context.Context, q domain.Question) (domain.Answer, error) {
		return domain.Answer{Status: domain.ApprovalApproved, OptionID: "yes"}, nil
	}
	r.runs("call c1 kind=execute title=ls", "ask c1 options=yes:allow_once,no:reject_once")
	if !strings.Contains(r.host.Text(), "c1 answer=yes") {
		t.Errorf("the agent heard %q", r.host.Text())
	}
}

func TestCancel(t *testing.T) {
	r := newRig(t).open()
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	r.host.Answer = func(ctx context.Context, _ domain.Question) (domain.Answer, error) {
		cancel(stopped)
		<-ctx.Done()
		return domain.Answer{}, context.Cause(ctx)
	}
	begun := time.Now()
	_, err := r.prompt(ctx, "oncancel needanswer", "ask c1")
	if !errors.Is(err, stopped) || time.Since(begun) > 2*time.Second {
		t.Errorf("got %v after %v", err, time.Since(begun))
	}
	r.host.Answer = nil
	r.runs("say again")
	if exits := hosttest.Of[domain.AgentExited](r.outside); len(exits) != 0 {
		t.Errorf("it has exited: %v", exits)
	}
}

func TestCrash(t *testing.T) {
	r := newRig(t).open()
	_, err := r.prompt(t.Context(), "stderr the disk is full", "say Hel", "crash 3")
	message := r.fails(err, domain.CodeAgentExited)
	if !strings.Contains(message, "exit code 3") || !strings.Contains(message, "the disk is full") {
		t.Errorf("the message is %q", message)
	}
}
