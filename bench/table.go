package main

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// verdict is what one row of one contender comes to.
type verdict struct {
	row       row
	figure    string
	contender string
	value     finding // what the contender did
	floor     finding // what the hub did
	ratio     finding
	goal      float64 // 0: there is none
	limit     float64 // what the run fails beyond
	held      float64 // what is held against the limit
	best      bool    // that is of the best rounds, in place of the middle
	missed    bool
	short     bool // the median misses the goal, though not by more than the limit allows
}

// judge holds the rows of the figures against their goals.
func (j *journal) judge(all []figure) (verdicts []verdict) {
	for _, f := range all {
		for _, r := range f.rows {
			for _, contender := range f.contenders {
				if contender != hub {
					verdicts = append(verdicts, j.verdict(f, r, contender))
				}
			}
		}
	}
	return verdicts
}

func (j *journal) verdict(f figure, r row, contender string) verdict {
	v := verdict{row: r, figure: f.name, contender: contender, goal: j.goal(r, contender)}
	v.value, v.ratio = j.found(f, r, contender)
	v.floor, _ = j.found(f, r, hub)
	judged := v.ratio
	if r.plain {
		judged = v.value
	}
	if v.goal == 0 || judged.rounds == 0 {
		return v
	}
	v.limit = r.limit(v.goal, judged.spread, j.short)
	v.short = worse(r, judged.median, v.goal)
	v.held = judged.median
	if v.best = j.short; v.best {
		v.held = r.best(v.value)
	}
	if v.best && !r.plain {
		v.held /= r.best(v.floor)
	}
	v.missed = worse(r, v.held, v.limit)
	return v
}

// best is that of the rounds. A neighbour of a few seconds has spoiled two of the three rounds of the short form, and with them their middle.
// Of ratios it would not do: a neighbour of the hub makes one look good. The best of either side is what it can do undisturbed.
func (r row) best(found finding) float64 {
	if r.more {
		return found.most
	}
	return found.least
}

// goal is what a contender is held against; 0: nothing.
func (j *journal) goal(r row, contender string) float64 {
	switch stand, far := r.stand[contender]; {
	case j.short && r.calm:
		return 0
	case j.short && far:
		return stand
	default:
		return r.reach[contender]
	}
}

// limit is what a run fails beyond. A ratio may fall short by what the run itself measured as spread; bytes and milliseconds depend on the
// machine, and fail at twice the goal. The short form has too few rounds for more than to see a fall by half.
func (r row) limit(goal, spread float64, short bool) float64 {
	switch {
	case short && r.more:
		return goal / 2
	case short || r.plain:
		return goal * 2
	case r.more:
		return goal - spread
	default:
		return goal + spread
	}
}

func worse(r row, value, than float64) bool {
	if r.more {
		return value < than
	}
	return value > than
}

// table prints the verdicts as Markdown, and tells how many goals were missed.
func table(w io.Writer, verdicts []verdict) (missed int) {
	fmt.Fprintln(w, "| figure | contender | measured | hub | ratio ± spread | goal | |")
	fmt.Fprintln(w, "| --- | --- | --- | --- | --- | --- | --- |")
	last := ""
	for _, v := range verdicts {
		if v.value.rounds == 0 {
			continue
		}
		title := ""
		if v.row.title != last {
			title, last = v.row.title, v.row.title
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %s |\n", title, v.contender, v.measured(), amount(v.floor.median, v.row.unit), v.ratios(), v.wanted(), v.word())
		if v.missed {
			missed++
		}
	}
	return missed
}

func (v verdict) measured() string {
	if !v.row.plain {
		return amount(v.value.median, v.row.unit)
	}
	return amount(v.value.median, v.row.unit) + " ± " + figures3(v.value.spread)
}

func (v verdict) ratios() string {
	if v.row.plain || v.ratio.rounds == 0 {
		return ""
	}
	return figures3(v.ratio.median) + " ± " + figures3(v.ratio.spread)
}

func (v verdict) wanted() string {
	switch {
	case v.goal == 0:
		return ""
	case v.row.more:
		return "≥ " + figures3(v.goal)
	case v.row.plain:
		return "≤ " + amount(v.goal, v.row.unit)
	default:
		return "≤ " + figures3(v.goal)
	}
}

func (v verdict) word() string {
	switch {
	case v.goal == 0:
		return ""
	case v.missed:
		return "MISSED"
	case v.short && v.best:
		return "short, at its best (" + figures3(v.held) + ") within its limit of " + figures3(v.limit)
	case v.short:
		return "short, within its limit of " + figures3(v.limit)
	default:
		return "reached"
	}
}

func amount(value float64, unit string) string {
	if math.IsNaN(value) {
		return ""
	}
	return strings.TrimSpace(figures3(value) + " " + unit)
}

// figures3 shows about three digits: more would be a lie.
func figures3(value float64) string {
	switch size := math.Abs(value); {
	case size >= 100:
		return fmt.Sprintf("%.0f", value)
	case size >= 10:
		return fmt.Sprintf("%.1f", value)
	default:
		return fmt.Sprintf("%.2f", value)
	}
}
