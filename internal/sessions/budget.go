package sessions

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"signoff/internal/domain"
)

// A budget bounds the tokens, the cost, the tool calls and the active time of an execution. The session counts them, so the budget holds for our
// own agent and for external ones; everything that was said before the end is kept.

type budget struct {
	core
	recorder *recorder
	spent    *outcome // how an execution ends whose budget is used up; nil: some of it is left
}

// daily is the daily budget of the tenant. The ledger enforces it; here, executions end whose usage is unknown.
func (b *budget) daily() domain.SharedBudget { return b.engine.ledger.Daily(b.execution.Tenant) }

// refuses tells whether a request to the model was not sent because its cost is unknown, or because the tree has used up its budget. It then marks the
// budget of the execution as spent.
func (b *budget) refuses(err error) bool {
	refused := errors.Is(err, domain.ErrCostUnknown) || errors.Is(err, domain.ErrTreeBudgetSpent)
	if refused {
		b.overdraw("%s", domain.FailureOf(err).Message)
	}
	return refused
}

// settle compares the counts before a turn with the budget: the server that counted them may be gone.
func (b *budget) settle(change *changeSet) {
	b.measure(change)
	b.countTime(change)
	b.countCall(change)
	if b.progress.Usage != (domain.Usage{}) {
		b.spend(change)
	}
}

// unmeasured ends the execution of an agent that does not report its usage: no further turn can be kept within the budget.
func (b *budget) unmeasured() {
	budget := b.withTree()
	if budget.Tokens > 0 && b.progress.Usage.Tokens() == nil {
		b.overdraw("The execution has a budget of %d tokens, and its agent does not tell how many it uses.", budget.Tokens)
	}
	if budget.Cost > 0 && b.progress.Usage.Cost == nil {
		b.overdraw("The execution has a budget of %g, and its agent does not tell what it costs.", budget.Cost)
	}
	if daily := b.daily(); daily.Tokens > 0 && b.progress.Usage.Tokens() == nil {
		b.overdraw("The tenant %s has a daily budget of %d tokens, and the agent does not tell how many it uses.", b.execution.Tenant, daily.Tokens)
	} else if daily.Cost > 0 && b.progress.Usage.Cost == nil {
		b.overdraw("The tenant %s has a daily budget of %g, and the agent does not tell what it costs.", b.execution.Tenant, daily.Cost)
	}
}

// withTree is the budget of the execution, with the bounds of its tree for those that it lacks.
func (b *budget) withTree() domain.Budget {
	own, tree := b.execution.Request.Budget, b.execution.SharedBudget()
	own.Tokens, own.Cost = cmp.Or(own.Tokens, tree.Tokens), cmp.Or(own.Cost, tree.Cost)
	return own
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

// timeLeft is the active time that the budget leaves the execution.
func (b *budget) timeLeft() (left time.Duration, bounded bool) {
	bound := time.Duration(b.execution.Request.Budget.Seconds) * time.Second
	return bound - b.progress.ActiveTimeOfTurns(b.recorder.clock.now()), bound > 0
}

// countTime compares the active time of all turns with the budget.
func (b *budget) countTime(change *changeSet) {
	left, bounded := b.timeLeft()
	if !bounded {
		return
	}
	seconds := float64(b.execution.Request.Budget.Seconds)
	change.warn("seconds", domain.RoundSeconds(seconds-left.Seconds()), seconds)
	if left <= 0 {
		b.timeIsUp()
	}
}

func (b *budget) timeIsUp() {
	b.overdraw("The execution was active for as long as its budget of %d seconds allows.", b.execution.Request.Budget.Seconds)
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
	case cost == nil && b.execution.SharedBudget().Cost > 0 && !b.external(): // an external agent may report it at the end of its turn
		b.overdraw("The execution shares a budget of %g with its tree, and what its model costs is not known.", b.execution.SharedBudget().Cost)
	case cost == nil && b.daily().Cost > 0 && !b.external():
		b.overdraw("The tenant %s has a daily budget of %g, and what the model costs is not known.", b.execution.Tenant, b.daily().Cost)
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
