package llm

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unique"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// defaultIterations stands where a request names no limit: a loop without an end is never what somebody wants.
const defaultIterations = 50

// agent answers the prompts of one execution.
type agent struct {
	candidates []*candidate // the request's model and its fallbacks
	tools      *toolset
	mask       mask
	logger     *slog.Logger
	task       task
	retry      time.Duration // how long a request that fails is repeated, and
	patience   time.Duration // where another model may be asked

	// What follows belongs to Prompt, of which there is one at a time.
	bill      bill            // of the execution so far
	lost      []lost          // the candidates that are out
	measured  int64           // tokens of the conversation up to its last answer, as the provider counted; 0 = unknown
	shortened map[string]bool // ids of the calls whose results the model gets as a line; nil where there is none
	trimmed   map[string]int  // and of those whose results it gets without their middle, and how many bytes of them
}

var _ domain.Agent = (*agent)(nil)

// Introduction implements [domain.Agent]. The model stands in the execution's source.
func (a *agent) Introduction() domain.Introduction { return domain.Introduction{} }

// Close implements [domain.Agent]. Nothing is held between two prompts.
func (a *agent) Close() error { return nil }

// Prompt implements [domain.Agent].
func (a *agent) Prompt(ctx context.Context, host domain.Host, prompt domain.Prompt) (domain.StopReason, error) {
	t := a.turn(host, prompt)
	said := t.takeBack()
	if t.answered() {
		return domain.StopEndTurn, nil
	}
	if err := t.introduce(ctx); err != nil {
		return "", err
	}
	for range said {
		if _, err := t.silent(); err != nil {
			return "", err
		}
	}
	if stop, err := t.act(ctx, t.unsettled()); err != nil || stop != "" {
		return stop, err
	}
	for t.rounds < a.maxIterations() {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		calls, stop, err := t.round(ctx)
		if err == nil && len(calls) > 0 {
			stop, err = t.act(ctx, calls)
		}
		if err != nil || stop != "" {
			return stop, err
		}
	}
	return domain.StopMaxIterations, nil
}

// turn begins a turn, or goes on with one that was cut off.
func (a *agent) turn(host domain.Host, prompt domain.Prompt) *turn {
	t := &turn{agent: a, host: host, number: prompt.Turn, rounds: prompt.Rounds, history: prompt.History}
	t.edits = prompt.Edits > 0 || prompt.Turn > 1
	t.takeUp(prompt.Retrying)
	a.bill.takeUp(prompt)
	if prompt.Rounds == 0 {
		t.bill = &bill{}
	}
	return t
}

func (a *agent) maxIterations() int {
	if limit := a.task.maxIterations; limit > 0 {
		return limit
	}
	return defaultIterations
}

// turn is the state of one Prompt.
type turn struct {
	agent   *agent
	host    domain.Host
	number  int
	system  unique.Handle[string] // the text before the conversation, which many executions have in common
	rounds  int                   // answers with tool calls, those before a restart included
	attempt int                   // at the answer that is asked for, over all models

	retrying *domain.Retrying // the request that an earlier process has made, until it is repeated

	history []domain.Message
	bill    *bill // of this turn; nil where a restart came between

	edits     bool   // blocks were handed in before this turn
	submitted string // the call that has handed in blocks in this turn; it stays open
	nudged    bool   // the model was told once more to hand in blocks
}

// round gets one answer, and returns the calls that it asks for, or else the stop reason; neither where the model is to be asked
// again. The calls are brought to their end outside of it, so that nothing of the answer is held while a person thinks.
func (t *turn) round(ctx context.Context) (calls []pendingCall, _ domain.StopReason, _ error) {
	answer, said, err := t.ask(ctx)
	if err != nil {
		return nil, "", err
	}
	told := append(said.end, t.count(answer.Usage)...)
	if answer.Finish == provider.FinishStop {
		var requests []domain.Payload
		calls, requests = t.request(said.id, answer.Calls)
		told = append(told, requests...)
	}
	if err := t.host.Emit(ctx, told...); err != nil {
		return nil, "", err
	}
	switch {
	case answer.Finish == provider.FinishLength: // the calls of a cut answer may be cut themselves, and run as something else
		return nil, domain.StopMaxTokens, nil
	case answer.Finish == provider.FinishRefusal:
		return nil, domain.StopRefusal, nil
	case len(calls) == 0:
		stop, err := t.silent()
		return nil, stop, err
	}
	t.rounds++
	t.remember(said, calls)
	return calls, "", nil
}

// act brings calls to their end, and tells whether the turn ends with them.
func (t *turn) act(ctx context.Context, calls []pendingCall) (domain.StopReason, error) {
	if err := t.settle(ctx, calls); err != nil {
		return "", err
	}
	return t.outcome()
}

// remember adds the model's answer to the history as the log has it.
func (t *turn) remember(said *message, calls []pendingCall) {
	message := domain.Message{Role: domain.RoleAssistant, Text: said.text.String(), Thought: said.thought.String(), Thinking: said.state}
	for _, call := range calls {
		message.ToolCalls = append(message.ToolCalls, call.ToolCall)
	}
	t.history = append(t.history[:len(t.history):len(t.history)], message)
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
