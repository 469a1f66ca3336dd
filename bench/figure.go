package main

import (
	"cmp"
	"context"
	"slices"
)

// figure is a measurement that all its contenders take in turns, and what the table shows of it.
type figure struct {
	name       string
	about      string   // one line, for the list
	contenders []string // the hub among them where there are ratios
	isolated   bool     // the hub isolates its commands
	anew       bool     // each measurement has processes of its own
	measure    func(ctx context.Context, at place) (sample, error)
	rows       []row
	rounds     int  // in place of the usual number
	steady     bool // no neighbour of the machine changes the values, so the short form has one round
}

// isIdle reports whether the contender is the hub and no row is judged by it, because all goals are for values.
func (f figure) isIdle(contender string) bool {
	return contender == hub && !slices.ContainsFunc(f.rows, func(r row) bool { return !r.plain && r.reach != nil })
}

const (
	usualRounds = 5
	shortRounds = 3
)

// roundsOf is how often each contender takes its turn.
func (f figure) roundsOf(short bool) int {
	switch {
	case short && f.steady:
		return 1
	case short:
		return shortRounds
	default:
		return cmp.Or(f.rounds, usualRounds)
	}
}

// place is where a measurement is taken.
type place struct {
	*target
	stage *stage
	scale int // what is counted in thousands is divided by it; 1, and more in the short form
}

// sample is what one measurement found, by the keys of the rows.
type sample map[string]float64

// row is one line of the table.
type row struct {
	key   string // of the sample
	title string
	unit  string
	more  bool               // more is better
	plain bool               // the goal is for the value, not for its ratio to the hub; it is missed beyond twice the goal
	reach map[string]float64 // the goal, by contender; none: nobody judges the row
	stand map[string]float64 // what was reached, where that is far from the goal: the short form guards half of it instead
	calm  bool               // only the long form judges it: a short run would measure the noise of its neighbours
}

// both is the same goal on both engines.
func both(goal float64) map[string]float64 { return map[string]float64{postgres: goal, sqlite: goal} }

// goals are those of the two engines.
func goals(ofPostgres, ofSQLite float64) map[string]float64 {
	return map[string]float64{postgres: ofPostgres, sqlite: ofSQLite}
}
