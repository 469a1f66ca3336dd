//go:build linux

package main

import (
	"errors"
	"fmt"
	"math"
)

// An approval is a register that takes one value: the first decision wins. What clients saw of it is a history of operations,
// each with the time at which it was called and the time at which its answer was there. The history is linearizable when each
// operation can be thought to happen at one moment between the two, such that all answers are right.
//
// For a register of this kind that needs no search. Until some moment T it is empty; then the winner happens; from then on
// every decision is answered with the winner, and nothing changes. So a history is explained exactly when there is a winner w,
// an operation that asked for w and may have happened, and a moment T between its call and its return, such that every
// operation that found the register empty was called before T, and every operation that found w returned after T. Or
// nobody won, it was withdrawn or expired at T, and the same holds for those that found it gone.

// operation is one request about one approval.
type operation struct {
	value   string // what it wanted decided; empty for one that only looks
	call    int64
	ret     int64 // never where no answer came: it may still happen at any later time, or never
	found   found
	winner  string // where it found a winner
	replica string
}

// never is the return of an operation whose answer was lost.
const never = math.MaxInt64

// found is what the answer says of the register.
type found string

const (
	lost     found = "no answer"
	accepted found = "accepted" // 200: decided so, by this or by an equal one before
	conflict found = "conflict" // 409, with the winner
	gone     found = "gone"     // 410: expired or withdrawn undecided
	pended   found = "pending"  // a look, before any decision
	decided  found = "decided"  // a look, after it
)

func (o operation) String() string {
	return fmt.Sprintf("%q %s %q [%d, %d] by %s", o.value, o.found, o.winner, o.call, o.ret, o.replica)
}

// explain returns nil where a register explains the history, and otherwise why none does. The winner is empty where none is
// known.
func explain(history []operation) (winner string, err error) {
	winner, withdrawn, err := verdict(history)
	if err != nil {
		return "", err
	}
	opened, shut := int64(math.MinInt64), int64(never) // T lies between
	for _, o := range history {
		switch o.found {
		case pended:
			opened = max(opened, o.call)
		case accepted, conflict, decided, gone:
			shut = min(shut, o.ret)
		case lost:
		}
	}
	if winner == "" || withdrawn {
		if opened > shut {
			return "", errors.New("it was found pending by somebody who looked after it was gone")
		}
		return "", nil
	}
	for _, o := range history {
		may := o.found == accepted || o.found == lost
		if may && o.value == winner && max(opened, o.call) <= min(shut, o.ret) {
			return winner, nil
		}
	}
	return winner, fmt.Errorf("nobody can have decided %q in time: it was found pending at %d and decided at %d", winner, opened, shut)
}

// verdict is what all answers say, where they agree.
func verdict(history []operation) (winner string, withdrawn bool, err error) {
	for _, o := range history {
		says := ""
		switch o.found {
		case accepted:
			says = o.value
		case conflict, decided:
			says = o.winner
		case gone:
			withdrawn = true
			continue
		case lost, pended:
			continue
		}
		if says == "" {
			return "", false, fmt.Errorf("an answer names no winner: %s", o)
		}
		if winner != "" && says != winner {
			return "", false, fmt.Errorf("there are two winners, %q and %q", winner, says)
		}
		winner = says
	}
	for _, o := range history {
		if o.found == conflict && o.value == winner {
			return "", false, fmt.Errorf("who wanted what the winner wanted was refused: %s", o)
		}
	}
	if withdrawn && winner != "" {
		return "", false, fmt.Errorf("it was decided as %q, and gone undecided", winner)
	}
	return winner, withdrawn, nil
}
