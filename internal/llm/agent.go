package llm

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"signoff/internal/domain"
)

// defaultIterations stands where a request names no limit: a loop without an end is never what somebody wants.
const defaultIterations = 50

// agent answers the prompts of one execution.
type agent struct {
	candidates []candidate // the request's model and its fallbacks
	tools      toolset
	mask       mask
	logger     *slog.Logger
	execution  domain.Execution

	// What follows belongs to Prompt, of which there is one at a time.
	bill      bill            // of the execution so far
	lost      []lost          // the candidates that are out
	measured  int64           // tokens of the conversation up to its last answer, as the provider counted; 0 = unknown
	shortened map[string]bool // ids of the calls whose results the model gets as a line
}

var _ domain.Agent = (*agent)(nil)

// Introduction implements [domain.Agent]. The model stands in the execution's source.
func (a *agent) Introduction() domain.Introduction { return domain.Introduction{} }

// Close implements [domain.Agent]. Nothing is held between two prompts.
func (a *agent) Close() error { return nil }

// Prompt implements [domain.Agent].
func (a *agent) Prompt(ctx context.Context, host domain.Host, prompt domain.Prompt) (domain.StopReason, error) {
	t := a.turn(host, prompt)
	if t.answered() {
		return domain.StopEndTurn, nil
	}
	if err := t.introduce(ctx); err != nil {
		return "", err
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

func (a *agent) turn(host domain.Host, prompt domain.Prompt) *turn {
	t := &turn{agent: a, host: host, number: prompt.Turn, rounds: prompt.Rounds, history: prompt.History}
	a.bill.takeUp(prompt)
	if prompt.Rounds == 0 {
		t.bill = &bill{}
	}
	return t
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
	system  string // the text before the conversation
	rounds  int    // answers with tool calls, those before a restart included
	attempt int    // at the answer that is asked for, over all models
	history []domain.Message
	bill    *bill // of this turn; nil where a restart came between
}

// introduce makes the system prompt, with the notes as they are when the turn begins.
func (t *turn) introduce(ctx context.Context) error {
	notes, err := t.notes(ctx)
	if err != nil {
		return err
	}
	_, writes := t.agent.tools.lookup(toolMemoryWrite)
	t.system = t.agent.mask(systemPrompt(t.agent.execution.Request, notes, writes))
	return nil
}

// notes reads what earlier executions left, where the request wants that.
func (t *turn) notes(ctx context.Context) ([]domain.Memory, error) {
	request := t.agent.execution.Request
	if !request.Memory {
		return nil, nil
	}
	scopes := []domain.MemoryScope{domain.GlobalMemory}
	if request.RunbookID != "" {
		scopes = append(scopes, domain.RunbookMemory(request.RunbookID))
	}
	var notes []domain.Memory
	for _, scope := range scopes {
		memory, err := t.host.Memory(ctx, scope)
		if err != nil {
			return nil, err
		}
		memory.Scope = scope
		notes = append(notes, memory)
	}
	return notes, nil
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
	message := domain.Message{Role: domain.RoleAssistant, Text: said.text.String(), Thought: said.thought.String(), Thinking: said.state}
	for _, call := range calls {
		message.ToolCalls = append(message.ToolCalls, call.ToolCall)
	}
	t.history = append(t.history[:len(t.history):len(t.history)], message)
}

// count adds a request's usage to the bills and tells it. A provider that reports nothing leaves nothing to tell, unless
// it is that the cost is not known any more.
func (t *turn) count(ctx context.Context, used domain.Usage) error {
	asked, costKnown := t.agent.asked(), t.agent.bill.usage.Cost != nil
	silent := used == (domain.Usage{})
	if !silent {
		used = asked.model.completed(used)
	}
	t.agent.measured = orZero(used.ContextUsed)
	t.agent.bill.add(used)
	if t.bill != nil {
		t.bill.add(used)
	}
	if silent && !costKnown {
		return nil
	}
	told := domain.UsageUpdated{Usage: t.agent.bill.usage, Request: &used, Model: asked.name}
	if t.bill != nil {
		usage := t.bill.usage
		told.Turn = &usage
	}
	return t.host.Emit(ctx, told)
}

// completed adds what follows from the figures of a request.
func (m Model) completed(used domain.Usage) domain.Usage {
	used.ContextUsed = contextUsed(used)
	if window := int64(m.ContextWindow); window > 0 {
		used.ContextSize = &window
	}
	used.Cost = m.cost(used)
	return used
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
func (t *turn) newMessageID() string {
	return fmt.Sprintf("m%d.%d.%d-%s", t.number, t.rounds+1, t.attempt, randomName(6))
}

// shownName is a tool's name as a model wrote it, fit for a log.
func shownName(name string) string {
	name = strings.ToValidUTF8(name, "\uFFFD")
	if runes := []rune(name); len(runes) > 100 {
		return string(runes[:100]) + "…"
	}
	return name
}
