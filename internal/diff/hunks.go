package diff

import "strings"

// Hunk is a run of changed lines, with unchanged ones around them.
type Hunk struct {
	OldStart int // the first line in the old text, from 1; if OldLines is 0, the line before the hunk
	OldLines int
	NewStart int // the same in the new text
	NewLines int
	Lines    []Line
}

// Line is a line of a hunk.
type Line struct {
	Op        Op
	Text      string // without its line feed; a carriage return belongs to the text
	NoNewline bool   // the line is the last one of its text, and no line feed ends it
}

// Op tells whether a line is unchanged, removed or added.
type Op byte

// The values are the characters of a unified diff.
const (
	Kept    Op = ' '
	Removed Op = '-'
	Added   Op = '+'
)

// contextLines is the number of unchanged lines that a hunk has before and after the changed ones.
const contextLines = 3

// hunks returns the hunks of the edits between two texts, with no more lines in all than the limit.
func hunks(old, current []string, edits []edit, limit int) (all []Hunk, truncated bool) {
	for len(edits) > 0 && !truncated {
		together := sharing(edits)
		first, last := edits[0], edits[together-1]
		before := min(contextLines, first.oldFrom)
		at := first.oldFrom - before
		l := hunkLines{limit: limit}
		for _, e := range edits[:together] {
			l.add(Kept, old[at:e.oldFrom])
			l.add(Removed, old[e.oldFrom:e.oldTo])
			l.add(Added, current[e.newFrom:e.newTo])
			at = e.oldTo
		}
		l.add(Kept, old[at:min(last.oldTo+contextLines, len(old))])
		if l.changed {
			all = append(all, newHunk(first.oldFrom-before, first.newFrom-before, l.lines))
		}
		limit, truncated = limit-len(l.lines), l.truncated
		edits = edits[together:]
	}
	return all, truncated
}

// sharing returns how many of the first edits share a hunk: those whose contexts touch or overlap.
func sharing(edits []edit) int {
	n := 1
	for n < len(edits) && edits[n].oldFrom-edits[n-1].oldTo <= 2*contextLines {
		n++
	}
	return n
}

// newHunk returns the hunk of some lines, with so many lines of each text before it.
func newHunk(oldBefore, newBefore int, lines []Line) Hunk {
	h := Hunk{OldStart: oldBefore, NewStart: newBefore, Lines: lines}
	for _, line := range lines {
		if line.Op != Added {
			h.OldLines++
		}
		if line.Op != Removed {
			h.NewLines++
		}
	}
	if h.OldLines > 0 {
		h.OldStart++
	}
	if h.NewLines > 0 {
		h.NewStart++
	}
	return h
}

// hunkLines collects the lines of a hunk up to a limit.
type hunkLines struct {
	limit     int
	lines     []Line
	changed   bool // a line was added or removed
	truncated bool
}

func (l *hunkLines) add(op Op, lines []string) {
	fit := min(len(lines), l.limit-len(l.lines))
	for _, line := range lines[:fit] {
		text, ended := strings.CutSuffix(line, "\n")
		l.lines = append(l.lines, Line{Op: op, Text: text, NoNewline: !ended})
	}
	l.changed = l.changed || (op != Kept && fit > 0)
	l.truncated = l.truncated || fit < len(lines)
}
