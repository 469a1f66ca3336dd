package llm

import (
	"cmp"
	"context"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

var _ domain.Agent = (*agent)(nil)

// Prompt implements [domain.Agent].
func (a *agent) Prompt(ctx context.Context, host domain.Host, prompt domain.Prompt) (domain.StopReason, error) {
	var err error
	if prompt.History, err = withTextFiles(ctx, host, prompt.History); err != nil {
		return "", err
	}
	t := a.begin(host, prompt)
	said := a.conversation.takeBack()
	if a.conversation.answered() {
		return domain.StopEndTurn, nil
	}
	if err := t.connect(ctx); err != nil {
		return "", err
	}
	notes, err := t.notes(ctx) // as they are when the turn begins
	if err != nil {
		return "", err
	}
	t.instruct(a.mask.MaskString(t.systemPrompt(t.surroundings(ctx), notes)))
	for range said {
		if _, err := t.silent(); err != nil {
			return "", err
		}
	}
	var unsettled []pendingCall // a restart has left them without a result
	for _, call := range a.conversation.unsettled() {
		unsettled = append(unsettled, t.runner.again(call))
	}
	if stop, err := t.act(ctx, unsettled); err != nil || stop != "" {
		return stop, err
	}
	for limit := cmp.Or(max(a.execution.Request.MaxIterations, 0), defaultIterations); t.rounds < limit; {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if err := t.refresh(ctx); err != nil {
			return "", err
		}
		calls, stop, err := t.round(ctx)
		if err == nil && len(calls) > 0 {
			if err = t.refreshCalls(ctx, calls); err == nil {
				stop, err = t.act(ctx, calls)
			}
		}
		if err != nil || stop != "" {
			return stop, err
		}
	}
	return domain.StopMaxIterations, nil
}

// round gets one answer, and returns the calls that it asks for, or else the stop reason; neither where the model is to be asked
// again. The calls are brought to their end outside of it, so that nothing of the answer is held while a person thinks.
func (t *turn) round(ctx context.Context) (calls []pendingCall, _ domain.StopReason, _ error) {
	answer, said, err := t.ask(ctx)
	if err != nil {
		return nil, stopOf(err), err
	}
	var requests []domain.Payload
	if answer.Finish == provider.FinishStop {
		calls, requests = t.runner.request(said.id, answer.Calls)
	}
	state, dropped := t.stateOf(said, answer, calls)
	told := append(said.complete(), dropped...)
	used, contextUsed := t.agent.account.count(t.agent.models.asked(), said.id, answer.Usage)
	told = append(told, used...)
	told = append(told, requests...)
	if err := t.host.EmitAnswer(ctx, domain.AnswerState{MessageID: said.id, State: state}, told...); err != nil {
		return nil, "", err
	}
	switch {
	case answer.Finish == provider.FinishLength: // the calls of a cut answer may be cut themselves, and run as something else
		return nil, domain.StopMaxTokens, domain.Errorf(domain.CodeLimitReached, "The answer of model %q was cut at a limit of tokens, its own or the model's. "+
			"What it had said is kept, and none of its calls has run. Ask for less at once, or raise the model's maxOutputTokens.", t.agent.models.asked().model.Name)
	case answer.Finish == provider.FinishRefusal:
		return nil, domain.StopRefusal, domain.Errorf(domain.CodeRefused, "Model %q declined to go on, in its own words, which are kept. "+
			"No other model was asked. Say what the task is for, or choose another model.", t.agent.models.asked().model.Name)
	case len(calls) == 0:
		stop, err := t.silent()
		return nil, stop, err
	}
	t.rounds++
	remembered := domain.Message{Role: domain.RoleAssistant, Text: said.text.String(), Thought: said.thought.String(), State: state,
		Counted: t.counted(contextUsed)}
	for _, call := range calls {
		remembered.ToolCalls = append(remembered.ToolCalls, call.ToolCall)
	}
	t.agent.conversation.add(remembered)
	return calls, "", nil
}

// stopOf is the stop reason of a turn that ends with this error; empty where it broke down.
func stopOf(err error) domain.StopReason {
	if domain.CodeOf(err) == domain.CodeContentFiltered {
		return domain.StopRefusal
	}
	return ""
}

// act brings calls to their end, all at once, adds the results to the history in the order of the calls, and tells whether the turn ends
// with them. With a call that has handed in blocks it does, so that the model is never sent the empty result that stands for it.
func (t *turn) act(ctx context.Context, calls []pendingCall) (domain.StopReason, error) {
	t.single(calls)
	outputs, err := t.runner.run(ctx, calls)
	if err != nil {
		return "", err
	}
	t.addResults(calls, outputs)
	return t.outcome()
}

// addResults adds the results of the calls to the conversation.
//
//go:noinline // its messages would lie in the stack of each call that waits; see runner.resolve
func (t *turn) addResults(calls []pendingCall, outputs []string) {
	for i := range calls {
		t.agent.conversation.add(domain.Message{Role: domain.RoleTool, ToolCallID: calls[i].ID, Text: outputs[i], Parts: calls[i].files})
	}
}
