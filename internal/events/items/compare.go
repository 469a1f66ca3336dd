package items

import "slices"

// scriptLine is one line of the edit script from one text to another: kept (' '), removed ('-') or added ('+').
type scriptLine struct {
	op   byte
	text string
}

const (
	// comparedLines bounds how many lines of both texts are compared. Beyond it, all lines between the first and the last difference count as
	// replaced.
	comparedLines = 20_000
	// comparedEdits bounds the number of edits in the same way: the work grows with the product of edits and lines.
	comparedEdits = 400
)

// compared returns an edit script from old to current, within the bounds one with the fewest edits.
func compared(old, current []string) []scriptLine {
	head := 0
	for head < min(len(old), len(current)) && old[head] == current[head] {
		head++
	}
	tail := 0
	for tail < min(len(old), len(current))-head && old[len(old)-1-tail] == current[len(current)-1-tail] {
		tail++
	}
	script := make([]scriptLine, 0, max(len(old), len(current)))
	for _, line := range old[:head] {
		script = append(script, scriptLine{' ', line})
	}
	script = append(script, between(old[head:len(old)-tail], current[head:len(current)-tail])...)
	for _, line := range old[len(old)-tail:] {
		script = append(script, scriptLine{' ', line})
	}
	return script
}

// between is compared for the lines between the first and the last difference.
func between(old, current []string) []scriptLine {
	if len(old)+len(current) <= comparedLines {
		if script, found := fewestEdits(old, current); found {
			return script
		}
	}
	script := make([]scriptLine, 0, len(old)+len(current))
	for _, line := range old {
		script = append(script, scriptLine{'-', line})
	}
	for _, line := range current {
		script = append(script, scriptLine{'+', line})
	}
	return script
}

// fewestEdits returns the shortest edit script, unless it is too long. The texts begin with different lines. It is the greedy algorithm of Eugene
// W. Myers, "An O(ND) Difference Algorithm and Its Variations", 1986: with each further edit it goes as far as possible on every diagonal.
func fewestEdits(old, current []string) (script []scriptLine, found bool) {
	s := search{old: old, current: current}
	for edits := 0; edits <= min(len(old)+len(current), comparedEdits); edits++ {
		if s.advance(edits) {
			return s.script(edits), true
		}
	}
	return nil, false
}

// search is the state of [fewestEdits]. A diagonal is the number of passed lines of old, less those of current.
type search struct {
	old, current []string
	reached      [][]int // by edits and diagonal+edits: the number of passed lines of old
}

// advance goes one edit further on every diagonal, and reports whether it reached the end of both texts.
func (s *search) advance(edits int) (arrived bool) {
	row := make([]int, 2*edits+1)
	for diagonal := -edits; diagonal <= edits; diagonal += 2 {
		x, _ := s.enter(edits, diagonal)
		for x < len(s.old) && x-diagonal < len(s.current) && s.old[x] == s.current[x-diagonal] {
			x++
		}
		row[diagonal+edits] = x
		arrived = arrived || (x >= len(s.old) && x-diagonal >= len(s.current))
	}
	s.reached = append(s.reached, row)
	return arrived
}

// enter returns where the last of so many edits enters a diagonal: from the one below by removing a line of old, or from the one above by
// adding a line of current.
func (s *search) enter(edits, diagonal int) (x int, added bool) {
	if edits == 0 {
		return 0, false
	}
	before := s.reached[edits-1]
	below, above := diagonal-1+edits-1, diagonal+1+edits-1
	if diagonal == -edits || (diagonal != edits && before[below] < before[above]) {
		return before[above], true
	}
	return before[below] + 1, false
}

// script follows the edits back from the end. The first step is an edit, since the texts differ in their first lines.
func (s *search) script(edits int) []scriptLine {
	var back []scriptLine
	x, diagonal := len(s.old), len(s.old)-len(s.current)
	for ; edits > 0; edits-- {
		from, added := s.enter(edits, diagonal)
		for ; x > from; x-- {
			back = append(back, scriptLine{' ', s.old[x-1]})
		}
		if added {
			back = append(back, scriptLine{'+', s.current[from-diagonal-1]})
			diagonal++
			continue
		}
		back = append(back, scriptLine{'-', s.old[from-1]})
		x, diagonal = from-1, diagonal-1
	}
	slices.Reverse(back)
	return back
}
