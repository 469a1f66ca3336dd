package sessions

import (
	"fmt"

	"signoff/internal/domain"
)

// A budget bounds the tokens, the cost and the tool calls of an execution. The session counts them, so the budget holds for our
// own agent and for external ones; everything that was said before the end is kept.

type budget struct {
	core
	recorder *recorder
	spent    *outcome // how an execution ends whose budget is used up; nil: some of it is left
}

// settle compares the counts before a turn with the budget: the server that counted them may be gone.
func (b *budget) settle(change *changeSet) {
	b.measure(change)
	b.countCall(change)
	if b.progress.Usage != (domain.Usage{}) {
		b.spend(change)
	}
}

// unmeasured ends the execution of an agent that does not report its usage: no further turn can be kept within the budget.
func (b *budget) unmeasured() {
	budget := b.execution.Request.Budget
	if budget.Tokens > 0 && b.progress.Usage.Tokens() == nil {
		b.overdraw("The execution has a budget of %d tokens, and its agent does not tell how many it uses.", budget.Tokens)
	}
	if budget.Cost > 0 && b.progress.Usage.Cost == nil {
		b.overdraw("The execution has a budget of %g, and its agent does not tell what it costs.", budget.Cost)
	}
}

// countCall counts the tool calls.
func (b *budget) countCall(change *changeSet) {
	budget := b.execution.Request.Budget
	if !b.external() && b.progress.Turn.Round != "" { // our own agent reports the usage of a request before it acts on the answer
		b.unmeasured()
	}
	calls := len(b.progress.Calls) + len(b.progress.Ended)
	if budget.ToolCalls == 0 {
		return
	}
	if calls > budget.ToolCalls {
		b.overdraw("The execution used up its budget of %d tool calls.", budget.ToolCalls)
		return
	}
	change.warn("toolCalls", float64(calls), float64(budget.ToolCalls))
}

// spend compares the usage with the budget. An unknown cost ends the execution, too: otherwise a model without prices would be
// free.
func (b *budget) spend(change *changeSet) {
	budget := b.execution.Request.Budget
	if tokens := b.progress.Usage.Tokens(); budget.Tokens > 0 && tokens != nil {
		change.warn("tokens", float64(*tokens), float64(budget.Tokens))
		if *tokens >= budget.Tokens {
			b.overdraw("The execution used up its budget of %d tokens.", budget.Tokens)
		}
	}
	switch cost := b.progress.Usage.Cost; {
	case budget.Cost == 0:
	case cost == nil:
		b.overdraw("The execution has a budget of %g, and what its model costs is not known.", budget.Cost)
	default:
		change.warn("cost", *cost, budget.Cost)
		if *cost >= budget.Cost {
			b.overdraw("The execution used up its budget of %g.", budget.Cost)
		}
	}
}

// warnAt is the part of a bound at which people are warned.
const warnAt = 0.8

func (change *changeSet) warn(limit string, used, most float64) {
	if used < warnAt*most || change.recorder.progress.Warned[limit] {
		return
	}
	change.emit(domain.BudgetWarned{Limit: limit, Used: used, Max: most})
}

func (b *budget) overdraw(format string, args ...any) {
	if b.spent != nil {
		return
	}
	b.spent = &outcome{
		status: domain.StatusFailed, finish: domain.FinishBudget,
		failure: &domain.Failure{Code: domain.CodeLimitReached, Message: fmt.Sprintf(format, args...)},
	}
}
