package main

import (
	"context"
	"slices"
)

// figure is a measurement that all its contenders take in turns, and what the table shows of it.
type figure struct {
	name       string
	about      string   // one line, for the list
	contenders []string // the hub among them where there are ratios
	words      []string // for the floors
	anew       bool     // each measurement has processes of its own
	measure    func(ctx context.Context, at place) (sample, error)
	rows       []row
	rounds     int // in place of the usual number
}

// isIdle reports whether the contender is a floor by which no row is judged: the relay, and the hub where all goals are for values.
func (f figure) isIdle(contender string) bool {
	judges := slices.ContainsFunc(f.rows, func(r row) bool { return !r.plain && r.reach != nil })
	return contender == relay || contender == hub && !judges
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
	reach map[string]float64 // the goal, by contender; none: the row is only told
	stand map[string]float64 // where a goal is far: what was reached, of which the short form guards the half in its place
	calm  bool               // a neighbour's noise is all that a short run would see: only the long form judges it
}

// figures is the order in which they are measured.
func figures() []figure {
	return slices.Concat(speedFigures(), turnFigures(), decisionFigures(), []figure{replayFigure()}, followerFigures(), []figure{waitingFigure(), startFigure(), agentFigure()})
}

// both is the same goal on both engines.
func both(goal float64) map[string]float64 { return map[string]float64{postgres: goal, sqlite: goal} }

// goals are those of the two engines.
func goals(ofPostgres, ofSQLite float64) map[string]float64 {
	return map[string]float64{postgres: ofPostgres, sqlite: ofSQLite}
}
