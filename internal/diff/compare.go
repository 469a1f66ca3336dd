package diff

import "slices"

// edit replaces lines [oldFrom, oldTo) of the old text by lines [newFrom, newTo) of the new one.
type edit struct {
	oldFrom, oldTo int
	newFrom, newTo int
}

// effort bounds the search for the fewest edits. Beyond it, all lines between the first and the last difference count as replaced.
type effort struct {
	lines int // of both texts together
	edits int // removed and added lines; the work grows with the product of edits and lines
}

var (
	// excerptEffort must stay as it is: the items of stored conversations were made with it, and another value would make other items.
	excerptEffort = effort{lines: 20_000, edits: 400}
	// fileEffort bounds a comparison to about a tenth of a second and 16 MiB.
	fileEffort = effort{lines: 40_000, edits: 2000}
)

// compare returns the edits from old to current in order. Within the bound they are the fewest lines.
func compare(old, current []string, bound effort) []edit {
	head := 0
	for head < min(len(old), len(current)) && old[head] == current[head] {
		head++
	}
	tail := 0
	for tail < min(len(old), len(current))-head && old[len(old)-1-tail] == current[len(current)-1-tail] {
		tail++
	}
	whole := edit{head, len(old) - tail, head, len(current) - tail}
	if whole.oldFrom == whole.oldTo && whole.newFrom == whole.newTo {
		return nil
	}
	if edits, found := fewestEdits(old[whole.oldFrom:whole.oldTo], current[whole.newFrom:whole.newTo], bound); found {
		for i := range edits {
			edits[i] = edit{edits[i].oldFrom + head, edits[i].oldTo + head, edits[i].newFrom + head, edits[i].newTo + head}
		}
		return edits
	}
	return []edit{whole}
}

// fewestEdits returns the shortest list of edits, unless it goes beyond the bound. The texts begin with different lines. It is the greedy
// algorithm of Eugene W. Myers: with each further edited line it goes as far as possible on every diagonal.
func fewestEdits(old, current []string, bound effort) (edits []edit, found bool) {
	if len(old)+len(current) > bound.lines {
		return nil, false
	}
	s := newSearch(old, current)
	for n := 0; n <= min(len(old)+len(current), bound.edits); n++ {
		if s.advance(n) {
			return s.edits(n), true
		}
	}
	return nil, false
}

// search is the state of [fewestEdits]. A diagonal is the number of passed lines of old, less those of current.
type search struct {
	old, current []int32   // a number for each line; equal lines have equal numbers
	reached      [][]int32 // by edited lines n and (diagonal+n)/2: the number of passed lines of old
}

func newSearch(old, current []string) *search {
	numbers := make(map[string]int32, len(old))
	number := func(lines []string) []int32 {
		all := make([]int32, len(lines))
		for i, line := range lines {
			n, known := numbers[line]
			if !known {
				n = int32(len(numbers))
				numbers[line] = n
			}
			all[i] = n
		}
		return all
	}
	return &search{old: number(old), current: number(current)}
}

// advance goes one edited line further on every diagonal, and reports whether it reached the end of both texts.
func (s *search) advance(n int) (arrived bool) {
	row := make([]int32, n+1)
	for diagonal := -n; diagonal <= n; diagonal += 2 {
		x, _ := s.enter(n, diagonal)
		for x < len(s.old) && x-diagonal < len(s.current) && s.old[x] == s.current[x-diagonal] {
			x++
		}
		row[(diagonal+n)/2] = int32(x)
		arrived = arrived || (x >= len(s.old) && x-diagonal >= len(s.current))
	}
	s.reached = append(s.reached, row)
	return arrived
}

// enter returns where the last of n edited lines enters a diagonal: from the one below by removing a line of old, or from the one above by
// adding a line of current.
func (s *search) enter(n, diagonal int) (x int, added bool) {
	if n == 0 {
		return 0, false
	}
	before := s.reached[n-1]
	above := (diagonal + n) / 2 // in before, whose diagonals begin one higher
	below := above - 1
	if diagonal == -n || (diagonal != n && before[below] < before[above]) {
		return int(before[above]), true
	}
	return int(before[below]) + 1, false
}

// edits follows n edited lines back from the end of both texts. Lines without an unchanged one between them are one edit.
func (s *search) edits(n int) []edit {
	var back []edit
	x, diagonal := len(s.old), len(s.old)-len(s.current)
	for ; n > 0; n-- {
		from, added := s.enter(n, diagonal)
		at := edit{from, from, from - diagonal, from - diagonal}
		if len(back) == 0 || from < x {
			back = append(back, at) // unchanged lines are between this edit and the one behind it
		}
		last := &back[len(back)-1]
		if added {
			last.newFrom = at.newFrom - 1
			x, diagonal = from, diagonal+1
		} else {
			last.oldFrom = at.oldFrom - 1
			x, diagonal = from-1, diagonal-1
		}
	}
	slices.Reverse(back)
	return back
}
