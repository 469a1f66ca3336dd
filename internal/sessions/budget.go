package sessions

import (
	"fmt"

	"signoff/internal/domain"
)

// A budget bounds what an execution uses up. The session counts, so it holds for our own agent and for external ones
// alike; what was said before the end is kept.

// settleAccounts holds what is known before a turn against the budget: the server that knew of it may be gone.
func (s *Session) settleAccounts(d *draft) {
	s.measure(d)
	s.counted(d)
	if s.progress.Usage != (domain.Usage{}) {
		s.spend(d)
	}
}

// unmeasured ends the spending of an agent that tells nothing of it: no further turn can be within bounds.
func (s *Session) unmeasured() {
	budget := s.execution.Request.Budget
	if budget.Tokens > 0 && s.progress.Usage.Tokens() == nil {
		s.overdraw("The execution has a budget of %d tokens, and its agent does not tell how many it uses.", budget.Tokens)
	}
	if budget.Cost > 0 && s.progress.Usage.Cost == nil {
		s.overdraw("The execution has a budget of %g, and its agent does not tell what it costs.", budget.Cost)
	}
}

// counted notes a call.
func (s *Session) counted(d *draft) {
	budget := s.execution.Request.Budget
	if !s.external() && s.progress.Turn.Round != "" { // our own agent tells what a request has used before it acts on the answer
		s.unmeasured()
	}
	calls := len(s.progress.Calls) + len(s.progress.Ended)
	if budget.ToolCalls == 0 {
		return
	}
	if calls > budget.ToolCalls {
		s.overdraw("The execution used up its budget of %d tool calls.", budget.ToolCalls)
		return
	}
	s.warn(d, "toolCalls", float64(calls), float64(budget.ToolCalls))
}

// spend compares the usage with the budget. A cost that nobody knows cannot be kept within bounds, so it ends the
// execution as well: the other way round, a model without prices would be free.
func (s *Session) spend(d *draft) {
	budget := s.execution.Request.Budget
	if tokens := s.progress.Usage.Tokens(); budget.Tokens > 0 && tokens != nil {
		s.warn(d, "tokens", float64(*tokens), float64(budget.Tokens))
		if *tokens >= budget.Tokens {
			s.overdraw("The execution used up its budget of %d tokens.", budget.Tokens)
		}
	}
	switch cost := s.progress.Usage.Cost; {
	case budget.Cost == 0:
	case cost == nil:
		s.overdraw("The execution has a budget of %g, and what its model costs is not known.", budget.Cost)
	default:
		s.warn(d, "cost", *cost, budget.Cost)
		if *cost >= budget.Cost {
			s.overdraw("The execution used up its budget of %g.", budget.Cost)
		}
	}
}

// warnAt is the part of a bound from which on people are warned.
const warnAt = 0.8

func (s *Session) warn(d *draft, limit string, used, most float64) {
	if used < warnAt*most || s.progress.Warned[limit] {
		return
	}
	s.emit(d, domain.BudgetWarned{Limit: limit, Used: used, Max: most})
}

func (s *Session) overdraw(format string, args ...any) {
	if s.spent != nil {
		return
	}
	s.spent = &outcome{
		status: domain.StatusFailed, finish: domain.FinishBudget,
		failure: &domain.Failure{Code: domain.CodeLimitReached, Message: fmt.Sprintf(format, args...)},
	}
}
