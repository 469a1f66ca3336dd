package domain

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// Spending is the usage of requests to models. The cost is a whole number, so that sums are exact.
type Spending struct {
	Tokens int64 // in and out
	Nanos  int64 // the cost in billionths, in the currency of the registry's prices
}

// Plus is the sum of both.
func (s Spending) Plus(more Spending) Spending {
	return Spending{s.Tokens + more.Tokens, s.Nanos + more.Nanos}
}

// Minus is the rest of s.
func (s Spending) Minus(less Spending) Spending {
	return Spending{s.Tokens - less.Tokens, s.Nanos - less.Nanos}
}

// mostNanos is more than any request costs, and so small that no sum overflows.
const mostNanos = 1 << 50

// NanosOf rounds a cost up to billionths.
func NanosOf(cost float64) int64 {
	if !(cost > 0) { // NaN is in no range
		return 0
	}
	return int64(min(math.Ceil(cost*1e9), mostNanos))
}

// SharedBudget bounds the usage of several executions together: those of a tenant in a day, from midnight to midnight in UTC, or those of a tree; 0 = no bound.
type SharedBudget struct {
	Tokens int64   `json:"tokens,omitempty"`
	Cost   float64 `json:"cost,omitempty"` // in the currency of the registry's prices
}

// IsZero reports whether nothing is bounded.
func (b SharedBudget) IsZero() bool { return b == SharedBudget{} }

// InWords lists the bounds for people.
func (b SharedBudget) InWords() (bounds []string) {
	if b.Tokens > 0 {
		bounds = append(bounds, fmt.Sprintf("%d tokens", b.Tokens))
	}
	if b.Cost > 0 {
		bounds = append(bounds, fmt.Sprintf("a cost of %g", b.Cost))
	}
	return bounds
}

// Limit is the budget as an amount.
func (b SharedBudget) Limit() Spending { return Spending{Tokens: b.Tokens, Nanos: NanosOf(b.Cost)} }

// Estimate is the estimated maximum usage of a request to a model, or of a turn of an external agent.
type Estimate struct {
	Tokens int64
	Cost   *float64 // nil: the prices are unknown
}

// Reservation is a part of a shared budget that is kept free until it is settled.
type Reservation interface {
	// Extend adds to the reservation. Its errors are those of [Host.Reserve].
	Extend(ctx context.Context, more Estimate) error

	// Settle ends the reservation with the usage, and releases the rest. A whole answer without usage counts as its reservation; an answer that broke off
	// counts as the usage that was reported. Settle is called once; it waits for the database for some seconds at most, also if the turn is over.
	Settle(used Usage, whole bool)
}

// Unbounded is a reservation where there is no budget.
type Unbounded struct{}

// Extend implements [Reservation].
func (Unbounded) Extend(context.Context, Estimate) error { return nil }

// Settle implements [Reservation].
func (Unbounded) Settle(Usage, bool) {}

// ErrBudgetSpent is in the chain of the error of [Agent.Prompt] if the daily budget of the tenant is spent. The turn can continue later.
var ErrBudgetSpent = errors.New("the shared budget is spent")

// ErrTreeBudgetSpent is in the chain of the error of [Agent.Prompt] if the budget of the tree is spent. No execution of the tree can continue.
var ErrTreeBudgetSpent = errors.New("the budget of the tree is spent")

// ErrCostUnknown is in the chain of the error of [Agent.Prompt] if a shared budget bounds the cost, and that of the model is not known.
var ErrCostUnknown = errors.New("the cost is unknown")
