package llm

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/tools"
)

// defaultIterations stands where a request names no limit: a loop without an end is never what somebody wants.
const defaultIterations = 50

// agent answers the prompts of one execution.
type agent struct {
	name      string // of the model, in the registry
	model     Model
	provider  provider
	tools     *tools.Registry
	logger    *slog.Logger
	execution domain.Execution

	usage domain.Usage // of the execution so far; belongs to Prompt
}

var _ domain.Agent = (*agent)(nil)

// Introduction implements [domain.Agent]. The model stands in the execution's source.
func (a *agent) Introduction() domain.Introduction { return domain.Introduction{} }

// Close implements [domain.Agent]. Nothing is held between two prompts.
func (a *agent) Close() error { return nil }

// Prompt implements [domain.Agent].
func (a *agent) Prompt(ctx context.Context, host domain.Host, prompt domain.Prompt) (domain.StopReason, error) {
	t := &turn{agent: a, host: host, number: prompt.Turn, rounds: prompt.Rounds, history: prompt.History}
	if t.answered() {
		return domain.StopEndTurn, nil
	}
	if err := t.settle(ctx, t.unsettled()); err != nil {
		return "", err
	}
	for t.rounds < a.maxIterations() {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		stop, err := t.round(ctx)
		if err != nil || stop != "" {
			return stop, err
		}
	}
	return domain.StopMaxIterations, nil
}

func (a *agent) maxIterations() int {
	if limit := a.execution.Request.MaxIterations; limit > 0 {
		return limit
	}
	return defaultIterations
}

// turn is the state of one Prompt.
type turn struct {
	agent   *agent
	host    domain.Host
	number  int
	rounds  int // answers with tool calls, those before a restart included
	history []domain.Message
}

// round gets one answer and does what it asks for. It returns no stop reason where the model is to be asked again.
func (t *turn) round(ctx context.Context) (domain.StopReason, error) {
	answer, said, err := t.ask(ctx)
	if err != nil {
		return "", err
	}
	if err := t.count(ctx, answer.usage); err != nil {
		return "", err
	}
	switch {
	case answer.finish == finishLength: // the calls of a cut answer may be cut themselves, and run as something else
		return domain.StopMaxTokens, nil
	case answer.finish == finishRefusal:
		return domain.StopRefusal, nil
	case len(answer.calls) == 0:
		return domain.StopEndTurn, nil
	}
	calls, err := t.request(ctx, said.id, answer.calls)
	if err != nil {
		return "", err
	}
	t.rounds++
	t.remember(said, calls)
	return "", t.settle(ctx, calls)
}

// remember adds the model's answer to the history as the log has it.
func (t *turn) remember(said *message, calls []pendingCall) {
	message := domain.Message{Role: domain.RoleAssistant, Text: said.text.String(), Thought: said.thought.String()}
	for _, call := range calls {
		message.ToolCalls = append(message.ToolCalls, call.ToolCall)
	}
	t.history = append(t.history[:len(t.history):len(t.history)], message)
}

// count adds a request's usage to the execution's and tells it. A provider that reports nothing leaves nothing to tell.
func (t *turn) count(ctx context.Context, used domain.Usage) error {
	if used == (domain.Usage{}) {
		return nil
	}
	used.ContextUsed = contextUsed(used)
	if window := int64(t.agent.model.ContextWindow); window > 0 {
		used.ContextSize = &window
	}
	t.agent.usage = t.agent.usage.Add(used)
	return t.host.Emit(ctx, domain.UsageUpdated{Usage: t.agent.usage})
}

// contextUsed is what the next request will have before it: all that went in, and what came out.
func contextUsed(used domain.Usage) *int64 {
	if used.InputTokens == nil || used.OutputTokens == nil {
		return nil
	}
	total := *used.InputTokens + *used.OutputTokens
	return &total
}

// newMessageID names the message of an attempt. The numbers are for people who read a log; the random end keeps the
// id unique when the same round is asked for again after a restart.
func (t *turn) newMessageID(attempt int) string {
	return fmt.Sprintf("m%d.%d.%d-%s", t.number, t.rounds+1, attempt, randomName(6))
}

// system is the text before the conversation.
func (t *turn) system() string { return systemPrompt(t.agent.execution.Request) }

// granted lists the tools that the model is told of: a tool whose class is denied would only waste rounds.
func (t *turn) granted() []tools.Definition {
	var granted []tools.Definition
	for _, definition := range t.agent.tools.Definitions() {
		switch t.agent.execution.Request.Capabilities.Of(definition.Class) {
		case domain.Allow, domain.Ask:
			granted = append(granted, definition)
		}
	}
	return granted
}

// shownName is a tool's name as a model wrote it, fit for a log.
func shownName(name string) string {
	name = strings.ToValidUTF8(name, "\uFFFD")
	if runes := []rune(name); len(runes) > 100 {
		return string(runes[:100]) + "…"
	}
	return name
}
